"""Report what can run here, and why the rest cannot."""

from dataclasses import dataclass

import torch

from agentprim_kernels import native
from agentprim_kernels.dispatch import IMPLS, choose


@dataclass(frozen=True, kw_only=True)
class BuildInfo:
    """What an installation consists of.

    Attributes:
        native: The compiled module can be used.
        native_reason: Why not; empty if it can.
        compiler: Compiler and version of the compiled module; empty if there is none.
        cuda: CUDA version that its CUDA part was compiled with; empty if it has none.
        cuda_reason: Why not; empty if it has one.
        cuda_architectures: Architectures of the CUDA part.
        triton: Version of Triton; empty if it cannot be imported.
        triton_reason: Why not; empty if it can.
        torch: Version of torch.
        devices: `"cpu"`, and the name of each CUDA device.
        impls: For each device type, the implementation that each op takes when none is named.
    """

    native: bool
    native_reason: str
    compiler: str
    cuda: str
    cuda_reason: str
    cuda_architectures: tuple[str, ...]
    triton: str
    triton_reason: str
    torch: str
    devices: tuple[str, ...]
    impls: dict[str, dict[str, str]]


def build_info() -> BuildInfo:
    """Look at the compiled module, Triton, torch and the devices."""
    usable, record = native.available(), native.build_record()
    cuda_built = usable and native.module().cuda_built
    why_no_cuda = record.get("cuda_reason") or "the compiled module was built without it"
    triton, triton_reason = _triton()
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return BuildInfo(
        native=usable,
        native_reason=native.why_not(),
        compiler=record.get("compiler", "") if usable else "",
        cuda=record.get("cuda", "") if cuda_built else "",
        cuda_reason="" if cuda_built else native.why_not() or why_no_cuda,
        cuda_architectures=tuple(
            arch for arch in record.get("cuda_architectures", "").split(";") if arch and cuda_built
        ),
        triton=triton,
        triton_reason=triton_reason,
        torch=torch.__version__,
        devices=("cpu", *(torch.cuda.get_device_name(index) for index in range(count))),
        impls={device: {op: choose(op, device) for op in IMPLS} for device in ("cpu", "cuda")},
    )


def _triton() -> tuple[str, str]:
    """Return Triton's version, or why it cannot be imported."""
    try:
        import triton
    except Exception as error:  # a broken installation fails in many ways; say which
        return "", f"triton does not import ({error})"
    return triton.__version__, ""
