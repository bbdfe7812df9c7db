"""Pages packed into host memory come back byte for byte, straight or through a ring of stages."""

import threading

import pytest
import torch

import agentprim_kernels as ak
from agentprim_kernels.native.memory import memory
from bench import gpu_offload
from tests.kernels import cases

PAGES = torch.tensor([7, 0, 11, 3, 4], dtype=torch.int32)
PAGE_BYTES = 2 * 2 * 8 * 7 * 4  # of `cases.cache(dim=7)` in fp32


@pytest.fixture(params=["reference", "cpp", "ring of 1", "ring of 3"])
def run(request):
    """Return keyword arguments that choose an implementation."""
    if request.param == "reference":
        return {"impl": "reference"}
    request.getfixturevalue("compiled")
    if request.param == "cpp":
        return {"impl": "cpp"}
    stages = int(request.param[-1])
    return {"impl": "cpp", "ring": ak.StagingRing("cpu", stages=stages, stage_bytes=4000)}


def packed_like(cache, num_pages):
    layers, _, *rest = cache.shape
    return cases.empty(cache.dtype, layers=num_pages, pages=layers, heads=rest[0],
                       page_size=rest[1], dim=rest[2])  # fmt: skip


@pytest.mark.parametrize("dtype", [*cases.DTYPES, torch.float64])
@pytest.mark.parametrize("odd_strides", [False, True])
def test_pages_are_packed_in_order(run, dtype, odd_strides):
    cache = cases.cache(0, dtype, dim=7, odd_strides=odd_strides)
    packed = packed_like(cache, 5)
    assert ak.pack_pages_(packed, PAGES, cache, **run) is None
    for number, page in enumerate(PAGES.tolist()):
        assert torch.equal(packed[number], cache[:, page])


@pytest.mark.parametrize("dtype", [*cases.DTYPES, torch.float64])
@pytest.mark.parametrize("odd_strides", [False, True])
def test_packed_pages_are_put_where_they_belong_and_nowhere_else(run, dtype, odd_strides):
    packed = cases.cache(1, dtype, layers=5, pages=2, dim=7)
    cache = cases.empty(dtype, dim=7, odd_strides=odd_strides)
    assert ak.unpack_pages_(cache, PAGES, packed, **run) is None
    for number, page in enumerate(PAGES.tolist()):
        assert torch.equal(cache[:, page], packed[number])
    rest = sorted(set(range(12)) - set(PAGES.tolist()))
    assert cache[:, rest].isnan().all()


def slots_first(seed):
    return cases.cache(seed, torch.float32, heads=8, page_size=3).transpose(2, 3)


def every_other_head(seed):
    return cases.cache(seed, torch.float32, heads=4)[:, :, ::2]


@pytest.mark.parametrize("make", [slots_first, every_other_head])
def test_any_strides(run, make):
    cache = make(2)
    packed = packed_like(cache, 5)
    ak.pack_pages_(packed, PAGES, cache, **run)
    assert torch.equal(packed, cache[:, PAGES.long()].transpose(0, 1))
    other = make(3)
    ak.unpack_pages_(other, PAGES, packed, **run)
    assert torch.equal(other[:, PAGES.long()], cache[:, PAGES.long()])


def test_no_page_is_fine(run):
    cache = cases.cache(4, torch.float32)
    none = torch.empty(0, dtype=torch.int32)
    ak.pack_pages_(packed_like(cache, 0), none, cache, **run)
    ak.unpack_pages_(cache, none, packed_like(cache, 0), **run)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("chunk", [1, 2, 40])
