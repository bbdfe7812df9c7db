"""How tests start two processes that hold one model."""

import os
import sys

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def environment() -> dict[str, str]:
    """Return the environment of two processes on a CPU."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
