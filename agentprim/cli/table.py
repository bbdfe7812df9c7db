"""Tables of what a call cost."""

from rich.table import Table

from agentprim.engine import Usage

COUNTS = ("prefilled", "decoded", "latent", "reused", "relocated")


def usage_table(usage: Usage, title: str) -> Table:
    """Lay out a usage, one row a role."""
    table = Table(title=title, title_justify="left", show_footer=len(usage.roles) > 1)
    total = usage.total
    table.add_column("role", footer="all")
    for name in COUNTS:
        table.add_column(name, footer=f"{getattr(total, name):,}", justify="right")
    table.add_column("seconds", footer=f"{total.seconds:.1f}", justify="right")
    for role, cost in usage.roles.items():
        counts = (f"{getattr(cost, name):,}" for name in COUNTS)
        table.add_row(role, *counts, f"{cost.seconds:.1f}")
    return table


def shorten(text: str, width: int) -> str:
    """Put a text on one line and cut it; white space alone is written out, so that it is seen."""
    line = " ".join(text.split()) or repr(text)
    return line if len(line) <= width else line[: width - 3].rstrip() + "..."
