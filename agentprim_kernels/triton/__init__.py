"""Triton kernels, imported only when an op runs on a GPU (or under the interpreter)."""
