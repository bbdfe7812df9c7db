"""The hot loops for every kind of processor that this one can run, and on several threads."""

import functools

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases
from tests.kernels.test_attend import check as check_attend
from tests.kernels.test_rotate import check as check_rotate

ISAS = ("base", "v3", "v4")


class Bound:
    """The compiled module with its loops bound to one kind of processor."""

    def __init__(self, module, isa):
        self._module, self._isa = module, isa

    def __getattr__(self, name):
        return functools.partial(getattr(self._module, name), isa=self._isa)


@pytest.fixture(params=ISAS)
def isa(request, compiled, monkeypatch):
    try:
        assert compiled.isa(request.param) == request.param
    except ValueError as error:
        pytest.skip(str(error))
    bound = Bound(compiled, request.param)
    for op in ("rotate", "attend"):
        monkeypatch.setattr(f"agentprim_kernels.native.{op}.module", lambda: bound)
    return request.param


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_bit_pattern_widens_as_in_torch(compiled, isa, dtype):
    patterns = torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype)
    out = torch.full((2**16,), cases.NAN)
    code = {torch.float16: 1, torch.bfloat16: 2}[dtype]
    compiled.cast_(out.data_ptr(), patterns.data_ptr(), 2**16, code, True, isa=isa)
    assert torch.equal(out.nan_to_num(77), patterns.float().nan_to_num(77))
    assert torch.equal(out.isnan(), patterns.isnan())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrowing_rounds_to_even_as_in_torch(compiled, isa, dtype):
    every = torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype).float()
    every = every[every.isfinite()].sort().values
    ties = (every[1:].double() + every[:-1].double()).div(2).float()
    beside = [torch.nextafter(ties, torch.tensor(end)) for end in (-torch.inf, torch.inf)]
    special = torch.tensor([torch.inf, -torch.inf, cases.NAN, 65519.9, 65520.0, 1e30, 1e-30, 3e38])
    values = torch.cat((every, ties, *beside, special, torch.randn(1000)))
    out = torch.empty(len(values), dtype=dtype)
    code = {torch.float16: 1, torch.bfloat16: 2}[dtype]
    compiled.cast_(out.data_ptr(), values.data_ptr(), len(values), code, False, isa=isa)
    want = values.to(dtype)
    assert torch.equal(out.isnan(), want.isnan())
    number = ~want.isnan()
    assert torch.equal(out.view(torch.int16)[number], want.view(torch.int16)[number])


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("interleaved", [False, True])
def test_rotate(dtype, interleaved):
    check_rotate(cases.rotate(0, dtype, rotary_dim=14, interleaved=interleaved), "cpp", dtype)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("queries", [1, 2, 9, 20])
def test_attend_with_few_and_many_rows(queries):
    case = cases.attend(1, torch.float32, queries=queries, k_dim=40, v_dim=36, softcap=4.0,
                        sinks=True, lengths=(19, 9, 68))  # fmt: skip
    check_attend(case, "cpp")


@pytest.mark.usefixtures("isa")
def test_attend_keeps_the_precision_of_its_softmax():
    case = cases.attend(2, torch.float32, queries=1, k_dim=16, v_dim=16)
    for softcap in (0.5, 50.0, None):
        check_attend(case | {"softcap": softcap}, "cpp", tolerance=2e-6)


@pytest.mark.parametrize("queries", [1, 20])
@pytest.mark.parametrize("sinks", [False, True])
def test_threads_that_split_the_keys_agree_with_one(compiled, monkeypatch, queries, sinks):
    pages, heads = 300, 3
    k_cache, v_cache = (
        cases.cache(seed, torch.float32, layers=1, pages=pages, heads=1, page_size=16, dim=64)[0]
        for seed in (3, 4)
    )
    table = torch.randperm(pages, generator=cases.generator(5)).int()
    spans = torch.tensor([[0, 7, 2000, 0, -1], [130, 0, 2500, 2000, -1]], dtype=torch.int32)
    case = {
        "query": torch.randn(1, heads, queries, 64, generator=cases.generator(6)),
        "k_cache": k_cache,
        "v_cache": v_cache,
        "page_table": table,
        "spans": spans,
        "rotation": cases.rotation([5, -9], 1, 64)[0],
        "span_starts": torch.tensor([0, 2], dtype=torch.int32),
        "query_positions": (4490 + torch.arange(queries)).int()[None],
        "scale": 0.3,
        "sinks": torch.tensor([30.0, -3.0, 0.0]) if sinks else None,
    }
    alone = ak.attend(**case, impl="cpp")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    for _ in range(5):
        for a, b in zip(alone, ak.attend(**case, impl="cpp"), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    for a, b in zip(alone, ak.attend(**case, impl="reference"), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)


def test_threads_that_share_heads_agree_with_one(compiled, monkeypatch):
    case = {
        "page_table": torch.arange(256, dtype=torch.int32),
        "spans": torch.tensor([[0, 3, 2000, 0, -1]], dtype=torch.int32),
        "rotation": cases.rotation([50], 4, 64),
    }
    cache = cases.cache(7, torch.float32, layers=4, pages=256, heads=3, page_size=8, dim=64)
    want = cache.clone()
    ak.rotate_(want, **case, impl="reference")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)
    ak.rotate_(cache, **case, impl="cpp")
    torch.testing.assert_close(cache, want, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("interleaved", [False, True])
def test_rotate_keeps_nan_of_any_bits(interleaved):
    patterns = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.bfloat16)
    cache = patterns.view(1, 64, 1, 16, 64).clone()
    want = cache.clone()
    rotation = cases.rotation([5, -9], 1, 64)
    rotation[:, 1] = torch.tensor(0x7FFFFFFF, dtype=torch.int32).view(torch.float32)
    case = {
        "page_table": torch.arange(64, dtype=torch.int32),
        "spans": torch.tensor([[0, 0, 1000, 0, -1], [0, 1000, 24, 0, -1]], dtype=torch.int32),
        "rotation": rotation,
        "interleaved": interleaved,
    }
    ak.rotate_(cache, **case, impl="cpp")
    ak.rotate_(want, **case, impl="reference")
    assert torch.equal(cache.isnan(), want.isnan())
    assert cache.view(-1, 64)[1000:].isnan().all()
