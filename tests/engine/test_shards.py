"""A model that two processes hold together says what it says alone."""

import json
import os
import subprocess
import sys

import pytest

from agentprim import Engine
from tests.engine.sharded import sayings
from tests.support.saved import saved

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.mark.slow
def test_two_processes_say_what_one_does(tmp_path):
    folder = saved(tmp_path / "model", "qwen3", vocab_size=98)
    command = [*TORCHRUN, "-m", "tests.engine.sharded", folder, str(tmp_path)]
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    first, second = (json.loads((tmp_path / rank).read_text()) for rank in "01")
    assert first == second
    alone = sayings(folder)
    assert first.pop("heads") * 2 == alone.pop("heads")  # each holds half of the cache
    assert first.pop("odds") == pytest.approx(alone.pop("odds"), abs=1e-4)
    assert first == alone


def test_tensor_parallelism_without_torchrun_is_refused(tmp_path):
    folder = saved(tmp_path)
    with pytest.raises(ValueError, match="tp_plan must be given under torchrun, got 'auto'"):
        Engine.from_pretrained(folder, tp_plan="auto")
    with pytest.raises(ValueError, match="device_map must not be given with tp_plan"):
        Engine.from_pretrained(folder, tp_plan="auto", device_map="auto")
