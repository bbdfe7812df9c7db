"""Questions with a bounded answer: one of some options, a level, or yes or no."""

from collections.abc import Sequence
from dataclasses import dataclass

NONE_OF_THESE = "none of these"


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked about a state, and every answer that counts.

    Options stand in one canonical order wherever a model sees them, so that the order in which a
    caller lists them changes nothing.

    Attributes:
        text: The question as the model reads it.
        options: Answers in the caller's order.
        values: What each option is worth, for `score`; None elsewhere.
        kind: `"choose"`, `"score"` or `"judge"`.
        listed: Whether the options are written below the question.
    """

    text: str
    options: tuple[str, ...]
    values: tuple[float, ...] | None = None
    kind: str = "choose"
    listed: bool = True

    def __post_init__(self) -> None:
        """Check that there is something to decide.

        Raises:
            ValueError: No text, fewer than two options, or an option empty or given twice.
        """
        if not self.text.strip():
            raise ValueError("question must have at least one character, got an empty one")
        if len(self.options) < 2:
            raise ValueError(f"options must have at least two entries, got {len(self.options)}")
        seen = set()
        for option in self.options:
            if not option.strip():
                raise ValueError("options must have at least one character each, got an empty one")
            if option.strip() in seen:
                raise ValueError(f"options must differ from each other, got {option!r} twice")
            seen.add(option.strip())

    @property
    def prompt(self) -> str:
        """The question with its options in canonical order, as one turn."""
        if not self.listed:
            return self.text
        return f"{self.text}\n{' / '.join(sorted(self.options))}"


def choose(
    options: Sequence[str], question: str = "Which one?", *, none: bool = False, listed: bool = True
) -> Question:
    """Ask which option fits.

    Args:
        options: At least two different texts.
        question: What is asked.
        none: Whether "none of these" may be answered too.
        listed: Whether the model reads the options below the question.
    """
    if isinstance(options, str):
        raise TypeError(f"options must be a list of texts, got one text {options!r}")
    texts = tuple(str(option) for option in options)
    return Question(
        text=question, options=(*texts, NONE_OF_THESE) if none else texts, listed=listed
    )


def score(
    levels: range | Sequence[int | float | str],
    question: str = "How good is it?",
    *,
    listed: bool = True,
) -> Question:
    """Ask for a level; the answer is the probability-weighted value.

    Args:
        levels: A range or numbers, worth themselves; or texts from worst to best, worth 0, 1, ...
        question: What is asked.
        listed: Whether the model reads the levels below the question.
    """
    if isinstance(levels, str):
        raise TypeError(f"levels must be a range or a list, got one text {levels!r}")
    levels = list(levels)
    numbers = all(isinstance(level, int | float) for level in levels)
    values = (
        [float(level) for level in levels] if numbers else [float(i) for i in range(len(levels))]
    )
    return Question(
        text=question, options=tuple(map(str, levels)), values=tuple(values), kind="score",
        listed=listed,
    )  # fmt: skip


def judge(criterion: str, *, yes: str = "yes", no: str = "no", listed: bool = True) -> Question:
    """Ask whether a criterion holds.

    Args:
        criterion: A question that can be answered by yes or no.
        yes, no: The words for both.
        listed: Whether the model reads both words below the criterion.
    """
    return Question(
        text=criterion, options=(yes, no), values=(1.0, 0.0), kind="judge", listed=listed
    )
