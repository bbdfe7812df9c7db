"""A model that two processes hold together says what it says alone."""

import json
import subprocess

import pytest
import torch

from agentprim import Engine
from agentprim.engine import load, shards
from agentprim.errors import PoolExhausted
from tests.engine.sharded import sayings
from tests.support.saved import saved
from tests.support.torchrun import TORCHRUN, environment


@pytest.mark.slow
def test_two_processes_say_what_one_does(tmp_path):
    untied = saved(tmp_path / "untied", "qwen3", vocab_size=104)
    tied = saved(tmp_path / "tied", vocab_size=104, tie_word_embeddings=True)
    command = [*TORCHRUN, "-m", "tests.engine.sharded", untied, tied, str(tmp_path)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / rank).read_text()) for rank in "01")
    assert first == second
    alone = json.loads(json.dumps(sayings(untied, tied)))
    assert first.pop("heads") * 2 == alone.pop("heads")  # each holds half of the cache
    assert "seed must be given" in first.pop("unseeded") and alone.pop("unseeded") == "drawn"
    for figures in ("odds", "mass"):
        assert first.pop(figures) == pytest.approx(alone.pop(figures), abs=1e-4)
    assert first == alone and first["recomputed"] > 0 and first["tied"][0] == "softmax"


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({}, "tp_plan must be given under torchrun, got no processes"),
        ({"device_map": "auto"}, "device_map must not be given with tp_plan"),
        ({"tp_plan": "rows"}, "tp_plan must be 'auto' or a plan of module names, got 'rows'"),
        ({"device": "meta"}, "device must be .* with tp_plan on this machine, got meta"),
    ],
)
def test_what_cannot_be_placed_is_refused_before_it_is_loaded(monkeypatch, more, fault):
    monkeypatch.setattr(load.AutoModelForCausalLM, "from_pretrained", None)
    with pytest.raises(ValueError, match=fault):
        Engine.from_pretrained("anything", **{"tp_plan": "auto", **more})


@pytest.mark.parametrize(
    ("ranks", "fault"),
    [
        (1, "tp_plan must be given to 2 or more processes, got 1"),
        (3, "num_attention_heads must be divisible by 3 processes, got 4"),
        (4, "num_key_value_heads must be divisible by 4 processes, got 2"),
    ],
)
def test_each_process_gets_as_many_heads(monkeypatch, tmp_path, ranks, fault):
    monkeypatch.setattr(torch.distributed, "is_torchelastic_launched", lambda: True)
    monkeypatch.setattr(load, "processes", lambda: ranks)
    monkeypatch.setattr(load, "_options", lambda **placed: {})
    with pytest.raises(ValueError, match=fault):
        Engine.from_pretrained(saved(tmp_path), tp_plan="auto")


def test_faults_of_one_process_are_told_from_those_of_all(monkeypatch):
    lost, full = RuntimeError("connection lost"), PoolExhausted(2, 1)
    assert not shards.is_lone(lost)  # nobody waits
    monkeypatch.setattr(shards, "processes", lambda: 2)
    assert shards.is_lone(lost)
    assert not shards.is_lone(full) and not shards.is_lone(ValueError("no"))
