"""Load a model and its tokenizer, by name or path, or the small one of the demo."""

import functools
import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

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
    ranks = _check_placed(device, **placed)
    path = str(folder()) if name_or_path == DEMO_MODEL else name_or_path
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    on_cpu = torch.device(device).type == "cpu"
    dtype = dtype or (torch.float32 if on_cpu else "auto")
    if isinstance(dtype, str) and dtype != "auto":
        dtype = getattr(torch, dtype, dtype)
    if dtype != "auto" and not isinstance(dtype, torch.dtype):
        raise ValueError(f"dtype must be a torch dtype or the name of one, got {dtype!r}")
    with _named(name_or_path):
        tokenizer = AutoTokenizer.from_pretrained(path)
        config = AutoConfig.from_pretrained(path)
    if ranks > 1:
        _check_heads(config.get_text_config(), ranks)
        placed = {"distributed_config": _tensor_parallel(placed["tp_plan"])}
    with _named(name_or_path):
        model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype, **placed)
    return (model if placed else model.to(device)).eval(), tokenizer


@contextmanager
def _named(name_or_path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(
            f"model must be a Hugging Face name or a folder with a causal language model, "
            f"got {name_or_path!r}: {reason}"
        ) from error


def _check_placed(device, device_map=None, tp_plan=None) -> int:
    """Check how a model is to be placed; return how many processes will hold it together.

    Raises:
        ValueError: It cannot be placed so.
    """
    if tp_plan is None:
        return 1
    if device_map is not None:
        raise ValueError("device_map must not be given with tp_plan, got both")
    if tp_plan != "auto" and not isinstance(tp_plan, dict):
        raise ValueError(f"tp_plan must be 'auto' or a plan of module names, got {tp_plan!r}")
    ranks = int(os.environ.get("WORLD_SIZE", 1))  # torchrun tells it in no other way this early
    if ranks < 2:
        raise ValueError(f"tp_plan must be given under torchrun with 2 or more ranks, got {ranks}")
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    if device is not None and torch.device(device).type != kind:
        raise ValueError(f"device must be {kind} with tp_plan on this machine, got {device}")
    return ranks


def _check_heads(config, ranks: int) -> None:
    """Check that each process gets as many heads as any other.

    Raises:
        ValueError: It would not.
    """
    for name in ("num_attention_heads", "num_key_value_heads"):
        heads = getattr(config, name, None)
        if isinstance(heads, int) and heads % ranks:
            raise ValueError(f"{name} must be divisible by {ranks} processes, got {heads}")


def _tensor_parallel(plan: str | dict):
    from transformers.distributed import DistributedConfig  # not in every build of torch

    return DistributedConfig(tp_plan=plan)


def cache_name(module: nn.Module) -> str:
    """Tell what a module calls its cache: `past_key_values`, or `cache` on newer transformers."""
    return _cache_name(type(module))


@functools.cache
def _cache_name(module_class: type) -> str:
    names = inspect.signature(module_class.forward).parameters
    return "cache" if "cache" in names else "past_key_values"
