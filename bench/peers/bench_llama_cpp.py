"""llama.cpp's K-shift beside `rotate_`: keys of SmolLM2-135M in fp16, all moved by one delta."""

import numpy as np
import pytest
import torch

import agentprim_kernels as ops
from agentprim_kernels.bench import seconds_of
from bench.conftest import threads_of
from bench.peers.llama_cpp import Shifter, load

LAYERS, HEADS, DIM, TOKENS, PAGE_SIZE, DELTA = 30, 3, 64, 2048, 16, 7


@pytest.fixture
def shifter():
    api, path, reason = load()
    if reason:
        pytest.skip(reason)
    with threads_of(1) as threads:
        one = Shifter(api, path, TOKENS, threads)
        yield one
        one.close()


def test_llama_cpp_shift(measure, shifter):
    keys = torch.randn(LAYERS, TOKENS // PAGE_SIZE, HEADS, PAGE_SIZE, DIM).half()
    pages = torch.arange(TOKENS // PAGE_SIZE).int()
    spans = torch.tensor([[0, 0, TOKENS, 0, -1]]).int()
    rope = (1e5 ** (-torch.arange(0, DIM, 2) / DIM)).expand(LAYERS, -1)
    there = ops.rotation([DELTA], rope)

    def rotate(target=keys, impl="cpp"):
        ops.rotate_(target, pages, spans, there, impl=impl)

    def to_and_fro(sign=[1]) -> None:  # noqa: B006  one call shifts forth, the next one back
        sign[0] = -sign[0]
        shifter.step(sign[0] * DELTA)

    def check():
        have, want = keys.clone(), keys.clone()
        rotate(have)
        rotate(want, "reference")
        torch.testing.assert_close(have, want, rtol=2**-9, atol=2**-9)
        still = shifter.step()
        moved = shifter.step(DELTA)  # keys and the query move alike: nothing changes
        back = shifter.step(-DELTA)
        for logits in (moved, back):
            assert np.abs(logits - still).max() < 0.05 * np.abs(still).max()

    check()
    alone, shifted, ours = seconds_of(shifter.step, to_and_fro, rotate, rounds=11)
    measure(
        rotate, check=lambda: None, moved=2 * keys.nbytes, rounds=11, provider="cpp", threads=1,
        tokens=TOKENS, layers=LAYERS, llama_cpp_shift_ms=round(1e3 * (shifted - alone), 3),
        llama_cpp_against_ours=round((shifted - alone) / ours, 1),
    )  # fmt: skip
