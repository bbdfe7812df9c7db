"""Triton kernels, imported only when an op runs on a GPU (or under Triton's interpreter)."""

try:
    import triton  # noqa: F401
except ImportError as error:
    raise ImportError(
        "impl 'triton' must be able to import Triton, got no module; install it with "
        "`pip install triton`, or name impl='reference'"
    ) from error
