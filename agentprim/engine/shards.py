"""Shards: a model that several processes hold together, by transformers' tensor parallelism.

Every process has some heads of each layer, and must make the same calls in the same order; the
functions that gather or add up are such calls.
"""

import torch.distributed as dist
from torch import Tensor, nn

from agentprim.errors import PoolExhausted


def processes() -> int:
    """Return how many processes work together; 1 for one alone."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def mesh_of(model: nn.Module):
    """Return the mesh of the processes that hold a model together; None where one holds it."""
    parts = (one for one in model.parameters() if hasattr(one, "device_mesh"))
    return next((one.device_mesh for one in parts), None)


def whole(weight: Tensor) -> Tensor:
    """Return a weight as one plain tensor of this device; its pieces are gathered first."""
    return weight.full_tensor() if hasattr(weight, "full_tensor") else weight


def same(one: Tensor, other: Tensor) -> bool:
    """Tell whether two weights are one and the same memory."""
    return _own(one).data_ptr() == _own(other).data_ptr()


def total(values: Tensor, mesh, device) -> Tensor:
    """Add up what each process found about its own heads; without a mesh there is one alone.

    Args:
        values: On any device.
        mesh: See `mesh_of`.
        device: Of the model, through which the sum goes.

    Returns:
        The sum, where `values` are.
    """
    if mesh is None:
        return values
    summed = values.to(device, copy=True)
    dist.all_reduce(summed, group=mesh.get_group())
    return summed.to(values.device)


def is_lone(fault: Exception) -> bool:
    """Tell whether a fault may be of this process alone, so that the others wait for it in vain.

    Out of memory, or a connection that is lost; a full pool is full in all of them.
    """
    ours = isinstance(fault, PoolExhausted)
    return processes() > 1 and isinstance(fault, RuntimeError) and not ours


def _own(weight: Tensor) -> Tensor:
    return weight.to_local() if hasattr(weight, "to_local") else weight
