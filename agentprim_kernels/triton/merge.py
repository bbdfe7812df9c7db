"""Merge what the splits of `attend` found: a program merges one query of one head."""

import triton
import triton.language as tl
from torch import Tensor

from agentprim_kernels.triton.launch import launch, next_power_of_2


@triton.jit(do_not_specialize=["num_queries", "num_heads", "num_splits"])
def merge_kernel(
    out,  # [batch, num_heads, num_queries, V_DIM]
    lse,  # [batch, num_heads, num_queries]
    partial_out,  # [batch, num_heads, num_queries, num_splits, V_DIM]
    partial_lse,  # [batch, num_heads, num_queries, num_splits], of base 2
    span_starts,  # [batch + 1]
    sinks,  # [num_heads]
    out_batch,
    out_head,
    out_token,
    num_heads,
    num_queries,
    num_splits,
    V_DIM: tl.constexpr,
    V_PAD: tl.constexpr,
    HAS_SINKS: tl.constexpr,
    SPLITS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)  # in [batch, num_heads, num_queries]
    token = row % num_queries
    head = row // num_queries % num_heads
    batch = row // num_queries // num_heads
    partial_lse += row * num_splits
    partial_out += row * num_splits * V_DIM

    split = tl.arange(0, SPLITS)
    found = tl.load(partial_lse + split, mask=split < num_splits, other=float("-inf"))
    highest = tl.max(found, 0)
    if HAS_SINKS:
        # a sequence without any span has no denominator for a sink to join
        spanned = tl.load(span_starts + batch) < tl.load(span_starts + batch + 1)
        sink = tl.load(sinks + head).to(tl.float32) * 1.4426950408889634
        sink = tl.where(spanned, sink, float("-inf"))
        highest = tl.maximum(highest, sink)
    base = tl.where(highest == float("-inf"), 0.0, highest)
    weight = tl.sum(tl.exp2(found - base), 0)
    if HAS_SINKS:
        weight += tl.exp2(sink - base)
    unseen = weight == 0.0
    divisor = tl.where(unseen, 1.0, weight)

    dim = tl.arange(0, V_PAD)
    total = tl.zeros((V_PAD,), tl.float32)
    for start in range(0, num_splits, BLOCK):
        part = start + tl.arange(0, BLOCK)
        some = tl.load(partial_lse + part, mask=part < num_splits, other=float("-inf"))
        share = tl.exp2(some - base)
        # a split that saw nothing has written nothing
        mask = (some != float("-inf"))[:, None] & (dim < V_DIM)[None, :]
        rows = tl.load(partial_out + part[:, None] * V_DIM + dim[None, :], mask=mask, other=0.0)
        total += tl.sum(rows * share[:, None], 0)
    total = total / divisor
    out += batch * out_batch + head * out_head + token * out_token
    tl.store(out + dim, total.to(out.dtype.element_ty), mask=dim < V_DIM)
    sum_log = (base + tl.log2(divisor)) * 0.6931471805599453
    tl.store(lse + row, tl.where(unseen, float("-inf"), sum_log))


def merge(
    out: Tensor,
    lse: Tensor,
    partial_out: Tensor,
    partial_lse: Tensor,
    span_starts: Tensor,
    sinks: Tensor | None,
) -> None:
    """Merge partial results of `attend` by their log-sum-exp; a sink enters once.

    Args:
        out: `[batch, num_heads, num_queries, v_dim]`. Modified.
        lse: fp32 `[batch, num_heads, num_queries]`, contiguous. Modified.
        partial_out: fp32 `[batch, num_heads, num_queries, num_splits, v_dim]`, contiguous;
            unwritten where a split saw nothing.
        partial_lse: fp32 `[batch, num_heads, num_queries, num_splits]`, contiguous, of base 2.
        span_starts: int32 `[batch + 1]`.
        sinks: `[num_heads]` or None.
    """
    _, heads, queries, splits, v_dim = partial_out.shape
    launch(
        merge_kernel, (lse.numel(),),
        out, lse, partial_out, partial_lse, span_starts, span_starts if sinks is None else sinks,
        *out.stride()[:3], heads, queries, splits,
        V_DIM=v_dim, V_PAD=next_power_of_2(v_dim), HAS_SINKS=sinks is not None,
        SPLITS=next_power_of_2(splits), BLOCK=min(16, next_power_of_2(splits)),
    )  # fmt: skip
