"""The README's figures are drawn from results alone."""

import json

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is in the extra `bench`")

from bench import plot  # noqa: E402
from bench.figures import decode, handover, shares  # noqa: E402


def row(name, seconds, **about):
    return {"name": name, "stats": {"median": seconds}, "extra_info": about}


@pytest.fixture
def results(tmp_path):
    """Write a small file of results, and one of a peer beside it."""
    ours = [
        *(row(f"test_handover[{t}-lazy]", 2e-5, tokens=t, provider="lazy") for t in (512, 2048)),
        *(row(f"test_attend[{n}]", 1e-2 * n, op="attend", provider="cpp", threads=1, spans=n,
              layers=8, tokens=4096) for n in (1, 8)),
        row("test_rotate[cpp]", 1.0, op="rotate", provider="cpp", threads=2, share_of_memcpy=0.5),
    ]  # fmt: skip
    peers = [row("test_vllm_rotary", 1.0, op="rotate", provider="vllm", threads=2,
                 share_of_memcpy=0.25)]  # fmt: skip
    machine = {"cpu": "A CPU", "cores": 2, "torch": "2"}
    for name, rows in (("cpu", ours), ("peers", peers)):
        record = {"machine_info": machine, "commit_info": {"id": "0" * 40}, "benchmarks": rows}
        (tmp_path / f"{name}_x.json").write_text(json.dumps(record))
    return plot.load(tmp_path / "cpu_x.json")


def test_lines_and_bars_are_the_recorded_figures(results):
    rows, words = results
    assert words == "A CPU, 2 cores, torch 2, commit 0000000"
    (line,) = handover(rows).axes[0].lines
    assert line.get_xydata().tolist() == [[512, 2e-5], [2048, 2e-5]]
    assert decode(rows).axes[0].lines[0].get_xydata().tolist() == [[1, 1.25], [8, 10]]
    heights = [bar.get_height() for bar in shares(rows).axes[0].patches]
    assert [height for height in heights if height] == [50, 25]


@pytest.mark.parametrize("draw", [handover, shares, decode])
def test_results_without_its_rows_are_refused(draw):
    with pytest.raises(ValueError, match="make bench"):
        draw([])
