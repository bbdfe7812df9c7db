"""Models beside the mapping: scaled RoPE of several kinds, ALiBi, and text in a model of images."""

from collections.abc import Callable
from functools import partial

import torch
from transformers import AutoModelForImageTextToText, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from tests.support import tiny

_TEXT = {
    **tiny.SIZES, **tiny.TOKENS,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]},
}  # fmt: skip
_EYES = {
    "qwen2_vl": {"depth": 1, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "mlp_ratio": 1},
    "qwen2_5_vl": {
        "depth": 1, "hidden_size": 32, "out_hidden_size": 64, "num_heads": 2,
        "intermediate_size": 32,
    },
}  # fmt: skip


def _multimodal(family: str) -> PreTrainedModel:
    text = {k: v for k, v in _TEXT.items() if k != "head_dim"}
    config = CONFIG_MAPPING[family](text_config=text, vision_config=_EYES[family])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AutoModelForImageTextToText.from_config(config, dtype=torch.float32).eval()
    tiny.randomise(model)
    return model


VARIANTS: dict[str, Callable[[], PreTrainedModel]] = {
    "llama, linear": partial(tiny.build, "llama_linear"),
    "llama, llama3": partial(tiny.build, "llama_llama3"),
    "llama, YaRN": partial(tiny.build, "llama_yarn"),
    "llama, dynamic NTK from 128": partial(tiny.build, "llama_dynamic"),
    "phi3, LongRoPE from 128": partial(tiny.build, "phi3_longrope"),
    "falcon, ALiBi": partial(tiny.build, "falcon_alibi"),
    "qwen2_vl, text (M-RoPE)": partial(_multimodal, "qwen2_vl"),
    "qwen2_5_vl, text (M-RoPE)": partial(_multimodal, "qwen2_5_vl"),
}
