"""Prepare a model for paged caches: read its layout, prove the span path, tell caches of steps."""

import inspect
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from agentprim.cache.hf import NAME, PagedCache, register
from agentprim.cache.layout import LayerShape, Layout
from agentprim.cache.oracle import budget, joined_fault, relative_error
from agentprim.cache.pool import Pool
from agentprim.cache.watch import watch
from agentprim.config import PoolConfig
from agentprim.errors import UnsupportedModel
from agentprim.rope import prove
from agentprim.rope.discover import text_config
from agentprim.rope.forward import probe_ids
from agentprim.rope.keep import undisturbed
from agentprim.rope.lengths import window
from agentprim.rope.refuse import refusing

_ATTRIBUTE = "agentprim_attachment"
_LOCK = threading.RLock()


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """What is known about a prepared model.

    Attributes:
        layout: Its caches, and how their keys may move.
        pad_id: The id that stands for what has none.
        device: Where its inputs go.
    """

    layout: Layout
    pad_id: int
    device: torch.device

    def new_pool(self, tokens: int, page_size: int = 16) -> Pool:
        """Allocate a pool for this model."""
        return Pool(self.layout, PoolConfig(tokens=tokens, page_size=page_size))


def attach(model: nn.Module) -> Attachment:
    """Prepare a causal language model of Hugging Face once; later calls return the same.

    Proves how its keys move, registers span attention as the model's attention function (other
    caches keep the one it had), and hooks its forward pass so that a `PagedCache` knows the mask
    and positions of each step. Where spans cannot be read, attention stays as it was and caches
    hand out dense tensors. At last a short joined cache is held to one forward pass with a mask;
    a model on which that fails may read its caches, but not join them.

    Raises:
        UnsupportedModel: The model's cache has no keys and values per token and layer.
    """
    with _LOCK:
        found = getattr(model, _ATTRIBUTE, None)
        if found is None:
            found = _prepare(model)
            setattr(model, _ATTRIBUTE, found)
        return found


def _prepare(model: nn.Module) -> Attachment:
    """Read and prove everything; leave no trace on a model that is refused."""
    ids = probe_ids(model)
    rope, refusal = None, None
    try:
        rope = prove(model)
    except UnsupportedModel as error:
        refusal = UnsupportedModel(*error.args)  # without the frames that it went through
    with undisturbed(model), _hopeless(refusal):
        expected, shapes = _dense_run(model, ids)
    config = text_config(model)
    specials = (getattr(config, f"{kind}_token_id", None) for kind in ("pad", "eos"))
    pad_id = next((i for i in specials if isinstance(i, int)), 0)
    before = model.config._attn_implementation
    name = _register(before)
    unwatch = watch(model)
    fault, kept = None, False
    try:
        for spans in (True, False) if name else (False,):
            layout = Layout(
                model_class=type(model).__name__, shapes=shapes, rope=rope, refusal=refusal,
                spans=spans, window=window(config),
            )  # fmt: skip
            attachment = Attachment(layout=layout, pad_id=pad_id, device=ids.device)
            setattr(model, _ATTRIBUTE, attachment)
            if spans:
                model.set_attn_implementation(name)
                if model.base_model.config._attn_implementation != name:
                    continue  # a family with attention of its own
            fault = _paged_fault(model, ids, expected)
            if fault is None:
                attachment = _certified(model, attachment)
                # its own attention may do what spans do not, such as leave soft-capping out
                if not spans or rope is None or attachment.layout.rope is not None:
                    setattr(model, _ATTRIBUTE, attachment)
                    kept = True
                    return attachment
            if spans:
                model.set_attn_implementation(before)
    finally:
        if not kept:
            model.__dict__.pop(_ATTRIBUTE, None)
            unwatch()
            if model.config._attn_implementation != before:
                model.set_attn_implementation(before)
    with _hopeless(refusal):
        raise UnsupportedModel.because(
            type(model).__name__,
            "a cache of its own kind",
            f"a paged cache changes its logits: {fault}",
        )


