"""A KV remembers where its parts were joined, through all that is done with it."""

import pytest
import torch

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.cache.marks import Mark, of_kind
from agentprim.hf import PagedCache
from tests.cache.conftest import A, B, Q


@pytest.fixture
def parts(pair, pool_for, read):
    model, _ = pair("llama")
    empty = KV(pool_for(model))
    return [read(model, ids, empty)[0] for ids in (B, A, Q)]


def test_a_join_knows_where_later_parts_begin_and_end(parts):
    kv = join(parts)
    assert kv.joints == [7, 18] and of_kind(kv.marks, "part") == [(7, 18), (18, 23)]
    assert parts[0].joints == [] and join(parts[:1]).joints == []
    assert join(parts, offsets="shared").joints == [7, 18]
    assert join([KV(kv.pool), *parts]).joints == [7, 18], "nothing stands before the first"


def test_a_join_of_joins_is_that_of_all_parts(parts):
    flat = join([parts[0], parts[1], parts[2], parts[0]])
    left = join([join([parts[0], parts[1]]), join([parts[2], parts[0]])])
    assert left.marks == flat.marks
    assert join([join(parts[:2]), parts[2], parts[0]]).marks == flat.marks


def test_what_was_read_behind_a_join_becomes_part_of_what_it_is_joined_to(parts, pair, read):
    model, _ = pair("llama")
    kv, _ = read(model, [1, 2, 3], join(parts[:2]))
    assert of_kind(kv.marks, "part") == [(7, 18)]
    assert of_kind(join([parts[2], kv]).marks, "part") == [(5, 12), (12, 26)]


def test_copies_and_moves_keep_joints(parts):
    kv = join(parts)
    for same in (kv.fork(), kv.materialize(), kv.moved(3), kv.offload().restore()):
        assert same.joints == [7, 18]


def test_cuts_move_joints_and_drop_what_has_nothing_before_it(parts):
    kv = join(parts)
    assert kv[3:].joints == [4, 15]
    assert kv[7:].joints == [11] and kv[9:20].joints == [9]
    assert kv[:18].joints == [7] and kv[:7].joints == []
    assert kv.select([0, 1, 8, 9, 10, 20]).joints == [2, 5]
    assert kv.select([8, 9, 20]).joints == [2]
    assert kv.select(range(0, 23, 2)).joints == [4, 9], "copied to pages of its own"


def test_caches_that_grow_keep_joints(parts, pair):
    model, _ = pair("llama")
    cache = PagedCache(model, kv=[join(parts), parts[0]])
    model.generate(**cache.inputs([[1, 2], [3]]), past_key_values=cache, max_new_tokens=3)
    assert [cache.kv(row).joints for row in (0, 1)] == [[7, 18], []]
    cache.reorder_cache(torch.tensor([1, 0]))
    assert cache.kv(1).joints == [7, 18]
    cache.crop(-8)
    assert len(cache.kv(1)) < 23 and cache.kv(1).joints == [7, 18]


def test_other_marks_stand_where_their_tokens_stand(parts):
    parts[1].marks = (Mark(begin=2, end=5, kind="system"),)
    kv = join(parts)
    assert of_kind(kv.marks, "system") == [(9, 12)]
    assert of_kind(kv[10:].marks, "system") == [(0, 2)]
    assert of_kind(kv.select([0, 11, 12]).marks, "system") == [(1, 2)]
    assert of_kind(kv[12:].marks, "system") == []
