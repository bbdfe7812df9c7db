"""A lease keeps pages alive: whoever holds one may read them, and dropping the last frees them."""

import weakref
from collections import deque


class Lease:
    """Hold one reference to each of some pages until the last holder lets go.

    Spans hold leases, so joining and forking cost nothing per token. The pages go back when the
    lease is garbage collected; they are queued, since a collector may run inside any other call.
    """

    __slots__ = ("__weakref__", "_returned", "owners", "pages")

    def __init__(self, pages: list[int], returned: deque[list[int]]) -> None:
        """Take over one reference to each page; `returned` is the pool's queue of freed pages."""
        self.pages = pages
        self.owners: weakref.WeakSet[object] = weakref.WeakSet()
        self._returned = returned

    def __del__(self) -> None:
        """Queue the pages for their return to the pool."""
        self._returned.append(self.pages)
