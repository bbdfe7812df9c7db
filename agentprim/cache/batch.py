"""A batch: rows that grow together, one forward pass after the other, each wholly or not at all."""

from agentprim.cache.kv import KV
from agentprim.cache.plan import plan
from agentprim.cache.pool import Pool
from agentprim.cache.row import Row
from agentprim.cache.step import Step


class Batch:
    """Rows of a cache and the forward passes over them.

    Attributes:
        pool: Where the pages are.
        rows: One per sequence; None until the first pass says how many there are.
        columns: Columns of a mask that are cached: what existing loops take for the length.
        step: The forward pass in progress.
    """

    def __init__(self, pool: Pool, kvs: list[KV] | None = None) -> None:
        """Start from KVs, one a row, which are not changed, or empty."""
        self.pool = pool
        self.rows = [Row(pool, kv) for kv in kvs] if kvs else None
        self.columns = max((row.length for row in self.rows or ()), default=0)
        self.step: Step | None = None
        self._before: tuple | None = None  # the last pass, with the rows and columns before it

    def begin(self, count: int, num_new: int, **options) -> None:
        """Plan a forward pass over `count` rows; see `plan`. Nothing changes where that raises."""
        self.commit()
        rows = self.take(count)
        self.step = plan(self.pool, rows, held=self.columns, num_new=num_new, **options)
        self._before = (self.step, self.rows, self.columns)
        self.rows = rows

    def settle(self) -> None:
        """Close the last forward pass: keep it if every layer stored its keys, else undo it."""
        step, self.step = self.step, None
        if step is None:
            return
        if len(step.seen) == len(self.pool.layout.shapes):
            self.columns = step.columns
        else:
            self.undo()

    def commit(self) -> None:
        """Close the last forward pass for good."""
        self.settle()
        self._before = None

    def undo(self) -> None:
        """Take back the forward pass that is not committed yet, if there is one."""
        self.step, before, self._before = None, self._before, None
        if before is not None:
            step, self.rows, self.columns = before
            step.undo()

    def take(self, count: int) -> list[Row]:
        """Return the rows, new ones where there are none yet.

        Raises:
            ValueError: There are not so many.
        """
        if self.rows is None:
            return [Row(self.pool) for _ in range(count)]
        if len(self.rows) != count:
            raise ValueError(f"batch must have {len(self.rows)} rows like the cache, got {count}")
        return self.rows

    def kvs(self) -> list[KV]:
        """Return what each row holds now."""
        self.commit()
        return [row.kv() for row in self.rows or ()]

    def select(self, indices: list[int]) -> None:
        """Keep the rows named, in that order; a row may be named more than once."""
        kvs = self.kvs()
        self.rows = [Row(self.pool, kvs[index]) for index in indices]

    def crop(self, count: int) -> None:
        """Remove the last `count` tokens of each row."""
        kvs = self.kvs()
        self.rows = [Row(self.pool, kv[: max(len(kv) - count, 0)]) for kv in kvs]
        self.columns = max(self.columns - count, 0)

    def fork(self) -> "Batch":
        """Return a batch of the same rows that grows on its own; the pages are shared."""
        twin = Batch(self.pool, self.kvs())
        twin.columns = self.columns
        return twin
