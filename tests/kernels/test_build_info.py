"""What is reported about an installation, and that it needs neither Triton nor transformers."""

import subprocess
import sys

import torch

from agentprim_kernels import build_info, native

BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("triton", "transformers"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocker())
import torch
import agentprim_kernels as ak
info = ak.build_info()
assert info.triton == "" and "blocked" in info.triton_reason, info
assert info.impls["cuda"]["attend"] == "reference", info
cache = torch.ones(1, 2, 1, 4, 8)
table = torch.tensor([1], dtype=torch.int32)
spans = torch.tensor([[0, 0, 4, 0, -1]], dtype=torch.int32)
ak.rotate_(cache, table, spans, ak.rotation([3], torch.ones(1, 4)))
assert (cache[:, 0] == 1).all() and (cache[:, 1] != 1).all()
assert not {"triton", "transformers", "agentprim"} & set(sys.modules)
print("fine")
"""


def test_kernels_import_and_run_without_triton_and_transformers():
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr


def test_report_agrees_with_what_is_there():
    info = build_info()
    assert info.native == native.available() == (info.native_reason == "")
    assert bool(info.cuda) == (info.cuda_reason == "") == bool(info.cuda_architectures)
    assert bool(info.triton) == (info.triton_reason == "")
    assert info.torch == torch.__version__
    assert info.devices[0] == "cpu"
    assert len(info.devices) == 1 + torch.cuda.device_count()
    assert set(info.impls["cpu"].values()) <= {"cpp", "reference"}
