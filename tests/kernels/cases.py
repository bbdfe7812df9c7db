"""Build arguments of the ops from a seed: plain functions, shared by tests of all implementations.

Every builder returns a dict of keyword arguments of its op. Tensors that an op writes are filled
with NaN, or are caches with NaN wherever no token was stored, so that a slot written by mistake,
or not written, shows.
"""

import torch

import agentprim_kernels as ak

NAN = float("nan")
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def generator(seed):
    return torch.Generator().manual_seed(seed)


def strided(shape, dtype):
    """Return a cache that is a slice of a bigger tensor in every dimension but the last."""
    bigger = torch.full([n + 1 for n in shape[:-1]] + [shape[-1] + 8], NAN, dtype=dtype)
    return bigger[tuple(slice(1, None) for _ in shape[:-1])][..., 4:-4]


def cache(seed, dtype, *, layers=2, pages=12, heads=2, page_size=8, dim=16, odd_strides=False):
    """Fill a cache with random rows."""
    shape = (layers, pages, heads, page_size, dim)
    out = strided(shape, dtype) if odd_strides else torch.empty(shape, dtype=dtype)
    return out.copy_(torch.randn(shape, generator=generator(seed)))


def empty(dtype, *, layers=2, pages=12, heads=2, page_size=8, dim=16, odd_strides=False):
    """Fill a cache with NaN."""
    shape = (layers, pages, heads, page_size, dim)
    return (strided(shape, dtype) if odd_strides else torch.empty(shape, dtype=dtype)).fill_(NAN)


