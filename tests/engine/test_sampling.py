"""Sampling: greedy by default whatever the model prefers, repeatable, row by row."""

import threading

import pytest
import torch

from agentprim import Engine
from agentprim.engine.sampling import Sampling
from tests.engine.making import END, A, B, Q, engine, twin
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer

HOT = {"max_new_tokens": 6, "temperature": 2.0}


def test_a_models_own_habits_change_nothing():
    model = build("qwen3")
    habits = model.generation_config
    habits.do_sample, habits.temperature, habits.top_k, habits.top_p = True, 3.0, 2, 0.5
    habits.repetition_penalty, habits.no_repeat_ngram_size = 3.0, 1
    habits.num_beams, habits.min_p, habits.suppress_tokens = 3, 0.9, list(range(3, 60))
    one = Engine(model, tiny_tokenizer(), pool_tokens=2048)
    assert one.generate([A, B], max_new_tokens=8) == engine().generate([A, B], max_new_tokens=8)
    for seed in range(3):
        assert one.generate(A, seed=seed, **HOT) == engine().generate(A, seed=seed, **HOT)
    assert one.model.generation_config is habits and habits.num_beams == 3


def test_a_seed_repeats_and_each_row_has_its_own():
    one = engine()
    first = one.generate([A, A, B], seed=5, **HOT)
    torch.manual_seed(1)
    assert one.generate([A, A, B], seed=5, **HOT) == first
    assert first[0] != first[1]
    assert one.generate(A, seed=6, **HOT) == first[1]
    assert one.generate([B, A], seed=[7, 5], **HOT) == [first[2], first[0]]
    assert one.generate([A, A, B], seed=50, **HOT) != first


def test_a_seed_leaves_the_global_state_alone():
    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    engine().generate(A, seed=5, **HOT)
    assert torch.equal(torch.rand(3), expected)


def test_without_a_seed_the_global_state_decides():
    one = engine()
    torch.manual_seed(3)
    first = one.generate(A, **HOT)
    assert one.generate(A, **HOT) != first
    torch.manual_seed(3)
    assert one.generate(A, **HOT) == first


@pytest.mark.parametrize(
    "options", [{}, {"top_k": 3}, {"top_p": 0.6}, {"min_p": 0.2}, {"temperature": 0.5}]
)
def test_draws_follow_the_distribution(options):
    options = {"temperature": 1.5, **options}
    count = 600
    outs = engine().generate([A] * count, max_new_tokens=1, seed=0, **options)
    drawn = torch.tensor([out.ids[0] for out in outs]).bincount(minlength=97) / count
    with torch.no_grad():
        logits = twin()(torch.tensor([A])).logits[0, -1]
    share = torch.softmax(logits / options["temperature"], -1)
    kept = torch.ones_like(share, dtype=torch.bool)
    order = share.argsort(descending=True)
    if "top_k" in options:
        kept[order[options["top_k"] :]] = False
    if "top_p" in options:
        before = share[order].cumsum(0) - share[order]
        kept[order[before >= options["top_p"]]] = False
    if "min_p" in options:
        kept = share >= options["min_p"] * share.max()
    share = torch.where(kept, share, 0)
    share /= share.sum()
    assert not drawn[~kept].any()
    assert (drawn - share).abs().sum() / 2 < 0.12  # a wrong temperature gives 0.3


def test_a_penalty_counts_what_a_row_has_read_and_said():
    one, habit = engine(), {"repetition_penalty": 9.0}
    thought, count = one.latent(one.prefill(B), 3), {"max_new_tokens": 20}
    singles = [one.generate(ids, **count, **habit) for ids in (A, Q)]
    singles.append(one.generate(Q, thought, **count, **habit))
    rows = one.generate([A, Q, Q], [thought[:0], thought[:0], thought], **count, **habit)
    assert [out.ids for out in rows] == [out.ids for out in singles]
    plain = twin().generate(
        torch.tensor([A]), do_sample=False, pad_token_id=0, eos_token_id=END, **count, **habit
    )
    assert list(singles[0].ids) == plain[0, len(A) :].tolist()
    assert singles[0].ids != one.generate(A, **count).ids


@pytest.mark.parametrize("liked", ["pad", "last"])
def test_a_penalty_does_not_punish_what_stands_for_no_token(liked):
    one = engine()
    best = one.pad_id if liked == "pad" else one.vocab_size - 1
    assert best not in A + Q
    thought = one.latent(one.prefill(A), 2)

    def like(module, args, output):
        output.logits[..., best] = output.logits.amax(-1) + 0.01

    handle = one.model.register_forward_hook(like)
    try:
        rows = one.generate([A, Q], [thought, thought[:0]], max_new_tokens=1,
                            repetition_penalty=9.0)  # fmt: skip
    finally:
        handle.remove()
    assert [out.ids[0] for out in rows] == [best, best]


def test_threads_do_not_disturb_each_others_draws():
    one = engine()
    expected = [one.generate(ids, seed=4, **HOT) for ids in (A, B, Q)]
    found = {}

    def run(number, ids):
        found[number] = [one.generate(ids, seed=4, **HOT) for _ in range(4)]

    threads = [threading.Thread(target=run, args=(i, x)) for i, x in enumerate((A, B, Q))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [out] * 4 for number, out in enumerate(expected)}


@pytest.mark.parametrize(
    ("option", "value", "must"),
    [
        ("max_new_tokens", 0, "at least 1"),
        ("temperature", -1.0, "at least 0"),
        ("top_p", 0.0, "above 0 and at most 1"),
        ("top_k", -1, "at least 0"),
        ("min_p", 1.5, "between 0 and 1"),
        ("repetition_penalty", 0.0, "positive"),
        ("stop", [""], "texts that are not empty"),
    ],
)
def test_a_number_out_of_range_is_named(option, value, must):
    with pytest.raises(ValueError, match=f"{option} must be {must}, got"):
        Sampling(**{option: value})
