"""Moving keys rounds them once a move, so that moves in place drift."""

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases, oracle

UNIT = {torch.float16: 2**-11, torch.bfloat16: 2**-8}  # half a step of the storage type
MOVES, LENGTH, DIM = 256, 24, 64
INV_FREQ = 1e4 ** -(torch.arange(0, DIM, 2) / DIM)


def keys_of(dtype):
    """Return a cache of one page `[1, 1, 2, LENGTH, DIM]` and the tables of its only span."""
    cache = torch.randn(1, 1, 2, LENGTH, DIM, generator=cases.generator(0)).to(dtype)
    table = torch.zeros(1, dtype=torch.int32)
    return cache, table, torch.tensor([[0, 0, LENGTH, 0, -1]], dtype=torch.int32)


def exactly(cache, delta):
    angle = delta * INV_FREQ.double()
    return oracle.turned(cache, angle.cos(), angle.sin(), False)


def rotated(cache, table, spans, delta, impl):
    cache = cache.clone()
    ak.rotate_(cache, table, spans, ak.rotation([delta], INV_FREQ[None]), impl=impl)
    return cache


def materialized(cache, table, spans, delta, impl):
    outs = [torch.full_like(cache, torch.nan) for _ in range(2)]
    turn = ak.rotation([delta], INV_FREQ[None])
    ak.materialize_(*outs, torch.arange(LENGTH), cache, cache, table, spans, turn, impl=impl)
    return outs[0]


@pytest.mark.parametrize("way", [rotated, materialized])
@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("delta", [1, 1000, -131071])
def test_a_move_is_as_near_as_one_rounding_of_the_storage_type(impl, way, dtype, delta):
    tables = keys_of(dtype)
    want = exactly(tables[0], delta)
    error = (way(*tables, delta, impl).double() - want).abs()
    # an element near a tie of its type may round either way; angles have the precision of fp32
    once = (want.to(dtype).double() - want).abs()
    slack = 2**-21 * tables[0].double().norm(dim=-1, keepdim=True)
    assert bool((error <= once + slack).all())
    assert error.norm() <= want.norm() * UNIT[dtype]


@pytest.mark.parametrize("dtype", UNIT)
def test_256_moves_in_place_drift_as_their_roundings_add_up(impl, dtype):
    cache, *tables = keys_of(dtype)
    deltas = torch.randint(-500, 900, (MOVES,), generator=cases.generator(1)).tolist()
    want = exactly(cache, sum(deltas))
    once = (rotated(cache, *tables, sum(deltas), impl).double() - want).norm() / want.norm()
    for delta in deltas:
        cache = rotated(cache, *tables, delta, impl)
    drift = (cache.double() - want).norm() / want.norm()
    # roundings are independent: their squares add, and none is above half a step
    assert 4 * once < drift < 1.5 * MOVES**0.5 * once
    assert drift < MOVES**0.5 * UNIT[dtype]
