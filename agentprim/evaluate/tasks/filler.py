"""Sentences that have nothing to do with any question, made from a seed."""

from random import Random

_WHO = (
    "A heron", "The old tram", "A column of ants", "The north wind", "A brass band",
    "The ferry from the islands", "A flock of starlings", "The last train", "A grey donkey",
    "The weather balloon", "A team of divers", "The moon", "An orange cat", "A school of herring",
    "The village orchestra", "A lorry full of gravel",
)  # fmt: skip
_DOES = (
    "crosses the wide valley", "waits beside the frozen canal", "turns slowly towards the hills",
    "passes the brick chimney", "makes a long detour around the marsh",
    "disappears behind the poplars", "circles above the fields of barley",
    "stops at the stone bridge", "leaves faint tracks in the sand", "rests near the quarry",
    "follows the winding river", "drifts along the sea wall",
)  # fmt: skip
_WHEN = (
    "in early spring", "when the fog lifts", "before the harvest", "during the long winter",
    "after a night of rain", "while the bells ring", "every other year", "at low tide",
    "long after sunset", "in the heat of noon",
)  # fmt: skip


def filler(random: Random, count: int) -> list[str]:
    """Make `count` different sentences, about 12 tokens each.

    Raises:
        ValueError: There are not as many.
    """
    most = len(_WHO) * len(_DOES) * len(_WHEN)
    if count > most:
        raise ValueError(f"count must be at most {most}, got {count}")
    found = []
    for number in random.sample(range(most), count):
        rest, when = divmod(number, len(_WHEN))
        who, does = divmod(rest, len(_DOES))
        found.append(f"{_WHO[who]} {_DOES[does]} {_WHEN[when]}.")
    return found
