"""Certificates: what they hold, where they lie, and when they are not used."""

import json
import threading
from dataclasses import replace

import pytest

import agentprim as ap
from agentprim.engine.certificates import path_of, save
from agentprim.errors import CertificateIgnored
from agentprim.trust.ways import APPEND, NONE, RELOCATE, TEXT
from tests.support.tiny import build


def test_a_certificate_survives_json(certified):
    _, certificate = certified
    assert ap.Certificate.from_json(certificate.to_json()) == certificate


def test_it_says_what_was_proved_and_what_was_measured(certified):
    engine, certificate = certified
    assert certificate.machinery_note == certificate.fidelity_note == "measured"
    assert max(certificate.machinery.values()) < 1e-5 < certificate.machinery_budget
    (kind,) = certificate.rope
    assert (kind.layers, kind.rotary_dim) == (3, 16) and 0 < kind.error < 1e-3
    assert certificate.max_delta == engine.pool.layout.rope.max_delta
    one = certificate.find(APPEND, receiver_tokens=64, senders=1)
    assert one.kl.mean < 1e-9 and one.answer.mean == 1 and one.kl_text.mean > 0.01
    text = certificate.find(TEXT, receiver_tokens=64, senders=1)
    assert (text.kl_text.high, text.answer_text.low) == (0, 1)
    nothing = certificate.find(NONE, receiver_tokens=64, senders=1)
    moved = certificate.find(RELOCATE, receiver_tokens=64, senders=1)
    still = certificate.find(replace(RELOCATE, rotate=False), receiver_tokens=64, senders=1)
    assert nothing.kl_text.mean > moved.kl_text.mean > 0
    assert still.kl.mean > 2 * moved.kl.mean
    assert moved.seconds > 0 and moved.recomputed == 0 and moved.prefilled < text.prefilled


def test_the_nearest_size_is_found_by_senders_first(certified):
    _, certificate = certified
    for tokens, senders, expected in ((1, 1, (64, 1)), (900, 1, (180, 1)), (64, 3, (180, 2))):
        found = certificate.find(RELOCATE, receiver_tokens=tokens, senders=senders)
        assert (found.receiver_tokens, found.senders) == expected
    other = replace(RELOCATE, carry="reply", offsets="shared")
    assert certificate.find(other, receiver_tokens=64, senders=1) is None


def test_an_engine_finds_the_certificate_of_its_model_and_of_no_other(certified, make_engine):
    engine, certificate = certified
    assert engine.certificate == certificate
    assert make_engine().certificate == certificate
    assert make_engine(seed=1).certificate is None
    assert engine.certificate is engine.certificate  # read once


def test_a_rope_that_changed_after_certification_is_another_model(certified, make_engine):
    engine, certificate = certified
    other = make_engine(rope_parameters={"rope_type": "default", "rope_theta": 20000.0})
    assert other.certificate is None
    table = engine.model.model.rotary_emb.inv_freq
    before = table.clone()
    table.mul_(1.0001)
    assert engine.certificate is None
    table.copy_(before)
    assert engine.certificate == certificate


@pytest.mark.parametrize("text", ["", "{", "[]", '{"model": "x"}', "\x00\x01"])
def test_a_corrupted_file_is_ignored_with_one_warning(certified, text):
    engine, certificate = certified
    path = path_of(certificate.fingerprint)
    path.write_text(text)
    with pytest.warns(CertificateIgnored, match="is ignored: .*ap.verify"):
        assert engine.certificate is None
    save(certificate)
    assert engine.certificate == certificate


def test_a_certificate_under_another_s_name_is_ignored(certified, make_engine):
    _, certificate = certified
    other = make_engine(seed=1)
    path_of(other.shelf.fingerprint()).write_text(certificate.to_json())
    with pytest.warns(CertificateIgnored, match="fingerprint is of another model"):
        assert other.certificate is None


def test_a_quick_one_does_not_replace_a_full_one(certified, plan):
    engine, certificate = certified
    save(replace(certificate, full=True))
    quick = ap.verify(engine, plan=plan[1:2])
    assert not quick.full and engine.certificate.full
    assert ap.verify(engine, True, plan=plan[1:2]).full
    assert engine.certificate.items == 1


def test_a_file_is_there_whole_or_not_at_all(certified, monkeypatch):
    engine, certificate = certified
    path = path_of(certificate.fingerprint)
    before = path.read_text()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        save(certificate)
    assert path.read_text() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_writers_and_readers_at_once_never_see_half_a_file(certified):
    engine, certificate = certified
    stop, wrong = threading.Event(), []

    def look():
        while not stop.is_set():
            if json.loads(path_of(certificate.fingerprint).read_text())["items"] != 2:
                wrong.append(1)

    reader = threading.Thread(target=look)
    reader.start()
    for _ in range(50):
        save(certificate)
    stop.set()
    reader.join()
    assert not wrong


def test_without_a_tokenizer_the_approximation_is_not_claimed(make_engine):
    certificate = ap.verify(make_engine(tokenizer=False))
    assert certificate.machinery_note == "measured"
    assert certificate.fidelity_note == "not measured: the engine has no tokenizer"
    assert certificate.fidelity == () and certificate.right is None


def test_a_model_whose_keys_are_not_moved_is_refused_in_its_certificate():
    engine = ap.Engine(build("gpt2"), pool_tokens=512)
    certificate = ap.verify(engine)
    assert "absolute positions" in certificate.refusal
    assert certificate.machinery_note.startswith("not measured: GPT2LMHeadModel uses")
    assert (certificate.rope, certificate.max_delta, certificate.machinery) == ((), 0, {})
    assert ap.Certificate.from_json(certificate.to_json()) == certificate == engine.certificate
