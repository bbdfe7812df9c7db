"""Poisoned caches are caught: wrong places, flipped bits, other models' keys, other rotations."""

from dataclasses import replace

import pytest
import torch

import agentprim as ap
from agentprim.cache.kv import KV
from agentprim.engine.certificates import path_of
from agentprim.errors import VerificationFailed
from agentprim.trust import machinery
from agentprim.trust.machinery import compare, probe_parts, read_parts

FAILED = r"a joined cache read .* is off by"


@pytest.fixture
def parts(make_engine):
    engine = make_engine()
    first, second, query = probe_parts(engine)
    return engine, read_parts(engine, [first, second]), [first, second], query


def test_healthy_caches_pass_in_every_way(parts):
    found = compare(*parts)
    assert set(found.errors) == {
        "as spans", "as spans at shared offsets", "rotated in place", "materialized",
    }  # fmt: skip
    assert max(found.errors.values()) < 1e-5


@pytest.mark.parametrize("by", [1, -1])
def test_keys_one_place_off_are_caught_and_the_certificate_is_withdrawn(certified, monkeypatch, by):
    engine, certificate = certified
    path = path_of(certificate.fingerprint)
    assert path.exists()

    def off(kvs, **options):
        kv = ap.join(kvs, **options)
        moved = (replace(span, delta=span.delta + by) for span in kv.spans[1:])
        return KV(kv.pool, (kv.spans[0], *moved))

    monkeypatch.setattr(machinery, "join", off)
    with pytest.raises(VerificationFailed, match=FAILED):
        ap.verify(engine)
    assert not path.exists() and engine.certificate is None


@pytest.mark.parametrize("which", ["k_cache", "v_cache"])
def test_flipped_bits_in_a_page_are_caught(parts, which):
    engine, kvs, ids, query = parts
    for group in engine.pool.groups:
        page = getattr(group, which)[1, kvs[1].spans[0].pages[0]]
        page.view(torch.int32)[:] ^= 1 << 31  # the sign
    with pytest.raises(VerificationFailed, match=FAILED):
        compare(engine, kvs, ids, query)


def test_one_flipped_exponent_in_one_key_is_caught(parts):
    engine, kvs, ids, query = parts
    key = engine.pool.groups[0].k_cache[0, kvs[1].spans[0].pages[0], 0, 3]
    key.view(torch.int32)[2] ^= 1 << 28
    with pytest.raises(VerificationFailed, match=FAILED):
        compare(engine, kvs, ids, query)


def test_the_caches_of_another_model_are_refused_by_name(parts, make_engine):
    engine, kvs, ids, _ = parts
    other = read_parts(make_engine(seed=1), ids)
    with pytest.raises(ValueError, match="another pool"):
        ap.join([kvs[0], other[1]])
    with pytest.raises(ValueError, match="another"):
        engine.forward([5], other[0])


def test_another_model_s_keys_in_one_s_own_pages_are_caught(parts, make_engine):
    engine, kvs, ids, query = parts
    other = make_engine(seed=1)
    theirs = read_parts(other, ids)
    for mine, foreign in zip(engine.pool.groups, other.pool.groups, strict=True):
        for to, origin in zip(kvs[1].spans[0].pages, theirs[1].spans[0].pages, strict=True):
            mine.k_cache[:, to] = foreign.k_cache[:, origin]
            mine.v_cache[:, to] = foreign.v_cache[:, origin]
    with pytest.raises(VerificationFailed, match=FAILED):
        compare(engine, kvs, ids, query)


def test_the_keys_of_another_rotation_are_caught(parts):
    engine, kvs, ids, query = parts
    table = engine.model.model.rotary_emb.inv_freq
    table.mul_(0.5)  # the model turns otherwise from here on; cached keys and deltas do not
    with pytest.raises(VerificationFailed, match=FAILED):
        compare(engine, kvs, ids, query)


def test_a_model_changed_after_certification_is_not_taken_for_the_certified_one(certified):
    engine, certificate = certified
    assert engine.certificate == certificate
    engine.model.model.rotary_emb.inv_freq.mul_(0.5)
    assert engine.certificate is None
    with pytest.raises(VerificationFailed):
        ap.verify(engine)


def test_without_a_mask_the_machinery_is_not_claimed(make_engine):
    engine = make_engine(tokenizer=False)
    run = type(engine.model).forward

    def strict(*args, attention_mask=None, **options):
        if attention_mask is not None and attention_mask.ndim == 4:
            raise ValueError("two dimensions only")
        return run(engine.model, *args, attention_mask=attention_mask, **options)

    engine.model.forward = strict
    certificate = ap.verify(engine)
    assert certificate.machinery == {}
    assert certificate.machinery_note.startswith("not measured: it refuses a mask")
