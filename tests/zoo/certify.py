"""Hold one family to both oracles: keys one by one, and a query on a joined cache."""

import copy

import torch
import transformers
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, PreTrainedModel
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
)

from agentprim.cache.attach import attach
from agentprim.cache.hf import PagedCache
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.cache.layout import Layout
from agentprim.errors import UnsupportedModel
from agentprim.rope import RopeProof
from agentprim.rope.discover import text_config
from agentprim.rope.lengths import thresholds
from tests.support.keys import compute, relocate, some_ids
from tests.support.tiny import randomise
from tests.zoo.blocked import blocked_logits
from tests.zoo.finding import CERTIFIED, FAULT, NOT_BUILT, REFUSED, Finding
from tests.zoo.shrink import tiny_config
from tests.zoo.variants import VARIANTS

TOLERANCE = 1e-4
B = [5, 9, 2, 33, 41, 7, 8]
A = [10, 11, 60, 13, 80, 15, 16, 4, 18, 19, 20]
Q = [21, 22, 3, 24, 25]


def build(family: str) -> PreTrainedModel:
    """Build the tiny model of a family or variant, every parameter drawn anew."""
    if family in VARIANTS:
        return VARIANTS[family]()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = tiny_config(family)
        if type(config) in MODEL_FOR_CAUSAL_LM_MAPPING:
            make = AutoModelForCausalLM.from_config
        else:  # the mapping names a part of a larger model
            make = getattr(transformers, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[family])._from_config
        model = make(config, dtype=torch.float32).eval()
    randomise(model)
    return model


def certify(family: str) -> Finding:
    """Build a family's tiny model, prove it, and check what the package claims of it."""
    try:
        model = build(family)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        return Finding(family=family, outcome=NOT_BUILT, reason=f"{type(error).__name__}: {reason}")
    name, twin = type(model).__name__, copy.deepcopy(model)
    try:
        layout = attach(model).layout
        if layout.rope is None:
            found = {"outcome": REFUSED, "reason": str(layout.refusal)}
        else:
            found = _check(model, twin, layout)
        found["path"] = "spans" if layout.spans else "dense"
    except UnsupportedModel as refusal:
        found = {"outcome": REFUSED, "reason": str(refusal)}
    except Exception as error:
        found = {"outcome": FAULT, "reason": f"{type(error).__name__}: {error}"}
    return Finding(family=family, model_class=name, layers=_kinds(model), **found)


def _check(model: nn.Module, twin: nn.Module, layout: Layout) -> dict[str, object]:
    """Check a claim; report what it is worth."""
    proof = layout.rope
    faults = [key_fault(twin, proof, delta) for delta in _deltas(twin, proof)]
    if proof.far is not None:
        faults += [
            key_fault(twin, proof.far, delta, start=proof.switch - 5)
            for delta in _deltas(twin, proof.far)
            if proof.switch + delta <= proof.far.max_delta
        ]
    try:
        proof.require(proof.max_delta + 1)
        faults.append("a move beyond the proof is not refused")
    except UnsupportedModel:
        pass
    parts = [(B, A)]
    if proof.chunk_size is not None:  # and once by a whole chunk
        parts.append((some_ids(proof.chunk_size)[0].tolist(), A))
    if proof.switch is not None:  # and once with passes that reach it
        parts.append(tuple(some_ids(proof.switch + count)[0].tolist() for count in (1, 9)))
    error = max(join_error(model, twin, *pair) for pair in parts)
    if not error <= TOLERANCE:
        faults.append(f"a query on a joined cache is off by {error:.1e}")
    worst = next((fault for fault in faults if fault), "")
    return {
        "outcome": FAULT if worst else CERTIFIED, "reason": worst, "error": error,
        "max_delta": proof.max_delta, "turns": _turns(proof),
    }  # fmt: skip


