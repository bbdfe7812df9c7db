"""How `attend` shares key tiles among programs: no cut may change the result."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import agentprim_kernels as ak
from agentprim_kernels.triton import attend as op
from agentprim_kernels.triton import merge
from tests.kernels import cases


def close(case, tolerance=1e-5):
    have = ak.attend(**case, impl="triton")
    want = ak.attend(**case, impl="reference")
    for a, b in zip(have, want, strict=True):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
    return have


def tables(lengths, page_size=16):
    """Lay spans out in fresh pages, positions consecutive over all of them."""
    table, spans, position = [], [], 0
    for length in lengths:
        spans.append([len(table), 0, length, position, -1])
        table += range(len(table), len(table) + -(-length // page_size))
        position += length
    return torch.tensor(table).int(), torch.tensor(spans).int().reshape(-1, 5), position


def decode(lengths, *, queries=1, dtype=torch.float32, dim=16, group=2, seed=0, **options):
    """One sequence, one KV head, new tokens at the end."""
    source = cases.generator(seed)
    page_table, spans, end = tables(lengths)
    pages = max(1, len(page_table))
    deltas = [37 * n % 101 - 50 for n in range(len(spans))]
    return {
        "query": torch.randn(1, group, queries, dim, generator=source).to(dtype),
        "k_cache": torch.randn(pages, 1, 16, dim, generator=source).to(dtype),
        "v_cache": torch.randn(pages, 1, 16, dim, generator=source).to(dtype),
        "page_table": page_table,
        "spans": spans,
        "rotation": cases.rotation(deltas, 1, dim)[0],
        "span_starts": torch.tensor([0, len(spans)], dtype=torch.int32),
        "query_positions": torch.arange(queries, dtype=torch.int32)[None] + max(end - queries, 0),
        "scale": dim**-0.5,
    } | options


@pytest.mark.parametrize("processors", [1, 3, 40])
@pytest.mark.parametrize("lengths", [(193,), (1, 0, 90, 33, 0, 65), (0, 0)])
def test_any_number_of_splits_gives_one_result(impl, monkeypatch, processors, lengths):
    monkeypatch.setattr(op, "processors", lambda on: processors)
    close(decode(lengths, sinks=torch.tensor([0.5, -2.0])))


def test_a_batch_without_any_span_sees_nothing(impl):
    out, lse = close(decode([], queries=2, sinks=torch.tensor([0.5, -2.0])))
    assert not out.any() and lse.isneginf().all()


def test_more_spans_than_one_warp_holds(impl, monkeypatch):
    monkeypatch.setattr(op, "processors", lambda on: 2)
    close(decode([3] * 40))


@pytest.mark.parametrize("window", [None, 5, 70])
def test_blocks_of_a_prefill_skip_what_they_cannot_see(impl, monkeypatch, window):
    monkeypatch.setattr(op, "processors", lambda on: 2)
    close(decode([70, 40, 90], queries=90, window=window, softcap=3.0))


def test_tiles_outside_the_window_are_not_read(impl, monkeypatch):
    """A key that no query may see must not be loaded: here it is not a number."""
    monkeypatch.setattr(op, "processors", lambda on: 1)  # two splits, so a share holds several
    case = decode([160], queries=2, window=8)
    for cache in (case["k_cache"], case["v_cache"]):
        cache[:8] = cases.NAN  # positions 0 to 127, whole tiles
    out, lse = ak.attend(**case, impl=impl)
    assert out.isfinite().all() and lse.isfinite().all()


@pytest.mark.parametrize(("window", "position"), [(None, 2**31 - 1), (7, 2**31 - 1), (2**31, 9)])
def test_positions_at_the_end_of_int32_do_not_wrap(impl, window, position):
    case = decode([40], window=window)
    case["spans"][0, 3] = position - 39
    case["query_positions"][:] = position
    close(case)


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("dim", "rotary_dim"), [(8, 8), (80, 32), (96, 96), (256, 256)])
def test_head_dims_of_real_models(impl, dtype, interleaved, dim, rotary_dim):
    case = decode([20, 50], dim=dim, dtype=dtype, group=5, interleaved=interleaved)
    case["rotation"] = case["rotation"][..., : rotary_dim // 2].contiguous()
    close(case, {torch.float32: 1e-5, torch.float16: 3e-3, torch.bfloat16: 2e-2}[dtype])


@settings(max_examples=6)
@given(
    lengths=st.lists(st.integers(0, 80), max_size=3),
    queries=st.integers(1, 9),
    window=st.none() | st.integers(1, 90),
    interleaved=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_small_case_equals_the_reference(lengths, queries, window, interleaved, seed):
    case = decode(lengths, queries=queries, seed=seed, window=window, interleaved=interleaved)
    case["query_positions"] -= seed % 7  # some are negative: pads
    close(case)


def test_merge_is_one_softmax(impl):
    parts = torch.randn(1, 2, 3, 5, 12)
    lse = torch.randn(1, 2, 3, 5) * 4
    lse[0, 0, 0, 2] = -torch.inf
    parts[0, 0, 0, 2] = cases.NAN  # unwritten where a split saw nothing
    out, total = torch.full((1, 2, 3, 12), cases.NAN), torch.full((1, 2, 3), cases.NAN)
    merge.merge(out, total, parts, lse, torch.tensor([0, 1]).int(), None)
    weights = torch.softmax(lse * torch.tensor(2.0).log(), -1)
    want = (weights[..., None] * parts.nan_to_num()).sum(-2)
    torch.testing.assert_close(out, want, rtol=1e-5, atol=1e-6)
    want = torch.logsumexp(lse * torch.tensor(2.0).log(), -1)
    torch.testing.assert_close(total, want, rtol=1e-5, atol=1e-5)