@contextmanager
def _hopeless(refusal: UnsupportedModel | None) -> Iterator[None]:
    """Say of a model that no page can hold why its keys cannot move: that is what ails it."""
    try:
        yield
    except UnsupportedModel as error:
        why, _, _ = str(refusal or error).partition("; use join=")
        raise UnsupportedModel(f"{why}; its cache cannot be paged either") from error


def _certified(model: nn.Module, attachment: Attachment) -> Attachment:
    """Hold a joined cache to the join oracle; a model on which that fails may join nothing."""
    layout = attachment.layout
    if layout.rope is None:
        return attachment
    fault, note = joined_fault(model, attachment.new_pool)
    if fault is None:
        return replace(attachment, layout=replace(layout, joined=note))
    refusal = UnsupportedModel.because(layout.model_class, "what joined caches do not keep", fault)
    return replace(attachment, layout=replace(layout, rope=None, refusal=refusal, joined=note))


def _register(before: str | None) -> str | None:
    """Register span attention over the implementation that a model has; None where it cannot be."""
    if before is None:
        return None
    delegate = before.removeprefix(NAME).removeprefix("_") or "sdpa"
    if "flash" in delegate:  # its function reads the name of the implementation
        delegate = "sdpa"
    return register(delegate)


def _dense_run(model: nn.Module, ids: Tensor) -> tuple[Tensor, tuple[LayerShape, ...]]:
    """Run ids in two steps on a plain cache; return the last logits and the shapes of its layers.

    Raises:
        UnsupportedModel: The model takes no such cache, or a layer of it is not
            `[batch, heads, tokens, dim]`.
    """
    from transformers import DynamicCache

    cache = DynamicCache()
    with refusing(type(model).__name__, "a cache of its own kind", "a DynamicCache fails it"):
        logits = _two_steps(model, ids, cache)
    if not cache.layers:  # it keeps something elsewhere, or forgets: neither can be paged
        raise UnsupportedModel.because(
            type(model).__name__, "a cache of its own kind", "it left nothing in a DynamicCache"
        )
    shapes = []
    for layer in cache.layers:
        keys, values = getattr(layer, "keys", None), getattr(layer, "values", None)
        if keys is None or keys.ndim != 4 or keys.shape[2] != ids.shape[1]:
            raise UnsupportedModel.because(
                type(model).__name__, "a cache without keys and values per token",
                "there is nothing to put into pages",
            )  # fmt: skip
        shapes.append(
            LayerShape(
                num_kv_heads=keys.shape[1], k_dim=keys.shape[3], v_dim=values.shape[3],
                dtype=keys.dtype, device=keys.device,
            )
        )  # fmt: skip
    return logits, tuple(shapes)


def _paged_fault(model: nn.Module, ids: Tensor, expected: Tensor) -> str | None:
    """Run the same ids on a paged cache; say what went wrong, or None."""
    try:
        with undisturbed(model):
            got = _two_steps(model, ids, PagedCache(model, pool_tokens=2 * ids.shape[1]))
    except (RuntimeError, ValueError, TypeError, IndexError, UnsupportedModel) as error:
        return str(error)
    error = relative_error(got, expected)
    dtype = model.get_input_embeddings().weight.dtype
    return None if error <= budget(dtype) else f"relative error {error:.1e}"


def _two_steps(model: nn.Module, ids: Tensor, cache) -> Tensor:
    names = inspect.signature(model.forward).parameters
    name = "cache" if "cache" in names else "past_key_values"
    for begin, end in ((0, ids.shape[1] - 2), (ids.shape[1] - 2, ids.shape[1])):
        output = model(
            input_ids=ids[:, begin:end],
            attention_mask=torch.ones_like(ids[:, :end]),
            position_ids=torch.arange(begin, end, device=ids.device)[None],
            use_cache=True,
            **{name: cache},
        )
    return output.logits[0].float() if hasattr(output, "logits") else output[0][0].float()
