"""Together: jobs take turns, and their calls to an engine run as one batch where they meet.

Jobs with different control flow, such as plans of their own for each query, still need the same
few verbs. Each job runs until it calls one; when all of them wait, calls of one kind run at once.
"""

from collections.abc import Callable, Hashable
from itertools import chain

from agentprim.engine.seat import Call, Seat, batched, now
from agentprim.engine.shards import is_lone
from agentprim.errors import PoolExhausted


def together(*jobs: Callable[[], object], return_exceptions: bool = False) -> list:
    """Run jobs side by side, so that their calls to an engine share forward passes.

        short, long = ap.together(lambda: review("17 * 23?"), lambda: voting("19 * 21?"))

    One job runs at a time, in order, until it needs the model; each has a thread of its own. A job
    must not wait for another one, nor hold a lock of its own while it calls an engine. Calls that
    differ in more than rows and seeds (other temperatures, other numbers of latent steps) run one
    after the other.

    A call for which the pool is too small waits. Where all of them wait, the last job is unwound,
    and begins again when another one has ended, as does one that ends for want of room elsewhere:
    so jobs must be repeatable, and those that have room one after the other have room together.

    Args:
        jobs: Functions without arguments.
        return_exceptions: Put the fault of a job in the place of its result. Else the first fault
            ends all jobs and is raised.

    Returns:
        What each job returned, in order.
    """
    if len(jobs) == 1 and not return_exceptions:
        return [jobs[0]()]
    seats = [Seat(job) for job in jobs]
    try:
        while not all(seat.over for seat in seats):
            _turn(seats, strict=not return_exceptions)
        return [seat.found if seat.error is None else seat.error for seat in seats]
    finally:
        for seat in seats:
            seat.leave()


def _turn(seats: list[Seat], *, strict: bool) -> None:
    """Let each job run to its next call, and answer these calls. Modifies the list."""
    left = [seat for seat in seats if not seat.over]
    running = [seat for seat in left if not seat.held] or left[:1]
    for seat in running:
        if not seat.waits:
            seat.resume()
        if seat.over:
            others = [one for one in seats if not (one.over or one.held)]
            if others and isinstance(seat.error, PoolExhausted):
                seats[seats.index(seat)] = seat.again()
                continue
            if seat.error is not None and (strict or not isinstance(seat.error, Exception)):
                raise seat.error
            if back := [other for other in seats if other.held]:
                back[0].held = False  # there is room for one more
    running = [seat for seat in running if not seat.over]
    for short in (True, False):  # short ones first, so that more jobs meet at long ones
        _answer([seat.call for seat in running if seat.call.short == short])
        if any(seat.call.answered for seat in running):
            break
    if running and all(seat.waits for seat in running):
        last = running[-1]
        if len(running) > 1:
            seats[seats.index(last)] = last.again()
        else:
            _run([last.call], alone=True)


def _answer(calls: list[Call]) -> None:
    """Run calls, equal ones as one batch."""
    groups: dict[Hashable, list[Call]] = {}
    for call in calls:
        groups.setdefault(call.key, []).append(call)
    for group in groups.values():
        _run(group)


def _run(group: list[Call], *, alone: bool = False) -> None:
    """Run equal calls as one; where that fails, its halves, so that each has its own fault.

    A call for which the pool is too small goes on waiting, unless its job is alone.
    """
    begun, found, fault = now(), None, None
    columns = zip(*(call.columns for call in group), strict=True)
    try:
        # in one batch with others where the caller is a job itself
        rows = [list(chain(*parts)) for parts in columns]
        found = batched(group[0].key, group[0].run, *rows, short=group[0].short)
    except Exception as error:
        if is_lone(error):
            raise
        if len(group) == 1 and (alone or not isinstance(error, PoolExhausted)):
            fault = error
    seconds = (now() - begun) / sum(map(len, group))
    for call in group:
        call.seconds += seconds * len(call)
        if found is not None:
            call.found, found = found[: len(call)], found[len(call) :]
            call.answered = True
    if fault is not None:
        # not kept here: a fault holds the frames it went through
        group[0].error, group[0].answered, fault = fault, True, None
    elif not group[0].answered and len(group) > 1:
        half = len(group) // 2
        _run(group[:half])
        _run(group[half:])
