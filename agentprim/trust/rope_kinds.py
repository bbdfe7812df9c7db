"""How well the proof of a model's rotation holds, for each kind of layer."""

from agentprim.cache.layout import Layout
from agentprim.engine.certificate import RopeKind
from agentprim.rope.compare import move, pair_error
from agentprim.rope.discover import layer_types, text_config
from agentprim.rope.forward import prefill, probe_ids
from agentprim.rope.keep import undisturbed


def rope_kinds(model, layout: Layout) -> tuple[RopeKind, ...]:
    """Probe a proved claim once more, and say how far off keys are by kind of layer.

    The same ids are read at `0..` and at a few proved distances; keys of the first, relocated, are
    compared with the second. Layers are of a kind where they turn alike and are called alike.
    """
    rope = layout.rope
    if rope is None:
        return ()
    ids = probe_ids(model)
    types = layer_types(text_config(model), len(rope.layers))
    worst: dict[tuple, tuple[float, int]] = {}
    counts: dict[tuple, int] = {}
    names = [
        (kind, layer.rotary_dim, layer.interleaved, tuple(layer.inv_freq.tolist()))
        for kind, layer in zip(types, rope.layers, strict=True)
    ]
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        worst[name] = (0.0, 0)
    with undisturbed(model):
        base = prefill(model, ids, 0)
    for delta in sorted({1, min(50, rope.max_delta), rope.max_delta}):
        with undisturbed(model):
            moved = prefill(model, ids, delta, replay=base)
        for index, (name, layer) in enumerate(zip(names, rope.layers, strict=True)):
            error = pair_error(move(base.keys[index], layer, delta), moved.keys[index], layer)
            worst[name] = max(worst[name], (error, delta))
    return tuple(
        RopeKind(
            layers=counts[name], layer_type=name[0], rotary_dim=name[1], interleaved=name[2],
            error=worst[name][0], delta=worst[name][1],
        )
        for name in counts
    )  # fmt: skip
