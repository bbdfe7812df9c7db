"""The ways of handing over that are measured."""

from agentprim.engine.way import Way

NONE = Way(join="none")
TEXT = Way(join="text")
APPEND = Way(join="append", carry="all")
RELOCATE = Way(join="relocate")
REPAIRS = (
    Way(join="repair", first=16),
    Way(join="repair", share=0.15),
    Way(join="repair", first=16, share=0.15),
)
CARRIES = ("all", "no_system", "reply")
# all but append, which alone needs the receiver's prompt to be read again
IN_PLACE = (
    NONE,
    *(Way(join="relocate", carry=carry) for carry in CARRIES),
    *(Way(join="relocate", carry=carry, rotate=False) for carry in ("all", "no_system")),
    *REPAIRS,
)
SHARED = (Way(join="relocate", offsets="shared"), Way(join="repair", first=16, offsets="shared"))

# of a table
ORDER = (TEXT, APPEND, *IN_PLACE[1:], *SHARED, NONE)


def in_place(senders: int) -> tuple[Way, ...]:
    """List the ways that leave the receiver's prompt where it is, for a number of senders."""
    return IN_PLACE if senders == 1 else IN_PLACE + SHARED
