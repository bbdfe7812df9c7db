"""The pool: pages for all layers of one model, and who holds them."""

from collections import Counter, deque
from dataclasses import replace
from weakref import WeakMethod

import torch

from agentprim.cache.group import LayerGroup, build_groups
from agentprim.cache.layout import Layout
from agentprim.cache.lease import Lease
from agentprim.cache.span import Span
from agentprim.config import PoolConfig
from agentprim_kernels.pool import PagePool
from agentprim_kernels.staging_ring import STAGE_BYTES, StagingRing


class Pool:
    """Pages of one model's KV cache; a page id stands for that page in every layer.

    Thread-safe. Pages of dropped leases are taken back before every claim.

    Attributes:
        peak_pages: Most pages held at once so far; set it to 0 to measure anew.
    """

    def __init__(self, layout: Layout, config: PoolConfig | None = None) -> None:
        """Allocate the tensors of every layer group."""
        config = config or PoolConfig()
        self.layout = layout
        self.page_size = config.page_size
        self.groups: tuple[LayerGroup, ...] = build_groups(layout, config)
        # where a model layer lives: its group and its row in the group's tensors
        self.place: dict[int, tuple[LayerGroup, int]] = {
            layer: (group, row) for group in self.groups for row, layer in enumerate(group.layers)
        }
        self._pages = PagePool(config.pages, config.page_size)
        self.peak_pages = 0
        self._returned: deque[list[int]] = deque()
        self._rings: dict[torch.device, StagingRing] = {}
        # an engine leaves a weak method here, by which `KV.peek` decodes a few tokens
        self.reader: WeakMethod | None = None

    @property
    def num_pages(self) -> int:
        """Pages in the pool."""
        return self._pages.num_pages

    @property
    def num_free(self) -> int:
        """Pages that nobody holds."""
        self._take_back()
        return self._pages.num_free

    def claim(
        self, ends: list[tuple[int, int]], counts: list[int]
    ) -> list[tuple[tuple[int, ...], int, tuple[Lease, ...]]]:
        """Claim slots for several sequences at once: all of them, or none.

        Args:
            ends: The last page of each sequence and how many of its slots it uses; page -1 where
                there is none. Where nobody has written behind it yet, that page is filled up first.
            counts: Slots that each sequence needs.

        Returns:
            For each sequence the pages and the first slot's offset, and the leases of the new
            pages; a page that is filled up belongs to who held it before.

        Raises:
            PoolExhausted: The pool is too small; nothing has changed.
        """
        self._take_back()
        claims = []
        claimed = self._pages.claim(ends, counts)
        self.peak_pages = max(self.peak_pages, self.num_pages - self._pages.num_free)
        for end, (taken, pages) in zip(ends, claimed, strict=True):
            leases = (Lease(pages, self._returned),) if pages else ()
            if taken:
                claims.append(((end[0], *pages), end[1], leases))
            else:
                claims.append((tuple(pages), 0, leases))
        return claims

    def share(self, span: Span) -> Span:
        """Give a span a lease of its own, so that other pages of its source can be freed."""
        self._pages.retain(span.pages)
        return replace(span, leases=(Lease(list(span.pages), self._returned),))

    def is_private(self, spans: tuple[Span, ...], owner: object) -> bool:
        """Tell whether `owner` alone can see the pages of some spans."""
        leases = {lease for span in spans for lease in span.leases}
        try:
            if any(set(lease.owners) - {owner} for lease in leases):
                return False
        except RuntimeError:  # another thread is taking a share this very moment
            return False
        self._take_back()
        held = Counter(page for lease in leases for page in lease.pages)
        return all(
            self._pages.refcount(page) == held[page] for span in spans for page in span.pages
        )

    def ring(self, device: torch.device) -> StagingRing | None:
        """Return what copies pages between a device and the host, made when first asked for.

        None where plain copies do: on a CPU, or without the compiled CUDA part.
        """
        if device.type != "cuda" or StagingRing.why_not(device):
            return None
        if device not in self._rings:
            caches = [cache for group in self.groups for cache in (group.k_cache, group.v_cache)]
            page = max(cache.nbytes // self.num_pages for cache in caches)
            self._rings[device] = StagingRing(device, stage_bytes=max(page, STAGE_BYTES))
        return self._rings[device]

    def _take_back(self) -> None:
        while self._returned:
            try:
                self._pages.release(self._returned.popleft())
            except IndexError:  # another thread took the last one
                return
