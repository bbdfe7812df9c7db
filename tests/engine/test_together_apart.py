"""Jobs side by side keep what is their own: positions, words, locks, threads, and their room."""

import asyncio
import gc
import weakref

import pytest
import torch

import agentprim as ap
from agentprim import Agent, Engine, KnowledgePool, PoolExhausted
from tests.engine.making import A, B, Q, engine
from tests.support.tokenizer import tiny_tokenizer


def small(pages: int) -> Engine:
    """Make an engine on the shared model with a pool of its own."""
    return Engine(engine().model, tiny_tokenizer(), pool_tokens=4 * pages, page_size=4)


def test_a_text_beyond_a_switch_does_not_take_along_another_job():
    one = engine("phi3_longrope")
    long = [3 + i % 90 for i in range(one.pool.layout.switch + 2)]

    def short():
        return one.generate(Q, one.prefill(A), max_new_tokens=4)

    alone = short()
    found = ap.together(short, lambda: one.prefill(long), short)
    assert found[0].ids == found[2].ids == alone.ids


def test_words_are_said_once_where_a_batch_begins_again():
    one, heard = small(16), {"x": "", "y": ""}

    def job(name, ids):
        def say(text):
            heard[name] += text

        return lambda: str(one.generate(ids, max_new_tokens=24, stream=say))

    assert ap.together(job("x", A), job("y", B)) == list(heard.values())


def test_a_system_prompt_for_which_there_is_no_room_waits():
    one = small(13)
    agent = Agent(one, "a prompt that takes room")  # 9 pages

    def reads():
        kv = one.prefill(A + B)  # 5 pages
        return len(one.prefill(Q[:1], kv))

    def prepares():
        one.prefill(Q[:1])
        return agent.prepare()

    assert ap.together(reads, prepares) == [19, len(agent.system_ids)]


def test_a_repair_for_which_there_is_no_room_waits():
    one = small(19)
    kv = ap.join([one.prefill(B), one.prefill(A)])  # 5 pages

    def reads():
        held = one.prefill(((A + B) * 3)[:45])  # 12 pages
        return [len(one.prefill(Q[:1], held)) for _ in range(4)]

    def repairs():
        one.prefill(Q)
        return len(one.repair(kv, first=11, share=1.0))  # 3 more

    assert ap.together(reads, repairs) == [[46] * 4, 18]


def test_a_job_that_ends_for_want_of_room_begins_again():
    one = small(8)

    def reads():
        held = one.prefill(A + B)  # 5 pages
        return len(one.prefill(Q[:1], held))

    def copies():
        kv = one.prefill(B)  # 2 pages
        return len(kv.materialize())

    assert ap.together(reads, copies, copies) == [19, 7, 7]
    with pytest.raises(PoolExhausted):
        ap.together(lambda: one.prefill(A + B).materialize(), lambda: one.prefill(Q))
    assert one.pool.num_free == 8


def test_a_pool_whose_index_asks_an_engine_serves_two_jobs():
    one = engine()

    def embed(texts):
        return torch.stack([one.prefill([3 + len(t) % 50]).hidden for t in texts]).numpy()

    pool = KnowledgePool(embed=embed)
    for entry in list(KnowledgePool.builtin())[:2]:
        pool.add(entry)
    a, b = ap.together(*[lambda: pool.search("apples", 1)[0][0].id] * 2)
    assert a == b


def test_threads_of_a_job_run_their_calls_at_once():
    one = engine()

    async def all_of(rows):
        return await asyncio.gather(*(asyncio.to_thread(one.prefill, ids) for ids in rows))

    rows = [A, B, Q] * 4
    found, kv = ap.together(lambda: asyncio.run(all_of(rows)), lambda: one.prefill(A))
    assert [kv.ids for kv in found] == rows and kv.ids == A


def test_what_never_began_is_dropped_at_once():
    kv = engine().prefill(A)
    ref = weakref.ref(kv)
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(ZeroDivisionError):
            ap.together(lambda: 1 / 0, lambda kv=kv: len(kv))
        del kv
        assert ref() is None
    finally:
        gc.enable()


def test_an_exit_is_no_result():
    def leaves():
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        ap.together(leaves, lambda: 1, return_exceptions=True)


def test_a_job_casts_as_its_caller_does():
    with torch.autocast("cpu", torch.bfloat16):
        found = ap.together(lambda: torch.get_autocast_dtype("cpu"),
                            lambda: torch.is_autocast_enabled("cpu"))  # fmt: skip
    assert found == [torch.bfloat16, True]
    assert ap.together(lambda: torch.is_autocast_enabled("cpu"), int) == [False, 0]


def test_functions_that_are_empty_lists_are_called():
    class Rule(list):
        def __call__(self, *said):
            self.append(said)
            mask = torch.zeros(engine().vocab_size, dtype=torch.bool)
            mask[9] = True
            return mask

    rule, hears = Rule(), Rule()
    out = engine().generate([A], max_new_tokens=2, constraint=rule, stream=hears)[0]
    assert out.ids == (9, 9) and len(rule) == 2 and "".join(text for _, text in hears) == out
