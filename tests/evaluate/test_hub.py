"""Tasks load what `datasets` makes of folders laid out as their repositories on the hub are.

All rows are made up; only the folder stands in for the name of the repository.
"""

import json

import pytest

from agentprim.evaluate.tasks import task

hub = pytest.importorskip("datasets")
GPQA = ("Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3,"
        "Record ID,High-level domain\n")  # fmt: skip
PROBLEM = {"problem": "Half of one?", "answer": "0.5"}
MEDQA = {"question": "Which?", "answer": "A cold", "meta_info": "step1", "answer_idx": "B",
         "options": {"A": "Fever", "B": "A cold", "C": "Gout", "D": "None"},
         "metamap_phrases": ["which"]}  # fmt: skip
HUMANEVAL = {
    "task_id": "HumanEval/0", "prompt": 'def double(x):\n    """Double it."""\n',
    "canonical_solution": "    return x * 2\n", "entry_point": "double",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
}  # fmt: skip
MBPP = {
    "task_id": 3, "prompt": "Double it.", "code": "def double(x):\n    return 2 * x",
    "source_file": "x", "test_imports": ["import math"], "test_list": ["assert double(1) == 2"],
    "test": "assert double(math.floor(2.5)) == 4",
}  # fmt: skip
# task: repository, how it is split into subsets, and what its test set has
REPOSITORIES = {
    "gsm8k": ("openai/gsm8k", {"main": {"test": "main/test-0.parquet"}},
              [{"question": "One and one?", "answer": "1+1\n#### 2"}]),
    "math500": ("HuggingFaceH4/MATH-500", {"default": {"test": "test.jsonl"}},
                [{**PROBLEM, "subject": "Algebra", "level": 1, "unique_id": "x"}]),
    "aime24": ("HuggingFaceH4/aime_2024", {"default": {"train": "data/train-0.parquet"}},
               [{"id": 60, **PROBLEM, "answer": "204", "year": "2024"}]),
    "aime25": ("math-ai/aime25", {"default": {"test": "test.jsonl"}},
               [{**PROBLEM, "answer": "70", "id": "0"}]),
    "medqa": ("GBaker/MedQA-USMLE-4-options",
              {"default": {"train": "phrases_train.jsonl", "test": "phrases_test.jsonl"}}, [MEDQA]),
    "gpqa_diamond": ("Idavidrein/gpqa", {"gpqa_extended": {"train": "gpqa_extended.csv"},
                                         "gpqa_diamond": {"train": "gpqa_diamond.csv"}}, None),
    "humaneval_plus": ("evalplus/humanevalplus", {"default": {"test": "data/test-0.parquet"}},
                       [HUMANEVAL]),
    "mbpp_plus": ("evalplus/mbppplus", {"default": {"test": "data/test-0.parquet"}}, [MBPP]),
}  # fmt: skip
RIGHT = {
    "gsm8k": "It is 2.", "math500": "\\boxed{0.5}", "aime24": "\\boxed{204}", "aime25": "70",
    "medqa": "B", "gpqa_diamond": "7", "humaneval_plus": "def double(x):\n    return x + x",
    "mbpp_plus": "def double(x):\n    return x + x",
}  # fmt: skip


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Put folders in place of repositories."""
    real = hub.load_dataset

    def load(name, *subset, **options):
        return real(str(tmp_path / name), *subset, cache_dir=str(tmp_path / "cache"), **options)

    monkeypatch.setattr(hub, "load_dataset", load)
    return tmp_path


def lay_out(root, name, subsets, rows):
    """Write a repository: a card that lists subsets, and their files."""
    told = [
        {"config_name": subset, "data_files": [{"split": s, "path": p} for s, p in files.items()]}
        for subset, files in subsets.items()
    ]
    for files in subsets.values():
        for path in files.values():
            file = root / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".csv":
                file.write_text(GPQA + 'Two and five?,7,8,"9, or 8",None,rec1,Physics\n')
            elif file.suffix == ".jsonl":
                file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
            else:
                hub.Dataset.from_list(rows).to_parquet(str(file))
    (root / name / "README.md").write_text(f"---\n{json.dumps({'configs': told})}\n---\n")


@pytest.mark.parametrize("name", list(REPOSITORIES))
def test_rows_of_the_hub_are_read_and_graded(stand_in, name):
    if name in ("math500", "aime24", "aime25"):
        pytest.importorskip("math_verify")
    lay_out(stand_in, *REPOSITORIES[name])
    (item,) = task(name).load(None, None, 0)
    assert item == task(name).load(None, 1, 1)[0] and json.loads(json.dumps(item.more)) == item.more
    assert task(name).grade(item, RIGHT[name]).correct
    assert not task(name).grade(item, "No.").correct
    if name == "gpqa_diamond":
        assert sorted(item.more["options"]) == ["7", "8", "9, or 8", "None"]


def test_a_repository_that_is_not_there_is_named(stand_in):
    with pytest.raises(FileNotFoundError, match="openai/gsm8k"):
        task("gsm8k").load(None, 1, 0)
