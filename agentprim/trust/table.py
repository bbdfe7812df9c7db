"""The figures of a certificate as rows of text, for terminals and documents."""

from collections.abc import Iterator
from itertools import groupby

from agentprim.engine.certificate import Certificate, Fidelity, Interval

COLUMNS = ("way", "kl", "kl_text", "top1_text", "answer_text", "read", "again", "seconds", "n")
# of 80 characters: upper ends of intervals instead of both
NARROW = ("way", "kl", "high", "kl_text", "high", "top1", "answer", "read", "again", "sec.", "n")


def sections(
    certificate: Certificate, *, narrow: bool = False
) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield a title and rows of cells for each size measured.

    Args:
        certificate: What was measured.
        narrow: Cells in the order of `NARROW` instead of `COLUMNS`.
    """
    sizes = groupby(certificate.fidelity, key=lambda one: (one.senders, one.receiver_tokens))
    for (senders, tokens), rows in sizes:
        caches = "1 cache" if senders == 1 else f"{senders} caches"
        title = f"{caches}, receiver's system prompt of about {tokens} tokens"
        yield title, [cells(row, narrow=narrow) for row in rows]


def cells(row: Fidelity, *, narrow: bool = False) -> tuple[str, ...]:
    """Return the cells of a row."""
    kls = (_number(row.kl), _number(row.kl_text))
    if narrow:
        kls = (*_ends(row.kl), *_ends(row.kl_text))
    return (
        str(row.way), *kls, _share(row.top1_text),
        _share(row.answer_text), f"{row.prefilled:.0f}", f"{row.recomputed:.0f}",
        "" if row.seconds is None else f"{row.seconds:.2f}", str(row.kl_text.n),
    )  # fmt: skip


def facts(certificate: Certificate) -> list[tuple[str, str]]:
    """List what is certified besides the table."""
    c = certificate
    kinds = [
        f"{kind.layers} {kind.layer_type or 'layers'}: rotary_dim {kind.rotary_dim}, "
        f"error {kind.error:.0e} at {kind.delta}"
        for kind in c.rope
    ]
    ways = ", ".join(f"{name} {error:.0e}" for name, error in c.machinery.items())
    machinery = f"{ways} (allowed {c.machinery_budget:.0e})" if ways else c.machinery_note
    right = "" if c.right is None else f", the text hand-over answers {c.right:.0%} rightly"
    count = f"{c.items} items with one sender{right}; {c.tokens:,} tokens in {c.seconds:.0f} s"
    return [
        ("model", f"{c.model} ({c.model_class}, {c.dtype}, {c.device})".lstrip()),
        ("versions", f"agentprim {c.version}, transformers {c.transformers}"),
        ("rotation", c.refusal or "; ".join(kinds)),
        ("proved", f"moves by up to {c.max_delta:,}, up to position {c.max_position:,}"),
        ("machinery", machinery),
        ("approximation", f"{c.fidelity_note}; {count}" if c.fidelity else c.fidelity_note),
    ]


def markdown(certificate: Certificate) -> str:
    """Return everything as Markdown."""
    lines = [f"* {name}: {value}" for name, value in facts(certificate)]
    for title, rows in sections(certificate):
        lines += ["", f"**{title}**", "", "| " + " | ".join(COLUMNS) + " |"]
        lines.append("|---|" + "---:|" * (len(COLUMNS) - 1))
        lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _number(interval: Interval | None) -> str:
    if interval is None:
        return ""
    return f"{_short(interval.mean)} ({_short(interval.low)}-{_short(interval.high)})"


def _ends(interval: Interval | None) -> tuple[str, str]:
    return ("", "") if interval is None else (_short(interval.mean), _short(interval.high))


def _short(value: float) -> str:
    return f"{value:.3f}" if value < 0.995 else f"{value:.2f}"


def _share(interval: Interval | None) -> str:
    return "" if interval is None else f"{100 * interval.mean:.0f} %"
