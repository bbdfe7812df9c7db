"""Write a report: Markdown, HTML and figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from agentprim.evaluate.report import first, own, second
from agentprim.evaluate.report.block import Block, blocks
from agentprim.evaluate.report.cells import Cell, read_cells
from agentprim.evaluate.report.first import label
from agentprim.evaluate.report.plots import draw
from agentprim.evaluate.report.table import Table

NOTES = (
    "Every number comes from the rows of the runs; none is taken from a paper. Means of a row are "
    "means of its cells.",
    "Tables 1.1 to 1.10 have the subjects of Agent Primitives (arXiv 2602.03695), 2.1 to 2.5 those "
    "of Jev-LiteMAS (arXiv 2610.21411); the order within a paper is ours.",
)


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a report.

    Attributes:
        title: What it is about.
        facts: What was run, one line each.
        tables: Its tables.
        figures: Title and file name of each figure.
    """

    title: str
    facts: tuple[str, ...]
    tables: tuple[Table, ...]
    figures: tuple[tuple[str, str], ...] = ()


def write(folders: Sequence[Path], out: Path, *, plots: bool = True) -> list[Path]:
    """Write the report of some runs.

    Args:
        folders: Of the runs.
        out: Where `report.md`, `report.html` and the figures go; made if needed.
        plots: Draw figures, if matplotlib is installed.

    Returns:
        The files.

    Raises:
        ValueError: A folder holds no run.
    """
    found = blocks(read_cells(folders))
    out.mkdir(parents=True, exist_ok=True)
    sections = [_section(block, number, out, plots) for number, block in enumerate(found, 1)]
    sections.append(Section(title="All models", facts=(), tables=(own.models(found),)))
    files = []
    for name, escape in (("report.md", False), ("report.html", True)):
        environment = Environment(
            loader=PackageLoader("agentprim.evaluate.report", ""), autoescape=escape,
            undefined=StrictUndefined, keep_trailing_newline=True,
        )  # fmt: skip
        environment.filters["cell"] = _cell
        text = environment.get_template(f"{name}.jinja").render(notes=NOTES, sections=sections)
        (out / name).write_text(text)
        files.append(out / name)
    return [*files, *(out / file for section in sections for _, file in section.figures)]


def _section(block: Block, number: int, out: Path, plots: bool) -> Section:
    tables = (own.cost(block), own.aims(block), *first.tables(block), *second.tables(block))
    figures = draw(block, out, f"{number}-") if plots else []
    return Section(
        title=f"{number}. {block.title}", facts=tuple(_facts(block)), tables=tables,
        figures=tuple(figures),
    )  # fmt: skip


def _facts(block: Block) -> list[str]:
    model = block.about["model"]
    versions = ", ".join(f"{name} {v}" for name, v in block.about["versions"].items() if v)
    facts = [
        f"model {model['name']} ({model['class']}), revision {model['revision'] or 'unknown'}, "
        f"fingerprint {model['fingerprint'][:16]}, latent steps by {model['latent']}",
        versions,
    ]
    if second := model.get("expert"):
        facts.append(
            f"model B {second['name']} ({second['class']}), revision "
            f"{second['revision'] or 'unknown'}, fingerprint {second['fingerprint'][:16]}"
        )
    seen = {}
    for cell in block.cells:
        task, method = cell.header["task"], cell.header["method"]
        data = (
            f"file {task['data']['name']} ({task['data']['sha256']})"
            if task["data"]
            else ("from the hub, or generated")
        )
        seen[f"task {task['name']}: {task['about']}; {data}, items {task['items']}"] = None
        seen[f"method {method['name']}: {method['about']}; source {method['source']}"] = None
    facts += sorted(seen)
    facts += [_hidden(block, cell) for cell in block.others]
    facts += [f"task {name} was not run: {why}" for name, why in block.missing.items()]
    for cell in block.cells:
        for reason in dict.fromkeys(cell.failed):
            facts.append(f"{cell.task} {cell.method}: {cell.failed.count(reason)} failed: {reason}")
    return facts


def _hidden(block: Block, cell: Cell) -> str:
    """Say where a cell that is not shown stands, and what else it was made by."""
    inner = block.shown(cell)
    kept = block.find(cell.task, cell.method, inner)
    there, here = _sources(cell.header), _sources(kept.header)
    differing = [name for name in here if there[name] != here[name]]
    how = f"differs in {', '.join(differing)}" if differing else "of the same source"
    runs = [kept.run, cell.run]
    names = [Path(run).name for run in runs]
    shown, other = names if len(set(names)) > 1 else runs
    return (
        f"{cell.task} {label(cell.method, inner)} is shown from {shown}, and stands in {other}, "
        f"too: n {cell.n}, {how}"
    )


def _sources(header: dict) -> dict[str, str | None]:
    method, task = header["method"], header["task"]
    return {
        "source of the method": method.get("source"), "options": method.get("options"),
        "source of the task": task.get("source"), "prompts": header.get("prompts"),
        "source of what answers": header.get("answering"),
    }  # fmt: skip


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")
