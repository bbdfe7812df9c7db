"""Device functions on rows: one row is the `dim` elements of one token, head and layer."""

import triton
import triton.language as tl


@triton.jit
def place(slot, page_size, PAGE_SIZE: tl.constexpr):
    """Split a slot into its page and the offset in it; PAGE_SIZE is 0 where it is not fixed."""
    size = PAGE_SIZE if PAGE_SIZE > 0 else page_size
    page = slot // size
    return page, slot - page * size


@triton.jit
def turn_rows(
    out,  # [rows, 1] pointers
    source,  # [rows, 1] pointers, may equal out
    live,  # [rows, 1]
    cos,  # [1 or rows, HALF_PAD]
    sin,
    ROWS: tl.constexpr,
    HALF: tl.constexpr,
    HALF_PAD: tl.constexpr,
    INTERLEAVED: tl.constexpr,
):
    """Write `R source` to `out` in the rotary dims, rounding once."""
    if INTERLEAVED:
        # pairs are neighbours in a register, so splitting them moves nothing between threads
        dim = tl.arange(0, 2 * HALF_PAD)[None, :]
        mask = live & (dim < 2 * HALF)
        pairs = tl.load(source + dim, mask=mask).to(tl.float32)
        a, b = tl.split(tl.reshape(pairs, (ROWS, HALF_PAD, 2)))
        turned = tl.join(a * cos - b * sin, b * cos + a * sin)
        turned = tl.reshape(turned, (ROWS, 2 * HALF_PAD))
        tl.store(out + dim, turned.to(out.dtype.element_ty), mask=mask)
    else:
        dim = tl.arange(0, HALF_PAD)[None, :]
        mask = live & (dim < HALF)
        a = tl.load(source + dim, mask=mask).to(tl.float32)
        b = tl.load(source + HALF + dim, mask=mask).to(tl.float32)
        tl.store(out + dim, (a * cos - b * sin).to(out.dtype.element_ty), mask=mask)
        tl.store(out + HALF + dim, (b * cos + a * sin).to(out.dtype.element_ty), mask=mask)


@triton.jit
def copy_rows(out, source, live, START: tl.constexpr, END: tl.constexpr, PAD: tl.constexpr):
    """Copy dims `START` to `END - 1` of `[rows, 1]` pointers, bit for bit."""
    dim = START + tl.arange(0, PAD)[None, :]
    mask = live & (dim < END)
    tl.store(out + dim, tl.load(source + dim, mask=mask), mask=mask)


@triton.jit
def load_rotation(rotation, mask, HALF: tl.constexpr, HALF_PAD: tl.constexpr):
    """Load cos and sin `[rows, HALF_PAD]` from `[rows, 1]` pointers to rotation rows."""
    dim = tl.arange(0, HALF_PAD)[None, :]
    mask = mask & (dim < HALF)
    cos = tl.load(rotation + dim, mask=mask, other=1.0)
    sin = tl.load(rotation + HALF + dim, mask=mask, other=0.0)
    return cos, sin
