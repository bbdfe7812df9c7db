"""A running plan as a tree: the answer at the root, below each step what it reads."""

import sys
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from agentprim.workflow import Plan

MARKS = {"waits": "·", "running": "»", "done": "+", "failed": "x", "skipped": "-"}
STYLES = {"waits": "dim", "running": "bold yellow", "done": "green", "failed": "bold red",
          "skipped": "dim"}  # fmt: skip


class Show:
    """Draws a plan on stderr while a `with` lasts, and what became of its steps.

    Where stderr is no terminal, one line is written for each change.
    """

    def __init__(self) -> None:
        """Wait for a plan."""
        self._console = Console(file=sys.stderr)
        self._live: Live | None = None
        self._plan: Plan | None = None
        self.status: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Wait for a plan."""
        return self

    def __exit__(self, *fault) -> None:
        """Leave the last state on the screen."""
        self.stop()

    def begin(self, plan: Plan) -> None:
        """Draw a plan whose steps all wait."""
        self._plan = plan
        if self._console.is_terminal:
            self._live = Live(tree(plan, self.status), console=self._console,
                              redirect_stdout=False, redirect_stderr=False)  # fmt: skip
            self._live.start()

    def __call__(self, step: str, status: str, row: int = 0) -> None:
        """Draw what became of a step."""
        self.status[step] = status
        if self._live is not None:
            self._live.update(tree(self._plan, self.status))
        elif not self._console.is_terminal:
            self._console.print(f"{step}: {status}", highlight=False, markup=False)

    def stop(self) -> None:
        """Leave the tree as it is."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def tree(plan: Plan, status: dict[str, str], prefix: str = "") -> Tree:
    """Draw a plan; a step that several read is drawn in full where it is met first."""
    seen: set[str] = set()
    root = Tree(Text("query answered by" if not prefix else "by"), guide_style="dim")
    _hang(root, plan, plan.output, status, prefix, seen)
    return root


def _hang(tree_: Tree, plan: Plan, name: str, status: dict, prefix: str, seen: set[str]) -> None:
    step = plan[name]
    state = status.get(prefix + name, "waits")
    label = Text(f"{MARKS[state]} {name}: {step.primitive}", style=STYLES[state])
    if name in seen:
        label.append(" (above)", style="dim")
        tree_.add(label)
        return
    seen.add(name)
    if step.parameters.instruction:
        label.append(f"  {_short(step.parameters.instruction)}", style="dim")
    branch = tree_.add(label)
    if step.plan is not None:
        branch.add(tree(step.plan, status, f"{prefix}{name}."))
    for one in step.reads:
        _hang(branch, plan, one, status, prefix, seen)


def _short(text: str, width: int = 48) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 3] + "..."
