"""Choose tiles and splits of `attend` from its shapes: no device value, no trial runs."""

import functools
from dataclasses import dataclass

import torch
from triton import cdiv, next_power_of_2

from agentprim_kernels.cascade import Cascade

_MOST_SPLITS = 128
# warps that a multiprocessor holds at up to 255 registers a thread
_RESIDENT_WARPS = 8


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Tile sizes and the split of one launch.

    Attributes:
        block_m: Packed queries of a program (queries times the heads of a KV head).
        block_n: Keys of a tile.
        num_blocks: Blocks of packed queries.
        num_splits: Programs among which the keys of a block are shared.
        num_warps: Warps of a program.
        num_stages: Tiles of keys and values in flight or in use.
    """

    block_m: int
    block_n: int
    num_blocks: int
    num_splits: int
    num_warps: int
    num_stages: int


def plan(
    *,
    rows: int,
    k_dim: int,
    v_dim: int,
    dtype: torch.dtype,
    members: int,
    programs: int,
    capacity: int,
    processors: int,
) -> Plan:
    """Plan one launch of `attend`.

    Shared memory stays under 99 KiB, so that one choice serves every GPU since sm_80.

    Args:
        rows: Packed queries of one KV head: queries times heads of its group, of all members.
        k_dim: Key dimension.
        v_dim: Value dimension.
        dtype: Of the cache.
        members: Rows of the batch that are served together, 1 without a cascade.
        programs: Programs for each block of rows: batch, or groups of it, times KV heads.
        capacity: Slots that the page table can hold, a bound for one sequence.
        processors: Multiprocessors to fill.
    """
    wide = max(16, next_power_of_2(max(k_dim, v_dim)))
    few = max(16, next_power_of_2(rows))
    # chosen so that nothing spills on sm_80, sm_90 and sm_100 (bench/results/cubin_report.json);
    # no GPU has timed them yet, bench/tune.py does
    if dtype.itemsize > 2:  # fp32 products run without tensor cores, operands in registers
        block_m, stages = 16, 2
        block_n, warps = 16, 4 if wide <= 128 and members == 1 else 8
    elif few == 16:  # decode: page table and tiles prefetched, two tiles deep
        block_m, stages = 16, 5
        block_n, warps = (64, 4) if wide <= 128 else (32, 8)
    elif members > 1:  # decode of several rows
        block_m = min(few, _most_together(wide, dtype))
        block_n, stages = (64, 4 if block_m == 32 else 3) if wide <= 128 else (32, 4)
        warps = 4 if wide <= 64 and block_m == 32 else 8
    elif wide <= 64:
        block_m, block_n, stages = min(128 if rows >= 512 else 64, few), 64, 2
        warps = 8 if block_m == 128 else 4
    else:
        padded = max(k_dim, v_dim) != wide  # takes registers
        block_m, block_n = (min(64, few), 32 if padded else 64) if wide <= 128 else (32, 32)
        warps, stages = 8, 2
    blocks = cdiv(rows, block_m)
    resident = processors * _RESIDENT_WARPS // warps
    most = min(cdiv(capacity, block_n), _MOST_SPLITS)
    splits = _splits(max(1, blocks * programs), resident, most)
    return Plan(
        block_m=block_m, block_n=block_n, num_blocks=blocks, num_splits=splits, num_warps=warps,
        num_stages=stages,
    )  # fmt: skip


@functools.lru_cache(maxsize=1024)  # asked once a layer and token
def _splits(programs: int, resident: int, most: int) -> int:
    """Choose the fewest splits that nearly fill every wave of resident programs.

    Equal programs take as many waves as the last one needs; a split costs a partial result.
    """
    most = max(1, min(most, cdiv(2 * resident, programs)))
    filled = [
        programs * splits / (cdiv(programs * splits, resident) * resident)
        for splits in range(1, most + 1)
    ]
    return next(n for n, share in enumerate(filled, 1) if share >= 0.95 * max(filled))


def serves_together(cascade: Cascade, rows: int, wide: int, dtype: torch.dtype) -> bool:
    """Say whether a block holds the `rows` packed queries of at least two members of a group."""
    return cascade.rows.shape[1] > 1 and 2 * rows <= _most_together(wide, dtype)


def _most_together(wide: int, dtype: torch.dtype) -> int:
    """Bound packed queries: reading keys must take longer than computing, nothing may spill."""
    return 16 if dtype.itemsize > 2 else 64 if wide <= 64 else 32
