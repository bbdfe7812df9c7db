"""KV: what an agent has read and thought, as a value that can be joined, cut and handed over."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from agentprim.cache import move
from agentprim.cache.marks import Mark, of_kind
from agentprim.cache.marks import keep as keep_marks
from agentprim.cache.pool import Pool
from agentprim.cache.span import MAX_RUNS, Span, merge


class KV:
    """A cache as a list of spans. Operations return new KVs; the stored keys stay where they are.

    Pages are freed when the last KV that shares them is released, leaves its `with` block, or is
    garbage collected.

    Attributes:
        pool: Where the pages are; KVs of one pool can be joined.
        hidden: Last hidden state of the last token `[hidden_size]`, where the engine kept it.
        marks: Where some of its tokens come from.
    """

    def __init__(
        self,
        pool: Pool,
        spans: Iterable[Span] = (),
        hidden: Tensor | None = None,
        marks: Sequence[Mark] = (),
    ) -> None:
        """Hold some spans of a pool; users get KVs from an engine, `join` or a cache."""
        self.pool = pool
        self.hidden = hidden
        self.marks = tuple(marks)
        self._spans: tuple[Span, ...] | None = tuple(spans)
        self._own(self._spans)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans in token order.

        Raises:
            ValueError: The KV was released.
        """
        if self._spans is None:
            raise ValueError("kv must be live, got a released KV")
        return self._spans

    @property
    def ids(self) -> list[int]:
        """Token ids; -1 for latent steps."""
        return [i for span in self.spans for i in span.ids]

    @property
    def next_position(self) -> int:
        """The position that the next token takes: one past the largest current position."""
        return max((span.stop for span in self.spans), default=0)

    @property
    def joints(self) -> list[int]:
        """Where the parts begin that were joined behind tokens that they never saw."""
        return [begin for begin, _ in of_kind(self.marks, "part")]

    def __len__(self) -> int:
        """Count the tokens."""
        return sum(span.length for span in self.spans)

    def __bool__(self) -> bool:
        """Stay true when empty: an empty KV is still the caller's own."""
        return True

    def __getitem__(self, part: slice) -> "KV":
        """Return tokens `part` as a KV at the same positions; no key is copied."""
        if not isinstance(part, slice) or part.step not in (None, 1):
            raise TypeError(f"kv index must be a slice of step 1, got {part!r}")
        begin, end, _ = part.indices(len(self))
        end = max(begin, end)
        known = keep_marks(self.marks, range(begin, end))
        return KV(self.pool, self._runs([(begin, end)]), marks=known)

    def fork(self) -> "KV":
        """Return the same tokens under a life of their own; no key is copied."""
        return KV(self.pool, self.spans, self.hidden, self.marks)

    def __copy__(self) -> "KV":
        """Fork: tokens never change, so a copy may share them."""
        return self.fork()

    def __deepcopy__(self, memo: dict) -> "KV":
        """Fork as well; `materialize` is the copy that costs memory."""
        return self.fork()

    def select(self, keep: Iterable[int] | Tensor) -> "KV":
        """Keep some tokens at the positions they have; the gaps stay.

        Up to 8 runs share the stored keys. More are copied into pages of their own.

        Args:
            keep: Ascending token indices, or a boolean mask `[len(kv)]`.

        Raises:
            TypeError, ValueError: `keep` is out of range or order, or a mask of another length.
            PoolExhausted: No pages are left for the copy.
        """
        indices = _indices(keep, len(self))
        runs: list[tuple[int, int]] = []
        for index in indices:
            if runs and runs[-1][1] == index:
                runs[-1] = (runs[-1][0], index + 1)
            else:
                runs.append((index, index + 1))
        known = keep_marks(self.marks, indices)
        if len(runs) <= MAX_RUNS:
            return KV(self.pool, self._runs(runs), marks=known)
        self.pool.layout.require_spans(self.spans)
        return KV(self.pool, move.compact(self.pool, self.spans, indices), marks=known)

    def materialize(self) -> "KV":
        """Copy into pages of its own, keys rotated to where they now stand.

        Raises:
            UnsupportedModel: The keys of this model cannot move that far.
            PoolExhausted: No pages are left for the copy.
        """
        self.pool.layout.require_spans(self.spans)
        return KV(self.pool, move.materialize(self.pool, self.spans), self.hidden, self.marks)

    def rotate_(self) -> None:
        """Rotate the stored keys to where they now stand, in place.

        Raises:
            ValueError: Another KV can see the pages, or the KV holds a key twice; use
                `materialize`.
            UnsupportedModel: The keys of this model cannot move that far.
        """
        self.pool.layout.require_spans(self.spans)
        if not self.pool.is_private(self.spans, self):
            raise ValueError(
                "kv must be the only owner of its pages to be rotated in place, got shared pages; "
                "use kv.materialize()"
            )
        if move.overlap(self.spans, self.pool.page_size):
            raise ValueError(
                "kv must hold each stored key once to be rotated in place, got a key twice; "
                "use kv.materialize()"
            )
        self._spans = move.rotate(self.pool, self.spans)

    def moved(self, by: int) -> "KV":
        """Return the same tokens `by` positions further; only the deltas change.

        Raises:
            UnsupportedModel: The keys of this model cannot move that far.
        """
        spans = tuple(span.moved(by) for span in self.spans)
        self.pool.layout.require_spans(spans)
        return KV(self.pool, spans, self.hidden, self.marks)

    def to_cache(self):
        """Copy into a dense `transformers.DynamicCache` of one row, keys where they now stand."""
        from agentprim.cache.dense import to_cache

        return to_cache(self)

    def offload(self):
        """Move to host memory and release this KV; `restore` on what it returns brings it back.

        Returns:
            A `Parked`. Pages that another KV shares are copied and stay where they are.

        Raises:
            ValueError: The KV was released.
        """
        from agentprim.cache.offload import offload

        return offload(self)

    def peek(self, n: int = 20) -> str:
        """Say what the model would say next: its `n` most likely tokens, on a fork thrown away.

        Raises:
            ValueError: The KV is released or empty, or no engine reads its pool.
        """
        _ = self.spans
        read = self.pool.reader() if self.pool.reader is not None else None
        if read is None:
            raise ValueError("kv must be of an engine's pool to be read, got one without an engine")
        return read(self, n)

    def release(self) -> None:
        """Let go of the pages; using the KV afterwards is an error. Releasing twice is not."""
        for span in self._spans or ():
            for lease in span.leases:
                lease.owners.discard(self)
        self._spans = None
        self.hidden = None

    def __enter__(self) -> "KV":
        """Return itself; the pages are released at the end of the block."""
        return self

    def __exit__(self, *exception) -> None:
        """Release the pages."""
        self.release()

    def __reduce__(self):
        """Refuse to be pickled: pages belong to a process."""
        raise TypeError("a KV cannot be pickled: its pages belong to this process; use to_cache()")

    def __repr__(self) -> str:
        """Show tokens, spans and positions."""
        if self._spans is None:
            return "KV(released)"
        runs = ", ".join(f"{span.start}..{span.stop - 1}" for span in self._spans)
        return f"KV({len(self)} tokens at {runs or 'no positions'})"

    def _runs(self, runs: list[tuple[int, int]]) -> tuple[Span, ...]:
        """Cut token ranges out of the spans; parts of a span get leases of their own."""
        size, parts = self.pool.page_size, []
        for begin, end in runs:
            offset = 0
            for span in self.spans:
                low, high = max(begin - offset, 0), min(end - offset, span.length)
                offset += span.length
                if low < high:
                    whole = high - low == span.length
                    parts.append(span if whole else self.pool.share(span.cut(low, high, size)))
        return merge(parts, size)

    def _own(self, spans: tuple[Span, ...]) -> None:
        for span in spans:
            for lease in span.leases:
                lease.owners.add(self)


