"""Device function that turns a block of queries back by a span's delta."""

import triton
import triton.language as tl


@triton.jit
def turn_query(
    query,  # [rows, 1] pointers
    live,  # [rows, 1]
    rotation,  # pointer to a row [2, HALF], or [rows, 1] pointers
    ROWS: tl.constexpr,
    K_DIM: tl.constexpr,
    K_PAD: tl.constexpr,
    HALF: tl.constexpr,
    INTERLEAVED: tl.constexpr,
):
    """Load `R(-delta) q` as `[rows, K_PAD]` in the query's dtype, turned in fp32, rounded once.

    a' = a cos + b sin, b' = b cos - a sin, and dims that do not turn have cos 1 and sin 0. Neither
    way of pairing moves a value between threads, and keys need not be split into halves.
    """
    dim = tl.arange(0, K_PAD)[None, :]
    inside = dim < K_DIM
    if HALF == 0:
        return tl.load(query + dim, mask=live & inside, other=0.0)
    if INTERLEAVED:
        pairs = tl.load(query + dim, mask=live & inside, other=0.0).to(tl.float32)
        a, b = tl.split(tl.reshape(pairs, (ROWS, K_PAD // 2, 2)))
        pair = tl.arange(0, K_PAD // 2)[None, :]
        cos = tl.load(rotation + pair, mask=pair < HALF, other=1.0)
        sin = tl.load(rotation + HALF + pair, mask=pair < HALF, other=0.0)
        turned = tl.reshape(tl.join(a * cos + b * sin, b * cos - a * sin), (ROWS, K_PAD))
    else:
        leads = dim < HALF
        pair = tl.where(leads, dim, dim - HALF)
        partner = tl.where(leads, dim + HALF, dim - HALF)
        turns = dim < 2 * HALF
        turned = tl.zeros((ROWS, K_PAD), tl.float32)
        # a real loop: with element and partner in registers at once, a large block would spill
        for term in tl.range(0, 2, loop_unroll_factor=1):
            own = term == 0
            factor = tl.load(rotation + term * HALF + pair, mask=turns, other=1.0)
            factor = tl.where(leads | own, factor, -factor)
            mask = live & inside & (turns | own)
            source = tl.where(own, dim, partner)
            part = tl.load(query + source, mask=mask, other=0.0)
            turned += part.to(tl.float32) * factor
    return turned.to(query.dtype.element_ty)
