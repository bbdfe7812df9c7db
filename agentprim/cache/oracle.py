"""The join oracle on the model at hand: a joined cache against one plain forward with a mask.

A query on the joined cache of B and A must give the logits of ONE uncached forward over
`B + A + query` in which the rows of A cannot see B. The mask is given to the model as it is.
"""

import inspect
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from agentprim.cache.hf import PagedCache
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.cache.pool import Pool
from agentprim.errors import UnsupportedModel
from agentprim.rope.discover import text_config
from agentprim.rope.forward import probe_ids
from agentprim.rope.keep import undisturbed

MEASURED = "measured"
_FAULTS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError)


class NotMaskable(Exception):
    """A model does not take a mask of one's own, so nothing can be compared."""


def budget(dtype: torch.dtype) -> float:
    """Return the relative error of logits that rounding in a dtype explains."""
    return max(1e-4, 16 * torch.finfo(dtype).eps)


def relative_error(actual: Tensor, expected: Tensor) -> float:
    """Return the largest difference as a share of the largest number; inf where one is NaN."""
    error = float((actual - expected).abs().max() / expected.abs().max().clamp_min(1e-30))
    return error if error == error else float("inf")


def blocked_logits(
    model: nn.Module,
    parts: Sequence[Sequence[int]],
    query: Sequence[int],
    *,
    starts: Sequence[int] | None = None,
) -> Tensor:
    """Run `parts + query` as one text in which no part sees another and the query sees all.

    First the model must show that it takes a mask: with a causal one it must say what it says
    without, and with the blocked one something else.

    Args:
        model: A causal language model; its caches are not used.
        parts: Ids of each part.
        query: Ids that see every part.
        starts: Position of the first token of each part and of the query; consecutive by default.

    Returns:
        Logits of the query, fp32 `[len(query), vocab]`.

    Raises:
        NotMaskable: It does not take such a mask.
    """
    pieces = [list(piece) for piece in (*parts, query)]
    ids = torch.tensor([i for piece in pieces for i in piece])
    owner = torch.tensor([n for n, piece in enumerate(pieces) for _ in piece])
    order = torch.arange(len(ids))
    causal = order[None, :] <= order[:, None]
    apart = causal & ((owner[:, None] == owner[None, :]) | (owner[:, None] == len(parts)))
    where = order
    if starts is not None:
        where = torch.cat([s + torch.arange(len(p)) for s, p in zip(starts, pieces, strict=True)])
    count = len(query)
    try:
        with undisturbed(model):
            plain = _forward(model, ids, order, torch.ones(1, len(ids), dtype=torch.int64))
            control = _forward(model, ids, order, _masks(model, causal, order))
            blocked = _forward(model, ids, where, _masks(model, apart, where))
    except torch.OutOfMemoryError:
        raise
    except _FAULTS as error:
        raise NotMaskable(f"it refuses a mask of four dimensions ({error})") from error
    off = relative_error(control, plain)
    if off > budget(_dtype(model)):
        raise NotMaskable(f"with a causal mask of four dimensions its logits are off by {off:.0e}")
    if len(parts) > 1 and torch.equal(blocked[-count:], control[-count:]):
        raise NotMaskable("it does not heed a mask of four dimensions")
    return blocked[-count:]


@torch.no_grad()
def read(model: nn.Module, ids: Sequence[int], kv: KV) -> tuple[KV, Tensor]:
    """Read ids behind a KV; return the new KV and the logits, fp32 `[len(ids), vocab]`."""
    cache = PagedCache(model, kv=kv, absolute=True)
    start = kv.next_position
    logits = _forward(
        model, torch.tensor(list(ids)), start + torch.arange(len(ids)),
        torch.ones(1, len(kv) + len(ids), dtype=torch.int64), cache,
    )  # fmt: skip
    return cache.kv(), logits


def joined_fault(
    model: nn.Module, pool_of: Callable[[int], Pool], count: int = 8
) -> tuple[str | None, str]:
    """Hold one joined cache to the oracle.

    Args:
        model: A model that is attached.
        pool_of: Makes a pool for it, given a number of tokens.
        count: Ids of each part.

    Returns:
        What went wrong, or None; and `"measured"`, or why it could not be.
    """
    ids = probe_ids(model, 2 * count + count // 2)[0].tolist()
    parts, query = (ids[:count], ids[count : 2 * count]), ids[2 * count :]
    try:
        expected = blocked_logits(model, parts, query)
    except NotMaskable as error:
        return None, f"not measured: {error}"
    try:
        with undisturbed(model):
            empty = KV(pool_of(6 * count))
            joined = join([read(model, part, empty)[0] for part in parts])
            _, got = read(model, query, joined)
    except UnsupportedModel as error:
        return None, f"not measured: {error}"
    error = relative_error(got, expected)
    if error <= budget(_dtype(model)):
        return None, MEASURED
    return f"a query on a joined cache is off by {error:.1e}", MEASURED


def _forward(
    model: nn.Module, ids: Tensor, positions: Tensor, mask, cache: PagedCache | None = None
) -> Tensor:
    """Run one row; return its logits, fp32 `[len(ids), vocab]`."""
    device = model.get_input_embeddings().weight.device
    options: dict[str, object] = {"use_cache": cache is not None}
    if cache is not None:
        names = inspect.signature(model.forward).parameters
        options["cache" if "cache" in names else "past_key_values"] = cache
    if isinstance(mask, dict):
        mask = {kind: one.to(device) for kind, one in mask.items()}
    output = model(
        input_ids=ids[None].to(device),
        attention_mask=mask if isinstance(mask, dict) else mask.to(device),
        position_ids=positions[None].to(device),
        **options,
    )
    return (output.logits if hasattr(output, "logits") else output[0])[0].float()


def _masks(model: nn.Module, seen: Tensor, positions: Tensor) -> Tensor | dict[str, Tensor]:
    """Turn visibility into additive masks, one for each kind of layer where there are several."""
    config, dtype = text_config(model), _dtype(model)
    window = getattr(config, "sliding_window", None)
    distance = positions[:, None] - positions[None, :]
    near = seen & (distance < window) if window else seen
    kinds = set(getattr(config, "layer_types", None) or ())
    if kinds - {"full_attention"}:
        return {
            kind: _additive(near if "sliding" in kind else seen, dtype)
            for kind in kinds | {"full_attention"}
        }
    return _additive(seen if kinds else near, dtype)


def _additive(seen: Tensor, dtype: torch.dtype) -> Tensor:
    mask = torch.zeros(seen.shape, dtype=dtype)
    return mask.masked_fill(~seen, torch.finfo(dtype).min)[None, None]


def _dtype(model: nn.Module) -> torch.dtype:
    return model.get_input_embeddings().weight.dtype
