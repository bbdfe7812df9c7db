"""What `attend` returns, against a dense softmax over keys turned forward."""

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases, oracle


def check(case, impl, tolerance=1e-5):
    out, lse = ak.attend(**case, impl=impl)
    want_out, want_lse = oracle.attend(**case)
    assert out.dtype == case["query"].dtype and lse.dtype == torch.float32
    assert out.transpose(1, 2).is_contiguous()
    assert torch.equal(lse.isneginf(), want_lse.isneginf())
    torch.testing.assert_close(out.double(), want_out, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(lse.double(), want_lse, rtol=tolerance, atol=tolerance)
    return out, lse


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 1e-5), (torch.float16, 4e-3), (torch.bfloat16, 3e-2)],
)
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("rotary_dim", [16, 6, 0])
def test_turned_query_equals_turned_keys(impl, dtype, tolerance, interleaved, rotary_dim):
    case = cases.attend(0, dtype, rotary_dim=rotary_dim, interleaved=interleaved)
    out, lse = check(case, impl, tolerance)
    assert not out[1].any() and lse[1].isneginf().all()  # the sequence without spans
    assert not out[2, :, 0].any()  # the pad of the third


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 2), (6, 2), (8, 1), (3, 3)])
@pytest.mark.parametrize("queries", [1, 6])
def test_query_head_reads_the_kv_head_of_its_group(impl, heads, kv_heads, queries):
    """Grouped heads were paired wrongly: github.com/onnx/onnx/issues/7274."""
    check(cases.attend(1, torch.float32, heads=heads, kv_heads=kv_heads, queries=queries), impl)


@pytest.mark.parametrize("options", [
    {"window": 1}, {"window": 12}, {"softcap": 2.0}, {"sinks": True}, {"gapped": True},
    {"gapped": True, "window": 40, "softcap": 5.0, "sinks": True},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("queries", [2, 7])
def test_masks_caps_sinks_and_gaps(impl, options, queries):
    check(cases.attend(2, torch.float32, queries=queries, **options), impl)


@pytest.mark.parametrize("page_size", [1, 5, 64])
@pytest.mark.parametrize(("k_dim", "v_dim"), [(16, 12), (24, 40), (18, 7)])
def test_takes_any_page_size_dims_and_strides(impl, page_size, k_dim, v_dim):
    sizes = {"page_size": page_size, "k_dim": k_dim, "v_dim": v_dim}
    check(cases.attend(3, torch.float32, odd_strides=True, **sizes), impl)


def test_many_rows_over_many_tiles(impl):
    case = cases.attend(4, torch.float32, queries=33, lengths=(50, 3, 90))
    check(case, impl)


def test_order_of_spans_does_not_matter(impl):
    case = cases.attend(5, torch.float32)
    first = ak.attend(**case, impl=impl)
    order = torch.tensor([1, 0, 2])
    swapped = case | {"spans": case["spans"][order], "rotation": case["rotation"][order]}
    for a, b in zip(first, ak.attend(**swapped, impl=impl), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)


def test_large_scores_do_not_overflow(impl):
    case = cases.attend(6, torch.float32)
    out, lse = check(case | {"scale": 60.0}, impl, tolerance=2e-4)
    assert lse.abs()[~lse.isinf()].max() > 100


def test_a_query_that_is_not_a_number_shows(impl):
    case = cases.attend(7, torch.float32)
    case["query"][0, 0] = cases.NAN
    out, _ = ak.attend(**case, impl=impl)
    assert out[0, 0].isnan().all() and not out[0, 1:].isnan().any()


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda case: case["spans"][1].__setitem__(2, 700), "spans must stay inside page_table"),
        (lambda case: case["page_table"].__setitem__(0, 999), "page_table must have pages in 0.."),
        (lambda case: case["span_starts"].__setitem__(3, 4), "span_starts must ascend"),
        (lambda case: case["spans"][2].__setitem__(4, 5), "key_positions must have at least 75"),
    ],
)
def test_table_out_of_range_is_refused(change, message):
    case = cases.attend(8, torch.float32, gapped=True)
    change(case)
    with pytest.raises(ValueError, match=f"^{message}"):
        ak.attend(**case, impl="cpp")
