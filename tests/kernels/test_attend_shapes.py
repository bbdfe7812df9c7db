"""Attention over the shapes that real models have: each is a path of its own through the loops."""

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases, oracle
from tests.kernels.test_lanes import isa  # noqa: F401

HEADS = [(3, 3), (6, 2), (8, 2), (8, 1)]  # one, three, four and eight query heads a KV head


def errors(case):
    """Return the largest error of `out` against fp64, and one rounding of its largest value."""
    out, lse = ak.attend(**case, impl="cpp")
    want, want_lse = oracle.attend(**case)
    torch.testing.assert_close(lse.double(), want_lse, rtol=1e-2, atol=1e-2)
    step = torch.finfo(out.dtype).eps * want.abs().max()
    return float((out.double() - want).abs().max()), float(step)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("dim", [64, 80, 96, 128, 256])
@pytest.mark.parametrize(("heads", "kv_heads"), HEADS)
def test_head_dims_and_groups(dtype, dim, heads, kv_heads):
    case = cases.attend(
        dim, dtype, heads=heads, kv_heads=kv_heads, queries=1, page_size=16, k_dim=dim, v_dim=dim,
        rotary_dim=0, lengths=(19, 1, 70),
    )  # fmt: skip
    error, step = errors(case)
    assert error <= (step if dtype != torch.float32 else 16 * step)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("page_size", [7, 16, 32])
@pytest.mark.parametrize("queries", [1, 2, 3, 4, 6, 9, 16, 48])
def test_every_number_of_rows(page_size, queries):
    case = cases.attend(
        queries, torch.bfloat16, heads=3, kv_heads=1, queries=queries, page_size=page_size,
        k_dim=32, v_dim=48, rotary_dim=0, lengths=(19, 30, 70), window=60,
    )  # fmt: skip
    error, step = errors(case)
    assert error <= step


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", cases.DTYPES)
def test_a_prefill_of_several_blocks_of_rows(monkeypatch, threads, dtype):
    """Rows beyond one block, causal inside the last span, on one thread and on two."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    page_table, spans, end = cases.span_tables(0, [150, 90, 130], page_size=16, pages=32)
    case = {
        "query": torch.randn(1, 6, 130, 64, generator=cases.generator(1)).to(dtype),
        "k_cache": cases.cache(2, dtype, layers=1, pages=32, page_size=16, dim=64)[0],
        "v_cache": cases.cache(3, dtype, layers=1, pages=32, page_size=16, dim=64)[0],
        "page_table": page_table,
        "spans": spans,
        "rotation": cases.rotation([40, -7, 0], 1, 64)[0],
        "span_starts": torch.tensor([0, 3], dtype=torch.int32),
        "query_positions": (spans[2, 3] + torch.arange(130)).int()[None],
        "scale": 0.2,
    }
    out, lse = ak.attend(**case, impl="cpp")
    exact = {name: value.double() if torch.is_tensor(value) and value.is_floating_point()
             and name != "rotation" else value for name, value in case.items()}  # fmt: skip
    want, want_lse = ak.attend(**exact, impl="reference")
    step = torch.finfo(dtype).eps
    close = {torch.float32: 16 * step}.get(dtype, 4 * step)
    torch.testing.assert_close(out.double(), want.double(), rtol=close, atol=close)
    torch.testing.assert_close(lse.double(), want_lse.double(), rtol=close, atol=4 * close)
