"""Park a KV in host memory while its agent is idle, and bring it back."""

from dataclasses import replace

import torch
from torch import Tensor

from agentprim.cache.kv import KV
from agentprim.cache.pool import Pool
from agentprim.cache.span import Span
from agentprim_kernels import pack_pages_, unpack_pages_


class Parked:
    """The pages of a KV in host memory, with all that its spans know. Users get it from `offload`.

    Nothing of it changes: `restore` may be called more than once, and gives a copy each time. The
    host memory is freed by `release`, at the end of a `with` block, or by garbage collection.

    Attributes:
        pool: Where the KV was, and comes back to.
    """

    def __init__(self, kv: KV) -> None:
        """Copy the pages of a live KV, which is not changed."""
        self.pool = kv.pool
        self._hidden, self._marks = kv.hidden, kv.marks
        pages = _pages(kv.spans)
        index = {page: number for number, page in enumerate(pages)}
        self._fill = _fill(kv.spans, self.pool.page_size)
        # pages by their number in the packed tensors
        self._spans: tuple[Span, ...] | None = tuple(
            replace(span, pages=tuple(index[page] for page in span.pages), leases=())
            for span in kv.spans
        )
        self._num_pages = len(pages)
        self._packed = [
            tuple(_pack(self.pool, cache, pages) for cache in (group.k_cache, group.v_cache))
            for group in self.pool.groups
        ]

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans in token order; their pages are numbers in the host copy.

        Raises:
            ValueError: The host memory was released.
        """
        if self._spans is None:
            raise ValueError("parked must be live, got a released Parked")
        return self._spans

    @property
    def ids(self) -> list[int]:
        """Token ids; -1 for latent steps."""
        return [i for span in self.spans for i in span.ids]

    @property
    def nbytes(self) -> int:
        """Host memory held, in bytes."""
        return sum(packed.nbytes for pair in self._packed for packed in pair)

    def __len__(self) -> int:
        """Count the tokens."""
        return sum(span.length for span in self.spans)

    def __bool__(self) -> bool:
        """Stay true when empty, as a KV does."""
        return True

    def restore(self) -> KV:
        """Copy into pages of its own: keys byte for byte, positions and deltas as they were.

        Raises:
            PoolExhausted: Not enough pages are free; nothing has changed.
            ValueError: The host memory was released.
        """
        spans = self.spans
        if not spans:
            return KV(self.pool, (), self._hidden, self._marks)
        count = (self._num_pages - 1) * self.pool.page_size + self._fill
        ((claimed, _, leases),) = self.pool.claim([(-1, 0)], [count])
        for group, (k_packed, v_packed) in zip(self.pool.groups, self._packed, strict=True):
            _unpack(self.pool, group.k_cache, claimed, k_packed)
            _unpack(self.pool, group.v_cache, claimed, v_packed)
        restored = [
            replace(span, pages=tuple(claimed[number] for number in span.pages), leases=leases)
            for span in spans
        ]
        if len(restored) > 1:  # so that a part of it can be freed
            restored = [self.pool.share(span) for span in restored]
        return KV(self.pool, restored, self._hidden, self._marks)

    def release(self) -> None:
        """Free the host memory; restoring afterwards is an error. Releasing twice is not."""
        self._spans, self._packed, self._hidden = None, [], None

    def __enter__(self) -> "Parked":
        """Return itself; the host memory is freed at the end of the block."""
        return self

    def __exit__(self, *exception) -> None:
        """Free the host memory."""
        self.release()

    def __reduce__(self):
        """Refuse to be pickled: it belongs to a pool of this process."""
        raise TypeError("a Parked cannot be pickled: its pool belongs to this process")

    def __repr__(self) -> str:
        """Show tokens and bytes."""
        if self._spans is None:
            return "Parked(released)"
        return f"Parked({len(self)} tokens in {self.nbytes} bytes)"


def offload(kv: KV) -> Parked:
    """Copy a KV to host memory and release it; its pages are freed unless another KV has them.

    Raises:
        ValueError: The KV was released.
        MemoryError, RuntimeError: There is no host memory left, or the device failed; the KV is as
            it was.
    """
    parked = Parked(kv)
    kv.release()
    return parked


def _pages(spans: tuple[Span, ...]) -> list[int]:
    """List each page once, the one that the last token is in at the end: it may grow."""
    pages = dict.fromkeys(page for span in spans for page in span.pages)
    if spans:
        pages.pop(spans[-1].pages[-1])
        pages[spans[-1].pages[-1]] = None
    return list(pages)


def _fill(spans: tuple[Span, ...], page_size: int) -> int:
    """Count the slots of the last page up to the last one that a token of the spans is in."""
    return max(
        (
            min(span.first_slot + span.length - index * page_size, page_size)
            for span in spans
            for index, page in enumerate(span.pages)
            if page == spans[-1].pages[-1]
        ),
        default=0,
    )


def _pack(pool: Pool, cache: Tensor, pages: list[int]) -> Tensor:
    layers, _, *rest = cache.shape
    packed = torch.empty(len(pages), layers, *rest, dtype=cache.dtype)
    numbers = torch.tensor(pages, dtype=torch.int32)
    pack_pages_(packed, numbers, cache, ring=pool.ring(cache.device))
    return packed


def _unpack(pool: Pool, cache: Tensor, pages: tuple[int, ...], packed: Tensor) -> None:
    numbers = torch.tensor(pages, dtype=torch.int32)
    unpack_pages_(cache, numbers, packed, ring=pool.ring(cache.device))
