"""Moves so large that they are written past the caches, and shared among threads."""

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases

PAGES, PAGE_SIZE, HEADS, LAYERS = 512, 16, 2, 2
TOKENS = PAGES * PAGE_SIZE

pytestmark = pytest.mark.usefixtures("compiled")


def arguments(dtype, dim, rotary_dim, odd_strides=False):
    """Arguments of `materialize_` that write 33 MiB or more."""
    sizes = {"layers": LAYERS, "pages": PAGES, "heads": HEADS, "page_size": PAGE_SIZE, "dim": dim}
    source = cases.generator(0)
    pages = torch.randperm(PAGES, generator=source)
    slots = pages[:, None] * PAGE_SIZE + torch.arange(PAGE_SIZE)
    return {
        "out_k": cases.empty(dtype, odd_strides=odd_strides, **sizes),
        "out_v": cases.empty(dtype, odd_strides=odd_strides, **sizes),
        "slot_mapping": slots.flatten()[5:],
        "k_cache": cases.cache(1, dtype, **sizes),
        "v_cache": cases.cache(2, dtype, **sizes),
        "page_table": torch.randperm(PAGES, generator=source).int(),
        "spans": torch.tensor([[0, 0, 4000, 0, -1], [250, 0, TOKENS - 4005, 4000, -1]]).int(),
        "rotation": cases.rotation([37, -11], LAYERS, rotary_dim),
    }


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("dtype", "dim", "rotary_dim", "odd_strides"),
    [
        (torch.float32, 144, 144, False), (torch.bfloat16, 272, 256, False),
        (torch.float16, 272, 24, False), (torch.float32, 144, 64, True),
        (torch.bfloat16, 544, 544, False),
    ],
)  # fmt: skip
def test_equal_the_reference(monkeypatch, threads, dtype, dim, rotary_dim, odd_strides):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    case = arguments(dtype, dim, rotary_dim, odd_strides)
    copies = {name: case[name].clone() for name in ("out_k", "out_v")}
    ak.materialize_(**case, impl="cpp")
    ak.materialize_(**case | copies, impl="reference")
    assert torch.equal(case["out_v"].nan_to_num(77), copies["out_v"].nan_to_num(77))
    close = 2 * torch.finfo(dtype).eps
    torch.testing.assert_close(
        case["out_k"], copies["out_k"], rtol=close, atol=close, equal_nan=True
    )
    written = ~case["out_k"].isnan().all(-1)
    assert written.sum() == LAYERS * HEADS * (TOKENS - 5)
