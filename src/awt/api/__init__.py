"""The public Python API, `import awt`: a thin layer over the core, with what people pass checked and converted."""
