"""The document and the figure are drawn from the committed certificate."""

import importlib.util
from pathlib import Path

import pytest

from agentprim import Certificate

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "bench/results/certificate_smollm2.json"


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "bench" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not RESULT.exists(), reason="there is no committed certificate yet")
def test_the_document_shows_the_committed_certificate():
    certificate = Certificate.from_json(RESULT.read_text())
    document = (ROOT / "docs/trust.md").read_text()
    assert script("certificate_table").fill(document, certificate) == document, (
        "run python bench/certificate_table.py"
    )


def test_figures_go_between_the_marks_and_nowhere_else(measured):
    table = script("certificate_table")
    document = f"a\n{table.BEGIN}\nold\n{table.END}\nz\n"
    filled = table.fill(document, measured)
    assert filled.startswith("a\n") and filled.endswith("\nz\n") and "old" not in filled
    assert table.fill(filled, measured) == filled
    for row in measured.fidelity:
        assert f"| {row.way} |" in filled
    with pytest.raises(ValueError, match="once each"):
        table.fill("no marks", measured)


def test_a_figure_has_a_line_for_each_way(measured, tmp_path):
    pytest.importorskip("matplotlib")
    plot, path = script("plot_certificate"), tmp_path / "deep" / "figure.svg"
    for name in ("kl", "kl_text"):
        plot.draw(measured, path, name)
        text = path.read_text()
        assert text.startswith("<?xml")
        for _, lines in plot.PANELS:
            for label, choices, _, _ in lines:
                assert label in text
                assert len(plot.series(measured, choices, name)) >= 1, label
