"""Where results come from: run records, and what the pipeline declares."""
