"""Staging memory between a device and the host, for copies that run beside other work."""

from operator import index

import torch

from agentprim_kernels import checks, native

STAGE_BYTES = 8 << 20  # a few hundred microseconds of a transfer: long beside a launch


class StagingRing:
    """Stages through which pages go between a cache and host memory.

    Each stage has pinned memory on the host, memory on the device, and a stream and an event of
    its own. Pages go in chunks: while one is gathered on the device, others are transferred or
    copied on the host. The default stream is never used, nothing waits for the whole device, and
    a gathering kernel takes a few blocks only, so that running kernels go on.

    Thread-safe: one copy at a time. Making a ring allocates pinned memory, which may wait for
    running kernels: make one and keep it.

    Attributes:
        device: Where the caches are. On `"cpu"` the ring goes the same way through plain memory.
    """

    def __init__(
        self,
        device: torch.device | str,
        *,
        stages: int = 4,
        stage_bytes: int = STAGE_BYTES,
        blocks: int = 8,
    ) -> None:
        """Allocate the stages.

        Args:
            device: `"cuda:0"` or another with its index, or `"cpu"`.
            stages: How many chunks may be on their way.
            stage_bytes: Size of a chunk; at least one page of the largest cache, all layers.
            blocks: Most thread blocks of a gathering kernel.

        Raises:
            ValueError: A size is below 1, or the ring cannot be made here.
            RuntimeError: The device failed.
        """
        self.device = torch.device(device)
        sizes = {"stages": stages, "stage_bytes": stage_bytes, "blocks": blocks}
        for name, size in sizes.items():
            checks.require(index(size) >= 1, name, "be at least 1", size)
        reason = self.why_not(self.device)
        checks.require(not reason, "device", "be one that can run here", f"{device}: {reason}")
        number = -1 if self.device.type == "cpu" else self.device.index
        self.compiled = native.module().StagingRing(number, *map(index, sizes.values()))

    @staticmethod
    def why_not(device: torch.device) -> str:
        """Say in one sentence why there can be no ring for a device; empty if there can."""
        if device.type not in ("cpu", "cuda"):
            return "a ring is for 'cpu' or 'cuda'"
        if device.type == "cuda" and device.index is None:
            return "it must name its index"
        if reason := native.why_not("StagingRing"):
            return reason
        if device.type == "cuda" and not native.module().cuda_built:
            return "the compiled module was built without CUDA"
        return ""
