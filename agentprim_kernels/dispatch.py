"""Choose the implementation of an op: by device, or by name. A named one is used or refused."""

import importlib
from collections.abc import Callable

from torch import Tensor

IMPLS = ("triton", "cuda", "cpp", "reference")
_PACKAGES = {"triton": "triton", "cpp": "native", "reference": "reference"}


def pick(op: str, function: str, on: Tensor, impl: str | None, *, can: bool = True) -> Callable:
    """Return the function that runs an op.

    Args:
        op: Module name of the op, such as `"rotate"`.
        function: Function name inside that module, such as `"rotate_"`.
        on: The tensor whose device decides when `impl` is None.
        impl: `"triton"`, `"cpp"`, `"reference"`, or None to decide by device.
        can: Whether the compiled implementations take these dtypes (fp64 runs by reference only).

    Raises:
        ValueError: `impl` is unknown, or cannot run here.
    """
    from agentprim_kernels import native

    cuda = on.device.type == "cuda"
    if impl is None:
        if cuda and can:
            impl = "triton"
        elif on.device.type == "cpu" and can and native.available():
            impl = "cpp"
        else:
            impl = "reference"
    elif impl not in IMPLS:
        raise ValueError(f"impl must be one of {IMPLS}, got {impl!r}")
    elif impl == "cuda":
        raise ValueError(f"impl must be one that {function} has, got 'cuda'; use 'triton'")
    elif impl == "cpp" and (cuda or not native.available()):
        reason = "a CUDA tensor" if cuda else native.why_not()
        raise ValueError(f"impl must be one that can run here, got 'cpp': {reason}")
    elif impl != "reference" and not can:
        raise ValueError(f"impl must be 'reference' for float64, got {impl!r}")
    return getattr(importlib.import_module(f"agentprim_kernels.{_PACKAGES[impl]}.{op}"), function)