def span_tables(seed, lengths, *, page_size=8, pages=12):
    """Lay spans out: mid-page starts, scattered pages, tables longer than needed, gaps between.

    Returns:
        `page_table`, `spans`, and the first position behind the last span.
    """
    source = generator(seed)
    free = torch.randperm(pages, generator=source).tolist()
    table, spans, position = [], [], 0
    for length in lengths:
        first_slot = int(torch.randint(page_size, (), generator=source))
        needed = -(-(first_slot + length) // page_size)
        spans.append([len(table), first_slot, length, position, -1])
        table += [free.pop() for _ in range(needed)] + [-999]  # an entry behind: must stay unread
        position += length + 3
    return (
        torch.tensor(table, dtype=torch.int32),
        torch.tensor(spans, dtype=torch.int32).reshape(-1, 5),
        position,
    )


def frequencies(layers, rotary_dim, *, base=100.0):
    """Return inv_freq rows that differ between layers; the last of several layers does not turn."""
    rows = base ** -(torch.arange(0, rotary_dim, 2) / max(rotary_dim, 1))
    rows = rows * torch.linspace(1, 0.5, layers)[:, None]
    if layers > 2:
        rows[-1] = 0
    return rows


def rotation(deltas, layers, rotary_dim):
    return ak.rotation(deltas, frequencies(layers, rotary_dim))


def rotate(seed, dtype, *, page_size=8, rotary_dim=16, interleaved=False, odd_strides=False):
    """Arguments of `rotate_`: three spans, one of them empty."""
    page_table, spans, _ = span_tables(seed, [19, 0, 7], page_size=page_size, pages=48)
    sizes = {"layers": 3, "pages": 48, "page_size": page_size}
    return {
        "k_cache": cache(seed, dtype, odd_strides=odd_strides, **sizes),
        "page_table": page_table,
        "spans": spans,
        "rotation": rotation([37, 5, -11], 3, rotary_dim),
        "interleaved": interleaved,
    }


def store(seed, dtype, *, page_size=8, tokens=7, odd_strides=False):
    """Arguments of `store_`: two rows in Hugging Face's layout, one in order, one with skips."""
    source = generator(seed)
    pages = max(12, 24 // page_size)
    slots = torch.stack([torch.arange(tokens) + 3, pages * page_size - 1 - torch.arange(tokens)])
    slots[1, 1:3] = torch.tensor([-1, -7])[: tokens - 1]
    keys, values = (
        torch.randn(2, 2, tokens, 2, dim, generator=source).to(dtype).transpose(2, 3)
        for dim in (16, 12)
    )  # [layers, batch, heads, tokens, dim]
    return {
        "k_cache": empty(dtype, pages=pages, page_size=page_size, odd_strides=odd_strides),
        "v_cache": empty(dtype, pages=pages, page_size=page_size, dim=12, odd_strides=odd_strides),
        "slot_mapping": slots,
        "keys": keys,
        "values": values,
    }


def select(seed, dtype, *, page_size=8, out_size=8, rotary_dim=16, interleaved=False,
           odd_strides=False):  # fmt: skip
    """Arguments of `select_`: any tokens, some twice, to a cache of another page size."""
    source = generator(seed)
    tokens, slots = 17, 12 * page_size
    sizes = {"pages": max(6, 24 // out_size), "page_size": out_size, "odd_strides": odd_strides}
    slot_mapping = torch.randperm(sizes["pages"] * out_size, generator=source)[:tokens]
    slot_mapping[3] = -1
    return {
        "out_k": empty(dtype, **sizes),
        "out_v": empty(dtype, dim=12, **sizes),
        "slot_mapping": slot_mapping,
        "k_cache": cache(seed, dtype, page_size=page_size, odd_strides=odd_strides),
        "v_cache": cache(seed + 1, dtype, page_size=page_size, dim=12, odd_strides=odd_strides),
        "source_slots": torch.randint(slots, (tokens,), generator=source),
        "rows": torch.randint(3, (tokens,), dtype=torch.int32, generator=source),
        "rotation": rotation([37, 0, -11], 2, rotary_dim),
        "interleaved": interleaved,
    }


def materialize(seed, dtype, *, page_size=8, rotary_dim=16, interleaved=False, odd_strides=False):
    """Arguments of `materialize_`: to a dense cache of one page, one token skipped."""
    page_table, spans, _ = span_tables(seed, [19, 0, 7], page_size=page_size, pages=48)
    slot_mapping = torch.arange(1, 27)  # not aligned to anything
    slot_mapping[5] = -1
    sizes = {"page_size": page_size, "pages": 48, "odd_strides": odd_strides}
    return {
        "out_k": empty(dtype, pages=1, page_size=29, odd_strides=odd_strides),
        "out_v": empty(dtype, pages=1, page_size=29, dim=12, odd_strides=odd_strides),
        "slot_mapping": slot_mapping,
        "k_cache": cache(seed, dtype, **sizes),
        "v_cache": cache(seed + 1, dtype, dim=12, **sizes),
        "page_table": page_table,
        "spans": spans,
        "rotation": rotation([37, 5, -11], 2, rotary_dim),
        "interleaved": interleaved,
    }


def attend(seed, dtype, *, heads=4, kv_heads=2, queries=3, page_size=8, k_dim=16, v_dim=12,
           rotary_dim=16, interleaved=False, odd_strides=False, lengths=(19, 9, 70),
           gapped=False, sinks=False, window=None, softcap=None):  # fmt: skip
    """Arguments of `attend`: sequence 0 has two spans, 1 has none, 2 has one and is left-padded.

    The last queries stand among the keys of their sequence, so that masks cut through pages.
    """
    pages = 160 // page_size + 8
    page_table, spans, end = span_tables(seed, lengths, page_size=page_size, pages=pages)
    source = generator(seed + 2)
    sizes = {"pages": pages, "heads": kv_heads, "page_size": page_size, "odd_strides": odd_strides}
    behind = [int(spans[1, 3]) + int(spans[1, 2]) - 2, 0, end - 9]
    positions = torch.tensor(behind)[:, None] + torch.arange(queries)
    positions[2, : queries // 3] = -1
    key_positions = None
    if gapped:
        steps = torch.randint(1, 3, (int(spans[2, 2]),), generator=source)
        key_positions = torch.cat((torch.zeros(4), spans[2, 3] + steps.cumsum(0))).int()
        spans[2, 4] = 4
    query = torch.randn(3, queries, heads, k_dim, generator=source).to(dtype).transpose(1, 2)
    return {
        "query": query,
        "k_cache": cache(seed, dtype, dim=k_dim, **sizes)[1],
        "v_cache": cache(seed + 1, dtype, dim=v_dim, **sizes)[1],
        "page_table": page_table,
        "spans": spans,
        "rotation": rotation([37, 0, -11], 2, rotary_dim)[1],
        "span_starts": torch.tensor([0, 2, 2, 3], dtype=torch.int32),
        "query_positions": positions.int(),
        "key_positions": key_positions,
        "scale": k_dim**-0.5 * 3,  # away from uniform weights
        "window": window,
        "softcap": softcap,
        "sinks": torch.randn(heads, generator=source) if sinks else None,
        "interleaved": interleaved,
    }
