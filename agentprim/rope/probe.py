"""Prove on the model at hand how its keys move: the same ids at two places, compared."""

from dataclasses import replace
from functools import cache

from torch import Tensor, nn

from agentprim.rope import discover, lengths
from agentprim.rope.budget import SHAKE, measure
from agentprim.rope.far import prove_far
from agentprim.rope.forward import Trace, prefill, probe_ids
from agentprim.rope.judge import choose, judge
from agentprim.rope.keep import shake, undisturbed
from agentprim.rope.refuse import (
    refuse_absolute,
    refuse_by_cache,
    refuse_by_config,
    refuse_unexplained,
    refusing,
)  # fmt: skip
from agentprim.rope.spec import RopeProof
from agentprim.rope.walk import walk


def prove(model: nn.Module, *, ids: Tensor | None = None) -> RopeProof:
    """Prove how a model's keys may be moved, and how far.

    Prefills the same ids at positions `0..` and at `d..`. At every layer the first keys relocated
    by d must equal the second; values and logits must agree. Probed at d = 1, 50 and on both sides
    of every length in the configuration; the claim ends with the last of an unbroken run. Where
    other tables begin there, as with LongRoPE, passes beyond are proved as well. Takes about ten
    forward passes over eight ids, twice that with a second side. The model is left as it was.

    Args:
        model: A causal language model of Hugging Face, on any device, in any dtype.
        ids: int64 `[1, num_ids]`; None takes eight from the middle of the vocabulary.

    Raises:
        UnsupportedModel: The model does to its keys what no move can follow.
        ValueError: `ids` is not one row of at least two ids.
    """
    if ids is None:
        ids = probe_ids(model)
    elif ids.ndim != 2 or ids.shape[0] != 1 or ids.shape[1] < 2:
        raise ValueError(f"ids must have shape (1, 2 or more), got {tuple(ids.shape)}")
    refuse_by_config(model)
    with undisturbed(model):
        return _prove(model, ids, ids.shape[1])


def _prove(model: nn.Module, ids: Tensor, num_ids: int) -> RopeProof:
    config, name = discover.text_config(model), type(model).__name__
    feature = discover.feature(config)
    with refusing(name, "a forward pass of its own kind", "a plain prefill fails"):
        base = prefill(model, ids, 0)
    refuse_by_cache(model, base, num_ids)
    guesses = discover.hypotheses(model)  # the tables as they served the keys at 0..

    @cache
    def moved(delta: int) -> Trace:
        with undisturbed(model):  # a table that grew must not serve the next, shorter probe
            return prefill(model, ids, delta, replay=base)

    refuse_absolute(name, base, moved(lengths.NEAR))
    budget = measure(base, _shaken(model, ids, base))
    reach = lengths.reach(model, config, num_ids)
    kinds = discover.layer_types(config, len(base.keys))
    for anchor in (min(lengths.MIDDLE, reach), lengths.NEAR):
        layers = choose(base, moved(anchor), anchor, guesses, kinds, budget)
        verdict = judge(base, moved(anchor), anchor, layers, budget)
        if verdict.fault is None:
            break
    refuse_unexplained(model, feature, layers, verdict)

    tried = walk(
        lengths.distances(config, num_ids, reach),
        num_ids,
        lambda delta: judge(base, moved(delta), delta, layers, budget),
    )
    proved = max((delta for delta, verdict in tried if verdict.fault is None), default=0)
    early = lengths.thresholds(config)[:1] or [reach]
    if proved < min(lengths.MIDDLE, early[0] - num_ids - 1, reach) or proved < lengths.NEAR:
        refuse_unexplained(model, feature, layers, tried[-1][1])
    proof = RopeProof(
        layers=layers,
        shapes=tuple(
            (keys.shape[1], keys.shape[3], values.shape[3])
            for keys, values in zip(base.keys, base.values, strict=True)
        ),
        max_delta=proved,
        max_position=proved + num_ids - 1,
        chunk_size=lengths.chunk_size(config),
        errors=tuple((delta, verdict.error) for delta, verdict in tried),
        feature=feature,
        model_class=name,
    )
    if tried[-1][1].fault is None:
        return proof
    far = prove_far(model, ids, base, proof, guesses, budget)
    return proof if far is None else replace(proof, switch=proof.max_position + 1, far=far)


def _shaken(model: nn.Module, ids: Tensor, base: Trace) -> Trace:
    """Prefill in place with tables, where a model keeps them, that are a little off."""
    with undisturbed(model):
        shake(model, SHAKE)
        return prefill(model, ids, 0, replay=base)
