"""Twin of the compiled page pool: same behaviour, same order of pages, same messages."""

import threading

from agentprim_kernels.pool import PoolExhausted


class PagePool:
    """See `agentprim_kernels.pool.PagePool`."""

    def __init__(self, num_pages: int, page_size: int) -> None:
        _require(num_pages >= 1, "num_pages", "be at least 1", num_pages)
        _require(page_size >= 1, "page_size", "be at least 1", page_size)
        self.num_pages, self.page_size = num_pages, page_size
        self._lock = threading.Lock()
        self._references = [0] * num_pages
        self._fill = [0] * num_pages
        self._free = list(range(num_pages - 1, -1, -1))  # a stack

    @property
    def num_free(self) -> int:
        """Pages that can be allocated."""
        return len(self._free)

    def refcount(self, page: int) -> int:
        """Return the references to a page."""
        self._check_range("page", page)
        return self._references[page]

    def fill(self, page: int) -> int:
        """Return the fill mark of a page."""
        self._check_range("page", page)
        return self._fill[page]

    def allocate(self, count: int) -> list[int]:
        """Take free pages."""
        with self._lock:
            _require(count >= 0, "count", "be at least 0", count)
            if count > len(self._free):
                raise PoolExhausted(count, len(self._free))
            return [self._pop(0) for _ in range(count)]

    def retain(self, pages: list[int]) -> None:
        """Add a reference to each page."""
        with self._lock:
            for page in pages:
                self._check_live("pages", page)
            for page in pages:
                self._references[page] += 1

    def release(self, pages: list[int]) -> None:
        """Drop a reference of each page."""
        with self._lock:
            for page in pages:
                self._check_live("pages", page)
            left = {page: self._references[page] for page in pages}
            for page in pages:
                left[page] -= 1
                got = f"{page} {pages.count(page)} times with {self._references[page]}"
                _require(left[page] >= 0, "pages", "have a reference for each release", got)
            freed = []
            for page in pages:
                self._references[page] -= 1
                if not self._references[page]:
                    self._fill[page] = 0
                    freed.append(page)
            self._free += reversed(freed)

    def claim(self, tails: list[tuple[int, int]], counts: list[int]) -> list[tuple[int, list[int]]]:
        """Take slots behind tails and in new pages."""
        with self._lock:
            self._check_tails(tails, counts)
            taken, needed = [], []
            marks = {page: self._fill[page] for page, _ in tails if page >= 0}
            for (page, fill), count in zip(tails, counts, strict=True):
                fits = page >= 0 and marks[page] == fill
                taken.append(min(count, self.page_size - fill) if fits else 0)
                needed.append(-(-(count - taken[-1]) // self.page_size))
                if fits:
                    marks[page] += taken[-1]
            if sum(needed) > len(self._free):
                raise PoolExhausted(sum(needed), len(self._free))
            for page, mark in marks.items():
                self._fill[page] = mark
            return [
                (took, self._new_pages(count - took))
                for took, count in zip(taken, counts, strict=True)
            ]

    def _new_pages(self, slots: int) -> list[int]:
        starts = range(0, slots, self.page_size)
        return [self._pop(min(slots - start, self.page_size)) for start in starts]

    def _pop(self, fill: int) -> int:
        page = self._free.pop()
        self._references[page], self._fill[page] = 1, fill
        return page

    def _check_range(self, argument: str, page: int) -> None:
        _require(0 <= page < self.num_pages, argument, f"be in 0..{self.num_pages - 1}", page)

    def _check_live(self, argument: str, page: int) -> None:
        self._check_range(argument, page)
        _require(self._references[page] > 0, argument, "be live", f"{page}, which is free")

    def _check_tails(self, tails: list[tuple[int, int]], counts: list[int]) -> None:
        _require(len(tails) == len(counts), "counts", f"have {len(tails)} entries like tails",
                 len(counts))  # fmt: skip
        for page, fill in tails:
            if page != -1:
                self._check_live("tails", page)
                _require(0 <= fill <= self.page_size, "tails",
                         f"have fill marks in 0..{self.page_size}", fill)  # fmt: skip
        for count in counts:
            _require(count >= 0, "counts", "be at least 0", count)


def _require(condition: bool, argument: str, must: str, actual: object) -> None:
    if not condition:
        raise ValueError(f"{argument} must {must}, got {actual}")
