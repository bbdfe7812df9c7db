"""Hand-over: put what others hand over in its place, repair it, and say what that took."""

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

from agentprim.agent.context import holds_system, parts
from agentprim.agent.reading import Reading
from agentprim.agent.terms import Terms
from agentprim.cache.join import concatenate
from agentprim.cache.kv import KV
from agentprim.engine import Event
from agentprim.engine.repair import Repair, Repaired
from agentprim.engine.seat import now
from agentprim.engine.verbs import repair
from agentprim.trust.auto import look_up

if TYPE_CHECKING:
    from agentprim.agent.agent import Agent


def take_over(
    agent: "Agent", turns: list[list[int]], contexts: list[list], terms: Terms
) -> list[Reading]:
    """Lay out what each row of a call stands on and what it still has to read.

    Args:
        agent: The receiver.
        turns: Ids of what each row is asked.
        contexts: The senders of each row.
        terms: How their caches are handed over; repairs run as one batch.

    Raises:
        TypeError, ValueError: A sender has no cache, or one of another engine; or a certificate
            shall choose, and there is none.
        UnsupportedModel: The senders' keys cannot be moved to their place.
        PoolExhausted: The pool is too small.
    """
    computed, length = [0] * len(turns), len(agent.system_ids)
    # rows may have different numbers of senders, and each number is chosen for once
    known = {n: terms.settled(agent.engine, length, n) for n in set(map(len, contexts))}
    settled = [known[len(senders)] for senders in contexts]
    appends = [
        own.join == "append" and bool(senders)
        for own, senders in zip(settled, contexts, strict=True)
    ]
    if not all(appends):
        first = appends.index(False)
        computed[first] = agent.prepare()
    begun = now()
    rows = [
        (_append if append else _relocate)(agent, turn, senders, own)
        for append, turn, senders, own in zip(appends, turns, contexts, settled, strict=True)
    ]
    done = _repaired(agent, [kv for kv, *_ in rows], [own.repair for own in settled])
    senders = sum(map(len, contexts))
    seconds = (now() - begun) / max(senders, 1)  # senders share the time evenly
    readings = []
    for (kv, received, ids, system), new, own, fresh, agreed in zip(
        rows, done, contexts, computed, settled, strict=True
    ):
        begin, events = len(kv) - sum(map(len, received)), []
        certified = _certified(agent, agreed, len(own))
        for sender, part in zip(own, received, strict=True):
            where = (begin, begin + len(part))
            event = _event(agent.name, sender, part, kv, new, where, agreed, seconds)
            events.append(replace(event, detail=event.detail | certified))
            begin = where[1]
        readings.append(
            Reading(
                kv=new.kv, ids=ids, reused=len(kv) - fresh - len(new.recomputed),
                relocated=_moved(kv, new.recomputed), recomputed=len(new.recomputed),
                system_end=len(kv) - sum(map(len, received)), system=system, events=tuple(events),
            )
        )  # fmt: skip
    return readings


def _repaired(agent: "Agent", kvs: list[KV], hows: list[Repair | None]) -> list[Repaired]:
    """Repair the rows that shall be, those of equal terms as one batch."""
    done = [Repaired(kv=kv) for kv in kvs]
    for how in set(hows) - {None}:
        rows = [row for row, one in enumerate(hows) if one == how]
        fixed = repair(agent.engine, [kvs[row] for row in rows], how)
        for row, one in zip(rows, fixed, strict=True):
            done[row] = one
    return done


def _certified(agent: "Agent", terms: Terms, senders: int) -> dict:
    """Say what is certified of a hand-over, and who chose it."""
    found = {"chosen_by": "auto", "why": terms.why} if terms.why else {}
    way = terms.way()
    if not senders or way is None:
        return found
    known = look_up(
        agent.engine.certificate, way, receiver_tokens=len(agent.system_ids), senders=senders
    )
    if known is not None and known.kl is not None:
        found |= {"kl": known.kl.mean, "kl_high": known.kl.high}
    return found


def _relocate(agent: "Agent", turn: list[int], senders: list, terms: Terms):
    """Put the receiver's cached prompt first, and all senders behind it."""
    system = agent.system_kv
    received = parts(
        senders, terms.carry, agent.engine.pool, chat=agent.chat, system=agent.system_ids,
        front=not len(system),
    )  # fmt: skip
    kv = concatenate([system, *received], offsets=terms.offsets, rotate=terms.rotate)
    return kv, received, turn, None


def _append(agent: "Agent", turn: list[int], senders: list, terms: Terms):
    """Put the first sender first and the receiver's prompt behind all, to be read there.

    A prompt that the first sender holds already is not read again.
    """
    received = parts(
        senders, terms.carry, agent.engine.pool, chat=agent.chat, system=agent.system_ids,
        front=True,
    )  # fmt: skip
    kv = concatenate(received, offsets=terms.offsets, rotate=terms.rotate)
    prompt = agent.chat.without_bos(agent.system_ids)
    if not prompt or holds_system(received[0], prompt, agent.chat):
        return kv, received, turn, None
    return kv, received, [*prompt, *turn], (len(kv), len(kv) + len(prompt))


def _event(
    receiver: str, sender, part: KV, joined: KV, new: Repaired, where: tuple[int, int],
    terms: Terms, seconds: float,
) -> Event:  # fmt: skip
    """Describe what one sender handed over, where it now stands, and what was recomputed."""
    begin, end = where
    deltas, offset = [], 0
    for span in joined.spans:
        if begin < offset + span.length and offset < end:
            deltas.append(span.delta)
        offset += span.length
    detail = {
        "sender": getattr(sender, "name", "kv"), "tokens": len(part), "join": terms.join,
        "carry": terms.carry, "offsets": terms.offsets, "rotate": terms.rotate,
        "spans": len(part.spans), "deltas": deltas,
        "recomputed": _within(new.recomputed, begin, end), "seconds": seconds,
    }  # fmt: skip
    if terms.repair is not None:
        checked = _within(new.checked, begin, end)
        detail |= {
            "checked": checked, "checked_layers": terms.repair.layer + 1 if checked else 0,
            "skipped": _within(new.skipped, begin, end),
        }  # fmt: skip
    return Event(kind="handover", role=receiver, detail=detail)


def _moved(kv: KV, recomputed: tuple[int, ...]) -> int:
    """Count the tokens that stand elsewhere than they were computed, but for the recomputed."""
    count = offset = 0
    for span in kv.spans:
        if span.delta:
            count += span.length - _within(recomputed, offset, offset + span.length)
        offset += span.length
    return count


def _within(indices: tuple[int, ...], begin: int, end: int) -> int:
    return bisect_left(indices, end) - bisect_left(indices, begin)