def test_chunks_wait_for_each_other(stages, chunk, pinned):
    """On the CPU a ring runs each copy as late as its events allow: a missing wait shows."""
    ring = ak.StagingRing("cpu", stages=stages, stage_bytes=chunk * PAGE_BYTES + 5).compiled
    for seed in range(3):  # stages that were used before
        cache = cases.cache(seed, torch.float32, pages=40, dim=7)
        order = torch.randperm(40, generator=cases.generator(seed))[: 3 + 10 * seed].int()
        back, packed = torch.full_like(cache, cases.NAN), packed_like(cache, len(order))
        for copy, held in ((ring.pack_pages_, cache), (ring.unpack_pages_, back)):
            copy(packed.data_ptr(), order.data_ptr(), len(order), memory(held), 4, 1, pinned, 0)
            assert torch.equal(packed, cache[:, order.long()].transpose(0, 1))
        packed.zero_()  # the caller's own again
        assert torch.equal(back[:, order.long()], cache[:, order.long()])


@pytest.mark.usefixtures("compiled")
def test_two_threads_share_a_ring():
    caches = [cases.cache(seed, torch.float32, page_size=64, dim=256) for seed in range(2)]
    ring = ak.StagingRing("cpu", stages=2, stage_bytes=caches[0][:, 0].nbytes)
    wrong = []

    def work(cache):
        packed = packed_like(cache, 5)
        for _ in range(40):
            ak.pack_pages_(packed, PAGES, cache, ring=ring)
            if not torch.equal(packed, cache[:, PAGES.long()].transpose(0, 1)):
                wrong.append(cache)

    threads = [threading.Thread(target=work, args=(cache,)) for cache in caches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.usefixtures("compiled")
def test_the_round_trip_of_the_gpu_check_goes_through_a_ring():
    assert gpu_offload.check_all(torch.device("cpu")) == 24


def test_arguments_are_checked():
    cache = cases.cache(6, torch.float32)
    packed = packed_like(cache, 5)
    for arguments, message in [
        ((packed[:4], PAGES, cache), r"packed must have shape \(5, 2, 2, 8, 16\), got \(4, 2"),
        ((packed.half(), PAGES, cache), "packed must be torch.float32, got torch.float16"),
        ((packed.transpose(0, 1).contiguous().transpose(0, 1), PAGES, cache),
         "packed must be contiguous"),
        ((packed, PAGES.long(), cache), "pages must be int32, got torch.int64"),
        ((packed, PAGES + 1, cache), r"pages must be in 0..11, got 1..12"),
        ((packed, PAGES - 1, cache), r"pages must be in 0..11, got -1..10"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=f"^{message}"):
            ak.pack_pages_(*arguments)
        with pytest.raises(ValueError, match=f"^{message}"):
            ak.unpack_pages_(*arguments[::-1])
    with pytest.raises(ValueError, match="^impl must be one that can run here, got 'cuda': "):
        ak.pack_pages_(packed, PAGES, cache, impl="cuda")
    assert packed.isnan().all()


@pytest.mark.usefixtures("compiled")
def test_a_ring_says_what_it_cannot_do():
    with pytest.raises(ValueError, match="^stages must be at least 1, got 0"):
        ak.StagingRing("cpu", stages=0)
    with pytest.raises(ValueError, match="^device must be one that can run here, got cuda: it"):
        ak.StagingRing("cuda")
    ring = ak.StagingRing("cpu", stage_bytes=PAGE_BYTES - 1)
    cache = cases.cache(7, torch.float32, dim=7)
    with pytest.raises(ValueError, match=f"stage_bytes must hold a page of {PAGE_BYTES} bytes"):
        ak.pack_pages_(packed_like(cache, 5), PAGES, cache, ring=ring)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a driver")
def test_a_ring_for_a_gpu_without_a_driver_is_one_clear_error(compiled):
    error = RuntimeError if compiled.cuda_built else ValueError
    with pytest.raises(error, match="staging ring: .* failed: |built without CUDA"):
        ak.StagingRing("cuda:0")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_ring_keeps_the_order_of_the_current_stream(compiled):
    if not compiled.cuda_built:
        pytest.skip("the compiled module was built without CUDA")
    assert gpu_offload.check_all(torch.device("cuda:0")) == 48
