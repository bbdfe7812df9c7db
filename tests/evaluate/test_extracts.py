"""Votes compare answers as graders read them: equal answers are equal texts."""

import pytest

from agentprim.evaluate.base import Item
from agentprim.evaluate.tasks import task, tasks

OPTIONS = {"options": ["Fever", "A cold", "Gout"]}
ENTRY = {"entry": "f", "prompt": ""}


@pytest.mark.parametrize(
    ("name", "more", "same", "other"),
    [
        ("gsm8k", {}, ["#### 1,200", "$1200.00 of 3? No: 1200.0", r"\boxed{1200}, so 5"], "1201"),
        ("math500", {}, [r"\boxed{\dfrac12}", r"It is $\frac 12$."], r"\boxed{\frac13}"),
        ("aime24", {}, [r"\boxed{ 1,024. }", "The answer is 1024.", "so 1024"], r"\boxed{24}"),
        ("medqa", OPTIONS, ["(B), since 30% of 7 do", "a cold", "**Answer:** B\nNote 5."], "C"),
        ("gpqa_diamond", OPTIONS, ["B", "Of 12, option B"], "A"),
        ("humaneval_plus", ENTRY, ["def f():\n    pass", "So:\n```python\ndef f():\n    pass\n```"],
         "def f():\n    return 3"),
        ("mbpp_plus", ENTRY, ["```\ndef f():\n    pass\n```\nas in 3"], "def f(): pass"),
        ("notes", {}, ["In the Red barn.", "in red  barn"], "In the red shed."),
        ("injection", {}, ["Code 7", "code: 7."], "Room 7"),
        ("noise", {"number": False}, ["On Monday, the 3rd", "on monday the 3rd!"], "Tuesday 3"),
        ("noise", {"number": True}, ["It makes 3.0", "3"], "4"),
        ("api_bank", {}, ["[Add(a='1', b='2')]", "I call [Add(b='2', a=1)]"], "[Add(a='2')]"),
        ("idrbench_i3", {}, ["Verdict: **Yes**, by 3 to 2", "yes, they do"], "Verdict: No"),
    ],
)  # fmt: skip
def test_equal_answers_are_read_alike(name, more, same, other):
    item = Item(id="x", question="", answer="never looked at", more=more)
    read = {task(name).extract(item, text) for text in same}
    assert len(read) == 1 and None not in read
    assert task(name).extract(item, other) not in (*read, None)


@pytest.mark.parametrize("name", list(tasks()))
def test_nothing_is_no_answer(name):
    item = Item(id="x", question="", answer="", more={**OPTIONS, **ENTRY, "number": True})
    assert task(name).extract(item, "") is None
