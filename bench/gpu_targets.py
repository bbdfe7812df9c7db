"""What `gpu_check` must reach, and by how far it does."""

from collections.abc import Iterator


def targets(report: dict) -> list[dict]:
    """Compare sections of a report with their targets; a section that is missing is not met."""
    found = [*_copies(report), *_few_tokens(report), *_spans(report), *_cascade(report)]
    return [
        {
            "target": name, "measured": measured, "bound": bound, "met": met,
            "by": None if measured is None else f"{abs(measured / bound - 1):.1%}",
        }
        for name, measured, bound, met in found
    ]  # fmt: skip


def show(found: list[dict]) -> list[str]:
    """Say each target in a line."""
    return [
        f"{'met   ' if one['met'] else 'missed'} {one['target']}: {one['measured']} "
        f"(bound {one['bound']}, by {one['by']})"
        for one in found
    ]


def _rows(report: dict, section: str) -> list[dict]:
    rows = report.get(section, {})
    return rows.get("rows", []) if isinstance(rows, dict) else []


def _copies(report: dict) -> Iterator[tuple]:
    """At least 85 % of a copy for 4096 tokens and more."""
    rows = [row for row in _rows(report, "moves") if row["tokens"] >= 4096]
    for op in dict.fromkeys(row["op"] for row in rows) or ("moves",):
        least = min((row["share_of_copy"] for row in rows if row["op"] == op), default=None)
        yield (f"{op}, 4096 tokens or more: share of a copy, the worst shape", least, 0.85,
               least is not None and least >= 0.85)  # fmt: skip


def _few_tokens(report: dict) -> Iterator[tuple]:
    """At most 8 us for 1 to 8 tokens over all layers, in one launch."""
    rows = _rows(report, "few tokens")
    for name, bound in (("microseconds", 8.0), ("launches", 1)):
        most = max((row[name] for row in rows), default=None)
        yield (f"1 to 8 tokens over all layers in a graph: {name}, the worst op and shape", most,
               bound, most is not None and most <= bound)  # fmt: skip


def _spans(report: dict) -> Iterator[tuple]:
    """8 spans cost at most 3 % more than one."""
    rows = [row for row in _rows(report, "decode") if row["spans"] == 8]
    most = max((row["against_one_span"] for row in rows), default=None)
    yield ("decode over 8 spans against one: time, the worst length", most, 1.03,
           most is not None and most <= 1.03)  # fmt: skip


def _cascade(report: dict) -> Iterator[tuple]:
    """8 rows that share a long span are at least 3 times faster together."""
    rows = _rows(report, "cascade")
    least = min((row["times_faster"] for row in rows), default=None)
    yield ("8 rows that share a span: times faster than row by row", least, 3.0,
           least is not None and least >= 3.0)  # fmt: skip
