"""Hand out pages of a cache: reference counts, fill marks, all or nothing."""

from collections.abc import Sequence
from operator import index


class PoolExhausted(RuntimeError):
    """Tell that more pages were requested than are free; nothing was changed.

    Attributes:
        requested: Pages that the call needed.
        free: Pages that were free.
    """

    def __init__(self, requested: int, free: int) -> None:
        super().__init__(f"requested {requested} pages but only {free} are free")
        self.requested = requested
        self.free = free

    def __reduce__(self) -> tuple:
        return PoolExhausted, (self.requested, self.free)


class PagePool:
    """Allocate page numbers, thread-safe; every call happens as a whole or changes nothing.

    A page is live while its reference count is positive. Its fill mark says how many of its slots
    are written; written slots never change while the page is live. A new pool hands out pages in
    ascending order; released pages are reused first, in the order of their release call.
    """

    def __init__(self, num_pages: int, page_size: int, impl: str | None = None) -> None:
        """Make a pool in which every page is free.

        Args:
            num_pages: How many pages there are.
            page_size: Slots of a page.
            impl: `"cpp"`, `"reference"`; None takes the compiled one if it is built.

        Raises:
            ValueError: A size is below 1, or `impl` is unknown or cannot run here.
        """
        self._pool = _pool_class(impl)(index(num_pages), index(page_size))

    @property
    def num_pages(self) -> int:
        """How many pages there are."""
        return self._pool.num_pages

    @property
    def page_size(self) -> int:
        """Slots of a page."""
        return self._pool.page_size

    @property
    def num_free(self) -> int:
        """Pages that can be allocated."""
        return self._pool.num_free

    @property
    def num_used(self) -> int:
        """Pages that are live; `num_free + num_used == num_pages`."""
        return self._pool.num_pages - self._pool.num_free

    def refcount(self, page: int) -> int:
        """Return the references to a page, 0 if it is free."""
        return self._pool.refcount(index(page))

    def fill(self, page: int) -> int:
        """Return the written slots of a page, 0 if it is free."""
        return self._pool.fill(index(page))

    def allocate(self, count: int) -> list[int]:
        """Take free pages, with one reference and fill mark 0 each.

        Raises:
            PoolExhausted: Fewer are free.
        """
        return self._pool.allocate(index(count))

    def retain(self, pages: Sequence[int]) -> None:
        """Add a reference to each page, as many as it is named.

        Raises:
            ValueError: A page is not live.
        """
        self._pool.retain([index(page) for page in pages])

    def release(self, pages: Sequence[int]) -> None:
        """Drop a reference of each page, as many as it is named; at none it is free again.

        Raises:
            ValueError: A page is not live, or is named more often than it has references.
        """
        self._pool.release([index(page) for page in pages])

    def claim(
        self, tails: Sequence[tuple[int, int]], counts: Sequence[int]
    ) -> list[tuple[int, list[int]]]:
        """Take slots for several sequences at once, all of them or none.

        A sequence whose tail page is written exactly as far as the sequence goes gets the slots
        behind it; any other, such as the second of two forks, gets new pages only. Rows are
        served in order. Reference counts of tail pages stay.

        Args:
            tails: For each row its last page, or -1, and how many of its slots the row uses.
            counts: Slots wanted by each row.

        Returns:
            For each row the slots taken behind the tail, and the new pages for the rest, with one
            reference each and their fill marks set.

        Raises:
            PoolExhausted: The rows together need more new pages than are free.
            ValueError: A tail page is not live, or a number is out of its range.
        """
        pairs = [(index(page), index(fill)) for page, fill in tails]
        return self._pool.claim(pairs, [index(count) for count in counts])


def _pool_class(impl: str | None) -> type:
    from agentprim_kernels import native
    from agentprim_kernels.reference.pool import PagePool as Twin

    if impl not in (None, "cpp", "reference"):
        raise ValueError(f"impl must be one of ('cpp', 'reference'), got {impl!r}")
    if impl == "cpp" and not native.available():
        raise ValueError(f"impl must be one that can run here, got 'cpp': {native.why_not()}")
    return Twin if impl == "reference" or not native.available() else native.module().PagePool
