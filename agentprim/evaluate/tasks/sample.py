"""Draw a stratified sample that is the same on every machine."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from random import Random

from agentprim.evaluate.base import Item


def sample(items: Sequence[Item], limit: int | None, seed: int) -> list[Item]:
    """Draw `limit` items, each group in proportion to its size, in their original order.

    Args:
        items: All items.
        limit: How many; None, or more than there are, keeps all.
        seed: Of the draw.

    Raises:
        ValueError: The limit is negative.
    """
    return sample_units(items, limit, seed, unit=lambda item: item.id)


def sample_units(
    items: Sequence[Item], limit: int | None, seed: int, *, unit: Callable[[Item], str]
) -> list[Item]:
    """Draw `limit` units, such as dialogues, with all items of each.

    Args:
        items: All items.
        limit: How many units; None keeps all.
        seed: Of the draw.
        unit: Names the unit of an item; the group of a unit is that of its first item.

    Raises:
        ValueError: The limit is negative.
    """
    if limit is not None and limit < 0:
        raise ValueError(f"limit must not be negative, got {limit}")
    groups: dict[str, str] = {}
    for item in items:
        groups.setdefault(unit(item), item.group)
    if limit is None or limit >= len(groups):
        return list(items)
    members = defaultdict(list)
    for name, group in groups.items():
        members[group].append(name)
    counts = _shares({group: len(names) for group, names in members.items()}, limit)
    kept = {
        name
        for group, names in members.items()
        for name in Random(f"{seed}/{group}").sample(names, counts[group])
    }
    return [item for item in items if unit(item) in kept]


def _shares(sizes: dict[str, int], limit: int) -> dict[str, int]:
    """Divide `limit` in proportion to sizes; the largest remainders get what is left over."""
    total = sum(sizes.values())
    counts = {group: limit * size // total for group, size in sizes.items()}
    # a rest of equal size goes to the group that comes first
    rest = sorted(sizes, key=lambda group: -(limit * sizes[group] % total))
    for group in rest[: limit - sum(counts.values())]:
        counts[group] += 1
    return counts
