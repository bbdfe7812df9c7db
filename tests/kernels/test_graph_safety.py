"""No launcher asks the host for what stands on a device, so every op fits into a CUDA graph.

Launchers run on meta tensors, which have shapes and no values: whatever would wait for a device
raises. Kernels are only recorded.
"""

import importlib

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import agentprim_kernels as ak
from agentprim_kernels.attend import attend
from bench import gpu_graphs
from tests.kernels import cases

MODULES = ("attend", "materialize", "merge", "rotate", "select", "store")
ALLOCATES = {"empty", "empty_strided", "new_empty", "new_empty_strided"}


class Operators(TorchDispatchMode):
    """List operators that would launch a kernel of torch's own: all but views and allocations."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        is_view = any(value.alias_info is not None for value in func._schema.returns)
        if not is_view and name not in ALLOCATES:
            self.names.append(name)
        return func(*args, **(kwargs or {}))


@pytest.fixture
def launches(monkeypatch):
    """Record kernels instead of launching them."""
    pytest.importorskip("triton")
    found = []

    def record(kernel, grid, *args, **options):
        assert all(type(n) is int for n in grid)
        found.append((getattr(kernel, "fn", kernel).__name__, args))

    for name in MODULES:
        monkeypatch.setattr(
            importlib.import_module(f"agentprim_kernels.triton.{name}"), "launch", record
        )
    return found


def meta(value):
    return value.to("meta") if isinstance(value, (torch.Tensor, ak.Cascade)) else value


@pytest.mark.parametrize("op", gpu_graphs.OPS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_launchers_need_shapes_only(launches, op, dtype):
    function, case = gpu_graphs.case(op, dtype)
    with Operators() as seen:
        function(**{name: meta(value) for name, value in case.items()}, impl="triton")
    assert seen.names == ["_to_copy"] * sum(map(gpu_graphs.tensors, case.values()))
    names = [name for name, _ in launches]
    assert names[0] == f"{op.split()[0]}_kernel" and names[1:] in ([], ["merge_kernel"])
    for _, args in launches:
        assert all(isinstance(arg, (torch.Tensor, int, float)) for arg in args)


def test_options_of_attend_need_shapes_only(launches):
    options = {"gapped": True, "window": 40, "softcap": 5.0, "sinks": True, "queries": 40}
    case = cases.attend(0, torch.float16, **options)
    attend(**{name: meta(value) for name, value in case.items()}, impl="triton")
    assert launches


@pytest.mark.parametrize("read", [
    lambda x: x.item(), lambda x: x.tolist(), lambda x: bool(x), lambda x: int(x),
    lambda x: x.cpu(), lambda x: x.nonzero(), lambda x: x.numpy(), lambda x: range(x),
])  # fmt: skip
def test_reading_a_value_would_raise(read):
    """What the tests above rely on."""
    with pytest.raises((RuntimeError, NotImplementedError, TypeError)):
        read(torch.ones((), dtype=torch.int32, device="meta"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("op", gpu_graphs.OPS)
def test_a_captured_op_follows_its_buffers(op):
    gpu_graphs.check(op, torch.bfloat16, "cuda")
