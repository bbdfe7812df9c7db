"""Calibrate the decider on labelled sets, and draw what the held-out half says of it.

    python -m bench.decisions run --gsm8k gsm8k_test.jsonl   # bench/results/decisions_smollm2.json
    python -m bench.decisions draw                           # docs/figures/decisions_*.svg

Two sets, half of each state true: worked answers of GSM8K as published, or with one number of the
working changed; and notes with a citation that agrees with them, or that names another fact. One
half fits temperature and threshold, the other half is reported. A run that was cut off goes on.
"""

import json
import random
import re
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import track

import agentprim as ap
from agentprim.decide import Labelled, fit, judge
from agentprim.decide.calibration import arrays, sigmoid
from agentprim.decide.heldout import halves, held_out
from agentprim.decide.quality import quality, reliability, risk_coverage
from agentprim.trust.items import make_item
from agentprim.workflow.lite.inject import mutate

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "bench" / "results" / "decisions_smollm2.json"
FIGURES = ROOT / "docs" / "figures"
SUMS = "Is every calculation in the answer correct?"
CITED = "Does the note say what the citation says?"
TARGET = 0.1
app = typer.Typer(no_args_is_help=True)


def gsm8k_rows(path: Path, count: int) -> list[dict]:
    """Make states of GSM8K: each answer as published, and with a number changed."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines()):
        item = json.loads(line)
        answer = _plain(item["answer"])
        wrong = mutate(answer, "value", number)
        if wrong is not None and len(rows) < 2 * count:
            for text, holds in ((answer, True), (wrong, False)):
                state = f"Question: {item['question']}\n\nAnswer: {text}"
                rows.append({"set": "gsm8k", "state": state, "question": SUMS, "holds": holds})
    return rows


def note_rows(count: int) -> list[dict]:
    """Make states of notes: a citation of what one says, or of what another says."""
    rows = []
    for number in range(count):
        item, other = make_item(number, seed=7), make_item(number + count, seed=7)
        note, source = item.notes[0], random.Random(number)
        told, false = source.choice(note.facts), source.choice(other.notes[0].facts)
        for fact, holds in ((told, True), (false, False)):
            state = f"{note.text}\n\nCitation: {fact.again}."
            rows.append({"set": "notes", "state": state, "question": CITED, "holds": holds})
    return rows


@app.command()
def run(
    gsm8k: Annotated[Path, typer.Option(help="gsm8k test set, JSON lines.")],
    count: Annotated[int, typer.Option(help="Pairs of a set.")] = 150,
) -> None:
    """Judge both sets, with and without the content-free prior, and write the figures."""
    rows = gsm8k_rows(gsm8k, count) + note_rows(count)
    engine = ap.Engine.from_pretrained("smollm2", pool_tokens=16384)
    partial = ROOT / "build" / "decisions.jsonl"
    partial.parent.mkdir(exist_ok=True)
    done = (
        [json.loads(line) for line in partial.read_text().splitlines()] if partial.exists() else []
    )
    decider = ap.Decider(engine)
    bias = {question: _without_a_state(engine, question) for question in (SUMS, CITED)}
    with partial.open("a") as lines:
        for row in track(rows[len(done) :], "decides"):
            asked = [judge(row["question"])]
            yes, no = decider.ask(asked, row["state"])[0].log_probs.values()
            odds = [yes - no, yes - no - bias[row["question"]]]
            done.append({"set": row["set"], "holds": row["holds"], "odds": odds})
            lines.write(json.dumps(done[-1]) + "\n")
            lines.flush()
    result = {"model": "SmolLM2-135M-Instruct fp32", "target": TARGET, "sets": {}}
    for name in ("gsm8k", "notes"):
        for column, kind in enumerate(("plain", "prior")):
            found = [
                Labelled(question=name, log_odds=one["odds"][column], holds=one["holds"])
                for one in done if one["set"] == name
            ]  # fmt: skip
            result["sets"][f"{name}, {kind}"] = _report(found, name)
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    partial.unlink()
    show()


def _without_a_state(engine: ap.Engine, question: str) -> float:
    """Return the log-odds of yes that the content-free prior subtracts."""
    plain, prior = (
        ap.Decider(engine, prior=on).judge(question, "a state").log_probs for on in (False, True)
    )
    yes, no = (plain[word] - prior[word] for word in ("yes", "no"))
    return yes - no


def _report(found: list[Labelled], name: str) -> dict:
    fitted, held = halves(found, seed=0)
    calibration = fit(fitted, target=TARGET)
    odds, holds = arrays(held)
    p = sigmoid(odds / calibration.temperature(name))
    coverage, risk = risk_coverage(p, holds)
    return {
        "fitted": len(fitted),
        "temperature": calibration.temperature(name),
        "before": quality(sigmoid(odds), holds, 0.5).to_dict(),
        "after": held_out(calibration, held, name).to_dict(),
        "reliability_before": reliability(sigmoid(odds), holds, 10),
        "reliability_after": reliability(p, holds, 10),
        "coverage": np.round(coverage, 4).tolist(),
        "risk": np.round(risk, 4).tolist(),
    }


@app.command()
def show() -> None:
    """Print the figures."""
    for name, one in json.loads(RESULT.read_text())["sets"].items():
        for when in ("before", "after"):
            figures = " ".join(f"{k}={v:.3f}" for k, v in one[when].items())
            print(f"{name} ({when}): {figures}")


@app.command()
def draw() -> None:
    """Draw the reliability and risk-coverage plots from the committed figures."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    found = json.loads(RESULT.read_text())["sets"]  # after fitting, a prior changes nothing
    sets = {name.removesuffix(", plain"): one for name, one in found.items() if "plain" in name}
    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "agentprim", "font.size": 9})
    figure, axes = pyplot.subplots(1, len(sets), figsize=(3.0 * len(sets), 3.2), sharey=True)
    for axis, (name, one) in zip(axes, sets.items(), strict=True):
        axis.plot([0, 1], [0, 1], color="0.6", lw=0.8, label="perfect")
        for key, style in (("before", "o--"), ("after", "s-")):
            points = one[f"reliability_{key}"]
            axis.plot([x for x, _, _ in points], [y for _, y, _ in points], style, ms=3, lw=1,
                      label=f"{key} fitting, ECE {one[key]['ece']:.2f}")  # fmt: skip
        axis.set(title=name, xlabel="probability given to yes", xlim=(0, 1), ylim=(0, 1))
        axis.legend(fontsize=7, loc="upper left", frameon=False)
    axes[0].set_ylabel("share that is true")
    _save(figure, "decisions_reliability")
    figure, axis = pyplot.subplots(figsize=(4.6, 3.2))
    for name, one in sets.items():
        label = f"{name}, AUROC {one['after']['auroc']:.2f}"
        axis.plot(one["coverage"], one["risk"], lw=1.2, label=label)
    axis.axhline(0.5, color="0.6", lw=0.8, ls=":")
    axis.set(xlabel="share released, surest first", ylabel="share of it that is wrong",
             xlim=(0, 1), ylim=(0, 1))  # fmt: skip
    axis.legend(fontsize=7, frameon=False)
    _save(figure, "decisions_risk")


def _save(figure, name: str) -> None:
    figure.patch.set_facecolor("white")
    figure.tight_layout()
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / f"{name}.svg", metadata={"Date": None})
    figure.savefig(ROOT / "build" / f"{name}.png", dpi=110)


def _plain(answer: str) -> str:
    """Take the calculator's marks out of a published answer."""
    body, _, final = answer.partition("\n#### ")
    return f"{re.sub(r'<<[^>]*>>', '', body)}\nThe answer is {final.strip()}."


if __name__ == "__main__":
    app()
