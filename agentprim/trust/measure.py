"""Measure one item: every way of handing over, against recomputing the same tokens and the text."""

import time
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from agentprim.cache.kv import KV
from agentprim.engine.way import Way
from agentprim.trust.items import Item
from agentprim.trust.lab import Lab, Receiver, Sender, Stand
from agentprim.trust.ways import APPEND, CARRIES, TEXT, in_place

ANSWER_TOKENS = 8  # of the short continuation
_TEXT = "no_system"  # what the hand-over by text gives the receiver to read
_NAMES, _ENDS = ("kl", "top1", "answer"), ("", "_text")


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What the receiver would say, had it read everything itself.

    Attributes:
        logits: At the answer cue, fp32 `[vocab]`.
        said: Its greedy answer.
    """

    logits: Tensor
    said: list[int]


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is measured of an item.

    Attributes:
        index: Which item.
        senders: How many caches are joined.
        lengths: About how long the receiver's system prompt is, one or several.
        variant: Which receivers.
        append: Whether the receiver's prompt is also read behind the senders.
        exact: Whether that is compared with one plain run of the same tokens, too.
        timed: Whether each way also runs alone, to be timed.
    """

    index: int
    senders: int
    lengths: tuple[int, ...]
    variant: int = 0
    append: bool = True
    exact: bool = True
    timed: bool = False

    @property
    def key(self) -> str:
        """Name the task within a plan."""
        return f"{self.index}/{self.senders}/{'-'.join(map(str, self.lengths))}"


def measure(lab: Lab, item: Item, task: Task) -> list[dict]:
    """Measure an item; return one plain dictionary for each length and way."""
    senders, question = lab.senders(item), lab.question(item)
    receivers = {length: lab.receiver(length, task.variant) for length in task.lengths}
    references = _references(lab, receivers, senders, question, task)
    rows = _compare(lab, receivers, senders, question, references, task)
    lead = sum(len(sender.part(_TEXT)) for sender in senders)
    for length in receivers:
        said = lab.engine.tokenizer.decode(references[length, _TEXT].said)
        rows.append(
            {"way": asdict(TEXT), "length": length, "recomputed": 0,
             "prefilled": lead + len(question), "right": int(_holds(said, item.fact.answer)),
             **{f"{name}{end}": 0.0 if name == "kl" else 1 for name in _NAMES for end in _ENDS}}
        )  # fmt: skip
    for row in rows if task.timed else ():
        row["seconds"] = _seconds(lab, Way(**row["way"]), receivers[row["length"]], senders,
                                  question)  # fmt: skip
    return rows


def _references(
    lab: Lab, receivers: dict[int, Receiver], senders: list[Sender], question: list[int], task: Task
) -> dict[tuple[int, str], Reference]:
    """Read every token list in one go, with all before it in sight.

    A receiver's system prompt comes first and is read once; a token list that begins otherwise is
    read whole.
    """
    keys, rows, before = [], [], []
    for length, receiver in receivers.items():
        for carry in CARRIES:
            keys.append((length, carry))
            rows.append([i for sender in senders for i in sender.part(carry)] + question)
            before.append(receiver.kv)
    kvs = lab.prefill(rows, before)
    for length, receiver in receivers.items() if task.append and task.exact else ():
        whole = [i for sender in senders[1:] for i in sender.part("all")]
        whole = senders[0].part("front") + whole
        keys.append((length, "append"))
        kvs += lab.prefill([[*whole, *lab.chat.without_bos(receiver.ids), *question]])
    logits = lab.engine.logits(torch.stack([kv.hidden for kv in kvs]))
    said = lab.continue_(kvs, ANSWER_TOKENS)
    return {key: Reference(logits=logits[row], said=said[row]) for row, key in enumerate(keys)}


def _compare(
    lab: Lab, receivers: dict[int, Receiver], senders: list[Sender], question: list[int],
    references: dict[tuple[int, str], Reference], task: Task,
) -> list[dict]:  # fmt: skip
    """Compare every way with its own reference and with the text, all lengths as one batch."""
    ways = [*in_place(len(senders)), *([APPEND] if task.append else [])]
    cases = [
        (length, way, stand)
        for way in ways
        for length, stand in zip(
            receivers, lab.stands(way, list(receivers.values()), senders), strict=True
        )
    ]
    behind = _read_question(lab, [stand for _, _, stand in cases], question)
    pairs: list[tuple[int, str, Reference]] = []
    for number, (length, way, _) in enumerate(cases):
        text = references[length, _TEXT]
        own = references.get((length, "append" if way.join == "append" else way.carry))
        if way.join != "none" and own is not None:
            pairs.append((number, "", own))
        if way.join == "none" or own is not text:
            pairs.append((number, "_text", text))
    logits = lab.follow(
        [[question[-1], *reference.said[:-1]] for _, _, reference in pairs],
        [behind[number] for number, _, _ in pairs],
        [len(reference.said) for _, _, reference in pairs],
    )
    found: list[dict] = [{} for _ in cases]
    for (number, end, reference), got in zip(pairs, logits, strict=True):
        found[number] |= _judge(got, reference, end)
    rows = []
    for (length, way, stand), result in zip(cases, found, strict=True):
        if "kl_text" not in result:  # its own reference is the text
            result |= {f"{name}_text": result[name] for name in _NAMES}
        cost = {"prefilled": len(stand.lead) + len(question), "recomputed": stand.recomputed}
        rows.append({"way": asdict(way), "length": length, **result, **cost})
    return rows


def _read_question(lab: Lab, stands: list[Stand], question: list[int]) -> list[KV]:
    """Read all of the question but its last token; where more comes before, row by row."""
    short = [number for number, stand in enumerate(stands) if not stand.lead]
    read = lab.prefill([question[:-1]] * len(short), [stands[number].kv for number in short])
    found = dict(zip(short, read, strict=True))
    for number, stand in enumerate(stands):
        if stand.lead:
            (found[number],) = lab.prefill([[*stand.lead, *question[:-1]]], [stand.kv])
    return [found[number] for number in range(len(stands))]


def _holds(said: str, answer: str) -> bool:
    return answer.casefold() in said.casefold()


def _judge(logits: Tensor, reference: Reference, end: str) -> dict:
    """Compare logits `[len(reference.said), vocab]` along the reference's greedy answer.

    A greedy answer of its own would be the same exactly if every choice along it is.
    """
    right = torch.log_softmax(reference.logits.double(), -1)
    got = torch.log_softmax(logits[0].double(), -1)
    choices = logits.argmax(-1).tolist()
    return {
        f"kl{end}": max(0.0, float((right.exp() * (right - got)).sum())),
        f"top1{end}": int(choices[0] == reference.said[0]),
        f"answer{end}": int(choices == reference.said),
    }


def _seconds(
    lab: Lab, way: Way, receiver: Receiver, senders: list[Sender], question: list[int]
) -> float:
    """Time one hand-over alone, until the first token of the answer is known."""
    begun = time.perf_counter()
    stand = lab.stand(way, receiver, senders)
    (kv,) = lab.prefill([[*stand.lead, *question]], [stand.kv])
    int(lab.engine.logits(kv.hidden).argmax())
    return time.perf_counter() - begun
