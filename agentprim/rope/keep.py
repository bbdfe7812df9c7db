"""Leave a model as it was found, whatever its rotary modules do to themselves."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from agentprim.rope.discover import rotary_modules


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Run without gradients in eval mode, then restore modes and every rotary module.

    Some rotary modules replace or overwrite their tables when a position crosses a length.
    """
    modes = [(module, module.training) for module in model.modules()]
    kept = [(module, *_state(module)) for module in rotary_modules(model)]
    try:
        model.eval()
        with torch.no_grad():
            yield
    finally:
        for module, attributes, buffers, contents in kept:
            _restore(module, attributes, buffers, contents)
        for module, training in modes:
            module.training = training


def shake(model: nn.Module, distance: int) -> None:
    """Put every table off by as much as fp32 angles are off at `distance`.

    Relative to the few positions of a probe, with alternating signs. Modifies the model; use it
    inside `undisturbed`.
    """
    for module in rotary_modules(model):
        for name, table in module._buffers.items():
            if name.endswith("inv_freq"):
                size = max(distance * 2.0**-24 / 4, torch.finfo(table.dtype).eps)  # must register
                signs = 1 - 2 * (torch.arange(table.shape[-1], device=table.device) % 2)
                table.mul_(1 + size * signs)


def _state(module: nn.Module) -> tuple[dict, dict, dict[str, Tensor]]:
    attributes = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    buffers = dict(module._buffers)
    contents = {name: value.clone() for name, value in buffers.items() if value is not None}
    return attributes, buffers, contents


def _restore(module: nn.Module, attributes: dict, buffers: dict, contents: dict) -> None:
    for key in [key for key in vars(module) if not key.startswith("_") and key not in attributes]:
        del vars(module)[key]
    vars(module).update(attributes)
    module._buffers.clear()
    module._buffers.update(buffers)
    with torch.no_grad():
        for name, content in contents.items():
            if not torch.equal(module._buffers[name], content):
                module._buffers[name].copy_(content)
