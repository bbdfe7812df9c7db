"""Compile what a launch would run for any CUDA architecture, without a GPU, and read the result."""

import collections
import contextlib
import re
import subprocess
import tempfile
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget

from agentprim_kernels.triton import attend, materialize, merge, rotate, select, store

_TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
_ACCESS = re.compile(r"\b(LDG|LDGSTS|STG)\.E((?:\.\w+)*)")
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}


class NoDevice:
    """Stand in for Triton's driver: answers what the compiler asks, and can run nothing."""

    def __init__(self, capability: int):
        self.capability = capability

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> int:
        # one cache entry per architecture
        return self.capability

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        return divmod(self.capability, 10)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")

    @staticmethod
    def is_active() -> bool:
        return True


@contextlib.contextmanager
def recorded(capability: int):
    """Compile instead of launching inside the block; yields the list of compiled kernels.

    The launchers run as they are, for a GPU of 132 multiprocessors, so that sizes, strides and
    alignment specialise as in a real launch.
    """
    modules = (attend, materialize, merge, rotate, select, store)
    compiled = []

    def compile_only(kernel, grid, *args, **options):
        compiled.append((kernel.fn.__name__, kernel.warmup(*args, grid=grid, **options)))

    saved = [module.launch for module in modules]
    count, attend.processors = attend.processors, lambda on: 132
    triton.runtime.driver.set_active(NoDevice(capability))
    for module in modules:
        module.launch = compile_only
    try:
        yield compiled
    finally:
        for module, launch in zip(modules, saved, strict=True):
            module.launch = launch
        attend.processors = count


def inspect(compiled) -> dict[str, object]:
    """Read registers, spills, shared memory and access widths from a compiled kernel.

    Returns:
        `registers` and `stack_bytes` (spills, local arrays) a thread, `shared_bytes` and `warps` a
        program, `loads` and `stores`: number of global instructions by width in bytes.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(compiled.asm["cubin"])
        usage = _run("cuobjdump", "-res-usage", path)
        sass = _run("cuobjdump", "-sass", path)
    used = re.search(r"REG:(\d+) STACK:(\d+).*?LOCAL:(\d+)", usage)
    counts = {"LDG": collections.Counter(), "STG": collections.Counter()}
    for name, modifiers in _ACCESS.findall(sass):
        width = next((_WIDTHS[m] for m in modifiers.split(".") if m in _WIDTHS), 4)
        counts["STG" if name == "STG" else "LDG"][width] += 1
    local = len(re.findall(r"\b(?:LDL|STL)\b", sass))
    return {
        "registers": int(used[1]),
        "stack_bytes": int(used[2]) + int(used[3]),
        "local_accesses": local,
        "shared_bytes": compiled.metadata.shared,
        "warps": compiled.metadata.num_warps,
        "loads": dict(sorted(counts["LDG"].items())),
        "stores": dict(sorted(counts["STG"].items())),
    }


def _run(tool: str, *args: object) -> str:
    command = [str(_TOOLS / tool), *map(str, args)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
