"""Judge one move: do relocated keys equal those computed there, and is the rest untouched?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from agentprim.rope.budget import Budget
from agentprim.rope.compare import move, pair_error, state_error
from agentprim.rope.discover import Hypothesis
from agentprim.rope.forward import Trace
from agentprim.rope.spec import LayerRope


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How far off the worst layer was, and the first fault in words, None if there is none."""

    error: float
    fault: str | None


def judge(
    base: Trace, moved: Trace, delta: int, layers: Sequence[LayerRope], budget: Budget
) -> Verdict:
    """Compare keys, values and output of two places under one reading of every layer.

    Args:
        base: The ids at `0..`.
        moved: The same ids at `delta..`.
        delta: Distance between them.
        layers: How each layer turns its keys.
        budget: What rounding explains.
    """
    faults, worst = [], 0.0
    for what, error, allowed in _errors(base, moved, delta, layers, budget):
        worst = max(worst, error)
        if not error <= allowed:  # NaN is a fault
            faults.append(f"{what} off by {error:.1e} when the same text moves by {delta}")
    return Verdict(error=worst, fault=faults[0] if faults else None)


def choose(
    base: Trace, moved: Trace, delta: int, guesses: Sequence[Hypothesis],
    layer_types: Sequence[str], budget: Budget,
) -> tuple[LayerRope, ...]:  # fmt: skip
    """Pick for each layer the reading that explains its keys best.

    Among readings that all fit, a table of the layer's own type comes first.
    """
    chosen = []
    for index, layer_type in enumerate(layer_types):
        here, there = base.keys[index], moved.keys[index]
        ranked = []
        for order, guess in enumerate(guesses):
            if guess.rope.rotary_dim <= here.shape[-1]:
                error = _key_error(here, there, delta, guess.rope)
                fits = error <= budget.keys(delta, guess.rope.inv_freq)
                foreign = not guess.owners & {"", layer_type}
                ranked.append((not fits, fits and foreign, error, order, guess.rope))
        chosen.append(min(ranked)[-1])
    return tuple(chosen)


def _errors(
    base: Trace, moved: Trace, delta: int, layers: Sequence[LayerRope], budget: Budget
) -> Iterator[tuple[str, float, float]]:
    """Yield `(what, relative error, allowed)` from the first layer up.

    Every layer reads the same input at both places, so its values are the same numbers.
    """
    for index, rope in enumerate(layers):
        values = pair_error(moved.values[index], base.values[index], LayerRope.none())
        yield f"values of layer {index} are", values, 1e-4
        keys = _key_error(base.keys[index], moved.keys[index], delta, rope)
        yield f"keys of layer {index} are", keys, budget.keys(delta, rope.inv_freq)
    for index, (there, here) in enumerate(zip(moved.states, base.states, strict=True)):
        yield f"attention of layer {index} is", state_error(there, here), budget.state(index, delta)


def _key_error(here: Tensor, there: Tensor, delta: int, rope: LayerRope) -> float:
    return pair_error(move(here, rope, delta), there, rope)
