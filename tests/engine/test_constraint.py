"""Constraints: only allowed tokens are said, by each row's own rule."""

import pytest
import torch

from tests.engine.making import END, engine

DIGITS = list(range(57, 67))


def only(*ids: int):
    mask = torch.zeros(engine().vocab_size, dtype=torch.bool)
    mask[list(ids)] = True
    return lambda reply: mask


@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.5, "seed": 1, "top_k": 3},
                                      {"repetition_penalty": 1.4}])  # fmt: skip
def test_only_what_is_allowed_is_said(sampling):
    free = engine().generate("why?", max_new_tokens=8, **sampling)
    held = engine().generate("why?", max_new_tokens=8, constraint=only(*DIGITS), **sampling)
    assert set(held.ids) <= set(DIGITS) and not set(free.ids) <= set(DIGITS)
    assert held.kv.ids[-len(held.ids) :] == list(held.ids)


def test_each_row_has_its_own_and_sees_its_reply_alone():
    seen: list[list[int]] = []

    def three_then_end(reply):
        seen.append(list(reply))
        if END in reply:
            return None
        return only(END)(reply) if len(reply) == 3 else only(30, 31)(reply)

    texts = ["why? and why?", "how?", "what?"]
    outs = engine().generate(texts, max_new_tokens=6, constraint=[three_then_end, None, only(40)])
    assert len(outs[0].ids) == 4 and outs[0].finish == "stop" and set(outs[0].ids[:3]) <= {30, 31}
    assert outs[1].ids == engine().generate("how?", max_new_tokens=6).ids
    assert outs[2].ids == (40,) * 6
    assert seen[:4] == [list(outs[0].ids[:n]) for n in range(4)]


def test_what_allows_nothing_is_refused():
    free = engine().pool.num_free
    with pytest.raises(ValueError, match="constraint must allow some of 97 tokens"):
        engine().generate("why?", constraint=only())
    with pytest.raises(ValueError, match="one for each of 2 rows, got 1"):
        engine().generate(["why?", "how?"], constraint=[only(3)])
    assert engine().pool.num_free == free
