"""Read decisions out of a local model: options scored as whole replies behind a shared state."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from agentprim.cache.kv import KV, check_live
from agentprim.decide.backend import Scores
from agentprim.decide.question import Question
from agentprim.engine import Engine, Output
from agentprim.engine.chat import Chat
from agentprim.engine.decode import eos_ids
from agentprim.engine.pack import can_pack, read_packed
from agentprim.engine.read import read
from agentprim.engine.seat import alone

INSTRUCTIONS = "Judge what you are given. Answer with one of the options and nothing else."


class Local:
    """Scores options by an engine, on caches that are already in its pool.

    An option's score is the log-probability of the model giving exactly this reply and ending it:

        l(option) = sum_i log p(token_i | state, question, tokens before) + log p(end | all of it)

    A cached state stays as it is and the question is read behind it, so a decision costs the
    tokens of its question and options; the pool is afterwards as before. All questions
    run as one batch, and so do all options.
    """

    def __init__(self, engine: Engine, *, instructions: str = INSTRUCTIONS, prior: bool = False):
        """Make a readout.

        Args:
            engine: The model, with a tokenizer.
            instructions: System prompt in front of a state that is given as text.
            prior: Whether to subtract what the model says of the options without a state
                (content-free correction); remembered for each question.

        Raises:
            ValueError: The engine has no tokenizer, or nothing that ends a reply.
        """
        if engine.tokenizer is None:
            raise ValueError("engine must have a tokenizer for decisions, got none")
        self.engine, self.instructions, self.prior = engine, instructions, prior
        self._chat = Chat(engine.tokenizer)
        self._ends = _ends(engine, self._chat)
        self._priors: dict[Question, tuple[float, ...]] = {}

    def __call__(self, state: str | KV | Output, questions: Sequence[Question]) -> list[Scores]:
        """Score every option; see `Backend`.

        Raises:
            TypeError, ValueError: The state is empty, not live, or of another engine.
            PoolExhausted: The pool is too small.
        """
        return self.each([(state, question) for question in questions])

    def each(self, asked: Sequence[tuple[str | KV | Output, Question]]) -> list[Scores]:
        """Score questions about states of their own, all as one batch; see `__call__`.

        A state that is given as text more than once is read once, at the first question's cost.
        """
        texts = dict.fromkeys(state for state, _ in asked if _cached(state) is None)
        read_now = dict(zip(texts, self._read_texts(list(texts)), strict=True))
        kvs = [self._kv(state, read_now) for state, _ in asked]
        questions = [question for _, question in asked]
        found = self._score(kvs, questions)
        for number, (state, _) in enumerate(asked):
            if _cached(state) is None and (kv := read_now.pop(state, None)) is not None:
                found[number] = replace(found[number], tokens=found[number].tokens + len(kv))
        return self._corrected(questions, found) if self.prior else found

    def _read_texts(self, texts: list[str]) -> list[KV]:
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"state must be text, a KV or an Output, got {type(text).__name__}")
            if not text.strip():
                raise ValueError("state must have at least one character, got an empty text")
        prompts = [self._chat.system(f"{self.instructions}\n\n{text}") for text in texts]
        return self.engine.prefill(prompts) if prompts else []

    def _kv(self, state, read_now: dict) -> KV:
        cached = _cached(state)
        return read_now[state] if cached is None else check_live(cached, "state", self.engine.pool)

    def _score(self, kvs: list[KV], questions: Sequence[Question]) -> list[Scores]:
        turns = [
            self._chat.turn([{"role": "user", "content": question.prompt}])
            for question in questions
        ]
        rows = [
            (number, self.engine.encode(option))
            for number, question in enumerate(questions)
            for option in question.options
        ]
        passes = self._in_one_pass if can_pack(self.engine) else self._in_two_passes
        read_out = alone(lambda: passes(kvs, turns, rows))
        log_probs: list[list[float]] = [[] for _ in questions]
        tokens = [len(turn) for turn in turns]
        for (number, ids), (before, after) in zip(rows, read_out, strict=True):
            log_probs[number].append(sequence_log_prob(before, after, ids, self._ends))
            tokens[number] += len(ids)
        return [
            Scores(log_probs=tuple(line), tokens=count)
            for line, count in zip(log_probs, tokens, strict=True)
        ]

    def _in_one_pass(self, kvs: list[KV], turns: list[list[int]], rows: list) -> list:
        """Read each question and, behind it in the same pass, every option."""
        lines, bases = [*turns, *(ids for _, ids in rows)], [*kvs, *(number for number, _ in rows)]
        _, states = read_packed(self.engine, lines, bases)
        return self._said(states[: len(turns)], states[len(turns) :], rows)

    def _in_two_passes(self, kvs: list[KV], turns: list[list[int]], rows: list) -> list:
        """Read each question, then every option on a fork of it."""
        asked, states = read(self.engine, turns, kvs)
        _, replies = read(
            self.engine, [ids for _, ids in rows], [asked[number] for number, _ in rows]
        )
        return self._said(states, replies, rows)

    def _said(self, turns: Sequence[Tensor], replies: Sequence[Tensor], rows: list) -> list:
        """Return log-probabilities before and behind the tokens of each option."""
        lines = self._log_probs([*(state[-1:] for state in turns), *replies])
        after = lines[len(turns) :]
        return [(lines[number][0], line) for (number, _), line in zip(rows, after, strict=True)]

    def _corrected(self, questions: Sequence[Question], found: list[Scores]) -> list[Scores]:
        missing = list(dict.fromkeys(one for one in questions if one not in self._priors))
        spent = [0] * len(found)
        if missing:
            with self.engine.prefill(self._chat.system(self.instructions)) as empty:
                without = self._score([empty] * len(missing), missing)
                for question, scores in zip(missing, without, strict=True):
                    self._priors[question] = scores.log_probs
                    spent[questions.index(question)] += scores.tokens
        return [
            Scores(
                log_probs=tuple(
                    a - b for a, b in zip(one.log_probs, self._priors[question], strict=True)
                ),
                tokens=one.tokens + more,
            )
            for question, one, more in zip(questions, found, spent, strict=True)
        ]

    def _log_probs(self, states: list[Tensor]) -> list[Tensor]:
        """Turn hidden states `[n, d]` of each row into log-probabilities, in one multiplication."""
        lines = torch.log_softmax(self.engine.logits(torch.cat(states)), dim=-1)
        return list(lines.split([len(one) for one in states]))


def _cached(state) -> KV | None:
    """Return the cache of a state; None for one that is text."""
    return state if isinstance(state, KV) else getattr(state, "kv", None)


def sequence_log_prob(before: Tensor, after: Tensor, ids: Sequence[int], ends: list[int]) -> float:
    """Add up what a whole reply and its end are worth.

    Args:
        before: Log-probabilities of the first token `[vocab]`.
        after: Log-probabilities behind each token of the reply `[len(ids), vocab]`.
        ids: The reply.
        ends: Ids that may end it; their probabilities add up.
    """
    total = float(before[ids[0]])
    total += sum(float(after[i - 1, ids[i]]) for i in range(1, len(ids)))
    return total + float(torch.logsumexp(after[-1, ends].double(), 0))


def _ends(engine: Engine, chat: Chat) -> list[int]:
    ends = list(dict.fromkeys([*eos_ids(engine), *chat.close()[:1]]))
    if not ends:
        raise ValueError("engine must know an id that ends a reply, got none")
    return ends
