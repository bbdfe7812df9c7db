"""Find the lengths at which a model may change its behaviour, and distances on both sides."""

from collections.abc import Iterator

from torch import nn

from agentprim.rope.discover import rotary_modules, settings

NEAR, MIDDLE = 1, 50
_FAR = 1000  # where nothing in the configuration says how far to look
_FARTHEST = 2**20  # beyond it fp32 angles are too coarse to prove anything
_GROWING = ("scaling_beta", "temperature_tuning", "logn")  # settings that scale queries
_WORDS = ("max_position", "n_positions", "max_seq", "window", "chunk", "floor")


def thresholds(config: object) -> list[int]:
    """List the lengths that a configuration names, ascending.

    Found by name, at any depth: maximum and original maximum positions, windows, chunks, scaling
    floors.
    """
    return sorted({value for _, value in _named(config)})


def window(config: object) -> int | None:
    """Return the smallest window that a configuration names, None where it names none."""
    return min((size for key, size in _named(config) if "window" in key), default=None)


def chunk_size(config: object) -> int | None:
    """Return the size of attention chunks, None where attention is not chunked."""
    types = getattr(config, "layer_types", None)
    if types is not None and not any("chunk" in str(kind) for kind in types):
        return None
    return max((size for key, size in _named(config) if "attention_chunk" in key), default=None)


def reach(model: nn.Module, config: object, num_ids: int) -> int:
    """Return the largest distance that may be tried.

    Where queries grow with their position, stay below the first floor: it may count columns of the
    cache, which no probe of positions can shift, and 16 bits hardly show it. A model without a
    table of frequencies looks positions up: stay inside.
    """
    words = ("floor",)
    if any(value and any(word in key for word in _GROWING) for key, value in settings(config)):
        words = ("floor", "original_max_position")
    limits = [size - num_ids - 1 for key, size in _named(config) if any(w in key for w in words)]
    if not rotary_modules(model):
        limits += [size - num_ids for key, size in _named(config) if "position" in key]
    return max(NEAR, min([_FARTHEST, *limits]))


def distances(config: object, num_ids: int, farthest: int) -> list[int]:
    """List the distances to probe, ascending: 1, 50, and both sides of every length.

    On the near side of a length the last id stays one short of its last position, on the far side
    the first id stands on it.
    """
    lengths = thresholds(config) or [_FAR]
    near = [length - num_ids - 1 for length in lengths]
    wanted = {NEAR, MIDDLE, *near, *lengths}
    if max(wanted) > farthest:
        wanted.add(farthest)
    return sorted(distance for distance in wanted if NEAR <= distance <= farthest)


def _named(config: object) -> Iterator[tuple[str, int]]:
    for key, value in settings(config):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and value > 1 and any(word in key for word in _WORDS):
            if not key.endswith(("layers", "pattern")):
                yield key, int(value)
