"""Prefill over spans: new tokens behind 4,096 cached ones, beside torch on gathered tensors.

One layer, 32 query heads and 8 KV heads of 128 dims, 8 moved spans and one of the new tokens. What
torch is given is gathered, turned and repeated for its heads before, which costs it nothing here.
"""

import pytest
import torch

import agentprim_kernels as ops
from agentprim_kernels.bench import plain
from agentprim_kernels.bench.data import DIM, HEADS, PAGE_SIZE, make
from bench.pools import PROVIDERS

CACHED, SPANS = 4096, 8
FEW = 128
OURS = PROVIDERS[0]


class Prefill:
    """One layer, and the same as dense tensors."""

    def __init__(self, new: int, dtype: torch.dtype):
        data = make(CACHED + new, 1, 1, dtype=dtype)
        each = CACHED // SPANS
        rows = [[n * each // PAGE_SIZE, 0, each, n * each, -1] for n in range(SPANS)]
        rows.append([CACHED // PAGE_SIZE, 0, new, CACHED, -1])
        rope = 1e6 ** (-torch.arange(0, DIM, 2) / DIM)
        rotation = ops.rotation([7 * n + 1 for n in range(SPANS)] + [0], rope[None])[0]
        source = torch.Generator().manual_seed(2)
        query = torch.randn(1, new, HEADS, DIM, generator=source).to(dtype).transpose(1, 2)
        at = (CACHED + torch.arange(new, dtype=torch.int32))[None]
        self.arguments = (
            query, data.k_cache[0], data.v_cache[0], data.page_table,
            torch.tensor(rows, dtype=torch.int32), rotation,
            torch.tensor([0, SPANS + 1], dtype=torch.int32), at,
        )  # fmt: skip
        keys, values = (plain.gathered(one[0], data.page_table.long())
                        for one in (data.k_cache, data.v_cache))  # fmt: skip
        lengths = torch.tensor([row[2] for row in rows])
        cos, sin = (
            rotation[:, n].repeat(1, 2).repeat_interleave(lengths, 0).to(dtype) for n in (0, 1)
        )
        keys = plain.turned(keys, cos, sin)
        group = HEADS // keys.shape[1]
        mask = torch.ones(new, CACHED + new, dtype=torch.bool).tril(CACHED)
        bias = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, -torch.inf)
        self.dense = (query, keys, values), bias
        self.repeated = (query, *(x.repeat_interleave(group, 1) for x in (keys, values))), bias

    def ours(self, impl: str = OURS) -> torch.Tensor:
        return ops.attend(*self.arguments, scale=DIM**-0.5, impl=impl)[0]

    def repeated_heads(self) -> torch.Tensor:
        tensors, bias = self.repeated
        return torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=bias)

    def grouped_heads(self) -> torch.Tensor:
        tensors, bias = self.dense
        return torch.nn.functional.scaled_dot_product_attention(
            *tensors, attn_mask=bias, enable_gqa=True
        )

    def check(self) -> None:
        want = self.ours("reference").float()
        for have in (self.ours(), self.repeated_heads(), self.grouped_heads()):
            near = (have.float() - want).norm(dim=-1) <= 2**-5 * want.norm(dim=-1)
            assert bool(near.all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["fp32", "bf16"])
@pytest.mark.parametrize("new", [32, 128, 512, 2048])
def test_prefill(measure, new, dtype):
    case = Prefill(new, dtype)
    seen = new * CACHED + new * (new + 1) // 2
    against = {"torch_sdpa": case.repeated_heads}
    if new <= FEW:  # where it is sometimes the faster one
        against["torch_sdpa_gqa"] = case.grouped_heads
    found = measure(
        case.ours, check=case.check, against=against, rounds=7 if new <= FEW else 3, warmup=1,
        new_tokens=new, tokens=CACHED, spans=SPANS + 1, dtype=str(dtype).removeprefix("torch."),
    )  # fmt: skip
    print(f"{4 * seen * HEADS * DIM / found['work'] / 1e9:.0f} GFLOP/s")
