"""Tangent kernels: exact Gram tensors, products with probe vectors, tiled Gram matrices, spectra."""
