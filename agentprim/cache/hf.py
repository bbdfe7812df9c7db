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
from agentprim.cache.batch import Batch
from agentprim.cache.ids import check_known, full_inputs, read_ids
from agentprim.cache.kv import KV, check_live
from agentprim.cache.row import Row

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
    nothing is recorded for a backward pass. Its rows and the pass in progress are its `batch`.
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
        pool = attachment.new_pool(pool_tokens) if not kvs else check_live(kvs[0], "kv").pool
        if pool.layout is not attachment.layout:
            raise ValueError(f"kv must belong to this model, got a KV of another {pool.layout}")
        for one in kvs or ():
            check_live(one, "kv", pool)
        self.pool = pool
        self.absolute = absolute
        self.batch = Batch(pool, kvs)
        self._pad_id = attachment.pad_id
        self._device = attachment.device
        super().__init__(layers=[_Layer(self, i) for i in range(len(pool.layout.shapes))])

    @property
    def rows(self) -> list[Row] | None:
        """The sequences; None until the first forward pass says how many there are."""
        return self.batch.rows

    def kv(self, row: int = 0) -> KV:
        """Return what a row holds now; the cache may go on growing.

        Raises:
            IndexError: There is no such row.
        """
        self.batch.commit()
        return KV(self.pool) if self.rows is None else self.rows[row].kv()

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
        self.batch.commit()
        new = read_ids(new_ids)
        rows = self.batch.take(len(new))
        full = full_inputs(rows, new, self.batch.columns, self._pad_id)
        return {name: value.to(self._device) for name, value in full.items()}

    def check_ids(self, input_ids: Tensor, num_new: int, mask: Tensor | None) -> None:
        """Check full-length ids against what is cached, before `generate` cuts that off.

        Raises:
            ValueError: They bring no new token, or begin with other ids than the cached ones: a
                sign of new ids without a full-length mask.
        """
        self.batch.commit()
        if num_new < 1:
            raise ValueError(
                f"input_ids must bring new tokens, got {input_ids.shape[1]} ids for a cache of "
                f"{self.batch.columns}; cache.inputs(new_ids) builds them"
            )
        check_known(self.rows or [], input_ids, mask)

    def begin(
        self,
        batch: int,
        num_new: int,
        *,
        ids: Tensor | None,
        mask: Tensor | None,
        position_ids: Tensor | None,
        spans: bool = True,
    ) -> None:
        """Plan one forward pass: claim slots for it and note where its tokens stand.

        Called by the hook on the model before its first layer runs.

        Args:
            batch: Number of rows.
            num_new: Columns of new tokens, padding included.
            ids: Their ids `[batch, num_new]`, or None for embeddings.
            mask: `[batch, cached columns + num_new]`, zeros at the left, or None for all ones.
            position_ids: `[batch or 1, num_new]`, or None where the model counts columns.
            spans: Whether the model's attention function is still the one that reads spans.

        Raises:
            ValueError: The mask or the positions do not fit; the cache has not changed.
            PoolExhausted: The pool is too small; the cache has not changed.
            UnsupportedModel: Positions would need a move that is not proved.
        """
        self.batch.begin(
            batch, num_new, ids=ids, mask=mask, position_ids=position_ids,
            absolute=self.absolute, spans=spans and self.pool.layout.spans,
        )  # fmt: skip

    def end(self, *, failed: bool) -> None:
        """Keep what a forward pass wrote, or take it back. Called by the hooks on the model."""
        if failed:
            self.batch.undo()
        else:
            self.batch.settle()

    def commit(self) -> None:
        """Keep what earlier passes wrote, whatever becomes of the next. Called by the hooks."""
        self.batch.commit()

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args, **kwargs
    ) -> tuple[Tensor, Tensor]:
        """Store a layer's new keys and values `[batch, num_kv_heads, num_new, dim]`.

        Returns:
            The same keys, carrying a handle to the spans, and the same values; on the dense path
            the keys and values of all columns, relocated.
        """
        step = self.batch.step
        if step is None or layer_idx in step.seen:
            raise RuntimeError(
                "PagedCache must be told of each forward pass by the model it was made for, got "
                "keys of another model or of a module below it"
            )
        with torch.no_grad():
            step.store(key_states.detach(), value_states.detach(), layer_idx)
            if not step.spans:
                return step.dense(layer_idx)
        setattr(key_states, HANDLE, Handle(step=step, layer=layer_idx))
        return key_states, value_states

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Count the columns that a layer has seen."""
        step = self.batch.step
        seen = step is not None and layer_idx in step.seen
        return step.columns if seen else self.batch.columns

    def get_mask_sizes(self, query_length: int, layer_idx: int = 0) -> tuple[int, int]:
        """Return the columns that a mask must cover, and 0."""
        step, length = self.batch.step, self.batch.columns + query_length
        spans = step.spans if step is not None else self.pool.layout.spans
        return (PagedLength(length) if spans else length), 0

    def get_max_length(self, layer_idx: int | None = None) -> int:
        """Return -1: only the pool limits the length."""
        return -1

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Let row i go on from what row `beam_idx[i]` holds, for beam search."""
        self.batch_select_indices(beam_idx)

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep the rows named, in that order; a row may be named more than once."""
        self.batch.select(indices.tolist())

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat each row; the copies share its pages."""
        self.batch.select([i for i in range(len(self.rows or ())) for _ in range(repeats)])

    def crop(self, tokens_to_remove: int) -> None:
        """Remove the last `-tokens_to_remove` tokens of each row.

        Raises:
            ValueError: The number is positive: its meaning changed between versions.
        """
        if tokens_to_remove > 0:
            raise ValueError(f"crop must be given a negative number, got {tokens_to_remove}")
        self.batch.crop(-tokens_to_remove)

    def reset(self) -> None:
        """Drop all rows."""
        self.batch = Batch(self.pool)

    @property
    def is_compileable(self) -> bool:
        """Say no: the loop is not captured."""
        return False

    def __deepcopy__(self, memo: dict) -> "PagedCache":
        """Fork every row into a cache of its own; the pages are shared, nothing is copied."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.batch = self.batch.fork()
        Cache.__init__(twin, layers=[_Layer(twin, i) for i in range(len(self.layers))])
        return twin

    def __copy__(self) -> "PagedCache":
        """Do the same: two caches that grow the same rows would disagree."""
        return self.__deepcopy__({})

    def __reduce__(self):
        """Refuse to be pickled: pages belong to a process."""
        raise TypeError("a PagedCache cannot be pickled: its pages belong to this process")


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
