"""Walk every family and write what was found: `python -m tests.zoo.table`.

Findings are kept by version of transformers beside this module; docs/models.md shows them all.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import transformers

from tests.zoo.finding import CERTIFIED, FAULT, NOT_BUILT, REFUSED, Finding
from tests.zoo.groups import group
from tests.zoo.variants import VARIANTS
from tests.zoo.walk import walk

FOUND = Path(__file__).parent / "found"
PAGE = Path(__file__).parents[2] / "docs" / "models.md"
_HEAD = """# Models

Every family of causal language models that transformers knows, on a tiny model of its own
architecture with random weights: moved exactly, or refused by name. `make zoo` writes this page.

There is no list of architectures in agentprim. `attach(model)` reads what the model at hand does
to its keys, proves it, and refuses the rest; this page shows what comes out. *Certified* means, in
fp32:

* keys computed at `d..` equal the keys of `0..` moved by `d`, at every layer, on both sides of
  every length that the configuration names, and a move beyond the last one proved is refused;
* a query on a joined cache gives the logits of one plain forward pass in which the parts cannot
  see each other, to 1e-4: read lazily, turned in place, and copied.

*Spans*: attention reads the parts where they lie. *Dense*: the model does something to what its
cache returns, or has attention of its own, so it gets gathered, turned copies of all keys.

*Refused* families may still use caches that stay where they are (`join="append"`), except where
"no" stands in the column *in place*. Weights are random: a checkpoint that switches a feature on
which its family's defaults leave off (dynamic NTK, LongRoPE, ALiBi) is judged by its own proof.
"""

_VARIANTS = """## Variants

Features that a checkpoint of a family above may switch on, and text in a model of images.
"""


def load() -> dict[str, list[Finding]]:
    """Read what was found, by version, newest first."""
    files = sorted(FOUND.glob("*.json"), key=_version, reverse=True)
    return {f.stem: [Finding(**row) for row in json.loads(f.read_text())] for f in files}


def save(found: Sequence[Finding]) -> None:
    """Keep what was found with the installed version."""
    rows = ",\n".join(json.dumps(asdict(finding)) for finding in found)
    FOUND.mkdir(exist_ok=True)
    (FOUND / f"{transformers.__version__}.json").write_text(f"[\n{rows}\n]\n")


def page(versions: dict[str, list[Finding]]) -> str:
    """Render the page: counts, then the newest version in full, then what differs in others."""
    newest = next(iter(versions))
    families = {v: [f for f in found if f.family not in VARIANTS] for v, found in versions.items()}
    parts = [_HEAD, _counts(families), _refusals(families)]
    parts += _tables(newest, families[newest])
    parts += [_differences(v, families[v], families[newest]) for v in families if v != newest]
    parts.append(_VARIANTS)
    parts += _tables(newest, [f for f in versions[newest] if f.family in VARIANTS], depth="###")
    return "\n".join(parts)


def _version(file: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in file.stem.split(".") if part.isdigit())


def _counts(versions: dict[str, list[Finding]]) -> str:
    lines = ["| transformers | families | certified | of them by spans | refused | not built |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for version, found in versions.items():
        kinds = Counter(finding.outcome for finding in found)
        spans = sum(f.outcome == CERTIFIED and f.path == "spans" for f in found)
        numbers = (len(found), kinds[CERTIFIED], spans, kinds[REFUSED], kinds[NOT_BUILT])
        lines.append(f"| {version} | " + " | ".join(map(str, numbers)) + " |")
    return "\n".join(lines) + "\n"


def _refusals(versions: dict[str, list[Finding]]) -> str:
    counts = {
        version: Counter(group(f.reason) for f in found if f.outcome == REFUSED)
        for version, found in versions.items()
    }
    first = next(iter(counts.values()))
    names = sorted(set().union(*counts.values()), key=lambda name: (-first[name], name))
    lines = [f"| refused because of | {' | '.join(counts)} |", "|---|" + "---|" * len(counts)]
    for name in names:
        lines.append(f"| {name} | " + " | ".join(str(c[name]) for c in counts.values()) + " |")
    return "\n".join(lines) + "\n"


def _tables(version: str, found: list[Finding], *, depth: str = "##") -> list[str]:
    certified = [f for f in found if f.outcome == CERTIFIED]
    refused = [f for f in found if f.outcome == REFUSED]
    other = [f for f in found if f.outcome in (NOT_BUILT, FAULT)]
    lines = [f"{depth} Certified, transformers {version}\n",
             "| family | class | path | layers | what turns | proved up to | joined, off by |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for f in certified:
        lines.append(
            f"| {f.family} | {f.model_class} | {f.path} | {f.layers} | {f.turns} | {f.max_delta} "
            f"| {f.error:.0e} |"
        )
    lines += [f"\n{depth} Refused, transformers {version}\n",
              "| family | class | in place | reason |", "|---|---|---|---|"]  # fmt: skip
    for f in refused:
        lines.append(f"| {f.family} | {f.model_class} | {f.path or 'no'} | {_short(f)} |")
    if other:
        lines += [
            f"\n{depth} Not built, transformers {version}\n",
            "| family | reason |",
            "|---|---|",
        ]
        lines += [f"| {f.family} | {_cell(f.reason)} |" for f in other]
    return ["\n".join(lines) + "\n"]


def _differences(version: str, found: list[Finding], newest: list[Finding]) -> str:
    known = {f.family: f for f in newest}
    lines = [f"## What differs with transformers {version}\n",
             "| family | outcome | path | reason |", "|---|---|---|---|"]  # fmt: skip
    for f in found:
        other = known.get(f.family)
        if other is None or (f.outcome, f.path) != (other.outcome, other.path):
            lines.append(f"| {f.family} | {f.outcome} | {f.path or 'no'} | {_short(f)} |")
    return "\n".join(lines) + "\n"


def _short(finding: Finding) -> str:
    """Cut a reason to what differs between refusals."""
    words = finding.reason.removeprefix(f"{finding.model_class} uses ")
    words = words.replace(", which cannot be relocated", "")
    return _cell(words.removesuffix('; use join="append"').removesuffix(_UNPAGED))


_UNPAGED = "; its cache cannot be paged either"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Walk, keep, and write the page."""
    found = []
    for finding in walk():
        found.append(finding)
        print(f"{finding.family:28} {finding.outcome:10} {_short(finding)[:100]}", flush=True)
    save(found)
    PAGE.write_text(page(load()))
    print(Counter(f.outcome for f in found), f"wrote {PAGE}")
    if any(f.outcome == FAULT for f in found):
        raise SystemExit("a claim did not hold, or a family crashed")


if __name__ == "__main__":
    main()
