"""Draw how far hand-overs are from recomputing, against the length of the receiver's prompt.

    python bench/plot_certificate.py bench/results/certificate_smollm2.json

From the JSON that `agentprim verify --full --json` writes; needs matplotlib (`agentprim[bench]`).
"""

import argparse
from pathlib import Path

from agentprim import Certificate

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench/results/certificate_smollm2.json"
FIGURE = ROOT / "docs/figures/certificate_smollm2.svg"
ALL = {"join": "relocate", "carry": "all"}
NO_SYSTEM = {"join": "relocate", "carry": "no_system"}
BLUE, ORANGE, RED, GREEN, VIOLET, PINK = (
    "#4269d0", "#efb118", "#ff725c", "#3ca951", "#6b4fbb", "#d65db1",
)  # fmt: skip
# title, and for each line its label, choices of a way, colour and style
PANELS = (
    (
        "what travels",
        [
            ("append, all", {"join": "append"}, BLUE, "-"),
            ("relocate, all", ALL, ORANGE, "-"),
            ("relocate, no system prompt", NO_SYSTEM, RED, "-"),
            ("relocate, reply only", {**ALL, "carry": "reply"}, GREEN, "-"),
        ],
    ),
    (
        "repair (no system prompt)",
        [
            ("relocate, no system prompt", NO_SYSTEM, RED, "-"),
            ("first 16 repaired", {"join": "repair", "first": 16}, VIOLET, "-"),
            ("share 0.15 repaired", {"join": "repair", "share": 0.15}, PINK, "-"),
            ("both", {"join": "repair", "first": 16, "share": 0.15}, BLUE, "-"),
        ],
    ),
    (
        "without rotation",
        [
            ("relocate, all", ALL, ORANGE, "-"),
            ("the same, not rotated", {**ALL, "rotate": False}, ORANGE, ":"),
            ("relocate, no system prompt", NO_SYSTEM, RED, "-"),
            ("the same, not rotated", {**NO_SYSTEM, "rotate": False}, RED, ":"),
        ],
    ),
)


def series(certificate: Certificate, choices: dict, name: str) -> list[tuple[int, object]]:
    """List `(receiver_tokens, interval)` of one way with one sender, by length."""
    found = []
    for row in certificate.fidelity:
        wanted = {"rotate": True, "first": 0, "share": 0.0, "offsets": "consecutive", **choices}
        fits = all(getattr(row.way, key) == value for key, value in wanted.items())
        if fits and row.senders == 1 and getattr(row, name) is not None:
            found.append((row.receiver_tokens, getattr(row, name)))
    return sorted(found, key=lambda pair: pair[0])


def draw(certificate: Certificate, path: Path, name: str = "kl") -> None:
    """Write the figure."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams |= {"font.size": 9, "svg.hashsalt": "agentprim", "svg.fonttype": "none"}
    figure, axes = pyplot.subplots(1, len(PANELS), figsize=(11, 3.8), sharey=True)
    for axis, (title, lines) in zip(axes, PANELS, strict=True):
        for number, (label, choices, colour, style) in enumerate(lines):
            points = series(certificate, choices, name)
            if not points:
                continue
            x = [tokens * 1.05 ** (number - 1.5) for tokens, _ in points]  # bars side by side
            mean = [one.mean for _, one in points]
            ends = [[one.mean - one.low for _, one in points],
                    [one.high - one.mean for _, one in points]]  # fmt: skip
            axis.errorbar(x, mean, yerr=ends, label=label, color=colour, linestyle=style,
                          marker="o", markersize=4, capsize=2, linewidth=1.4)  # fmt: skip
        lengths = sorted({row.receiver_tokens for row in certificate.fidelity})
        axis.set_xscale("log")
        axis.set_xticks(lengths, [f"{length:,}" for length in lengths])
        axis.minorticks_off()
        axis.set_yscale("symlog", linthresh=0.01)
        axis.set_ylim(bottom=0)
        axis.set_yticks([0, 0.01, 0.1, 1], ["0", "0.01", "0.1", "1"])
        axis.grid(axis="y", color="#dddddd", linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_title(title, loc="left", fontsize=10)
        axis.set_xlabel("receiver's system prompt, tokens")
        axis.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1, 0.03))
    axes[0].set_ylabel("KL of the next token, nats")
    against = "the same tokens" if name == "kl" else "the hand-over by text"
    figure.suptitle(
        f"{certificate.model}: handed over against recomputing {against}, one sender, "
        "means with 95 % intervals",
        fontsize=10, x=0.01, ha="left",
    )  # fmt: skip
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    figure.savefig(path, dpi=110, metadata=metadata)
    pyplot.close(figure)


def main() -> None:
    """Read the arguments and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("certificate", type=Path, nargs="?", default=RESULT)
    parser.add_argument("--out", type=Path, default=FIGURE, help="SVG or PNG")
    parser.add_argument("--against", choices=("kl", "kl_text"), default="kl")
    options = parser.parse_args()
    certificate = Certificate.from_json(options.certificate.read_text())
    draw(certificate, options.out, options.against)
    print(options.out)


if __name__ == "__main__":
    main()
