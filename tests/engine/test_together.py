"""Jobs side by side: each gets what it gets alone, in fewer forward passes, and nothing is left."""

import contextvars
import gc
import threading
import time
import weakref

import pytest
import torch

import agentprim as ap
from agentprim import Agent, Engine, PoolExhausted
from agentprim.engine.seat import batched, now
from tests.engine.making import A, B, Q, engine
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer

HOT = {"max_new_tokens": 5, "temperature": 2.0, "top_p": 0.9}


@pytest.fixture
def passes():
    """List the batch size of each forward pass of the shared engine."""
    found = []
    hook = engine().model.base_model.register_forward_pre_hook(
        lambda _, args, kwargs: found.append(len(next(iter(
            kwargs[name] for name in ("input_ids", "inputs_embeds") if kwargs.get(name) is not None
        )))), with_kwargs=True,
    )  # fmt: skip
    yield found
    hook.remove()


def chain(ids, seed):
    """Return a job that reads, thinks and speaks."""

    def job():
        one = engine()
        thought = one.latent(one.prefill(ids), 3, spread=0.3, seed=seed)
        return one.generate(Q, thought, seed=seed, **HOT)

    return job


def test_each_job_gets_what_it_gets_alone(passes):
    jobs = [chain(ids, seed) for ids, seed in ((A, 3), (B, 4), (A[:2], 5))]
    alone = [job() for job in jobs]
    count = len(passes)
    passes.clear()
    found = ap.together(*jobs)
    assert found == alone and [out.ids for out in found] == [out.ids for out in alone]
    for a, b in zip(found, alone, strict=True):
        torch.testing.assert_close(a.hidden, b.hidden)
        assert a.kv.ids == b.kv.ids
    assert len(passes) * 2 < count and max(passes) == 3


def test_rows_of_a_call_stay_together_and_so_do_their_words():
    one, words = engine(), {}

    def job(name, ids):
        say = lambda row, text: words.setdefault((name, row), []).append(text)  # noqa: E731
        return lambda: one.generate(ids, seed=7, stream=say, **HOT)

    both = {"x": [A, B], "y": [Q, A, B]}
    found = ap.together(*(job(name, ids) for name, ids in both.items()))
    for (name, ids), outs in zip(both.items(), found, strict=True):
        assert outs == one.generate(ids, seed=7, **HOT)
        assert ["".join(words.get((name, row), [])) for row in range(len(ids))] == outs


def test_constraints_belong_to_their_rows():
    def only(token):
        mask = torch.zeros(engine().vocab_size, dtype=torch.bool)
        mask[token] = True
        return lambda said: mask

    one = engine()
    found = ap.together(
        lambda: one.generate(A, max_new_tokens=2, constraint=only(9)),
        lambda: one.generate([A, B], max_new_tokens=2, constraint=[None, only(11)]),
        lambda: one.generate(B, max_new_tokens=2),
    )
    assert found[0].ids == (9, 9) and found[1][1].ids == (11, 11)
    assert [found[1][0], found[2]] == one.generate([A, B], max_new_tokens=2)


def test_calls_that_differ_in_more_than_rows_run_one_after_the_other(passes):
    one = engine()
    kv = one.prefill(A)
    passes.clear()
    ap.together(lambda: one.latent(kv, 2), lambda: one.latent(kv, 3), lambda: one.latent(kv, 2))
    assert passes == [2] * 2 + [1] * 3


def test_jobs_that_are_behind_catch_up_before_a_long_call(passes):
    one = engine()
    kv = one.prefill(A)

    def behind():
        return one.latent(one.prefill(Q, one.prefill(Q, kv)), 3)

    passes.clear()
    ap.together(lambda: one.latent(kv, 3), behind)
    assert passes == [1, 1] + [2] * 3


def test_jobs_of_jobs_meet_too(passes):
    parts = [A[:5], Q, B[:5], A[5:10], A[3:8]]
    read = [lambda ids=ids: engine().prefill(ids) for ids in parts]
    kvs = ap.together(lambda: ap.together(*read[:2]), lambda: ap.together(*read[2:4]), read[4])
    assert passes == [5]
    assert [kv.ids for kv in (*kvs[0], *kvs[1], kvs[2])] == parts


def test_an_agent_that_nobody_prepared_serves_two_jobs():
    agent = Agent(engine(), "a prompt", name="new")
    alone = Agent(engine(), "a prompt", name="new")(["a", "b"], max_new_tokens=3)
    assert ap.together(
        lambda: agent("a", max_new_tokens=3), lambda: agent("b", max_new_tokens=3)
    ) == list(alone)


