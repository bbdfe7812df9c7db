"""Prove the other side of a switch: a length from which a model turns all keys by other tables."""

from dataclasses import replace
from functools import cache

import torch
from torch import Tensor, nn

from agentprim.errors import UnsupportedModel
from agentprim.rope import discover, lengths
from agentprim.rope.budget import Budget
from agentprim.rope.discover import Hypothesis
from agentprim.rope.forward import Trace, prefill
from agentprim.rope.judge import choose, judge
from agentprim.rope.keep import undisturbed
from agentprim.rope.refuse import refusing
from agentprim.rope.spec import RopeProof
from agentprim.rope.walk import walk


def prove_far(
    model: nn.Module, ids: Tensor, base: Trace, near: RopeProof, guesses: list[Hypothesis],
    budget: Budget,
) -> RopeProof | None:  # fmt: skip
    """Prove how keys move that were computed by passes beyond the end of a claim.

    Such a pass must use tables that differ from those below and are the same wherever it ends, so
    dynamic NTK has no other side. The proof is that of `prove`, from position 0 on, with a second
    row in each pass whose last token stands on the first position that was not proved.

    Args:
        model: A causal language model of Hugging Face.
        ids: int64 `[1, num_ids]`.
        base: The ids at `0..`, below the switch.
        near: The claim that ends.
        guesses: Tables as they served `base`.
        budget: What rounding explains.

    Returns:
        What holds beyond, or None where the model has no such side.
    """
    num_ids, switch = ids.shape[1], near.max_position + 1
    config = discover.text_config(model)
    reach = lengths.reach(model, config, num_ids)

    @cache
    def read(delta: int, beside: int | None = switch) -> tuple[Trace, list[Hypothesis]]:
        with undisturbed(model), refusing(near.model_class, near.feature, "a longer pass fails"):
            trace = prefill(model, ids, delta, replay=base, beside=beside)
            return trace, discover.hypotheses(model)

    try:
        (start, tables), (_, farthest) = read(0), read(reach)
        if _same(tables, guesses) or not _same(tables, farthest):
            return None
        anchor = min(lengths.MIDDLE, reach)
        kinds = discover.layer_types(config, len(near.layers))
        # its own tables first; a model may compute one and go on with the other
        layers = choose(start, read(anchor)[0], anchor, [*tables, *guesses], kinds, budget)
        tried = walk(
            lengths.distances(config, num_ids, reach),
            num_ids,
            lambda delta: judge(start, read(delta)[0], delta, layers, budget),
        )
        proved = max((delta for delta, verdict in tried if verdict.fault is None), default=0)
        alone = judge(start, read(switch, None)[0], switch, layers, budget)
    except UnsupportedModel:
        return None
    alike = all(
        (one.rotary_dim, one.interleaved, one.in_values)
        == (two.rotary_dim, two.interleaved, two.in_values)
        for one, two in zip(layers, near.layers, strict=True)
    )
    if not alike or proved < switch or alone.fault is not None:
        return None
    return replace(
        near, layers=layers, max_delta=proved, max_position=proved + num_ids - 1,
        errors=tuple((delta, verdict.error) for delta, verdict in tried),
    )  # fmt: skip


def _same(some: list[Hypothesis], others: list[Hypothesis]) -> bool:
    """Tell whether two readings of a model found the same tables, to the bit."""
    tables = [[guess.rope.inv_freq for guess in guesses] for guesses in (some, others)]
    return len(some) == len(others) and all(map(torch.equal, *tables))
