"""Plans in what models write: found behind all that is around them, and never half of one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentprim import PlanError
from agentprim.organizer.parse import find_plan
from tests.workflow.plans import plan, step

PLAN = {"steps": [{"id": "a", "primitive": "solve", "inputs": ["query"]}], "output": "a"}
TEXT = json.dumps(PLAN)


def saying(instruction: str) -> tuple[dict, str]:
    """Make a plan that holds a text, and its JSON."""
    one = {"steps": [{**PLAN["steps"][0], "parameters": {"instruction": instruction}}]}
    return one, json.dumps(one)


BLOCK = 'Write ```python\nprint("{")\n``` and stop.'


@pytest.mark.parametrize("wrap", [
    "{}", "```json\n{}\n```", "```\n{}\n```", "````json\n{}\n````", "~~~\n{}\n~~~", "`{}`",
    "Use `print` first. Here is the plan:\n{}\nThat is all.", "**Plan**: {} I hope it {{helps}}.",
    "A set {{a, b}} and `{{x}}`; then\n```json\n{}\n```\nwith `one` step", "\ufeff \n{}\n\n",
])  # fmt: skip
@pytest.mark.parametrize("inside", ["plain", "use `print`", BLOCK, "a ``` b", 'say "}{" \\ \u2713'])
def test_backticks_do_not_hide_a_plan_and_its_strings_stay_as_they_are(wrap, inside):
    """A11: langgenius/dify #41958, vectorize-io/hindsight #2542, langchain-ai/langchain #5428."""
    expected, text = saying(inside)
    assert find_plan(wrap.format(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        f'<think>Perhaps {{"steps": []}} is enough? No.</think>\n{TEXT}',
        f'I could write {{"steps": []}}, but no.\n</think>\n\n{TEXT}',
        f"<think>\n\n</think>\n\n```json\n{TEXT}\n```",
        f"<Reasoning>one</Reasoning><think>two</think>{TEXT}",
        f'First {{"steps": [ is how it begins </think> {TEXT}',
        f"<think>a <b>tag</b> and a `fence`</think>{TEXT}</think>{TEXT}",
    ],
    ids=["block", "closing_tag", "empty_block", "two_blocks", "open_brace", "late_tag"],
)
def test_reasoning_is_left_out(text):
    """A12: garrytan/gbrain #2559, QwenLM/Qwen3 #1396, 1CatAI/1Cat-vLLM #52; cases a to c."""
    assert find_plan(text) == PLAN


def test_what_only_the_reasoning_held_is_no_plan():
    """A12: as above: the answer behind the closing tag has none."""
    with pytest.raises(PlanError, match="no JSON with steps"):
        find_plan(f"Maybe {TEXT} would do. </think> I cannot plan this.")


def test_reasoning_without_an_end_holds_no_plan():
    """A12: as above, case d: braces inside of it are not taken."""
    with pytest.raises(PlanError, match="reasoning without an end"):
        find_plan(f"<think>Let me try {TEXT}")


@pytest.mark.parametrize("tag", ["</think>", "<think>", "<think>x</think>"])
def test_a_tag_inside_a_string_is_a_text(tag):
    """A12: as above, case e."""
    expected, text = saying(f"Write {tag} first.")
    assert find_plan(text) == find_plan(f"<think>hm</think>{text}") == expected


def test_commas_before_a_bracket_and_wrappers_are_forgiven():
    loose = '{"steps": [{"id": "a", "primitive": "solve", "inputs": ["query",],},], "output": "a",}'
    assert find_plan(loose) == PLAN
    assert find_plan(json.dumps({"plan": PLAN, "why": "it is short"})) == PLAN
    expected, text = saying("keep ,] and ,}")
    assert find_plan(text) == expected
    assert find_plan('{"steps": [{"id": "two\nlines"}]}') == {"steps": [{"id": "two\nlines"}]}


def test_the_last_of_several_plans_is_the_answer():
    assert find_plan(f'An example: {{"steps": []}}. The plan: {TEXT}') == PLAN


@pytest.mark.parametrize("text", [
    "", "no plan", "{}", '{"step": 1}', "[1, 2]", '{"steps": [1, }', '{"steps" [1]}',
    '{"steps": [], "steps": []}', "}{", '{"', "```json\n```",
])  # fmt: skip
def test_what_holds_no_plan_is_refused(text):
    with pytest.raises(PlanError, match="organizer must answer with a"):
        find_plan(text)


def test_nothing_that_was_cut_off_is_trusted():
    with pytest.raises(PlanError, match="cut off by its limit"):
        find_plan(f"For example {TEXT} is a plan. Now for th", cut=True)


@pytest.mark.parametrize("wrap", [
    "", "```json\n", "<think>short</think>", 'Like {"steps": []}, but:\n', "hm </think>"
])  # fmt: skip
def test_every_proper_prefix_of_a_plan_is_refused(wrap):
    """A nested plan and whole steps stand inside; none of them is taken for the plan."""
    nested = {"steps": [step("x"), step("y", "x", "query", instruction='say "}" </think> `x`')]}
    one = plan(step("a"), step("b", "query", "a", primitive="review", rounds=1),
               step("c", "query", "b", primitive="plan", plan=nested), step("d", "query", "c"),
               step("e", "query", "d", "a", primitive="voting", solvers=2))  # fmt: skip
    for text in (one.to_json(), one.to_json(None)):
        assert find_plan(wrap + text) == one.to_dict()
        for end in range(1, len(text)):
            with pytest.raises(PlanError):
                find_plan(wrap + text[:end])


@given(st.text(alphabet='{}[]",:`\\<>/think stepsa1\n', max_size=80))
def test_no_text_breaks_the_search(text):
    try:
        assert "steps" in find_plan(text)
    except PlanError:
        pass


@given(st.text(max_size=40), st.text(alphabet="ab `\n#*", max_size=20))
def test_any_string_survives_any_prose(inside, prose):
    expected, text = saying(inside)
    assert find_plan(f"{prose}{text}{prose}") == expected
