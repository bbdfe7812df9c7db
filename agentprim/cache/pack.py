"""Pack: rows of different lengths as one line of tokens, some of them behind others of the line."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from torch import Tensor

from agentprim.cache.batch import Batch
from agentprim.cache.kv import KV
from agentprim.cache.pool import Pool
from agentprim.cache.rewrite import filled, pad_left
from agentprim.cache.row import Row
from agentprim.cache.span import side_of
from agentprim.cache.step import Step
from agentprim.errors import UnsupportedModel

NEW = (-1, 0)  # an end that nothing goes on from


class Pack(Batch):
    """One forward pass over all rows as a batch of one line, without padding.

    Every layer stores the keys of the whole line before any row attends, and a row sees the spans
    of its own and nothing else. So a row may stand behind another one of the same pass: a question
    is read once for all replies to it.

    Attributes:
        found: For each row what it stands behind, and its tokens.
        positions: Current position of each token of the line.
        plan: The pass.
    """

    def __init__(
        self, pool: Pool, bases: Sequence[KV | int], ids: Sequence[list[int]], *,
        extend: bool = False,
    ) -> None:  # fmt: skip
        """Claim pages for the tokens of each row.

        Args:
            pool: Of the KVs.
            bases: What each row stands behind: a KV, which is not changed, or the number of an
                earlier row.
            ids: Tokens of each row, at least one.
            extend: Fill up the last page of a KV first, as is right for what is kept.

        Raises:
            UnsupportedModel: Keys of this model cannot be that far from where they were computed.
            PoolExhausted: The pool is too small; nothing has changed.
        """
        super().__init__(pool)
        places = _places(bases, ids)
        side = _side(pool, bases, places)
        ends = [Row(pool, base).end if extend and isinstance(base, KV) else NEW for base in bases]
        claims = pool.claim(ends, [len(own) for own in ids])
        self.found: list[KV] = []
        slots = []
        for base, own, at, claim in zip(bases, ids, places, claims, strict=True):
            row = Row(pool, base if isinstance(base, KV) else self.found[base])
            slots.append(row.append(*claim, positions=at, delta=0, ids=own, side=side))
            self.found.append(row.kv())
        self.positions = list(chain.from_iterable(places))
        begins = list(accumulate(map(len, ids), initial=0))
        groups = []
        for kind in (KV, int):  # questions are about as long as each other, and so are replies
            rows = [row for row, base in enumerate(bases) if isinstance(base, kind)]
            if rows:
                step = filled(
                    pool, [self.found[row] for row in rows], [slots[row] for row in rows],
                    [places[row] for row in rows],
                )  # fmt: skip
                spots = [list(range(begins[row], begins[row + 1])) for row in rows]
                groups.append((step, pad_left(spots, max(map(len, spots)))))
        line = list(chain.from_iterable(slots))
        self.plan = filled(pool, self.found, [line], [self.positions], PackedStep, groups=groups)

    def begin(self, count: int, num_new: int, *, spans: bool, **options) -> None:
        """Begin the pass over the line.

        Raises:
            UnsupportedModel: Attention reads dense tensors, where rows cannot be told apart.
            ValueError: It is another line.
        """
        if not spans:
            raise UnsupportedModel(
                f"{self.pool.layout.model_class} uses attention that reads dense tensors, which "
                "cannot be packed: rows of one line would see each other; read them as a batch"
            )
        if (count, num_new) != (1, len(self.positions)):
            raise ValueError(
                f"input_ids must have shape {(1, len(self.positions))} to be a packed line, got "
                f"{(count, num_new)}"
            )
        self.step = self.plan


@dataclass(kw_only=True, eq=False)
class PackedStep(Step):
    """A step over a line of tokens, in which rows attend in groups of their own.

    Attributes:
        groups: For each group the step of its rows, padded at the left, and where in the line
            their tokens are, int64 `[rows, columns]`, -1 for padding.
    """

    groups: list[tuple[Step, Tensor]]

    def attend(self, query: Tensor, layer: int, **options) -> Tensor:
        """Attend from the line `[1, num_heads, num_new, k_dim]` to the spans of each row."""
        line, out = query[0], None
        for number, (step, spots) in enumerate(self.groups):
            at = self._move(f"spots {number}", spots, query.device)
            rows = line[:, at.clamp(min=0)].transpose(0, 1).contiguous()
            found = step.attend(rows, layer, **options).transpose(0, 1)
            if out is None:
                out = found.new_empty(found.shape[0], line.shape[1], found.shape[-1])
            out[:, at[at >= 0]] = found[:, at >= 0]
        return out[None]


def _places(bases: Sequence[KV | int], ids: Sequence[list[int]]) -> list[list[int]]:
    """Return the current position of each token of each row."""
    places: list[list[int]] = []
    for base, own in zip(bases, ids, strict=True):
        start = places[base][-1] + 1 if isinstance(base, int) else base.next_position
        places.append(list(range(start, start + len(own))))
    return places


def _side(pool: Pool, bases: Sequence[KV | int], places: list[list[int]]) -> int:
    """Find out by which tables the model turns the keys of the line, and check how far they go."""
    kvs = [base for base in bases if isinstance(base, KV)]
    side = pool.layout.side(max(map(max, places)), (side_of(kv.spans) for kv in kvs if kv.spans))
    moved: list[bool] = []
    for base, own in zip(bases, places, strict=True):
        behind = isinstance(base, int)
        moved.append(moved[base] if behind else any(span.delta for span in base.spans))
        if moved[-1]:
            pool.layout.require_reach(max(own), side)
    return side
