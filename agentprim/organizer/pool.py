"""The knowledge pool: structures by query pattern, found again by what a query is like."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentprim.engine.seat import alone
from agentprim.organizer.builtin import builtin
from agentprim.organizer.entry import Entry
from agentprim.organizer.rank import Embed, Vectors, Words
from agentprim.organizer.store import Store


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Outcomes of an entry.

    Attributes:
        runs: How often it was used.
        wins: How often that went well.
    """

    runs: int = 0
    wins: int = 0

    @property
    def rate(self) -> float:
        """The smoothed share of wins: the mean of Beta(1 + wins, 1 + losses)."""
        return (self.wins + 1) / (self.runs + 2)


class KnowledgePool:
    """Structures that an organizer chooses from and learns about.

    `KnowledgePool.builtin()` has the structures that come with the package;
    `KnowledgePool(path)` begins with nothing. What is added, removed and recorded is kept in the
    SQLite file at `path`, which several threads and processes may use at once, or in memory.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        embed: Embed | None = None,
        learn: bool = True,
        base: Callable[[], Sequence[Entry]] = tuple,
    ) -> None:
        """Open a pool.

        Args:
            path: A file, made where it is missing; None keeps everything in memory.
            embed: Ranks by cosine of its vectors instead of by words: a function from texts to
                vectors `[n, d]`, such as `agentprim.organizer.HiddenStates(engine)`.
            learn: Let recorded outcomes change the ranking.
            base: Gives the entries that stand in no file, when they are first needed.
        """
        self._store, self._embed, self.learn = Store(path), embed, learn
        self._base, self._lock = base, threading.Lock()
        self._seen: tuple[int, dict[str, Entry], Words | Vectors] | None = None

    @classmethod
    def builtin(cls, path: str | Path | None = None, **options) -> "KnowledgePool":
        """Open a pool that has the structures of the package, too; they are read on first use."""
        return cls(path, base=builtin, **options)

    def __len__(self) -> int:
        """Count the entries."""
        return len(self._current()[0])

    def __iter__(self):
        """Iterate over the entries: those of the package first, then in the order of adding."""
        return iter(list(self._current()[0].values()))

    def __contains__(self, name: str) -> bool:
        """Tell whether there is an entry of this id."""
        return name in self._current()[0]

    def __getitem__(self, name: str) -> Entry:
        """Return an entry.

        Raises:
            ValueError: There is none of this id.
        """
        entries = self._current()[0]
        if name not in entries:
            raise ValueError(f"id must be one of the pool's {len(entries)} entries, got {name!r}")
        return entries[name]

    def add(self, entry: Entry) -> str:
        """Store an entry and return its id.

        One of the same id is replaced, as a whole, and its outcomes begin anew unless it is the
        same. An entry without id gets one of its content, so the same one twice is there once.
        """
        entry = entry.named()
        self._store.put(entry)
        return entry.id

    def remove(self, name: str) -> None:
        """Delete an entry and what was recorded of it.

        Raises:
            ValueError: There is none of this id.
        """
        self[name]
        self._store.remove(name, hide=any(entry.id == name for entry in self._base()))

    def search(
        self, query: str, k: int = 5, *, task: str | None = None, learn: bool | None = None
    ) -> list[tuple[Entry, float]]:
        """Find the entries that fit a query best.

        A score is that of the words (BM25), or of the vectors, times twice the smoothed win rate,
        so an entry without outcomes keeps its score. Equal scores keep the order of the pool.

        Args:
            query: Any text.
            k: How many, at most.
            task: Only entries of this type of task, or of any.
            learn: Overrides the pool's own `learn`.

        Returns:
            Entries with scores, the best first; as many as there are, if fewer than `k`.

        Raises:
            ValueError: `k` is below 0.
        """
        if k < 0:
            raise ValueError(f"k must be at least 0, got {k}")
        entries, rank = self._current()
        scores = [float(score) for score in rank(query)]
        if self.learn if learn is None else learn:
            known = self._store.outcomes()
            rates = [_stats(known, name).rate for name in entries]
            scores = [score * 2 * rate for score, rate in zip(scores, rates, strict=True)]
        found = [
            (entry, score)
            for entry, score in zip(entries.values(), scores, strict=True)
            if task is None or not entry.pattern.tasks or task in entry.pattern.tasks
        ]
        return sorted(found, key=lambda pair: -pair[1])[:k]

    def record(self, name: str, success: bool) -> None:
        """Note how a run of an entry went.

        Raises:
            ValueError: There is none of this id.
        """
        self[name]
        self._store.record(name, success)

    def stats(self, name: str) -> Stats:
        """Return what was recorded of an entry."""
        return _stats(self._store.outcomes(), name)

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def _current(self) -> tuple[dict[str, Entry], Words | Vectors]:
        """Return entries and their index, made anew where anyone changed the file."""
        return alone(self._read) if self._embed else self._read()

    def _read(self) -> tuple[dict[str, Entry], Words | Vectors]:
        with self._lock:
            if self._seen is None or self._seen[0] != self._store.version():
                number, added, removed = self._store.read()
                entries = {one.id: one for one in self._base() if one.id not in removed}
                entries |= {one.id: one for one in added}
                texts = [entry.text for entry in entries.values()]
                rank = Vectors(texts, self._embed) if self._embed else Words(texts)
                self._seen = (number, entries, rank)
            return self._seen[1:]


def _stats(known: dict[str, tuple[int, int]], name: str) -> Stats:
    runs, wins = known.get(name, (0, 0))
    return Stats(runs=runs, wins=wins)
