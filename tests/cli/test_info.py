"""`agentprim info`: what is here, what runs, and why something is missing."""

import json
from dataclasses import asdict, replace

import torch

from agentprim.cli.info import facts
from agentprim_kernels.build_info import build_info


def test_info_names_versions_and_what_each_op_runs_on(call):
    built, done = build_info(), call("info")
    assert done.exit_code == 0
    assert f"torch {torch.__version__}" in done.stdout
    for op, impl in built.impls["cpu"].items():
        row = next(line for line in done.stdout.splitlines() if f" {op} " in line)
        assert impl in row


def test_info_as_json_is_the_whole_record(call):
    found = json.loads(call("info", "--json").stdout)
    assert found["build"] == json.loads(json.dumps(asdict(build_info())))
    assert found["versions"]["torch"] == torch.__version__


def test_info_says_why_something_is_missing():
    bare = replace(
        build_info(), native=False, native_reason="no compiler was found", compiler="", cuda="",
        cuda_reason="nvcc was not found", triton="", triton_reason="triton does not import (x)",
    )  # fmt: skip
    demo = {"folder": "somewhere", "converted": False}
    found = dict(facts(bare, {"torch": "2"}, demo))
    assert found["compiled module"] == "none: no compiler was found"
    assert found["CUDA part"] == "none: nvcc was not found"
    assert found["Triton"] == "none: triton does not import (x)"
    assert found["demo model"] == "somewhere (not converted yet)"
