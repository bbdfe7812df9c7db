"""The compiled module `_C` and the thin calls into it: raw pointers, sizes, strides."""

import functools
import json
from pathlib import Path
from types import ModuleType


@functools.cache
def build_record() -> dict:
    """Return what the installation wrote about its build; empty in a tree never built."""
    path = Path(__file__).parent.parent / "_build.json"
    return json.loads(path.read_text()) if path.exists() else {}


@functools.cache
def _load() -> tuple[ModuleType | None, str]:
    try:
        from agentprim_kernels import _C
    except ImportError as error:
        reason = build_record().get("reason") or f"{error}; build it with `pip install .`"
        return None, f"the compiled module is not there: {reason}"
    return _C, ""


def why_not(function: str = "") -> str:
    """Say in one sentence why a function of the compiled module cannot be used; empty if it can."""
    compiled, reason = _load()
    if compiled is not None and function and not hasattr(compiled, function):
        return f"the compiled module is older than these sources and has no {function}; build again"
    return reason


def available(function: str = "") -> bool:
    """Tell whether the compiled module can be used, and has a function."""
    return not why_not(function)


def module() -> ModuleType:
    """Return the compiled module.

    Raises:
        ImportError: It is not there; the message says why.
    """
    compiled, reason = _load()
    if compiled is None:
        raise ImportError(reason)
    return compiled