def _indices(keep: Iterable[int | bool] | Tensor, length: int) -> list[int]:
    """Read indices or a mask as an ascending list."""
    chosen = torch.as_tensor(keep if isinstance(keep, Tensor) else list(keep))
    if chosen.ndim != 1:
        raise ValueError(f"keep must have 1 dimension, got shape {tuple(chosen.shape)}")
    if chosen.dtype == torch.bool:
        if len(chosen) != length:
            raise ValueError(f"keep must have shape ({length},), got {tuple(chosen.shape)}")
        return chosen.nonzero()[:, 0].tolist()
    if len(chosen) and chosen.dtype not in (torch.int64, torch.int32, torch.int16, torch.uint8):
        raise TypeError(f"keep must have integers or bools, got {chosen.dtype}")
    indices = chosen.tolist()
    if any(b <= a for a, b in pairwise(indices)):
        raise ValueError("keep must be ascending without repeats, got another order")
    if indices and not 0 <= indices[0] <= indices[-1] < length:
        raise ValueError(f"keep must be within 0..{length - 1}, got {indices[0]}..{indices[-1]}")
    return indices


def check_live(value: object, argument: str, pool: Pool | None = None) -> KV:
    """Require a live KV, of a given pool if one is named.

    Raises:
        TypeError, ValueError: It is no KV, was released, or belongs to another pool.
    """
    if not isinstance(value, KV):
        raise TypeError(f"{argument} must be a KV, got {type(value).__name__}")
    _ = value.spans
    if pool is not None and value.pool is not pool:
        raise ValueError(
            f"{argument} must belong to this pool of {pool.layout}, "
            f"got a KV of another pool of {value.pool.layout}"
        )
    return value
