"""What `select_` copies and turns."""

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases, oracle


def check(case, impl, tolerance):
    assert ak.select_(**case, impl=impl) is None
    source_size, out_size = case["k_cache"].shape[3], case["out_k"].shape[3]
    want_k = torch.full_like(case["out_k"], cases.NAN, dtype=torch.float64)
    want_v = torch.full_like(case["out_v"], cases.NAN)
    tokens = zip(case["source_slots"].tolist(), case["slot_mapping"].tolist(),
                 case["rows"].tolist(), strict=True)  # fmt: skip
    for source, target, row in tokens:
        if target < 0:
            continue
        page, offset = divmod(source, source_size)
        where = (slice(None), target // out_size, slice(None), target % out_size)
        want_v[where] = case["v_cache"][:, page, :, offset]
        want_k[where] = torch.stack([
            oracle.turned(case["k_cache"][layer, page, :, offset], *rows[row], case["interleaved"])
            for layer, rows in enumerate(case["rotation"])
        ])  # fmt: skip
    assert torch.equal(case["out_v"].nan_to_num(77), want_v.nan_to_num(77))
    torch.testing.assert_close(
        case["out_k"].double(), want_k, rtol=tolerance, atol=tolerance, equal_nan=True
    )


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 1e-6), (torch.float16, 2**-10), (torch.bfloat16, 2**-7)],
)
@pytest.mark.parametrize("interleaved", [False, True])
def test_copies_keys_turned_and_values_as_they_are(impl, dtype, tolerance, interleaved):
    check(cases.select(0, dtype, interleaved=interleaved), impl, tolerance)


@pytest.mark.parametrize(("page_size", "out_size"), [(1, 8), (8, 1), (5, 7)])
@pytest.mark.parametrize("rotary_dim", [0, 6, 16])
def test_takes_any_page_sizes_and_strides(impl, page_size, out_size, rotary_dim):
    sizes = {"page_size": page_size, "out_size": out_size}
    check(cases.select(1, torch.float32, rotary_dim=rotary_dim, odd_strides=True, **sizes), impl,
          1e-6)  # fmt: skip


def test_runs_of_consecutive_tokens_are_copied_whole(impl):
    case = cases.select(2, torch.float32)
    case["source_slots"] = 5 + torch.arange(17)
    case["slot_mapping"] = 11 + torch.arange(17)
    case["rows"] = torch.tensor([0] * 9 + [2] * 8, dtype=torch.int32)
    check(case, impl, 1e-6)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("source_slots", 96, "source_slots must have slots in 0..95, got 96"),
        ("slot_mapping", 48, "slot_mapping must have slots in 0..47, got 48"),
        ("rows", 3, "rows must be in 0..2, got 3"),
    ],
)
def test_index_out_of_range_is_refused_before_any_write(name, value, message):
    case = cases.select(3, torch.float32)
    case[name][-1] = value
    with pytest.raises(ValueError, match=f"^{message}$"):
        ak.select_(**case, impl="cpp")
    assert case["out_k"].isnan().all() and case["out_v"].isnan().all()
