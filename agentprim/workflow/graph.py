"""Who reads whom: circles, what can run, and the order in which it does.

The order comes from `graphlib` of the standard library: it hands out all steps whose inputs are
ready at once, which is what a batch needs, and costs no import. networkx would do it too, but is
slower to load and has nothing else that a plan of at most 64 steps needs.
"""

from collections.abc import Iterator, Mapping, Sequence
from graphlib import TopologicalSorter


class Graph:
    """Steps and the steps that each of them reads; ids that are no step are left out."""

    def __init__(self, reads: Mapping[str, Sequence[str]]) -> None:
        """Take the inputs of each step."""
        self.reads = {
            name: [one for one in inputs if one in reads] for name, inputs in reads.items()
        }
        self._missing = {name for name, i in reads.items() if len(i) > len(self.reads[name])}

    def waves(self) -> Iterator[tuple[str, ...]]:
        """Yield steps whose inputs are all in earlier waves, in the order of the plan.

        Raises:
            graphlib.CycleError: There is a circle.
        """
        sorter, order = TopologicalSorter(self.reads), list(self.reads)
        sorter.prepare()
        while sorter.is_active():
            wave = tuple(sorted(sorter.get_ready(), key=order.index))
            yield wave
            sorter.done(*wave)

    def runnable(self) -> set[str]:
        """Return the steps that can run: all their inputs exist and are runnable."""
        found: set[str] = set()
        waiting = {name: set(i) for name, i in self.reads.items() if name not in self._missing}
        while ready := {name for name, i in waiting.items() if i <= found}:
            found |= ready
            waiting = {name: i for name, i in waiting.items() if name not in ready}
        return found

    def before(self, name: str) -> set[str]:
        """Return all steps that a step stands on, itself only if it is in a circle."""
        found, todo = set(), list(self.reads[name])
        while todo:
            one = todo.pop()
            if one not in found:
                found.add(one)
                todo += self.reads[one]
        return found

    def circles(self) -> list[list[str]]:
        """Return each group of steps that wait for each other, once, in the plan's order."""
        above = {name: self.before(name) for name in self.reads}
        found, seen = [], set()
        for name in self.reads:
            if name in above[name] and name not in seen:
                circle = [one for one in self.reads if one in above[name] and name in above[one]]
                seen.update(circle)
                found.append(circle)
        return found
