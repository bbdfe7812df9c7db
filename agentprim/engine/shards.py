"""Shards: what tensor parallelism cuts up, with one piece in each process.

Every process of such a model must make the same calls in the same order; all these are among them.
"""

from torch import Tensor


def whole(weight: Tensor) -> Tensor:
    """Return a weight as one plain tensor of this device; its pieces are gathered first."""
    return weight.full_tensor() if hasattr(weight, "full_tensor") else weight


def same(one: Tensor, other: Tensor) -> bool:
    """Tell whether two weights are one and the same memory."""
    return _own(one).data_ptr() == _own(other).data_ptr()


def _own(weight: Tensor) -> Tensor:
    return weight.to_local() if hasattr(weight, "to_local") else weight
