"""What `copy_pages_` copies, and that its CUDA half is there without a GPU."""

import pytest
import torch

import agentprim_kernels as ak
from agentprim_kernels.native.memory import memory
from tests.kernels import cases

PAIRS = torch.tensor([[3, 0], [0, 7], [5, 7]])


@pytest.mark.parametrize("dtype", [*cases.DTYPES, torch.float64])
@pytest.mark.parametrize(("odd_out", "odd_in"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_copies_pages_and_nothing_else(impl, dtype, odd_out, odd_in):
    out = cases.empty(dtype, pages=6, dim=7, odd_strides=odd_out)
    cache = cases.cache(0, dtype, pages=8, dim=7, odd_strides=odd_in)
    assert ak.copy_pages_(out, cache, PAIRS, impl=impl) is None
    for target, source in PAIRS.tolist():
        assert torch.equal(out[:, target], cache[:, source])
    assert out[:, [1, 2, 4]].isnan().all()


def test_copies_within_one_cache_and_slots_before_heads(impl):
    slots_first = cases.cache(1, torch.float32, heads=8, page_size=3)
    cache = slots_first.transpose(2, 3)  # [layers, pages, heads 3, page_size 8, dim], strided
    before = cache.clone()
    ak.copy_pages_(cache, cache, torch.tensor([[1, 2], [4, 2]]), impl=impl)
    assert torch.equal(cache[:, 1], before[:, 2]) and torch.equal(cache[:, 4], before[:, 2])
    rest = [0, 2, 3, *range(5, 12)]
    assert torch.equal(cache[:, rest], before[:, rest])


def test_nothing_to_copy_is_fine(impl):
    cache = cases.cache(2, torch.float32)
    ak.copy_pages_(cache, cache, torch.empty(0, 2, dtype=torch.int64), impl=impl)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("pair", "which"), [((6, 0), "target pages in 0..5"), ((0, -1), "source")])
def test_page_out_of_range_is_refused_before_any_write(pair, which):
    out, cache = cases.empty(torch.float32, pages=6), cases.cache(3, torch.float32, pages=8)
    with pytest.raises(ValueError, match=f"^pairs must have {which}"):
        ak.copy_pages_(out, cache, torch.tensor([[1, 1], pair]), impl="cpp")
    assert out.isnan().all()


def test_arguments_are_checked():
    cache = cases.cache(4, torch.float32)
    for out, pairs, message in [
        (cases.empty(torch.float32, page_size=4), PAIRS, "out_cache must have page_size = 8"),
        (cases.empty(torch.float16), PAIRS, "out_cache must be torch.float32"),
        (cases.empty(torch.float32), PAIRS.int(), "pairs must be int64"),
        (cases.empty(torch.float32), PAIRS[:, :1], "pairs must have 2 columns"),
    ]:
        with pytest.raises(ValueError, match=f"^{message}"):
            ak.copy_pages_(out, cache, pairs)


def test_named_cuda_is_refused_where_it_cannot_run():
    cache = cases.cache(5, torch.float32)
    with pytest.raises(ValueError, match="^impl must be one that can run here, got 'cuda': "):
        ak.copy_pages_(cache, cache, PAIRS, impl="cuda")
    with pytest.raises(ValueError, match="^impl must be one of .* for rotate_, got 'cuda'"):
        ak.rotate_(**cases.rotate(5, torch.float32), impl="cuda")


@pytest.mark.skipif(torch.cuda.is_available(), reason="the addresses below are no device memory")
def test_cuda_half_raises_without_a_driver(compiled):
    cache = cases.cache(6, torch.float32)
    what = (memory(cache),) * 2
    with pytest.raises(RuntimeError, match="did not start|built without CUDA"):
        compiled.copy_pages_cuda_(*what, 4, PAIRS.data_ptr(), len(PAIRS), 0, 0)
    ak.copy_pages_(cache, cache, torch.tensor([[1, 2]]), impl="cpp")
    assert torch.equal(cache[:, 1], cache[:, 2])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("dim", [7, 8, 64])
@pytest.mark.parametrize("odd_strides", [False, True])
def test_cuda_copies_pages_on_the_current_stream(compiled, dtype, dim, odd_strides):
    if not compiled.cuda_built:
        pytest.skip("the compiled module was built without CUDA")
    out = cases.empty(dtype, pages=6, dim=dim).cuda()
    cache = cases.cache(7, dtype, pages=8, dim=dim, odd_strides=odd_strides)
    memory_of = cache if cache._base is None else cache._base
    cache = memory_of.cuda().as_strided(cache.shape, cache.stride(), cache.storage_offset())
    with torch.cuda.stream(torch.cuda.Stream()):
        ak.copy_pages_(out, cache, PAIRS.cuda(), impl="cuda")
        torch.cuda.current_stream().synchronize()
    for target, source in PAIRS.tolist():
        assert torch.equal(out[:, target], cache[:, source])
    assert out[:, [1, 2, 4]].isnan().all()
