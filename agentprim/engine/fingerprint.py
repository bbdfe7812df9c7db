"""Fingerprints: tell one model from another by its weights, configuration and frequencies."""

import hashlib
import json

import torch
from torch import Tensor, nn

from agentprim.engine.shards import whole
from agentprim.rope.discover import rotary_modules

_SAMPLES = 64  # numbers read of each parameter
# what a configuration says about how it was stored or is run, not about the model
_VOLATILE = {
    "_name_or_path", "_commit_hash", "transformers_version", "torch_dtype", "dtype", "use_cache",
    "_attn_implementation", "_attn_implementation_internal", "attn_implementation",
    "architectures", "output_attentions", "output_hidden_states", "return_dict",
    "quantization_config",
}  # fmt: skip


@torch.no_grad()
def weights_print(model: nn.Module) -> str:
    """Digest a model's configuration, and of each parameter name, shape, dtype and some numbers.

    The numbers are spread evenly over the parameter, so that a model that was trained further has
    another print. One that was changed by hand in a few places may not.
    """
    digest = hashlib.sha256(_settings(model.config.to_dict()).encode())
    parts = []
    for name, parameter in model.named_parameters():
        digest.update(f"{name} {tuple(parameter.shape)} {parameter.dtype}".encode())
        flat = whole(parameter.detach()).flatten()
        step = max(1, flat.numel() // _SAMPLES)
        parts.append(flat[::step].float())
    if parts:
        digest.update(_bytes(torch.cat(parts)))  # one copy from the device
    return digest.hexdigest()


def rope_print(model: nn.Module) -> str:
    """Digest the tables of frequencies that the model's rotary modules hold right now."""
    digest = hashlib.sha256()
    for module in rotary_modules(model):
        for name, table in sorted(module._buffers.items()):
            if table is not None and name.endswith("inv_freq"):
                digest.update(name.encode() + _bytes(table.detach()))
        digest.update(repr(getattr(module, "attention_scaling", None)).encode())
    return digest.hexdigest()


def _settings(config: dict) -> str:
    def kept(value):
        if isinstance(value, dict):
            return {str(k): kept(v) for k, v in value.items() if k not in _VOLATILE}
        return [kept(one) for one in value] if isinstance(value, list | tuple) else value

    return json.dumps(kept(config), sort_keys=True, default=repr)


def _bytes(tensor: Tensor) -> bytes:
    return tensor.float().cpu().contiguous().numpy().tobytes()
