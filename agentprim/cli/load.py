"""Load a model with a word about what is going on."""

import time
from collections.abc import Callable

from agentprim.cli.quiet import quiet
from agentprim.engine import Engine, smollm
from agentprim.engine.load import DEMO_MODEL


def load(
    model: str, report: Callable[[str], None], pool_tokens: int | None = None
) -> tuple[Engine, float]:
    """Load a model; convert the demo's first where that was never done.

    Returns:
        The engine, and the seconds it took.

    Raises:
        ValueError: There is no such model.
    """
    begun = time.perf_counter()
    first = model == DEMO_MODEL and not smollm.converted()
    report("converts the model (once, about a minute)" if first else f"loads {model}")
    with quiet():
        engine = Engine.from_pretrained(model, pool_tokens=pool_tokens)
    return engine, time.perf_counter() - begun
