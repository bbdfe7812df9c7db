"""The compiled module `_C` and the thin calls into it: raw pointers, sizes, strides."""

import functools
from types import ModuleType


@functools.cache
def _load() -> tuple[ModuleType | None, str]:
    try:
        from agentprim_kernels import _C
    except ImportError as error:
        return None, f"the compiled module did not load ({error}); build it with `pip install .`"
    return _C, ""


def available() -> bool:
    """Tell whether the compiled module can be used."""
    return _load()[0] is not None


def why_not() -> str:
    """Say in one sentence why the compiled module cannot be used; empty if it can."""
    return _load()[1]


def module() -> ModuleType:
    """Return the compiled module.

    Raises:
        ImportError: It is not there; the message says why.
    """
    compiled, reason = _load()
    if compiled is None:
        raise ImportError(reason)
    return compiled
