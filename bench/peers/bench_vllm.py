"""vLLM's ops for a CPU beside ours: rotary embedding, cache insert, paged attention.

Rotation works on the very same bytes. The other two have caches of their own layout, filled with
the same keys and values; 32 tokens a block is the smallest that its vector kernels take, 128 what
it takes by default. Times of `against_ours` are vLLM's as multiples of ours.
"""

from dataclasses import replace

import pytest
import torch

from agentprim_kernels.bench import CASES
from agentprim_kernels.bench.data import DIM, DTYPE, HEADS, KV_HEADS, make
from bench.conftest import threads_of
from bench.peers.vllm_cpu import load
from bench.pools import LAYERS, PROVIDERS

OURS, ISA, SCALE = PROVIDERS[0], "vec", DIM**-0.5
TOKENS, PAGED_LAYERS = 4096, 8
THREADS = pytest.mark.parametrize("threads", [1, None], ids=["one thread", "all threads"])
BLOCKS = pytest.mark.parametrize("block", [32, 128])


@pytest.fixture(scope="module")
def vllm():
    ops, reason = load()
    return ops or pytest.skip(reason)


class Cache:
    """Caches of vLLM, one a layer, filled through its own insert, for the threads of now."""

    def __init__(self, ops, block: int, keys: torch.Tensor, values: torch.Tensor):
        """Take keys and values `[layers, tokens, heads, dim]`."""
        self.ops, self.new = ops, (keys, values)
        blocks = TOKENS // block
        both = torch.zeros(len(keys), blocks, KV_HEADS, 2 * block, DIM, dtype=DTYPE)
        self.k_cache, self.v_cache = both.chunk(2, dim=3)
        self.table = torch.randperm(blocks).int()
        self.slots = (self.table[:, None] * block + torch.arange(block)).flatten().long()
        self.starts, self.lengths = torch.tensor([0, 1]).int(), torch.tensor([TOKENS]).int()
        self.query = torch.randn(1, HEADS, DIM, generator=torch.Generator().manual_seed(2)).to(
            DTYPE
        )
        # made for the threads there are now
        self.schedule = self.ops.get_scheduler_metadata(
            1, HEADS, KV_HEADS, DIM, self.lengths, DTYPE, self.starts, True, -1, ISA, True, None
        )

    def insert(self) -> None:
        for layer in zip(*self.new, self.k_cache, self.v_cache, strict=True):
            self.ops.cpu_attn_reshape_and_cache(*layer, self.slots, ISA)

    def attend(self) -> torch.Tensor:
        out = torch.empty(len(self.k_cache), 1, HEADS, DIM, dtype=DTYPE)
        for layer, (keys, values) in enumerate(zip(self.k_cache, self.v_cache, strict=True)):
            self.ops.cpu_attention_with_kv_cache(
                self.query, keys, values, out[layer], self.starts, self.lengths, SCALE, True,
                None, -1, self.table[None], 0.0, self.schedule, None, None,
            )  # fmt: skip
        return out

    def check(self) -> None:
        self.insert()
        keys, values = (one.transpose(1, 2).float() for one in self.new)
        want = torch.nn.functional.scaled_dot_product_attention(
            self.query.view(1, HEADS, 1, DIM).float(), keys, values, scale=SCALE, enable_gqa=True
        )[:, None, :, 0]
        near = (self.attend().float() - want).norm(dim=-1) <= 2**-5 * want.norm(dim=-1)
        assert bool(near.all())


@THREADS
def test_vllm_rotary(measure_case, vllm, threads):
    ours = CASES["rotate"](layers=LAYERS)
    data = make(TOKENS, 8, LAYERS)  # the angles once more, and which page has which
    each = data.spans[0, 2] // data.k_cache.shape[3]
    of_page = data.page_table.long().argsort() // each
    angles = torch.cat(data.rotation[0].unbind(1), dim=-1).to(DTYPE)  # [spans, dim]: cos, sin
    rows = data.k_cache[0, 0].numel() // (KV_HEADS * DIM)
    positions = of_page.repeat_interleave(rows).repeat(LAYERS)

    def rotary(k_cache: torch.Tensor) -> None:
        flat = k_cache.view(-1, KV_HEADS * DIM)  # a page's keys all turn by one row
        vllm.rotary_embedding(positions, flat, None, DIM, angles, True)

    case = replace(ours, providers=ours.providers | {"vllm": rotary})
    against = {"ours": ours.work(OURS)}
    measure_case(case, "vllm", threads, against=against, rounds=11, warmup=2)


def measure_vllm(measure, vllm, block: int, threads: int | None, ours, what: str) -> None:
    """Check and time one op of vLLM's on the keys and values of our case."""
    data = make(TOKENS, 1, PAGED_LAYERS)
    new = [one.view(PAGED_LAYERS, TOKENS, KV_HEADS, DIM) for one in (data.k_cache, data.v_cache)]
    with threads_of(threads) as count:
        cache = Cache(vllm, block, *new)
        measure(
            getattr(cache, what), check=cache.check, moved=ours.moved, rounds=21,
            against={"ours": ours.work(OURS)}, op=ours.op, provider="vllm", threads=count,
            block=block, **ours.about,
        )  # fmt: skip


@THREADS
@BLOCKS
def test_vllm_insert(measure, vllm, block, threads):
    measure_vllm(measure, vllm, block, threads, CASES["store"](layers=PAGED_LAYERS), "insert")


@THREADS
@BLOCKS
def test_vllm_decode(measure, vllm, block, threads):
    ours = CASES["attend"](layers=PAGED_LAYERS, spans=8)
    measure_vllm(measure, vllm, block, threads, ours, "attend")
