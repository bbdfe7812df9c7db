"""Say what the ops must return, token by token in fp64, by other means than any implementation."""

import torch


def token_slots(page_table, span, page_size):
    """List (page, offset) of each token of a span."""
    start, first_slot, length = span[:3].tolist()
    places = (divmod(first_slot + t, page_size) for t in range(length))
    return [(int(page_table[start + entry]), offset) for entry, offset in places]


def turned(x, cos, sin, interleaved):
    """Turn pairs of dims as complex numbers; `cos` and `sin` are `[half]`."""
    x, half = x.double(), len(cos)
    if not half:
        return x
    pairs = x[..., : 2 * half].unflatten(-1, (half, 2) if interleaved else (2, half))
    pairs = pairs if interleaved else pairs.transpose(-1, -2)  # [..., half, 2]
    pairs = torch.view_as_complex(pairs.contiguous()) * torch.complex(cos.double(), sin.double())
    pairs = torch.view_as_real(pairs)
    flat = (pairs if interleaved else pairs.transpose(-1, -2)).flatten(-2)
    return torch.cat((flat, x[..., 2 * half :]), -1)


def attend(query, k_cache, v_cache, page_table, spans, rotation, span_starts, query_positions,
           key_positions, scale, window, softcap, sinks, interleaved):  # fmt: skip
    """Turn every key forward by its delta, then take one dense softmax a query."""
    batch, heads, queries, _ = query.shape
    group = heads // k_cache.shape[1]
    out = torch.zeros(batch, heads, queries, v_cache.shape[-1], dtype=torch.float64)
    lse = torch.full((batch, heads, queries), -torch.inf, dtype=torch.float64)
    for b in range(batch):
        keys, values, at = [], [], []
        for row in range(span_starts[b], span_starts[b + 1]):
            for t, (page, offset) in enumerate(
                token_slots(page_table, spans[row], k_cache.shape[2])
            ):
                keys.append(turned(k_cache[page, :, offset], *rotation[row], interleaved))
                values.append(v_cache[page, :, offset].double())
                gaps = int(spans[row, 4])
                at.append(int(spans[row, 3]) + t if gaps < 0 else int(key_positions[gaps + t]))
        for q in range(queries if keys else 0):
            here = int(query_positions[b, q])
            near = [
                n for n, p in enumerate(at) if 0 <= here - p and (not window or here - p < window)
            ]
            near = near if here >= 0 else []
            for h in range(heads):
                scores = [scale * (query[b, h, q].double() @ keys[n][h // group]) for n in near]
                if softcap:
                    scores = [softcap * torch.tanh(s / softcap) for s in scores]
                weights = scores + ([sinks[h].double()] if sinks is not None else [])
                if weights:
                    lse[b, h, q] = torch.stack(weights).logsumexp(0)
                for n, score in zip(near, scores, strict=True):
                    out[b, h, q] += torch.exp(score - lse[b, h, q]) * values[n][h // group]
    return out, lse
