"""Reference implementations of the kernels in NumPy, written for readability, not for speed."""
