"""Hypotheses come from the model's own modules and configuration."""

import pytest
import torch

from agentprim.rope import lengths
from agentprim.rope.discover import hypotheses, rotary_modules, text_config
from tests.support.keys import compute, some_ids
from tests.support.tiny import build


@pytest.mark.parametrize(("family", "tables"), [("llama", 1), ("gemma3", 2), ("gptj", 1),
                                                ("gpt2", 0), ("phi3_longrope", 1)])  # fmt: skip
def test_every_table_is_read_once_under_both_pairings_and_directions(family, tables):
    guesses = hypotheses(build(family))
    assert len(guesses) == 1 + 4 * tables
    assert guesses[0].rope.rotary_dim == 0
    assert {guess.rope.interleaved for guess in guesses[1:]} == ({False, True} if tables else set())


def test_tables_are_the_ones_in_use_not_the_kept_ones():
    model = build("phi3_longrope")
    compute(model, some_ids(8), 300)
    (rotary,) = rotary_modules(model)
    tables = [guess.rope.inv_freq for guess in hypotheses(model)[1:]]
    assert all(torch.equal(table.abs(), rotary.inv_freq) for table in tables)
    assert not torch.equal(tables[0], rotary.original_inv_freq)


def test_table_of_a_layer_type_names_its_owner():
    owners = {owner for guess in hypotheses(build("gemma3")) for owner in guess.owners}
    assert owners == {"sliding_attention", "full_attention"}


@pytest.mark.parametrize(("family", "expected"), [
    ("llama", [2048]), ("llama_llama3", [32, 2048]), ("gemma3", [8, 2048]),
    ("llama4", [64, 128, 2048]), ("gptj", [2048]),
])  # fmt: skip
def test_lengths_are_found_at_any_depth(family, expected):
    assert lengths.thresholds(text_config(build(family))) == expected


@pytest.mark.parametrize(("settings", "expected"), [
    ({}, None), ({"sliding_window": 8}, 8), ({"sliding_window": None}, None),
    ({"attention_window_size": 12}, 12), ({"window_size": 6, "sliding_window": 20}, 6),
    ({"sliding_window_pattern": 4, "max_window_layers": 3, "use_sliding_window": True}, None),
])  # fmt: skip
def test_window_is_found_under_any_name(settings, expected):
    assert lengths.window(settings) == expected


def test_both_sides_of_every_length_are_probed():
    config = text_config(build("llama_llama3"))
    assert lengths.distances(config, 8, 10**6) == [1, 23, 32, 50, 2039, 2048]
    assert lengths.distances(config, 8, 1000) == [1, 23, 32, 50, 1000]
