"""Load a model and its tokenizer, by name or path, or the small one of the demo."""

import functools
import inspect

import torch
from torch import nn
from torch.distributed import get_world_size, is_torchelastic_launched
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.distributed import DistributedConfig

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
    if len(placed) > 1:
        raise ValueError("device_map must not be given with tp_plan, got both")
    if "tp_plan" in placed:
        placed = {"distributed_config": _cut_up(placed["tp_plan"])}
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
        model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype, **placed)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(
            f"model must be a Hugging Face name or a folder with a causal language model, "
            f"got {name_or_path!r}: {reason}"
        ) from error
    if "distributed_config" in placed:
        _check_heads(model)
    return (model if placed else model.to(device)).eval(), tokenizer


def _cut_up(plan: str | dict) -> DistributedConfig:
    """Say how tensor parallelism cuts a model up.

    Raises:
        ValueError: This process was not started by torchrun.
    """
    if not is_torchelastic_launched():
        raise ValueError(f"tp_plan must be given under torchrun, got {plan!r} without it")
    return DistributedConfig(tp_plan=plan)


def _check_heads(model: nn.Module) -> None:
    """Check that each process holds as many heads as any other.

    Raises:
        ValueError: It does not.
    """
    config, ranks = model.config.get_text_config(), get_world_size()
    for name in ("num_attention_heads", "num_key_value_heads"):
        heads = getattr(config, name, None)
        if heads is not None and heads % ranks:
            raise ValueError(f"{name} must be divisible by {ranks} processes, got {heads}")


def cache_name(module: nn.Module) -> str:
    """Tell what a module calls its cache: `past_key_values`, or `cache` on newer transformers."""
    return _cache_name(type(module))


@functools.cache
def _cache_name(module_class: type) -> str:
    names = inspect.signature(module_class.forward).parameters
    return "cache" if "cache" in names else "past_key_values"
