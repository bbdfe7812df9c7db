"""Latent steps: each feeds the last state back as an embedding, as the plain model would."""

import numpy as np
import pytest
import torch

from agentprim import Engine, VerificationFailed
from agentprim.engine.latent import Realigner
from tests.engine.making import A, B, Q, engine, plain_logits, plain_states, twin
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer

FAMILIES = ["llama", "gemma2", "gemma3", "cohere", "gptj"]


def _embedding(model, hidden, method):
    """Find the next embedding in numpy, fp64."""
    inputs = model.get_input_embeddings()
    with torch.no_grad():
        table = inputs(torch.arange(len(inputs.weight))).double().numpy()
        logits = model.lm_head(hidden).double().numpy() * getattr(model.config, "logit_scale", 1)
    cap = getattr(model.config, "final_logit_softcapping", None)
    if method == "softmax":
        logits = cap * np.tanh(logits / cap) if cap else logits
        weights = np.exp((logits - logits.max()) / 0.5)
        return torch.tensor(weights / weights.sum() @ table).float()
    out, h = model.lm_head.weight.detach().double().numpy(), hidden.double().numpy()
    # ridge regression, by least squares on stacked rows instead of the normal equations
    stacked = np.vstack([out, np.sqrt(1e-5) * np.eye(len(h))])
    target = np.vstack([table, np.zeros((len(h), len(h)))])
    found = h @ np.linalg.lstsq(stacked, target, rcond=None)[0]
    norm = np.linalg.norm(table, axis=1).mean()
    return torch.tensor(found / np.linalg.norm(found) * norm).float()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", ["softmax", "realign"])
def test_steps_equal_feeding_the_same_embeddings_to_the_plain_model(family, method):
    one = Engine(build(family), pool_tokens=256, latent=method)
    model, steps = twin(family), 3
    kv = one.latent(one.prefill(A), steps)
    embeddings: list[torch.Tensor] = []
    for _ in range(steps):
        states = plain_states(model, A, embeddings)
        embeddings.append(_embedding(model, states[-1], method))
    states = plain_states(model, A, embeddings)
    assert len(kv) == len(A) + steps and kv.ids == [*A, -1, -1, -1]
    scale = states[-1].abs().max()
    torch.testing.assert_close(kv.hidden / scale, states[-1] / scale, atol=1e-3, rtol=0)


@pytest.mark.parametrize("family", ["llama", "falcon"])  # falcon reads dense tensors
def test_a_batch_thinks_like_its_rows_alone(family):
    one = engine(family)
    kvs = [one.prefill(ids) for ids in (A, B, Q)]
    for row, kv in zip(one.latent(kvs, 4), kvs, strict=True):
        alone = one.latent(kv, 4)
        torch.testing.assert_close(row.hidden, alone.hidden, atol=1e-3, rtol=1e-3)
        torch.testing.assert_close(one.forward(Q, row), one.forward(Q, alone), atol=1e-2, rtol=0)


@pytest.mark.parametrize("tied", [True, False])
def test_the_default_is_the_expected_embedding_where_embeddings_are_tied(tied):
    model = build("qwen3", tie_word_embeddings=tied)
    assert Realigner(model).method == ("softmax" if tied else "realign")


@pytest.mark.parametrize("family", ["qwen3", "gemma2", "cohere", "granite"])
def test_logits_come_from_a_state_as_from_the_model(family):
    if family == "granite":
        one = Engine(build("llama", model_type="granite", logits_scaling=4.0), pool_tokens=64)
        model = build("llama", model_type="granite", logits_scaling=4.0)
    else:
        one, model = engine(family), twin(family)
    found = one.logits(one.prefill(A).hidden)
    torch.testing.assert_close(found, plain_logits(model, A)[-1], atol=1e-4, rtol=1e-4)


def test_an_empty_row_of_padding_does_not_hide_the_embedding_scale():
    model = build("gemma3")
    with torch.no_grad():
        model.get_input_embeddings().weight[0] = 0
    assert Realigner(model, "realign")._scale == pytest.approx(8.0)


def test_no_steps_give_a_fork():
    one = engine()
    kv = one.prefill(A)
    same = one.latent(kv, 0)
    assert same is not kv and same.spans == kv.spans and torch.equal(same.hidden, kv.hidden)


def test_a_cut_cache_thinks_on_from_its_own_last_token():
    one = engine()
    cut, whole = one.prefill(A + B)[: len(A)], one.prefill(A)
    assert cut.hidden is None
    found, expected = one.latent(cut, 2), one.latent(whole, 2)
    torch.testing.assert_close(found.hidden, expected.hidden, atol=1e-3, rtol=1e-3)
    assert len(found) == len(A) + 2


