"""Walk away from a place, distance by distance, as far as a proof holds."""

from collections.abc import Callable, Sequence

from agentprim.rope.judge import Verdict


def walk(
    distances: Sequence[int], num_ids: int, probe: Callable[[int], Verdict]
) -> list[tuple[int, Verdict]]:
    """Probe ascending distances up to the first fault, then the last place before its length."""
    verdicts: list[tuple[int, Verdict]] = []
    proved = 0
    for delta in distances:
        verdicts.append((delta, probe(delta)))
        if verdicts[-1][1].fault is not None:
            if delta - num_ids > proved:
                verdicts.insert(-1, (delta - num_ids, probe(delta - num_ids)))
            break
        proved = delta
    return verdicts
