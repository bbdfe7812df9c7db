"""Load a model and its tokenizer, by name or path, or the small one of the demo."""

import functools
import inspect

import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

DEMO_MODEL = "smollm2"


def from_pretrained(name_or_path: str, *, dtype=None, device=None, **placed):
    """Load a causal language model in eval mode and its tokenizer.

    Args:
        name_or_path, dtype, device: As in `Engine.from_pretrained`.
        placed: `device_map` or `tp_plan`; transformers then places the parts of the model.

    Returns:
        The model and the tokenizer.

    Raises:
        ValueError: There is no such model, or no such dtype.
    """
    from agentprim.engine.smollm import folder

    placed = {name: value for name, value in placed.items() if value is not None}
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
    return (model if placed else model.to(device)).eval(), tokenizer


def cache_name(module: nn.Module) -> str:
    """Tell what a module calls its cache: `past_key_values`, or `cache` on newer transformers."""
    return _cache_name(type(module))


@functools.cache
def _cache_name(module_class: type) -> str:
    names = inspect.signature(module_class.forward).parameters
    return "cache" if "cache" in names else "past_key_values"
