"""HumanEval+ and MBPP+: programs, run in the sandbox on the base and the further tests."""

from dataclasses import dataclass, field
from pathlib import Path

from agentprim.evaluate.base import Grade, Item
from agentprim.evaluate.sandbox import SandboxLimits, run_code
from agentprim.evaluate.tasks import plus_check
from agentprim.evaluate.tasks.fences import behind, extract_code
from agentprim.evaluate.tasks.rows import hub_rows, read_rows
from agentprim.evaluate.tasks.sample import sample

_CHECK = Path(plus_check.__file__)
_ASK = (
    "Write a self-contained Python program that solves this problem, and answer with it in one "
    "```python block.\n\n"
)


@dataclass(frozen=True, kw_only=True)
class PlusTask:
    """Programs in the format of EvalPlus: right where base and plus tests pass.

    What a test expects is computed by the reference solution, and compared, as EvalPlus does it;
    memory is limited to 4 GiB as there. Where EvalPlus limits each test, all tests of a program
    here have one limit together: the larger of `limits.seconds` and four times what the reference
    solution takes. Rows of the hub bring their tests as a program, which is run as it is; where
    their prompts do not name the function, the first example is told, as EvalPlus's own prompts do.

    Attributes:
        name: As on the command line.
        about: One line.
        hub: Data set on the hub.
        limits: Of the sandbox.
    """

    name: str
    about: str
    hub: str
    limits: SandboxLimits = field(default_factory=lambda: SandboxLimits(memory_mib=4096))

    def load(self, path: Path | None, limit: int | None, seed: int) -> list[Item]:
        """Load problems; see `Task.load`."""
        rows = read_rows(path) if path else hub_rows(self.hub)
        return sample([self._item(row) for row in rows], limit, seed)

    def _item(self, row: dict) -> Item:
        solution = row.get("canonical_solution") or row.get("code") or ""
        prompt = row["prompt"]
        entry = row.get("entry_point") or _entry(row)
        # a prompt of HumanEval is the beginning of the program, one of MBPP a docstring
        begins = f"def {entry}(" in prompt
        before = prompt[: prompt.rindex(f"def {entry}(")] if begins else ""
        more = {"entry": entry, "prompt": prompt if begins else "", "before": before}
        if "base_input" in row:
            more |= {
                "task": str(row["task_id"]), "base": row["base_input"], "plus": row["plus_input"],
                "atol": row["atol"], "solution": prompt + solution if begins else solution,
            }  # fmt: skip
        else:
            imports = row.get("test_imports") or []
            more["test"] = "\n".join([*imports, row["test"]])
        told = prompt.strip()
        if f"{entry}(" not in told:  # nobody could know what the tests call
            told = "\n".join([told, *(row.get("test_list") or [])[:1]])
        return Item(id=str(row["task_id"]), question=_ASK + told, answer=solution, more=more)

    def grade(self, item: Item, text: str) -> Grade:
        """Run the program of an answer; `scores["base"]` says whether the base tests passed."""
        code = self.extract(item, text)
        if code is None:
            return Grade(correct=False, extracted=None, reason="no answer")
        program = behind(item.more["before"], code)
        ran = run_code(program, check=_CHECK.read_text(), data=item.more, limits=self.limits)
        if not ran.ok:
            return Grade(correct=False, extracted=code, reason=_reason(ran.reason, ran.error))
        found = ran.value
        scores = {"base": float(found["base"])}
        correct = found["base"] and found["plus"]
        return Grade(correct=correct, extracted=code, reason=found["failed"], scores=scores)

    def extract(self, item: Item, text: str) -> str | None:
        """Take out the program, compared letter by letter; see `Task`."""
        code = extract_code(text, item.more["entry"], prompt=item.more["prompt"])
        return None if code is None else code.strip()


def _reason(reason: str, error: str) -> str:
    return f"{reason}: {error}" if reason in ("error", "check", "isolation") else reason


def _entry(row: dict) -> str:
    """Name the function that a row without an entry point defines first among those tested."""
    test = "\n".join(row.get("test_list") or []) + row["test"]
    names = [line[4:].partition("(")[0].strip() for line in row["code"].splitlines()
             if line.startswith("def ")]  # fmt: skip
    called = [name for name in names if f"{name}(" in test]
    return (called or names)[0]


HUMANEVAL_PLUS = PlusTask(
    name="humaneval_plus",
    about="HumanEval+ (EvalPlus release, or evalplus/humanevalplus): 164 programs, real data",
    hub="evalplus/humanevalplus",
)
MBPP_PLUS = PlusTask(
    name="mbpp_plus",
    about="MBPP+ v0.2.0 (EvalPlus release, or evalplus/mbppplus): 378 programs, real data",
    hub="evalplus/mbppplus",
)
