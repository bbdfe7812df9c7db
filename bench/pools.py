"""What the benchmarks of the ops have in common."""

from agentprim_kernels.bench.cases import COMPILED, EAGER
from agentprim_kernels.bench.data import make

LAYERS = 36  # of an 8B model: 288 MiB of keys at 4,096 tokens in bfloat16
PROVIDERS = ("cpp", EAGER, COMPILED)  # the reference is no rival, and slow


def pool(tokens: int, layers: int = 8):
    """Return caches and tables of one span."""
    return make(tokens, 1, layers)
