"""Plain NumPy twins of the kernels: what they should compute, written to be read, not to be fast."""
