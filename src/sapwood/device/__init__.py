"""Training on an OpenCL device: bins, row lists and fixed-point gradients live there; the search for splits stays on the host.

Modules import pyopencl when a device is opened, not before.
"""