def test_each_row_settles_by_itself():
    one = engine()
    kvs = [one.prefill(ids) for ids in (A, B, Q)]
    trail = [[one.latent(kv, steps).hidden for steps in range(6)] for kv in kvs]
    near = [
        [float(torch.cosine_similarity(a, b, dim=0)) for a, b in zip(row, row[1:], strict=False)]
        for row in trail
    ]
    settle = sorted(max(row) for row in near)[0] - 1e-4  # every row comes that near
    expected = [next(i for i, c in enumerate(row) if c >= settle) + 1 for row in near]
    assert len(set(expected)) > 1, "the rows must differ for this to show anything"
    found = one.latent(kvs, 5, settle=settle)
    assert [len(new) - len(old) for new, old in zip(found, kvs, strict=True)] == expected
    for kv, row, steps in zip(found, trail, expected, strict=True):
        torch.testing.assert_close(kv.hidden, row[steps], atol=1e-3, rtol=1e-3)


def test_a_push_parts_equal_starts_and_repeats_with_its_seed():
    one = engine()
    kv = one.prefill(A)
    a, b, c = (x.hidden for x in one.latent([kv, kv, kv], 2, spread=0.3, seed=1))
    assert not torch.allclose(a, b, atol=0.05) and not torch.allclose(b, c, atol=0.05)
    again = one.latent(kv, 2, spread=0.3, seed=2).hidden
    torch.testing.assert_close(again, b, atol=1e-3, rtol=1e-3)
    still = [x.hidden for x in one.latent([kv, kv], 2)]
    torch.testing.assert_close(still[0], still[1], atol=1e-4, rtol=0)


def test_a_push_has_the_size_that_was_asked_for():
    one = engine()
    kv, seen = one.prefill(A), []
    handle = one.model.base_model.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(kwargs["inputs_embeds"][:, 0]), with_kwargs=True
    )
    try:
        one.latent(kv, 1)
        one.latent(kv, 1, spread=0.25, seed=0)
    finally:
        handle.remove()
    plain, pushed = seen
    assert float((pushed - plain).norm() / plain.norm()) == pytest.approx(0.25, rel=1e-3)


def test_a_state_that_is_not_finite_is_an_error_and_frees_its_pages():
    one = Engine(build("qwen3"), pool_tokens=256)
    kv = one.prefill(A)
    free = one.pool.num_free
    kv.hidden.fill_(torch.nan)
    with pytest.raises(VerificationFailed, match="finite"):
        one.latent(kv, 3)
    assert one.pool.num_free == free


def test_a_row_that_settled_takes_no_more_steps_while_others_do():
    one = engine()
    kvs, calls = [one.prefill(A), one.prefill(B)], []

    def repeat_the_first(module, args, output):
        calls.append(1)
        output[0][0] = 1.0
        output[0][1] = 1.0 if len(calls) % 2 else -1.0

    handle = one.model.base_model.register_forward_hook(repeat_the_first)
    try:
        found = one.latent(kvs, 5, settle=0.99)
    finally:
        handle.remove()
    assert [len(new) - len(old) for new, old in zip(found, kvs, strict=True)] == [2, 5]


def test_a_row_that_settled_is_not_blamed_for_what_comes_after_it():
    one = engine()
    kvs = [one.prefill(ids) for ids in (A, B)]
    first = one.latent(kvs, 1)
    near = [
        float(torch.cosine_similarity(kv.hidden, new.hidden, dim=0))
        for kv, new in zip(kvs, first, strict=True)
    ]
    done, calls = near.index(max(near)), []

    def spoil(module, args, output):
        calls.append(1)
        if len(calls) > 1:
            output[0][done] = torch.nan

    handle = one.model.base_model.register_forward_hook(spoil)
    try:
        found = one.latent(kvs, 2, settle=sum(near) / 2)
    finally:
        handle.remove()
    assert len(calls) == 2
    torch.testing.assert_close(found[done].hidden, first[done].hidden)
    assert len(found[done]) == len(kvs[done]) + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": -1}, "steps must be at least 0, got -1"),
        ({"settle": 2.0}, "settle must be between -1 and 1, got 2.0"),
        ({"spread": -0.1}, "spread must be at least 0, got -0.1"),
        ({"seed": [1, 2]}, "seed must have 1 entries"),
    ],
)
def test_options_out_of_range_are_named(options, message):
    one = engine()
    with pytest.raises(ValueError, match=message):
        one.latent(one.prefill(A), **{"steps": 1, **options})


def test_a_model_without_output_embeddings_is_refused():
    model = build("qwen3")
    model.get_output_embeddings = lambda: None
    one = Engine(model, tiny_tokenizer(), pool_tokens=64)
    with pytest.raises(ValueError, match="model must have output embeddings, got none in Qwen3"):
        one.latent(one.prefill(A), 1)


def test_temperature_sharpens_the_expected_embedding():
    model = build("llama", tie_word_embeddings=True)
    hidden = torch.randn(2, 64, generator=torch.Generator().manual_seed(3))
    sharp = Realigner(model, "softmax", 1e-4)(hidden)
    best = model.get_output_embeddings()(hidden).argmax(-1)
    assert (sharp - model.get_input_embeddings()(best)).abs().max() < 1e-5
    assert Realigner(model).temperature == 0.5
    with pytest.raises(ValueError, match="latent_temperature must be positive, got 0"):
        Engine(model, latent_temperature=0)
