"""Judge one move: do relocated keys equal those computed there, and is the rest untouched?"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from agentprim.rope.budget import Budget
from agentprim.rope.compare import move, pair_error, state_error
from agentprim.rope.discover import Hypothesis
from agentprim.rope.forward import Trace
from agentprim.rope.spec import LayerRope

_STILL = 1e-4  # what stays reads the same input at both places: the same bytes, or nearly


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
    return tuple(
        _best(base, moved, delta, guesses, index, layer_type, budget)
        for index, layer_type in enumerate(layer_types)
    )


def _best(
    base: Trace, moved: Trace, delta: int, guesses: Sequence[Hypothesis], index: int,
    layer_type: str, budget: Budget,
) -> LayerRope:  # fmt: skip
    ranked = []
    for order, (guess, in_values) in enumerate(product(guesses, (False, True))):
        rope = replace(guess.rope, in_values=True) if in_values else guess.rope
        turned, still = _pair_errors(base, moved, delta, index, rope)
        fits = turned <= budget.keys(delta, rope.inv_freq) and still <= _STILL
        foreign = not guess.owners & {"", layer_type}
        # beside a latent only where that explains all: else the keys are to blame
        ranked.append((not fits, fits and foreign, in_values, turned, order, rope))
    return min(ranked)[-1]


def _errors(
    base: Trace, moved: Trace, delta: int, layers: Sequence[LayerRope], budget: Budget
) -> Iterator[tuple[str, float, float]]:
    """Yield `(what, relative error, allowed)` from the first layer up.

    Every layer reads the same input at both places, so its values are the same numbers.
    """
    for index, rope in enumerate(layers):
        turned, still = _pair_errors(base, moved, delta, index, rope)
        yield f"{rope.order('keys', 'values')[1]} of layer {index} are", still, _STILL
        allowed = budget.keys(delta, rope.inv_freq)
        yield f"{rope.order('keys', 'values')[0]} of layer {index} are", turned, allowed
    for index, (there, here) in enumerate(zip(moved.states, base.states, strict=True)):
        yield f"attention of layer {index} is", state_error(there, here), budget.state(index, delta)


def _pair_errors(
    base: Trace, moved: Trace, delta: int, index: int, rope: LayerRope
) -> tuple[float, float]:
    """Return how far off a layer is in what turns, and in what should stay."""
    (here, latent), (there, latent_there) = base.pair(index, rope), moved.pair(index, rope)
    if rope.rotary_dim > here.shape[-1]:
        return math.inf, math.inf
    still = pair_error(latent_there, latent, LayerRope.none())
    return pair_error(move(here, rope, delta), there, rope), still
