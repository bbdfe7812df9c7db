"""Probe items: notes with facts about people, places and things, and questions about one of them.

Everything is made here from a seed: no data set is needed, and no model has seen the notes.
"""

from dataclasses import dataclass
from random import Random

PEOPLE = (
    "Marta", "Tobias", "Ingrid", "Pavel", "Lucia", "Henrik", "Yusuf", "Clara", "Anton", "Mirela",
    "Oskar", "Farah", "Viktor", "Elena", "Ruben", "Saskia",
)  # fmt: skip
THINGS = (
    "the spare key of the workshop", "the old camera", "the garden scissors", "the blue umbrella",
    "the map of the harbour", "the box of candles", "the tin of buttons", "the green notebook",
    "the first aid kit", "the long ladder", "the chess set", "the winter blanket",
)  # fmt: skip
PLACES = (
    "under the blue flower pot", "behind the piano", "in the left drawer of the desk",
    "on top of the wardrobe", "beside the bakery oven", "inside the empty aquarium",
    "below the cellar stairs", "in the boot of the car", "between the two tall shelves",
    "on the kitchen window sill", "in the attic trunk", "near the third lamp post",
)  # fmt: skip
TOWNS = (
    "Bergen", "Toledo", "Graz", "Porto", "Tartu", "Ghent", "Leeds", "Turku", "Basel", "Split",
    "Cork", "Lille",
)  # fmt: skip
JOBS = (
    "baker", "pilot", "dentist", "gardener", "translator", "plumber", "librarian", "painter",
    "surveyor", "tailor", "nurse", "beekeeper",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
EVENTS = (
    "the choir practice", "the budget meeting", "the book club", "the fire drill",
    "the swimming lesson", "the garden tour", "the parents' evening", "the chess match",
    "the film night", "the pottery course", "the market visit", "the first rehearsal",
)  # fmt: skip
DOORS = (
    "the cellar door", "the bicycle shed", "the archive room", "the boat house", "the side gate",
    "the wine store", "the music room", "the tool cabinet", "the east entrance", "the mail box",
    "the green house", "the safe",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One fact.

    Attributes:
        said: As a note states it.
        again: As somebody sums it up.
        question: A question about it.
        cue: How the answer begins, up to the words looked for.
        answer: Those words.
    """

    said: str
    again: str
    question: str
    cue: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class Note:
    """What one sender has read and said.

    Attributes:
        system: Its system prompt.
        text: The note that it was given.
        reply: What it answered: the same facts in other words.
        facts: The facts.
    """

    system: str
    text: str
    reply: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, kw_only=True)
class Item:
    """Notes of several senders and a question about one of them.

    Attributes:
        notes: One for each sender.
        asked: Which note has the answer.
        fact: What the receiver is asked about.
    """

    notes: tuple[Note, ...]
    asked: int
    fact: Fact


def make_item(index: int, senders: int = 1, *, seed: int = 0) -> Item:
    """Make item `index`, the same for the same numbers on every machine.

    The note that has the answer is the same for any number of senders; its place is not.

    Args:
        index: Which item.
        senders: How many notes, at most 4.
        seed: Another seed gives another set of items.

    Raises:
        ValueError: There are not enough facts for so many senders.
    """
    if not 1 <= senders <= 4:
        raise ValueError(f"senders must be within 1..4, got {senders}")
    random = Random(f"agentprim {seed} {index}")
    pools = [random.sample(make(random), 4) for make in (_hidden, _person, _event, _code)]
    notes = [_note(random, [pool[number] for pool in pools]) for number in range(4)]
    fact = random.choice(notes[0].facts)
    asked = Random(f"place {seed} {index} {senders}").randrange(senders)
    chosen = notes[1:senders]
    chosen.insert(asked, notes[0])
    return Item(notes=tuple(chosen), asked=asked, fact=fact)


def _note(random: Random, facts: list[Fact]) -> Note:
    """Write a note about three of four facts, in any order."""
    told = random.sample(facts, 3)
    system = random.choice(
        (
            "You are a careful clerk. You read notes and sum them up.",
            "You keep the records of a small town and forget nothing.",
            "You read what you are given and repeat the facts plainly.",
            "You are a helper who writes short summaries of messages.",
        )
    )
    return Note(
        system=system,
        text="Note: " + " ".join(fact.said for fact in told),
        reply="In short: " + "; ".join(fact.again for fact in told) + ".",
        facts=tuple(told),
    )


def _hidden(random: Random) -> list[Fact]:
    things, places = random.sample(THINGS, 4), random.sample(PLACES, 4)
    people = random.sample(PEOPLE, 4)
    return [
        Fact(
            said=f"{who} keeps {what} {where}.", again=f"{what} is {where}",
            question=f"Where is {what}?", cue=f"{_capital(what)} is", answer=where,
        )
        for who, what, where in zip(people, things, places, strict=True)
    ]  # fmt: skip


def _person(random: Random) -> list[Fact]:
    people, towns, jobs = (random.sample(pool, 4) for pool in (PEOPLE, TOWNS, JOBS))
    return [
        Fact(
            said=f"{who} is a {job} who comes from {town}.",
            again=f"{who}, from {town}, is a {job}",
            question=f"Which town does {who} come from?", cue=f"{who} comes from", answer=town,
        )
        for who, town, job in zip(people, towns, jobs, strict=True)
    ]  # fmt: skip


def _event(random: Random) -> list[Fact]:
    events, days = random.sample(EVENTS, 4), random.sample(DAYS, 4)
    return [
        Fact(
            said=f"From now on {what} takes place on {day}.", again=f"{day} is the day of {what}",
            question=f"On which day is {what}?", cue=f"{_capital(what)} is on", answer=day,
        )
        for what, day in zip(events, days, strict=True)
    ]  # fmt: skip


def _code(random: Random) -> list[Fact]:
    doors = random.sample(DOORS, 4)
    codes = random.sample(range(1000, 10000), 4)
    return [
        Fact(
            said=f"The code of {door} has been changed to {code}.", again=f"{door} has code {code}",
            question=f"What is the code of {door}?", cue=f"The code of {door} is", answer=str(code),
        )
        for door, code in zip(doors, codes, strict=True)
    ]  # fmt: skip


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
