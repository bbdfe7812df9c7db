"""Device function that turns a block of queries back by a span's delta."""

import triton
import triton.language as tl


@triton.jit
def turn_query(
    query,  # [rows, 1] pointers
    live,  # [rows, 1]
    rotation,  # pointer to a row [2, HALF]
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
    turned = tl.load(query + dim[None, :], mask=live & (dim < K_DIM)[None, :], other=0.0)
    if HALF > 0:
        if INTERLEAVED:
            leads = dim % 2 == 0
            pair = dim // 2
            partner = dim ^ 1
        else:
            leads = dim < HALF
            pair = tl.where(leads, dim, dim - HALF)
            partner = tl.where(leads, dim + HALF, dim - HALF)
        turns = dim < 2 * HALF
        cos = tl.load(rotation + pair, mask=turns, other=1.0)
        sin = tl.load(rotation + HALF + pair, mask=turns, other=0.0)
        sin = tl.where(leads, sin, -sin)
        other = tl.load(query + partner[None, :], mask=live & turns[None, :], other=0.0)
        exact = turned.to(tl.float32) * cos[None, :] + other.to(tl.float32) * sin[None, :]
        turned = exact.to(query.dtype.element_ty)
    return turned
