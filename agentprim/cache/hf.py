"""The border to Hugging Face: a paged `Cache`, and the attention function that reads its spans."""

import sys
import weakref
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.cache_utils import Cache, CacheLayerMixin
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from agentprim.cache.attention import HANDLE, Handle, PagedLength, attend_spans, note_mask
from agentprim.cache.counting import count_new, counted_positions
from agentprim.cache.kv import KV, check_live
from agentprim.cache.pool import Pool
from agentprim.cache.row import Row
from agentprim.cache.step import Step

NAME = "agentprim"


def register(delegate: str) -> str:
    """Register the span attention that falls back to `delegate`, and return its name.

    The name is `"agentprim"` over `"sdpa"`, else `"agentprim_<delegate>"`.
    """
    name = NAME if delegate == "sdpa" else f"{NAME}_{delegate}"
    AttentionInterface.register(name, partial(attend_spans, delegate=partial(_original, delegate)))
    AttentionMaskInterface.register(
        name, partial(note_mask, delegate=ALL_MASK_ATTENTION_FUNCTIONS[delegate])
    )
    return name


def _original(name: str, module: nn.Module, *args, **kwargs):
    """Call the attention function called `name`; each model family has an eager one of its own."""
    function = ALL_ATTENTION_FUNCTIONS.get(name)
    if function is None:
        function = sys.modules[type(module).__module__].eager_attention_forward
    return function(module, *args, **kwargs)


