"""Read from a model's own modules and configuration what it may be doing to its keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor, nn

from agentprim.rope.spec import LayerRope


@dataclass(frozen=True, kw_only=True, eq=False)
class Hypothesis:
    """One way in which a layer may turn its keys.

    Attributes:
        rope: Table and pairing.
        owners: Layer types whose own table this is, `""` for a module that serves them all.
    """

    rope: LayerRope
    owners: frozenset[str]


def hypotheses(model: nn.Module) -> list[Hypothesis]:
    """List every distinct table under both pairings and both directions, and no rotation.

    Tables are read from the rotary modules as they stand, so call this right after a forward pass
    over the positions that the tables are meant for.
    """
    tables: list[tuple[Tensor, set[str]]] = []
    for owner, found in _tables(model):
        table = found.detach().float().cpu().flatten().clone()
        for known, owners in tables:
            if torch.equal(known, table):
                owners.add(owner)
                break
        else:
            tables.append((table, {owner}))
    guesses = [Hypothesis(rope=LayerRope.none(), owners=frozenset())]
    for table, owners in tables:
        for interleaved, inv_freq in product((False, True), (table, -table)):
            rope = LayerRope(inv_freq=inv_freq, interleaved=interleaved)
            guesses.append(Hypothesis(rope=rope, owners=frozenset(owners)))
    return guesses


def rotary_modules(model: nn.Module) -> list[nn.Module]:
    """List the modules that hold a table of frequencies."""
    return [module for module in model.modules() if any(True for _ in _own_tables(module))]


def text_config(model: nn.Module) -> object:
    """Return the configuration of the decoder, also inside a multimodal model."""
    return model.config.get_text_config(decoder=True)


def layer_types(config: object, num_layers: int) -> list[str]:
    """Return the type of each cached layer, `""` where the configuration names none."""
    named = list(getattr(config, "layer_types", None) or ())[:num_layers]
    return named + [""] * (num_layers - len(named))


def settings(config: object) -> Iterator[tuple[str, object]]:
    """Walk a configuration: every key with its value, nested ones included."""
    nested = config if isinstance(config, dict) else config.to_dict()
    for key, value in nested.items():
        yield str(key), value
        if isinstance(value, dict):
            yield from settings(value)


def feature(config: object) -> str:
    """Name the way in which a model places tokens, for messages."""
    types = {value for key, value in settings(config) if key == "rope_type" and value}
    return f"RoPE of type {' and '.join(sorted(types))}" if types else "rotary positions"


def _tables(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Yield `(layer type or "", table)` from every rotary module, else from the configuration."""
    modules = rotary_modules(model)
    for module in modules:
        yield from _own_tables(module)
    if not modules:
        yield from _configured(text_config(model))


def _own_tables(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for name, value in [*module._buffers.items(), *vars(module).items()]:
        if isinstance(value, Tensor) and name.endswith("inv_freq"):
            owner = name.removesuffix("inv_freq").rstrip("_")
            if not owner.endswith(("original", "long", "short")):
                yield owner, value


def _configured(config: object) -> Iterator[tuple[str, Tensor]]:
    """Compute the plain table of a model that has a `rotary_dim` but keeps no frequencies."""
    width = getattr(config, "rotary_dim", None)
    if width:
        theta = float(dict(settings(config)).get("rope_theta") or 10000.0)
        yield "", 1.0 / theta ** (torch.arange(0, width, 2, dtype=torch.int64).float() / width)