def test_the_first_fault_ends_all(passes):
    one, ended = engine(), []

    def waits():
        try:
            one.prefill(A)
        finally:
            ended.append("waits")

    def fails():
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        ap.together(waits, fails, lambda: ended.append("never begun"))
    assert ended == ["waits"] and not passes
    fault, kv = ap.together(fails, lambda: one.prefill(A), return_exceptions=True)
    assert isinstance(fault, LookupError) and kv.ids == A


def test_a_fault_of_a_batch_belongs_to_the_row_that_has_it(passes):
    one = engine()
    nothing = torch.zeros(one.vocab_size, dtype=torch.bool)
    good = lambda: one.generate(A, max_new_tokens=2, constraint=lambda _: ~nothing)  # noqa: E731
    bad = lambda: one.generate(A, max_new_tokens=2, constraint=lambda _: nothing)  # noqa: E731
    found = ap.together(good, bad, good, return_exceptions=True)
    assert isinstance(found[1], ValueError) and found[0] == found[2] == good()


def small():
    """Make an engine of 12 pages."""
    return Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=48, page_size=4)


def test_who_has_no_room_waits_for_another_to_end():
    one = small()

    def job():
        kv = one.prefill(A + B)  # 5 pages
        kv = one.prefill(Q, kv)  # and 1 more
        return kv.ids

    assert ap.together(job, job, job, job) == [A + B + Q] * 4
    assert one.pool.num_free == 12


def test_where_none_can_go_on_the_last_begins_again():
    one, begun = small(), []

    def job(name):
        def work():
            begun.append(name)
            kvs = [one.prefill(A + B), one.prefill(A)]  # 5 pages, then 3
            return sum(map(len, kvs))

        return work

    assert ap.together(job("x"), job("y"), job("z")) == [29, 29, 29]
    assert begun[:3] == ["x", "y", "z"] and begun.count("x") == 1 and "y" in begun[3:]
    assert one.pool.num_free == 12


def test_what_does_not_fit_alone_has_the_error():
    one = small()
    big, good = (lambda: one.prefill(A * 9)), (lambda: len(one.prefill(A)))
    found = ap.together(good, big, good, return_exceptions=True)
    assert found[::2] == [11, 11] and isinstance(found[1], PoolExhausted)
    del found
    assert one.pool.num_free == 12
    with pytest.raises(PoolExhausted):
        ap.together(good, big)
    assert one.pool.num_free == 12


def test_nothing_is_left():
    one = engine()
    gc.collect()
    free, threads = one.pool.num_free, threading.active_count()
    gc.disable()
    try:
        for number in range(20):
            kept = ap.together(chain(A, number), chain(B, number))
            refs = [weakref.ref(out.kv) for out in kept]
            del kept
            assert not any(ref() for ref in refs)
            with pytest.raises(ValueError):
                ap.together(chain(A, 1), lambda: one.latent(one.prefill(B), -1), chain(Q, 1))
        assert one.pool.num_free == free
    finally:
        gc.enable()
    assert threading.active_count() <= threads + 1


def test_an_interrupt_of_a_batch_unwinds_every_job(passes, monkeypatch):
    ended = []

    def job(name):
        def work():
            try:
                batched("slow", stopped, [name])
            finally:
                ended.append(name)

        return work

    def stopped(names):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ap.together(job("x"), job("y"))
    assert sorted(ended) == ["x", "y"]


def test_a_clock_counts_a_jobs_own_share():
    def job(rows, rest):
        def work():
            begun = now()
            time.sleep(rest)
            batched("sleep", lambda rows: time.sleep(0.2) or rows, [0] * rows)
            return now() - begun

        return work

    begun = time.perf_counter()
    found = ap.together(job(1, 0.0), job(3, 0.1))
    whole = time.perf_counter() - begun
    assert found == pytest.approx([0.05, 0.25], abs=0.04)
    assert sum(found) == pytest.approx(whole, abs=0.05)


def test_a_job_computes_as_its_caller_does():
    name = contextvars.ContextVar("name", default="")
    name.set("mine")
    with torch.no_grad():
        assert ap.together(lambda: (torch.is_grad_enabled(), name.get())) == [(False, "mine")]
    with torch.inference_mode():
        assert ap.together(torch.is_inference_mode_enabled) == [True]
    assert ap.together(torch.is_grad_enabled, torch.is_inference_mode_enabled) == [True, False]
    assert ap.together() == []
