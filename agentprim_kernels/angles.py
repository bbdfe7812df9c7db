"""Turn integer deltas into cos/sin rows, the only way an angle enters a kernel."""

import torch
from torch import Tensor


def rotation(deltas: Tensor | list[int], inv_freq: Tensor) -> Tensor:
    """Compute the cos/sin rows of `R(delta)`, one per layer and span.

    Angles are products of an exact integer and the model's own frequency, taken in fp64 and
    rounded once, so a row is right at any distance. `attention_scaling` (YaRN, LongRoPE) is
    already inside a cached key and has no place here.

    Args:
        deltas: How far each span moves, in positions, int64 `[num_spans]`; may be negative.
        inv_freq: Radians per position, fp32 `[group_layers, rotary_dim / 2]`. A zero row is a
            layer without RoPE. Rows that are one expanded row (stride 0) are computed once.

    Returns:
        fp32 `[group_layers, num_spans, 2, rotary_dim / 2]`: cos at index 0, sin at index 1.
    """
    deltas = torch.as_tensor(deltas, dtype=torch.int64).to(inv_freq.device)
    layers = inv_freq.shape[0]
    shared = layers > 1 and inv_freq.stride(0) == 0
    rows = (inv_freq[:1] if shared else inv_freq).double()
    angle = deltas.double()[None, :, None] * rows[:, None, :]
    table = torch.stack((angle.cos(), angle.sin()), dim=2).float()
    return table.expand(layers, -1, -1, -1) if shared else table
