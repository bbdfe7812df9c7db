"""Apply `R(delta)` to the rotary dims of a tensor: the arithmetic shared by all reference ops."""

import torch
from torch import Tensor


def turn(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool) -> Tensor:
    """Rotate the first `2 * cos.shape[-1]` dims of `x` in fp64, rounding once at the end.

    Pair `i` is `(i, i + rotary_dim / 2)`, or `(2i, 2i + 1)` when interleaved:

        a' = a cos - b sin        b' = b cos + a sin

    Args:
        x: `[..., dim]`, any floating dtype.
        cos: `[..., rotary_dim / 2]`, broadcast against `x`.
        sin: Like `cos`; negate it to turn backwards.
        interleaved: Which dims form a pair.

    Returns:
        A new tensor with the shape and dtype of `x`.
    """
    half = cos.shape[-1]
    rotary, rest = x[..., : 2 * half].double(), x[..., 2 * half :]
    if interleaved:
        a, b = rotary[..., 0::2], rotary[..., 1::2]
    else:
        a, b = rotary[..., :half], rotary[..., half:]
    cos, sin = cos.double(), sin.double()
    first, second = a * cos - b * sin, b * cos + a * sin
    if interleaved:
        turned = torch.stack((first, second), dim=-1).flatten(-2)
    else:
        turned = torch.cat((first, second), dim=-1)
    return torch.cat((turned.to(x.dtype), rest), dim=-1)
