"""Run every op of the installed package on fixed arguments; print and save what came out.

Run as a script with a file name, in an environment that sees the installed package first.
"""

import dataclasses
import json
import sys

import torch

import agentprim_kernels as ak


def numbers():
    """Hand 11 tokens over behind 7 others, three ways, and query them."""
    source = torch.Generator().manual_seed(0)
    k_cache, v_cache = (torch.randn(3, 8, 2, 4, 16, generator=source) for _ in range(2))
    table = torch.tensor([6, 1, 3, 0, 4], dtype=torch.int32)
    spans = torch.tensor([[0, 0, 7, 0, -1], [2, 1, 11, 7, -1]], dtype=torch.int32)
    inv_freq = (1e4 ** -(torch.arange(0, 16, 2) / 16.0)).expand(3, -1)
    rows, still = ak.rotation([0, 7], inv_freq), ak.rotation([0, 0], inv_freq)
    query = torch.randn(1, 4, 5, 16, generator=source)
    starts = torch.tensor([0, 2], dtype=torch.int32)
    positions = torch.arange(18, 23, dtype=torch.int32)[None]
    asked = (table, spans)
    lazy, lse = ak.attend(query, k_cache[0], v_cache[0], *asked, rows[0], starts, positions,
                          scale=0.25)  # fmt: skip
    turned = k_cache.clone()
    ak.rotate_(turned, *asked, rows)
    eager, _ = ak.attend(query, turned[0], v_cache[0], *asked, still[0], starts, positions,
                         scale=0.25)  # fmt: skip
    out_k, out_v = torch.zeros(3, 1, 2, 18, 16), torch.zeros(3, 1, 2, 18, 16)
    ak.materialize_(out_k, out_v, torch.arange(18), k_cache, v_cache, *asked, rows)
    one = torch.tensor([[0, 0, 18, 0, -1]], dtype=torch.int32)
    dense, _ = ak.attend(query, out_k[0], out_v[0], torch.zeros(1, dtype=torch.int32), one,
                         still[0, :1], starts.clamp(max=1), positions, scale=0.25)  # fmt: skip
    torch.testing.assert_close(eager, lazy, rtol=0, atol=1e-5)
    torch.testing.assert_close(dense, lazy, rtol=0, atol=1e-5)
    return {"lazy": lazy, "lse": lse, "turned": turned, "out_k": out_k, "out_v": out_v}


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.save(numbers(), sys.argv[1])
    print(json.dumps(dataclasses.asdict(ak.build_info()) | {"file": ak.__file__}))
