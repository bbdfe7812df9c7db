"""Show a file of results as a table: `python -m bench.show bench/results/cpu_NAME.json`."""

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

KNOWN = {
    "bytes_moved", "gb_per_s", "share_of_copy", "share_of_memcpy", "tokens", "spans", "layers",
    "new_tokens", "op", "provider", "threads", "run", "dtype", "receiver",
}  # fmt: skip


def show(path: Path) -> None:
    """Print one row a benchmark: time, rate, share of a plain copy, and other figures."""
    record = json.loads(path.read_text())
    machine = record["machine_info"]
    table = Table(title=", ".join(f"{k} {v}" for k, v in machine.items()), title_justify="left")
    table.add_column("benchmark")
    for name in ("ms", "GB/s", "of a copy", "of memcpy"):
        table.add_column(name, justify="right")
    table.add_column("more", max_width=60)
    for one in record["benchmarks"]:
        about = one["extra_info"]
        shares = [
            f"{about[name]:.0%}" if name in about else ""
            for name in ("share_of_copy", "share_of_memcpy")
        ]
        more = "\n".join(f"{k} {_round(v)}" for k, v in about.items() if k not in KNOWN)
        median = f"{one['stats']['median'] * 1e3:.3f}"
        table.add_row(Text(one["name"].removeprefix("test_")), median,
                      str(about.get("gb_per_s", "")), *shares, more)  # fmt: skip
    console = Console()
    console.width = max(console.width, 100)  # cut names say nothing
    console.print(table)


def _round(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(str(_round(one)) for one in value)
    return f"{value:.4g}" if isinstance(value, float) else value


if __name__ == "__main__":
    show(Path(sys.argv[1]))
