"""Choose the implementation of an op: by device, or by name. A named one is used or refused."""

import functools
import importlib
import importlib.util
from collections.abc import Callable

from torch import Tensor

from agentprim_kernels import native

IMPLS = {
    **dict.fromkeys(
        ("rotate_", "store_", "materialize_", "select_", "attend"), ("triton", "cpp", "reference")
    ),
    **dict.fromkeys(("copy_pages_", "pack_pages_", "unpack_pages_"), ("cuda", "cpp", "reference")),
}
_PACKAGES = {"triton": "triton", "cuda": "native", "cpp": "native", "reference": "reference"}
_RANKING = {"cpu": ("cpp", "reference"), "cuda": ("triton", "cuda", "reference")}


def pick(op: str, function: str, on: Tensor, impl: str | None, *, can: bool = True) -> Callable:
    """Return the function that runs an op.

    Args:
        op: Module name of the op, such as `"rotate"`.
        function: Function name inside that module, such as `"rotate_"`.
        on: The tensor whose device decides when `impl` is None.
        impl: `"triton"`, `"cuda"`, `"cpp"`, `"reference"`, or None to decide by device.
        can: Whether the compiled implementations take these dtypes (fp64 runs by reference only).

    Raises:
        ValueError: `impl` is unknown, or cannot run here.
    """
    device = on.device.type
    if impl is None:
        impl = choose(function, device, can=can)
    elif impl not in IMPLS[function]:
        raise ValueError(f"impl must be one of {IMPLS[function]} for {function}, got {impl!r}")
    elif reason := _why_not(impl, function, device, can):
        raise ValueError(f"impl must be one that can run here, got {impl!r}: {reason}")
    return getattr(importlib.import_module(f"agentprim_kernels.{_PACKAGES[impl]}.{op}"), function)


def choose(function: str, device: str, *, can: bool = True) -> str:
    """Name the implementation that a function takes on a device type when none is named."""
    ranking = _RANKING.get(device, ("reference",))
    ranking = (impl for impl in ranking if impl in IMPLS[function])
    return next(impl for impl in ranking if not _why_not(impl, function, device, can))


def _why_not(impl: str, function: str, device: str, can: bool) -> str:
    """Say why an implementation cannot run; empty if it can."""
    if impl == "reference":
        return ""
    if not can:
        return "float64 runs by 'reference' only"
    if impl == "triton":  # also on a CPU, under its interpreter
        return "" if _triton_installed() else "triton is not installed"
    if device != {"cpp": "cpu", "cuda": "cuda"}[impl]:
        return f"the tensors are on {device}"
    if impl == "cuda" and native.available(function) and not native.module().cuda_built:
        return "the compiled module was built without CUDA"
    return native.why_not(function)


@functools.cache
def _triton_installed() -> bool:
    try:
        return importlib.util.find_spec("triton") is not None
    except (ImportError, ValueError):
        return False
