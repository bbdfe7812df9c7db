"""Load a model and its tokenizer, by name or path, or the small one of the demo."""

import functools
import inspect

import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

from agentprim.engine.shards import processes

DEMO_MODEL = "smollm2"


def from_pretrained(name_or_path: str, *, dtype=None, device=None, **placed):
    """Load a causal language model in eval mode and its tokenizer.

    Args:
        name_or_path, dtype, device: As in `Engine.from_pretrained`.
        placed: `device_map` or `tp_plan`; transformers then places the parts of the model.

    Returns:
        The model and the tokenizer.

    Raises:
        ValueError: There is no such model, no such dtype, or no way to place it so.
    """
    from agentprim.engine.smollm import folder

    placed = {name: value for name, value in placed.items() if value is not None}
    _check_placed(device, **placed)
    path = str(folder()) if name_or_path == DEMO_MODEL else name_or_path
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    on_cpu = torch.device(device).type == "cpu"
    dtype = dtype or (torch.float32 if on_cpu else "auto")
    if isinstance(dtype, str) and dtype != "auto":
        dtype = getattr(torch, dtype, dtype)
    if dtype != "auto" and not isinstance(dtype, torch.dtype):
        raise ValueError(f"dtype must be a torch dtype or the name of one, got {dtype!r}")
    try:
        tokenizer = AutoTokenizer.from_pretrained(path)
        model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype, **_options(**placed))
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(
            f"model must be a Hugging Face name or a folder with a causal language model, "
            f"got {name_or_path!r}: {reason}"
        ) from error
    if "tp_plan" in placed:
        _check_heads(model.config.get_text_config(), processes())
    return (model if placed else model.to(device)).eval(), tokenizer


def _check_placed(device, device_map=None, tp_plan=None) -> None:
    """Check how a model is to be placed.

    Raises:
        ValueError: It cannot be placed so.
    """
    if tp_plan is None:
        return
    if device_map is not None:
        raise ValueError("device_map must not be given with tp_plan, got both")
    if tp_plan != "auto" and not isinstance(tp_plan, dict):
        raise ValueError(f"tp_plan must be 'auto' or a plan of module names, got {tp_plan!r}")
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    if device is not None and torch.device(device).type != kind:
        raise ValueError(f"device must be {kind} with tp_plan on this machine, got {device}")
    if not torch.distributed.is_torchelastic_launched():
        raise ValueError("tp_plan must be given under torchrun, got no processes")


def _options(tp_plan=None, **placed) -> dict:
    """Return what transformers is told of the place."""
    if tp_plan is None:
        return placed
    from transformers.distributed import DistributedConfig  # not in every build of torch

    return {"distributed_config": DistributedConfig(tp_plan=tp_plan)}


def _check_heads(config, ranks: int) -> None:
    """Check that there are several processes, and that each got as many heads as any other.

    Raises:
        ValueError: It is not so.
    """
    if ranks < 2:
        raise ValueError(f"tp_plan must be given to 2 or more processes, got {ranks}")
    for name in ("num_attention_heads", "num_key_value_heads"):
        heads = getattr(config, name, None)
        if isinstance(heads, int) and heads % ranks:
            raise ValueError(f"{name} must be divisible by {ranks} processes, got {heads}")


def cache_name(module: nn.Module) -> str:
    """Tell what a module calls its cache: `past_key_values`, or `cache` on newer transformers."""
    return _cache_name(type(module))


@functools.cache
def _cache_name(module_class: type) -> str:
    names = inspect.signature(module_class.forward).parameters
    return "cache" if "cache" in names else "past_key_values"