def _deltas(model: nn.Module, proof: RopeProof, num_ids: int = 11) -> list[int]:
    """Choose distances on both sides of every length, as far as something was claimed."""
    lengths = thresholds(text_config(model))
    wanted = {7, 37, *lengths, *(length - num_ids - 1 for length in lengths)}
    most = min(proof.max_delta, proof.max_position - num_ids + 1)
    return sorted(delta for delta in wanted if 0 < delta <= most)


def key_fault(model: nn.Module, proof: RopeProof, delta: int, start: int = 0) -> str | None:
    """Compare keys computed `delta` further with those of `start..` relocated; say what differs."""
    ids = some_ids(11)
    here, there = compute(model, ids, start), compute(model, ids, start + delta)
    for layer, rope in enumerate(proof.layers):
        turned, still = (1, 0) if rope.in_values else (0, 1)
        fastest = float(rope.inv_freq.abs().max()) if rope.rotary_dim else 0.0
        angles = (
            2 * (start + delta + ids.shape[1]) * fastest * 2.0**-24
        )  # as Hugging Face rounds them
        moved = relocate(here[turned][layer], rope, delta)
        # above the first layer, inputs carry the rounding of every angle below
        error = _relative(moved, there[turned][layer])
        if not error <= max(TOLERANCE, angles if layer == 0 else 8 * angles):
            return f"keys of layer {layer} moved by {delta} are off by {error:.1e}"
        error = _relative(here[still][layer], there[still][layer])
        if not error <= max(TOLERANCE, 8 * angles):
            return f"values of layer {layer} moved by {delta} are off by {error:.1e}"
    return None


def join_error(model: nn.Module, twin: nn.Module, first: list[int], second: list[int]) -> float:
    """Return how far logits on a joined cache are off: read lazily, turned in place, copied."""
    expected = blocked_logits(twin, [first, second], Q)
    pool = attach(model).new_pool(1024, page_size=4)
    for group in pool.groups:
        group.k_cache.fill_(float("nan"))
        group.v_cache.fill_(float("nan"))
    parts = [_read(model, ids, KV(pool))[0] for ids in (first, second)]
    joined = join(parts)
    own = parts[1].materialize()
    turned = own.moved(len(first))
    own.release()
    turned.rotate_()
    ways = [joined, join([parts[0], turned]), joined.materialize()]
    return max(_relative(_read(model, Q, kv)[1], expected) for kv in ways)


def _read(model: nn.Module, ids: list[int], kv: KV) -> tuple[KV, Tensor]:
    cache = PagedCache(model, kv=kv, absolute=True)
    start = kv.next_position
    with torch.no_grad():
        output = model(
            input_ids=torch.tensor([ids]),
            attention_mask=torch.ones(1, len(kv) + len(ids), dtype=torch.long),
            position_ids=torch.arange(start, start + len(ids))[None],
            past_key_values=cache,
        )
    return cache.kv(), output.logits[0]


def _relative(actual: Tensor, expected: Tensor) -> float:
    return float((actual - expected).abs().max() / expected.abs().max().clamp_min(1e-30))


def _kinds(model: nn.Module) -> str:
    kinds = getattr(text_config(model), "layer_types", None) or ()
    return ", ".join(sorted({str(kind).removesuffix("_attention") for kind in kinds}))


def _turns(proof: RopeProof) -> str:
    """Say which dims of which layers turn: `16 of 16, halves`."""
    forms = []
    for rope, (_, k_dim, v_dim) in zip(proof.layers, proof.shapes, strict=True):
        if rope.rotary_dim:
            form = f"{rope.rotary_dim} of {v_dim if rope.in_values else k_dim}"
            form += ", pairs" if rope.interleaved else ", halves"
            form += ", backwards" if bool((rope.inv_freq < 0).any()) else ""
            form += ", beside a latent" if rope.in_values else ""
        else:
            form = "none"
        if form not in forms:
            forms.append(form)
    if proof.far is not None:
        forms.append(f"by other tables from {proof.switch} on, up to {proof.far.max_delta}")
    return "; ".join(forms)
