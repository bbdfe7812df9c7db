"""Several runs in one report: only cells of the same data are compared, and rows are alike."""

from agentprim.evaluate.report import write
from agentprim.evaluate.report.block import blocks
from agentprim.evaluate.report.cells import read_cells
from tests.evaluate.run.test_report import MODEL, put, table


def found(tmp_path, *names):
    return blocks(read_cells([tmp_path / name for name in names]))


def test_cells_of_other_data_are_never_paired_nor_merged(tmp_path):
    put(tmp_path / "a", "one", "single", "yyyy", items="old")
    put(tmp_path / "b", "one", "single", "nn", items="new")
    put(tmp_path / "b", "one", "review", "yy", items="new")
    put(tmp_path / "c", "one", "review_text", "yyyy", items="old")
    first, second = found(tmp_path, "a", "b", "c")
    assert [cell.run[-1] for cell in first.cells] == ["a", "c"] and not first.others
    assert [cell.run[-1] for cell in second.cells] == ["b", "b"] and not second.others
    old, new = first.find("one", "single"), second.find("one", "single")
    assert old.against(new) is None and old.against(old).gained == 0
    assert second.against(second.find("one", "review")).gained == 2
    assert second.twin(second.find("one", "review")) is None
    second.cells[second.cells.index(new)] = old
    assert second.beside(second.find("one", "review"), "single") is None


def test_data_that_changed_within_a_run_are_apart_too(tmp_path):
    put(tmp_path / "a", "one", "single", "yy", items="old")
    put(tmp_path / "a", "one", "review", "nn", items="new")
    assert [len(block.cells) for block in found(tmp_path, "a")] == [1, 1]


def test_a_run_that_stands_apart_for_one_task_stays_together(tmp_path):
    put(tmp_path / "a", "one", "single", "y")
    put(tmp_path / "a", "two", "single", "y", items="old")
    put(tmp_path / "b", "one", "single", "n")
    put(tmp_path / "b", "two", "single", "n", items="new")
    (path, _) = write([tmp_path / "a", tmp_path / "b"], tmp_path / "r", plots=False)
    text = path.read_text()
    first, second = found(tmp_path, "a", "b")
    assert {cell.run[-1] for cell in first.cells} == {"a"}
    assert {cell.run[-1] for cell in second.cells} == {"b"}
    assert "two" not in first.title and "other items of two than above" in second.title
    assert second.title in text and "and stands in" not in text
    assert table(text, "Table 1.10")[2] == ["single", "100.0", "0.0"]


def test_rows_over_models_name_the_inner_for_all_models_or_for_none(tmp_path):
    other = {**MODEL, "name": "other"}
    put(tmp_path / "a", "one", "review", "yy")
    put(tmp_path / "a", "one", "single", "yy")
    for inner, right in (("latent", "yn"), ("prefill", "nn")):
        put(tmp_path / inner, "one", "review", right, inner=inner, model=other)
    (path, _) = write([tmp_path / n for n in ("a", "latent", "prefill")], tmp_path / "r",
                      plots=False)  # fmt: skip
    assert table(path.read_text(), "Table 1.10")[2:] == [
        ["single", "100.0", "not run"], ["review [latent]", "100.0", "50.0"],
        ["review [prefill]", "not run", "0.0"],
    ]  # fmt: skip


def test_models_that_were_run_with_one_inner_each_do_not_share_a_row(tmp_path):
    put(tmp_path / "a", "one", "review", "yy")
    put(tmp_path / "b", "one", "review", "nn", inner="prefill", model={**MODEL, "name": "other"})
    (path, _) = write([tmp_path / "a", tmp_path / "b"], tmp_path / "r", plots=False)
    assert [row[0] for row in table(path.read_text(), "Table 1.10")[2:]] == [
        "review [latent]", "review [prefill]",
    ]  # fmt: skip
