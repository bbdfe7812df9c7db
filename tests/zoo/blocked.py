"""Let parts of one text not see each other, whatever kinds of layers a model has.

The model builds its own masks, of every kind it needs; here each is narrowed by one more rule. So
this oracle knows nothing of windows and chunks, and nothing of agentprim.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS


class NoMask(Exception):
    """The model asked for no mask, so nothing could be narrowed."""


def blocked_logits(model: nn.Module, parts: list[list[int]], query: list[int]) -> Tensor:
    """Run `parts + query` as one text in which no part sees another and the query sees all.

    Args:
        model: The untouched twin of the model under test.
        parts: Ids of each part.
        query: Ids that see every part.

    Returns:
        Logits of the query `[len(query), vocab]`.

    Raises:
        NoMask: The model does not make its masks by functions of transformers.
    """
    pieces = [*parts, query]
    owner = torch.tensor([n for n, piece in enumerate(pieces) for _ in piece])
    ids = torch.tensor([[i for piece in pieces for i in piece]])
    with torch.no_grad(), _narrowed(owner, len(parts)) as asked:
        output = model(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            position_ids=torch.arange(ids.shape[1])[None],
            use_cache=False,
        )
    if not asked:
        raise NoMask("it asks for no mask")
    return output.logits[0, -len(query) :]


@contextmanager
def _narrowed(owner: Tensor, last: int) -> Iterator[list]:
    """Narrow every mask that is made inside: a key is seen from its own part, or from the last."""
    asked = []

    def wrap(make):
        def made(*, mask_function, **options):
            def seen(batch, head, query, key):
                mine = (owner[query] == owner[key]) | (owner[query] == last)
                return mask_function(batch, head, query, key) & mine

            asked.append(make)
            options |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
            options |= {"use_vmap": False}
            return make(mask_function=seen, **options)

        return made

    made = {name: wrap(ALL_MASK_ATTENTION_FUNCTIONS[name]) for name in ("eager", "sdpa")}
    ALL_MASK_ATTENTION_FUNCTIONS.update(made)  # over what is registered, until deleted again
    try:
        yield asked
    finally:
        for name in made:
            del ALL_MASK_ATTENTION_FUNCTIONS[name]
