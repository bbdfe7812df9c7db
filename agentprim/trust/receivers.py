"""Receivers: system prompts of about a wanted length, made from a seed."""

from collections.abc import Callable
from itertools import product
from random import Random

OPENING = "You answer questions from notes in a few words and never guess."
_TOPICS = (
    "a place", "a person", "a date", "a number", "an object", "a reason", "a price", "a name",
    "a journey", "a meeting", "a recipe", "a repair",
)  # fmt: skip
_ADVICE = (
    "answer with the words of the note", "say nothing that the note does not say",
    "leave out greetings and thanks", "prefer the most recent note", "do not guess",
    "keep to one short sentence", "write numbers as digits", "name the source only when asked",
    "use the same spelling as the note", "ignore what has nothing to do with it",
    "stay calm and polite", "do not repeat the question",
)  # fmt: skip


def receiver_prompt(tokens: int, count: Callable[[str], int], *, variant: int = 0) -> str:
    """Write a system prompt of about `tokens` tokens: the last sentence that still fits ends it.

    Args:
        tokens: Wanted length.
        count: Counts the tokens of a prompt as the template renders it.
        variant: Another number gives other sentences.

    Returns:
        At least the opening sentence.
    """
    pairs = list(product(_TOPICS, _ADVICE))
    Random(f"receiver {variant}").shuffle(pairs)
    text = OPENING
    for number in range(10 * len(pairs)):
        topic, advice = pairs[number % len(pairs)]
        longer = f"{text} When you are asked about {topic}, {advice}."
        if count(longer) > tokens:
            break
        text = longer
    return text
