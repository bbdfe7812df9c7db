"""Launch kernels: device checks, and tile sizes from small functions of the shape."""

from typing import Any

import torch
from torch import Tensor
from triton import JITFunction, cdiv, next_power_of_2

# elements of one tensor that a program of four warps moves: four 16-byte accesses a thread in bf16
_TILE = 4096
# left alone, ptxas spills a register or two to reach an occupancy that these kernels do not need
MOST_REGISTERS = 128


def launch(kernel: Any, grid: tuple[int, ...], *args: Any, **options: Any) -> None:
    """Run a kernel on the current stream of its first tensor's device.

    Raises:
        ValueError: The tensors are on the CPU and Triton is not interpreting.
    """
    on = args[0]
    if on.device.type == "cpu" and isinstance(kernel, JITFunction):
        raise ValueError(
            "impl must be one that can run here, got 'triton': the tensors are on the CPU and "
            "Triton is not in interpreter mode"
        )
    with torch.cuda.device_of(on):
        kernel[grid](*args, **options)


def fixed_page_size(cache: Tensor) -> int:
    """Return the page size if it may be compiled in, else 0.

    A pool has one page size for life, so a small power of two turns divisions into shifts; a
    dense tensor taken as pages has a new "page size" at every length and must not compile anew.
    """
    page_size = cache.shape[-2]
    return page_size if page_size <= 256 and page_size & (page_size - 1) == 0 else 0


def row_tile(dim: int, rows: int) -> int:
    """Choose how many rows of `dim` elements one program moves."""
    return max(1, min(_TILE // next_power_of_2(dim), next_power_of_2(rows)))


def token_tile(dim: int, tokens: int, heads: int) -> tuple[int, int]:
    """Choose tokens and heads of one program: long runs of slots first, then heads."""
    rows = row_tile(dim, tokens * heads)
    tile = min(rows, next_power_of_2(tokens))
    return tile, min(rows // tile, next_power_of_2(heads))


def span_block(spans: Tensor) -> int:
    """Choose the width of the vector that holds one column of all spans."""
    return max(32, next_power_of_2(spans.shape[0]))


def processors(on: Tensor) -> int:
    """Count the multiprocessors to fill; a small stand-in under the interpreter."""
    if on.device.type != "cuda":
        return 4
    return torch.cuda.get_device_properties(on.device).multi_processor_count


def copy_widths(k_cache: Tensor, v_cache: Tensor, half: int) -> dict[str, int]:
    """List the compiled-in widths of a kernel that turns keys and copies the rest."""
    k_dim, v_dim = k_cache.shape[-1], v_cache.shape[-1]
    return {
        "HALF": half,
        "HALF_PAD": next_power_of_2(max(half, 1)),
        "K_DIM": k_dim,
        "REST_PAD": next_power_of_2(max(k_dim - 2 * half, 1)),
        "V_DIM": v_dim,
        "V_PAD": next_power_of_2(v_dim),
    }


__all__ = [
    "MOST_REGISTERS", "cdiv", "copy_widths", "fixed_page_size", "launch", "next_power_of_2",
    "processors", "row_tile", "span_block", "token_tile",
]  # fmt: skip
