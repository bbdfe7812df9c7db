"""What `materialize_` gathers, turns and scatters."""

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases, oracle


def check(case, impl, tolerance):
    assert ak.materialize_(**case, impl=impl) is None
    out_k, out_v = case["out_k"][:, 0], case["out_v"][:, 0]  # [layers, heads, length, dim]
    want_k = torch.full_like(out_k, cases.NAN, dtype=torch.float64)
    want_v = torch.full_like(out_v, cases.NAN)
    targets = iter(case["slot_mapping"].tolist())
    for index, span in enumerate(case["spans"]):
        size = case["k_cache"].shape[3]
        for page, offset in oracle.token_slots(case["page_table"], span, size):
            target = next(targets)
            if target < 0:
                continue
            want_v[:, :, target] = case["v_cache"][:, page, :, offset]
            for layer, rows in enumerate(case["rotation"]):
                key = case["k_cache"][layer, page, :, offset]
                want_k[layer, :, target] = oracle.turned(key, *rows[index], case["interleaved"])
    assert torch.equal(out_v.nan_to_num(77), want_v.nan_to_num(77))
    torch.testing.assert_close(
        out_k.double(), want_k, rtol=tolerance, atol=tolerance, equal_nan=True
    )


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 1e-6), (torch.float16, 2**-10), (torch.bfloat16, 2**-7)],
)
@pytest.mark.parametrize("interleaved", [False, True])
def test_gathers_spans_in_order_with_keys_turned(impl, dtype, tolerance, interleaved):
    check(cases.materialize(0, dtype, interleaved=interleaved), impl, tolerance)


@pytest.mark.parametrize("page_size", [1, 5, 64])
@pytest.mark.parametrize("rotary_dim", [0, 6, 16])
def test_takes_any_page_size_and_strides(impl, page_size, rotary_dim):
    case = cases.materialize(
        1, torch.float32, page_size=page_size, rotary_dim=rotary_dim, odd_strides=True
    )
    check(case, impl, 1e-6)


def test_spans_may_share_slots(impl):
    case = cases.materialize(2, torch.float32)
    case["spans"][1] = case["spans"][2]
    case["slot_mapping"] = torch.arange(28).roll(3)[: 19 + 7 + 7 - 5]
    case["spans"][1, 2] = 2
    check(case, impl, 1e-6)


def test_agrees_with_rotation_in_place(impl):
    case = cases.materialize(3, torch.bfloat16)
    case["slot_mapping"] = torch.arange(26)
    ak.materialize_(**case, impl=impl)
    tables = {name: case[name] for name in ("page_table", "spans", "rotation")}
    ak.rotate_(case["k_cache"], **tables, impl=impl)
    target = 0
    for span in case["spans"]:
        for page, offset in oracle.token_slots(case["page_table"], span, 8):
            rotated = case["k_cache"][:, page, :, offset]
            assert torch.equal(case["out_k"][:, 0, :, target], rotated)
            target += 1


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda case: case["spans"][2].__setitem__(2, 70), "spans must stay inside page_table"),
        (lambda case: case["page_table"].__setitem__(0, 48), "page_table must have pages in 0..47"),
        (lambda case: case["slot_mapping"].__setitem__(9, 29), "slot_mapping must have slots in"),
        (lambda case: case["spans"][2].__setitem__(2, 6), "slot_mapping must have 25 entries"),
    ],
)
def test_table_out_of_range_is_refused_before_any_write(change, message):
    case = cases.materialize(4, torch.float32)
    change(case)
    with pytest.raises(ValueError, match=f"^{message}"):
        ak.materialize_(**case, impl="cpp")
    assert case["out_k"].isnan().all() and case["out_v"].isnan().all()