class PagedCache(Cache):
    """A cache for existing Hugging Face loops whose rows are KVs in a pool.

        cache = PagedCache(model, kv=kv)
        model.generate(**cache.inputs(new_ids), past_key_values=cache)

    The first cache made for a model prepares it: see `agentprim.cache.attach`. For inference only:
    nothing is recorded for a backward pass.
    """

    def __init__(
        self,
        model,
        kv: KV | Sequence[KV] | None = None,
        *,
        pool_tokens: int = 8192,
        absolute: bool = False,
    ) -> None:
        """Start from a KV, one KV a row, or empty.

        Args:
            model: The causal language model that will use the cache.
            kv: What is already read: a KV of this model, or a list of them; they are not changed.
                None makes a pool of the cache's own.
            pool_tokens: Size of that pool, in tokens.
            absolute: Whether the model is given current positions; by default it counts the
                tokens itself, and the cache makes up for what it leaves out.

        Raises:
            TypeError, ValueError: `kv` is not live, or of another model.
        """
        from agentprim.cache.attach import attach

        attachment = attach(model)
        kvs = None if kv is None else [kv] if isinstance(kv, KV) else list(kv)
        self.pool = attachment.new_pool(pool_tokens) if not kvs else check_live(kvs[0], "kv").pool
        if self.pool.layout is not attachment.layout:
            raise ValueError(
                f"kv must belong to this model, got a KV of another {self.pool.layout}"
            )
        for one in kvs or ():
            check_live(one, "kv", self.pool)
        self.rows = [Row(self.pool, one) for one in kvs] if kvs else None
        self.absolute = absolute
        self._columns = max((row.length for row in self.rows or ()), default=0)
        self._pad_id = attachment.pad_id
        self._device = attachment.device
        self._step: Step | None = None
        self._marks: list[tuple] = []
        super().__init__(layers=[_Layer(self, i) for i in range(len(self.pool.layout.shapes))])

    def kv(self, row: int = 0) -> KV:
        """Return what a row holds now; the cache may go on growing.

        Raises:
            IndexError: There is no such row.
        """
        self._settle()
        if self.rows is None:
            return KV(self.pool)
        return self.rows[row].kv()

    def inputs(self, new_ids: Sequence | Tensor) -> dict[str, Tensor]:
        """Build the full-length ids and mask that `generate` needs for a filled cache.

        Args:
            new_ids: Ids to add: a list of ints or a 1-D tensor for one row, or one such list for
                each row, of any lengths; a 2-D tensor works too.

        Returns:
            `input_ids` and `attention_mask`, int64 `[batch, columns]`, rows at the right end. A
            pad id stands for tokens that have no id (latent steps).

        Raises:
            ValueError: A row gets no new token, or the number of rows differs from the cache's.
        """
        self._settle()
        new = new_ids.tolist() if isinstance(new_ids, Tensor) else list(new_ids)
        new = new if new and not isinstance(new[0], int) else [new]
        new = [part.tolist() if isinstance(part, Tensor) else list(part) for part in new]
        rows = self._rows(len(new))
        if any(not part for part in new):
            raise ValueError("new_ids must have at least one id for each row, got none")
        width = self._columns + max(map(len, new))
        ids = torch.full((len(rows), width), self._pad_id, dtype=torch.int64)
        mask = torch.zeros_like(ids)
        for index, (row, part) in enumerate(zip(rows, new, strict=True)):
            whole = torch.tensor([*row.ids, *part])
            ids[index, width - len(whole) :] = whole.where(whole >= 0, self._pad_id)
            mask[index, width - len(whole) :] = 1
        return {"input_ids": ids.to(self._device), "attention_mask": mask.to(self._device)}

    def check_ids(self, input_ids: Tensor, num_new: int, mask: Tensor | None) -> None:
        """Check full-length ids against what is cached, before `generate` cuts that off.

        Raises:
            ValueError: They bring no new token, or begin with other ids than the cached ones: a
                sign of new ids without a full-length mask.
        """
        self._settle()
        if num_new < 1:
            raise ValueError(
                f"input_ids must bring new tokens, got {input_ids.shape[1]} ids for a cache of "
                f"{self._columns}; cache.inputs(new_ids) builds them"
            )
        starts = [0] * len(input_ids) if mask is None else (mask == 0).sum(-1).tolist()
        for row, line, start in zip(self.rows or (), input_ids.tolist(), starts, strict=False):
            known = row.ids
            held = line[start : start + len(known)]
            if len(held) < len(known) or any(k not in (-1, i) for k, i in zip(known, held)):
                raise ValueError(
                    "input_ids must begin with the cached ids, got others: pass new ids with a "
                    "full-length attention_mask, or use cache.inputs(new_ids)"
                )

    def begin(
        self,
        batch: int,
        num_new: int,
        *,
        ids: Tensor | None,
        mask: Tensor | None,
        position_ids: Tensor | None,
    ) -> None:
        """Plan one forward pass: claim slots for it and note where its tokens stand.

        Called by the hook on the model before its first layer runs.

        Args:
            batch: Number of rows.
            num_new: Columns of new tokens, padding included.
            ids: Their ids `[batch, num_new]`, or None for embeddings.
            mask: `[batch, cached columns + num_new]`, zeros at the left, or None for all ones.
            position_ids: `[batch or 1, num_new]`, or None where the model counts columns.

        Raises:
            ValueError: The mask or the positions do not fit.
            PoolExhausted: The pool is too small; the cache has not changed.
            UnsupportedModel: Positions would need a move that is not proved.
        """
        self._settle()
        rows = self._rows(batch)
        columns = self._columns + num_new
        counts = count_new(rows, columns, num_new, mask)
        counted = counted_positions(position_ids, batch, self._columns, num_new)
        shifts = []
        for row, count, line in zip(rows, counts, counted, strict=True):
            shift = row.next_position - line[num_new - count] if count and not self.absolute else 0
            self.pool.layout.require(shift)
            shifts.append(shift)
        self._marks = [row.mark() for row in rows]
        claims = self.pool.claim([row.tail for row in rows], counts)
        slots = torch.full((batch, num_new), -1, dtype=torch.int64)
        current = torch.full((batch, num_new), -1, dtype=torch.int32)
        tokens = ids.tolist() if ids is not None else [[-1] * num_new] * batch
        for index, (row, count, shift) in enumerate(zip(rows, counts, shifts, strict=True)):
            first = num_new - count
            line = counted[index][first:]
            slots[index, first:] = torch.tensor(
                row.append(
                    *claims[index], positions=line, delta=shift, ids=tokens[index][first:]
                ),
                dtype=torch.int64,
            )
            current[index, first:] = torch.tensor(line, dtype=torch.int32) + shift
        self._step = Step(
            pool=self.pool, rows=rows, shifts=shifts, slots=slots, positions=current,
            columns=columns, padded=mask is not None,
        )  # fmt: skip

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args, **kwargs
    ) -> tuple[Tensor, Tensor]:
        """Store a layer's new keys and values `[batch, num_kv_heads, num_new, dim]`.

        Returns:
            The same keys, carrying a handle to the spans, and the same values; on the dense path
            the keys and values of all columns, relocated.
        """
        step = self._step
        if step is None or layer_idx in step.seen:
            raise RuntimeError(
                "PagedCache must be told of each forward pass by the model it was made for, got "
                "keys of another model or of a module below it"
            )
        with torch.no_grad():
            step.store(key_states.detach(), value_states.detach(), layer_idx)
            if not self.pool.layout.spans:
                return step.dense(layer_idx)
        setattr(key_states, HANDLE, Handle(step=step, layer=layer_idx))
        return key_states, value_states

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Count the columns that a layer has seen."""
        if self._step is not None and layer_idx in self._step.seen:
            return self._step.columns
        return self._columns

    def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
        """Return the columns that a mask must cover, and 0."""
        length = self._columns + query_length
        return (PagedLength(length) if self.pool.layout.spans else length), 0

    def get_max_length(self, layer_idx: int | None = None) -> int:
        """Return -1: only the pool limits the length."""
        return -1

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Let row i go on from what row `beam_idx[i]` holds, for beam search."""
        self.batch_select_indices(beam_idx)

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the rows named, in that order; a row may be named more than once."""
        self._settle()
        kvs = [row.kv() for row in self.rows or ()]
        self._replace([kvs[i] for i in indices.tolist()])

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each row; the copies share its pages."""
        self._settle()
        self._replace([row.kv() for row in self.rows or () for _ in range(repeats)])

    def crop(self, tokens_to_remove: int) -> None:
        """Remove the last `-tokens_to_remove` tokens of each row.

        Raises:
            ValueError: The number is positive: its meaning changed between versions.
        """
        if tokens_to_remove > 0:
            raise ValueError(f"crop must be given a negative number, got {tokens_to_remove}")
        self._settle()
        kvs = [row.kv() for row in self.rows or ()]
        self._replace([kv[: max(len(kv) + tokens_to_remove, 0)] for kv in kvs])

    def reset(self) -> None:
        """Drop all rows."""
        self._settle()
        self.rows, self._columns = None, 0

    @property
    def is_compileable(self) -> bool:
        """Say no: the loop is not captured."""
        return False

    def _rows(self, batch: int) -> list[Row]:
        if self.rows is None:
            self.rows = [Row(self.pool) for _ in range(batch)]
        if len(self.rows) != batch:
            raise ValueError(f"batch must have {len(self.rows)} rows like the cache, got {batch}")
        return self.rows

    def _replace(self, kvs: list[KV]) -> None:
        self.rows = [Row(self.pool, kv) for kv in kvs]
        self._columns = max(map(len, kvs), default=0)

    def _settle(self) -> None:
        """Close the last step: keep it if every layer stored its keys, else take it back."""
        step, self._step = self._step, None
        if step is None:
            return
        if len(step.seen) == len(self.pool.layout.shapes):
            self._columns = step.columns
            return
        for row, mark in zip(step.rows, self._marks, strict=True):
            row.undo(mark)


class _Layer(CacheLayerMixin):
    """What transformers asks a layer of a cache; the cache itself does the work."""

    is_sliding = False
    is_croppable = True
    supports_early_init = False

    def __init__(self, cache: PagedCache, index: int) -> None:
        super().__init__()
        self._cache = weakref.proxy(cache)  # no cycle: dropping the cache frees its pages at once
        self._index = index
        self.is_initialized = True

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        pass

    def update(self, key_states: Tensor, value_states: Tensor, *args, **kwargs):
        return self._cache.update(key_states, value_states, self._index)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._cache.get_mask_sizes(query_length, self._index)

    def get_seq_length(self) -> int:
        return self._cache.get_seq_length(self._index)

    def get_max_length(self) -> int:
        return -1

    get_max_cache_shape = get_max_length
