"""What the walk found about one family."""

from dataclasses import dataclass

CERTIFIED, REFUSED, NOT_BUILT, FAULT = "certified", "refused", "not built", "fault"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One row of the table.

    Attributes:
        family: Model type of transformers.
        outcome: `CERTIFIED`, `REFUSED`, `NOT_BUILT`, or `FAULT`: something went silently wrong.
        model_class: Class of the model; empty if it was not built.
        path: How attention reads a moved cache: `"spans"` or `"dense"`; empty where nothing moves,
            and where not even a cache that stays in place works.
        layers: Kinds of layers in the tiny model, as its configuration names them.
        turns: What turns, in words.
        max_delta: Largest distance proved.
        error: Largest relative error of logits on a joined cache.
        reason: The package's own words, or what went wrong.
    """

    family: str
    outcome: str
    model_class: str = ""
    path: str = ""
    layers: str = ""
    turns: str = ""
    max_delta: int = 0
    error: float = 0.0
    reason: str = ""
