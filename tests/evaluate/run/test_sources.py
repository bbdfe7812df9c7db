"""A digest of sources changes with every module that an answer depends on, and no other."""

import inspect
import shutil
from pathlib import Path

import pytest

from agentprim.evaluate.answer import answer
from agentprim.evaluate.handed import reader
from agentprim.evaluate.header import header
from agentprim.evaluate.methods import method
from agentprim.evaluate.setting import Setting
from agentprim.evaluate.sources import ROOT, closure, closure_digest, source_digest
from agentprim.evaluate.tasks import task
from tests.evaluate.run import stubs

THINGS = {name: find(name) for find, names in (
    (method, ("llm_debate", "agentverse", "spp", "voting", "lite", "primitives")),
    (reader, ("reader_kv",)), (task, ("gsm8k", "medqa", "humaneval_plus", "notes")),
) for name in names} | {"answering": answer}  # fmt: skip
TALKING = {"llm_debate", "agentverse", "spp", "voting", "lite", "primitives"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "agentprim", root / "agentprim",
                    ignore=shutil.ignore_patterns("__pycache__"))  # fmt: skip
    return root


def digests(root: Path) -> dict[str, str]:
    places = {
        name: Path(inspect.getfile(one if inspect.isfunction(one) else type(one)))
        for name, one in THINGS.items()
    }
    return {n: closure_digest(root / place.relative_to(ROOT), root) for n, place in places.items()}


def test_a_digest_is_the_same_wherever_the_package_lies(copy):
    assert digests(copy) == {name: source_digest(one) for name, one in THINGS.items()}
    assert len(set(digests(copy).values())) == len(THINGS)


@pytest.mark.parametrize(
    ("changed", "concerned"),
    [
        ("evaluate/methods/debate.py", {"llm_debate"}),
        ("evaluate/methods/talk.py", TALKING - {"lite"}),
        ("evaluate/methods/line.py", TALKING),
        ("evaluate/methods/verdict.py", {"agentverse"}),
        ("primitives/voting.py", {"voting", "primitives"}),
        ("workflow/lite/prompts.py", {"lite"}),
        ("organizer/organizer.py", {"primitives"}),
        ("decide/local.py", {"lite", "voting", "primitives"}),
        ("trust/receivers.py", {"reader_kv"}),
        ("agent/rows.py", TALKING | {"reader_kv"}),
        ("evaluate/tasks/letters.py", {"medqa"}),
        ("evaluate/tasks/plus_check.py", {"humaneval_plus"}),
        ("evaluate/sandbox/jail/__main__.py", {"humaneval_plus"}),
        ("evaluate/sandbox/jail/cage.py", {"humaneval_plus"}),
        ("trust/items.py", {"notes"}),
        ("evaluate/answer.py", {"answering"}),
        ("evaluate/job.py", {"answering"}),
        ("workflow/lite/detection.py", {"answering"}),
        ("evaluate/methods/registry.py", set()),
        ("engine/engine.py", set()),
    ],
)
def test_it_changes_with_modules_that_are_imported_and_with_no_others(copy, changed, concerned):
    before, file = digests(copy), copy / "agentprim" / changed
    kept = file.read_bytes()
    file.write_bytes(kept + b"\n# more\n")
    after = digests(copy)
    file.write_bytes(kept)
    assert {name for name in THINGS if before[name] != after[name]} == concerned


def test_a_module_from_elsewhere_counts_with_what_it_imports_of_ours(tmp_path):
    own = tmp_path / "own.py"
    own.write_text("def go():\n    import agentprim.evaluate.methods.verdict\n")
    assert {file.name for file in closure(own, ROOT)} == {"own.py", "verdict.py", "aloud.py"}
    assert len(source_digest(stubs.method("single"))) == 16


def test_the_header_says_by_what_items_are_answered():
    setting = Setting(tasks=("gsm8k",), methods=("single",))
    facts = {"model": {}, "versions": {}}
    found = header(facts, "tiny", setting, task("gsm8k"), [], method("single"))
    assert found["answering"] == source_digest(answer)


def test_the_header_tells_methods_apart_that_differ_in_an_option():
    facts = {"model": {}, "versions": {}}
    setting = Setting(tasks=("gsm8k",), methods=("single",))

    def about(**options):
        one = method("primitives", **options)
        return header(facts, "tiny", setting, task("gsm8k"), [], one)["method"]

    assert about() == about() != about(options={"rotate": False})
    assert about(organizer=object()) == about(organizer=object()) != about()
