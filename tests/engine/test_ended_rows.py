"""Rows that have ended leave the batch, and nobody else notices: all rows are as alone."""

import functools
import gc

import pytest
import torch

from agentprim import Engine, PoolExhausted, join
from tests.engine.making import END, A, B, Q, engine
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer

PROMPTS = [A, Q, Q[:2], B + A, Q[1:], A[:4], B, [30]]
LENGTHS = [2, 19, 1, 7, 26, 3, 11, 7]  # of the replies, end token included
MANY = {"max_new_tokens": 24}
OPTIONS = {
    "greedy": {},
    "drawn": {"temperature": 1.7, "top_p": 0.9, "top_k": 40},
    "penalty": {"repetition_penalty": 3.0},
    "all": {"temperature": 1.2, "min_p": 0.01, "repetition_penalty": 1.5, "stop": ["e", "Q"]},
}


@functools.cache
def dense() -> Engine:
    """Make an engine whose attention gets dense tensors."""
    model = build("qwen3")
    model._can_set_attn_implementation = lambda: False
    one = Engine(model, tiny_tokenizer(), pool_tokens=8192, page_size=4)
    assert not one.pool.layout.spans
    return one


ENGINES = {"spans": engine, "window": functools.partial(engine, "gemma3"), "dense": dense}


def until(length: int):
    """Make a constraint by which a reply ends after so many tokens, and not before."""

    def allowed(reply):
        assert END not in reply and len(reply) < length
        mask = torch.ones(97, dtype=torch.bool)
        mask[END] = False
        return mask if len(reply) < length - 1 else ~mask

    return allowed


def before(one: Engine) -> list:
    """Make a KV for each row: nothing, text, thoughts, or parts that were joined."""
    kv_a, kv_b = one.prefill([A, B])
    empty, thought = kv_a[:0], one.latent(kv_b, 3)
    return [thought, empty, kv_a, empty, one.latent(kv_a, 5), join([kv_b, kv_a]), kv_a, thought]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("path", ENGINES)
def test_each_row_is_as_alone(path, options):
    one = ENGINES[path]()
    options = {**MANY, **options, "suffix": [END, 5]}
    kvs, rules, seeds = before(one), [until(n) for n in LENGTHS], [7, 3, 9, 1, 4, 8, 2, 6]
    heard, rows = [""] * 8, []

    def hear(row, text):
        heard[row] += text
        rows.append(row)

    outs = one.generate(PROMPTS, kvs, seed=seeds, constraint=rules, stream=hear, **options)
    if "stop" not in options:
        assert [len(out.ids) for out in outs] == [min(n, 24) for n in LENGTHS]
    assert [str(out) for out in outs] == heard
    assert rows != sorted(rows), "all rows speak at once"
    for row, out in enumerate(outs):
        alone = one.generate(
            PROMPTS[row], kvs[row], seed=seeds[row], constraint=rules[row], **options
        )
        assert (out.ids, str(out), out.finish) == (alone.ids, str(alone), alone.finish)
        assert out.reply_start == alone.reply_start and out.kv.ids == alone.kv.ids
        assert out.kv.next_position == alone.kv.next_position
        assert out.kv.joints == alone.kv.joints
        torch.testing.assert_close(out.hidden, alone.hidden, atol=1e-4, rtol=1e-4)
        expected = one.forward(Q, alone.kv)
        torch.testing.assert_close(one.forward(Q, out.kv), expected, atol=1e-3, rtol=1e-4)


def test_stop_texts_end_rows_one_by_one():
    one = engine()
    free = [one.generate(ids, **MANY) for ids in PROMPTS]
    stops = [str(free[0])[1], str(free[3])[4:6], str(free[6])[9:11]]
    alone = [one.generate(ids, stop=stops, **MANY) for ids in PROMPTS]
    assert len({len(out.ids) for out in alone}) > 3
    together = one.generate(PROMPTS, stop=stops, **MANY)
    assert together == alone
    assert [out.finish for out in together] == [out.finish for out in alone]


@pytest.mark.parametrize("path", ENGINES)
def test_the_model_runs_over_live_rows(path):
    one, batches = ENGINES[path](), []
    lengths = [5, 2, 16, 2, 9, 2, 5, 2]
    handle = one.model.register_forward_hook(lambda _, args, out: batches.append(len(out.logits)))
    try:
        one.generate(PROMPTS, constraint=[until(n) for n in lengths], **MANY)
    finally:
        handle.remove()
    assert batches == [8] * 2 + [4] * 3 + [2] * 4 + [1] * 7


def test_rows_that_end_close_to_each_other_leave_together():
    one, batches = engine(), []
    handle = one.model.register_forward_hook(lambda _, args, out: batches.append(len(out.logits)))
    try:
        one.generate(PROMPTS, constraint=[until(n) for n in range(3, 11)], **MANY)
    finally:
        handle.remove()
    assert batches == [8] * 6 + [4] * 2 + [2] + [1]


def test_a_constraint_is_asked_about_the_whole_reply_until_it_ends():
    asked: list[list] = [[] for _ in PROMPTS]

    def noting(row):
        rule = until(LENGTHS[row])

        def allowed(reply):
            asked[row].append(tuple(reply))
            return rule(reply)

        return allowed

    outs = engine().generate(PROMPTS, constraint=[noting(row) for row in range(8)], **MANY)
    for seen, out in zip(asked, outs, strict=True):
        assert seen == [out.ids[:count] for count in range(len(out.ids))]


def test_rows_that_ended_hold_no_pages_for_padding():
    one = Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=256, page_size=4)
    kv = one.prefill(B)
    free, count = one.pool.num_free, 80
    rules = [until(2)] * 3 + [until(count)] + [until(2)] * 4
    outs = one.generate([Q] * 8, kv, max_new_tokens=count, constraint=rules)  # padding: 640 slots
    assert [len(out.ids) for out in outs] == [2] * 3 + [count] + [2] * 4
    assert outs[3].ids == one.generate(Q, kv, max_new_tokens=count, constraint=rules[3]).ids
    assert one.pool.peak_pages < 64
    del outs
    assert one.pool.num_free == free


@pytest.mark.parametrize("rows", [2, 8])
def test_a_pool_that_runs_out_late_is_as_before(rows):
    one = Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=160, page_size=4)
    kv, batches = one.prefill(A), []
    expected, free = one.forward(Q, kv), one.pool.num_free
    one.model.register_forward_hook(lambda _, args, out: batches.append(len(out.logits)))
    rules = [until(300)] + [until(3)] * (rows - 1)
    with pytest.raises(PoolExhausted):
        one.generate([Q] * rows, kv, max_new_tokens=300, constraint=rules)
    assert batches[0] == rows and batches[-1] == 1
    gc.collect()
    assert one.pool.num_free == free
    torch.testing.assert_close(one.forward(Q, kv), expected)
    assert len(one.generate(Q, kv, max_new_tokens=3).ids) == 3


def test_a_row_beyond_a_switch_stays_for_those_that_it_took_along():
    one = Engine(build("phi3_longrope"), tiny_tokenizer(), pool_tokens=2048, page_size=4)
    long = [3 + i % 90 for i in range(one.pool.layout.switch + 2)]
    rules = [until(2), until(2), until(9)]
    outs = one.generate([long, A, B], max_new_tokens=9, constraint=rules)
    assert [len(out.ids) for out in outs] == [2, 2, 9]
    held = one.generate([long, B], max_new_tokens=9, constraint=[None, until(9)])
    assert outs[2].ids == held[1].ids
