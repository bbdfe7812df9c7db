"""Draw the README's figures from committed results: `python -m bench.plot`.

    python -m bench.plot [bench/results/cpu_NAME.json] [--out docs/figures] [--format svg]

Figures of other projects are drawn too where `peers_NAME.json` lies beside.
"""

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

from bench.figures import decode, handover, shares  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
FIGURES = {"handover_time": handover, "share_of_copy": shares, "decode_by_spans": decode}
STYLE = {
    "figure.facecolor": "white", "savefig.facecolor": "white",  # a card on a dark page
    "axes.facecolor": "white", "axes.edgecolor": "#5b6770", "axes.labelcolor": "#1f2933",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "axes.axisbelow": True, "axes.titlelocation": "left", "axes.titlesize": 12,
    "axes.titleweight": "bold", "grid.color": "#e3e8ec", "grid.linewidth": 0.8,
    "xtick.color": "#3a464f", "ytick.color": "#3a464f", "text.color": "#1f2933",
    "font.size": 10.5, "svg.hashsalt": "agentprim", "legend.frameon": False,
}  # fmt: skip


def load(path: Path) -> tuple[list[dict], str]:
    """Read the rows of a file of results, those of peers beside it, and a line that names them.

    Returns:
        One dict a benchmark: its name, median seconds, and what was recorded with it.
    """
    rows, words = [], ""
    for one in (path, path.with_name(path.name.replace("cpu_", "peers_", 1))):
        if one.exists():
            record = json.loads(one.read_text())
            machine = record["machine_info"]
            words = words or (
                f"{machine['cpu']}, {machine['cores']} cores, torch {machine['torch']}, "
                f"commit {record['commit_info']['id'][:7]}"
            )
            rows += [
                {"name": row["name"], "seconds": row["stats"]["median"], **row["extra_info"]}
                for row in record["benchmarks"]
            ]  # fmt: skip
    return rows, words


def main() -> None:
    """Draw all figures of one file; say which it has no rows for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", help="default: the newest of bench/results")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "figures")
    parser.add_argument("--format", choices=["svg", "png"], default="svg")
    given = parser.parse_args()
    found = sorted((ROOT / "bench" / "results").glob("cpu_*.json"), key=lambda p: p.stat().st_mtime)
    rows, words = load(given.path or found[-1])
    given.out.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        with plt.rc_context(STYLE):
            try:
                figure = draw(rows)
            except ValueError as error:
                print(f"{name}: {error}")
                continue
            figure.text(0.01, 0.01, words, fontsize=8, color="#5b6770")
            path = given.out / f"{name}.{given.format}"
            figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix == ".svg" else {})
            plt.close(figure)
        print(path)


if __name__ == "__main__":
    main()
