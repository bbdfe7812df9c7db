"""Build tiny random models of many families, every parameter randomised.

Default weights hide faults: norm weights of 1 commute with a rotation, and at a standard deviation
of 0.02 a missing rotation moves logits by 0.003. Here matrices have 0.2, norms 0.5 to 1.5.
"""

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from tests.support.families import FAMILIES, UNSET

SIZES = {
    "vocab_size": 97,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 2048,
}
TOKENS = {"pad_token_id": None, "bos_token_id": None, "eos_token_id": None}


def build(
    family: str, *, seed: int = 0, dtype: torch.dtype = torch.float32, **config_overrides: object
) -> PreTrainedModel:
    """Build a tiny causal language model, the same for the same seed, in eval mode on the CPU.

    Args:
        family: A key of `tests.support.families.FAMILIES`.
        seed: Decides every weight. The global random state is left as it was.
        dtype: Of all parameters; tables of frequencies stay fp32, as Hugging Face loads them.
        config_overrides: Go to the configuration, over the sizes and the family's own settings.
    """
    settings = {**SIZES, **TOKENS, **FAMILIES[family], **config_overrides}
    settings = {name: value for name, value in settings.items() if value is not UNSET}
    config = AutoConfig.for_model(settings.pop("model_type", family), **settings)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    randomise(model, seed=seed)
    return model


def randomise(model: nn.Module, *, seed: int = 0) -> None:
    """Draw every parameter of a model anew, the same for the same seed. Modifies the model."""
    generator = torch.Generator().manual_seed(seed)
    seen = set()
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                if id(parameter) not in seen:  # tied weights are drawn once
                    seen.add(id(parameter))
                    parameter.copy_(_draw(module, name, parameter, generator))


def _draw(
    module: nn.Module, name: str, parameter: nn.Parameter, generator: torch.Generator
) -> torch.Tensor:
    shape = parameter.shape
    if "Norm" in type(module).__name__ and name == "weight":
        # a norm that multiplies by (1 + weight) starts at zeros
        offset = 0.5 if bool((parameter == 1).all()) else -0.5
        return offset + torch.rand(shape, generator=generator)
    if "sink" in name:
        return torch.randn(shape, generator=generator)
    return 0.2 * torch.randn(shape, generator=generator)
