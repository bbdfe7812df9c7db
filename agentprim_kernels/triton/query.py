"""Device function that turns a block of queries back by a span's delta."""

import triton
import triton.language as tl


@triton.jit
def turn_query(
    query,  # [rows, 1] pointers
    live,  # [rows, 1]
    rotation,  # pointer to a row [2, HALF]
    ROWS: tl.constexpr,
    K_DIM: tl.constexpr,
    K_PAD: tl.constexpr,
    HALF: tl.constexpr,
    INTERLEAVED: tl.constexpr,
):
    """Load `R(-delta) q` as `[rows, K_PAD]` in the query's dtype, turned in fp32, rounded once.

    Each element is loaded beside its partner, so that no value moves between threads and the keys
    need not be split into halves: a' = a cos + b sin, b' = b cos - a sin.
    """
    dim = tl.arange(0, K_PAD)
    if HALF == 0:
        return tl.load(query + dim[None, :], mask=live & (dim < K_DIM)[None, :], other=0.0)
    if INTERLEAVED:
        leads = dim % 2 == 0
        pair = dim // 2
        partner = dim ^ 1
    else:
        leads = dim < HALF
        pair = tl.where(leads, dim, dim - HALF)
        partner = tl.where(leads, dim + HALF, dim - HALF)
    turns = dim < 2 * HALF
    turned = tl.zeros((ROWS, K_PAD), tl.float32)
    # a real loop: with both terms in registers at once, a large block would spill
    for term in tl.range(0, 2, loop_unroll_factor=1):
        own = term == 0
        factor = tl.load(rotation + term * HALF + pair, mask=turns, other=1.0)
        factor = tl.where(leads | own, factor, -factor)
        mask = (dim < K_DIM) & (turns | own)
        source = tl.where(own, dim, partner)
        part = tl.load(query + source[None, :], mask=live & mask[None, :], other=0.0)
        turned += part.to(tl.float32) * factor[None, :]
    return turned.to(query.dtype.element_ty)
