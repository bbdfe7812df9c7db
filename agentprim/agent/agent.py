"""An agent: one role of a model, called with a question and with what others hand over."""

import threading
import warnings
from collections.abc import Callable, Sequence

from agentprim.agent.handover import take_over
from agentprim.agent.reading import Reading, account, repeat
from agentprim.agent.rows import read_contexts, read_rows, read_seeds
from agentprim.agent.terms import Terms
from agentprim.cache.kv import KV
from agentprim.cache.marks import Mark
from agentprim.engine import Engine, Output, Repair
from agentprim.engine.chat import Chat, Message
from agentprim.engine.sampling import Sampling
from agentprim.engine.seat import alone, now
from agentprim.errors import UNROTATED, NotRotated
from agentprim.trust.auto import Auto

INNERS = ("latent", "text", "prefill")


class Agent:
    """A role: a system prompt, prefilled once and kept, and nothing else between calls.

    Call it with a question, or a list of questions as one batch:

        solver = Agent(engine, system="Solve the task.", name="solver")
        critic = Agent(engine, system="Find the error.", name="critic")
        draft = solver("What is 17 * 23?")
        verdict = critic("Is the solution right?", context=[draft])
    """

    def __init__(
        self, engine: Engine, system: str | None = None, *, name: str = "agent", **sampling
    ) -> None:
        """Define a role.

        Args:
            engine: The model that plays it.
            system: Its system prompt; None leaves the template's own.
            name: Role in usage and traces.
            sampling: Defaults for its calls, as in `Engine.generate`.

        Raises:
            ValueError: The engine has no tokenizer, its template cannot be split into turns, or a
                number is out of range.
        """
        Sampling(**sampling)
        if engine.tokenizer is None:
            raise ValueError("engine must have a tokenizer for agents, got none")
        self.engine, self.system, self.name, self.sampling = engine, system, name, sampling
        self.chat = Chat(engine.tokenizer)
        self.system_ids = self.chat.system(system)
        self._lock = threading.Lock()
        self._system_kv: KV | None = None

    def __call__(
        self,
        x: str | Sequence[Message] | Sequence[str],
        *,
        context: Sequence = (),
        join: str | Repair | Auto = "relocate",
        carry: str | None = None,
        offsets: str = "consecutive",
        rotate: bool = True,
        samples: int = 1,
        stream: Callable | None = None,
        **sampling,
    ):
        """Answer in text.

        Args:
            x: A question, a list of chat messages, or a list of either as one batch.
            context: Outputs of other agents, or KVs; for a batch one such list for all questions,
                or a list of them, one each.
            join: `"relocate"`: behind this agent's cached system prompt (nothing is read again);
                `"append"`: the first sender first, then this agent's prompt (exact for one);
                `"repair"`, or a `Repair`: relocate, then recompute some of what was received;
                `"auto"`, or an `Auto`: the cheapest of them that is certified to be near enough.
            carry: What travels of a sender: `"all"`, `"no_system"` or `"reply"`. Default
                `"no_system"`, with `join="append"` `"all"`, since only that equals one text. A
                first token (BOS) travels only to the very front, and this agent's own system
                prompt is never there twice.
            offsets: `"consecutive"` or `"shared"` places for several senders.
            rotate: False leaves relocated keys unrotated: an experiment, wrong on purpose.
            samples: Answers to each question, decoded as one batch over one reading of it.
            stream: Called with each piece of text; with `(row, text)` for a batch.
            sampling: As in `Engine.generate`; max_new_tokens is 256 by default. `seed` may be one
                for each question; samples of a question count on from it.

        Returns:
            An `Output`; a list of them for a batch or several samples, samples of a question
            next to each other.

        Raises:
            TypeError, ValueError: An argument is empty, unknown or of another engine.
            UnsupportedModel: The senders' keys cannot be moved to their place.
            PoolExhausted: The pool is too small.
        """
        begun = now()
        options = {**self.sampling, **sampling}
        Sampling(**options)  # before anything is read
        terms = Terms.of(join, carry, offsets, rotate)
        rows, single = read_rows(x)
        options["seed"] = read_seeds(options.get("seed"), len(rows), samples)
        readings = self._read(rows, read_contexts(context, len(rows), single), terms)
        readings, single = repeat(self.engine, readings, samples), single and samples == 1
        emit = None if stream is None else (lambda _, text: stream(text)) if single else stream
        outputs = self.engine.generate(
            [reading.ids for reading in readings],
            [reading.kv for reading in readings],
            stream=emit,
            suffix=self.chat.close(),
            **options,
        )
        seconds = (now() - begun) / len(readings)  # a batch shares its time evenly
        finished = [
            account(out, reading, name=self.name, inner="text", seconds=seconds,
                    decoded=len(out.ids), calls=1)
            for out, reading in zip(outputs, readings, strict=True)
        ]  # fmt: skip
        return finished[0] if single else finished

    def think(
        self,
        x: str | Sequence[Message] | Sequence[str],
        *,
        inner: str = "latent",
        steps: int = 40,
        settle: float | None = None,
        spread: float = 0.0,
        seed: int | Sequence[int] | None = None,
        context: Sequence = (),
        join: str | Repair | Auto = "relocate",
        carry: str | None = None,
        offsets: str = "consecutive",
        rotate: bool = True,
        samples: int = 1,
        **sampling,
    ):
        """Read, think, and hand over without necessarily saying anything.

        Args:
            x: As in a call.
            inner: `"latent"`: up to `steps` latent steps; `"text"`: decode as a call does;
                `"prefill"`: only read.
            steps: Most latent steps.
            settle: Stop thinking early, as in `Engine.latent`.
            spread: Push equal starts apart, as in `Engine.latent`.
            seed: Of that push; with `"text"` of sampling. As in a call.
            context, join, carry, offsets, rotate, samples: As in a call.
            sampling: For `"text"`, as in a call.

        Returns:
            As a call, but the text is empty unless `inner="text"`; `out.kv` ends with a closed
            turn, and `out.hidden` is the last state before it was closed. With `"prefill"` it ends
            with what was asked, the header of a reply being read for `out.hidden` alone.

        Raises:
            TypeError, ValueError, UnsupportedModel, PoolExhausted: As a call.
            VerificationFailed: A hidden state is not finite.
        """
        if inner not in INNERS:
            raise ValueError(f"inner must be one of {INNERS}, got {inner!r}")
        if inner == "text":
            return self(
                x, context=context, join=join, carry=carry, offsets=offsets, rotate=rotate,
                samples=samples, **sampling, **({} if seed is None else {"seed": seed}),
            )  # fmt: skip
        if sampling:
            raise TypeError(f"{min(sampling)} must be given with inner='text', got {inner!r}")
        begun = now()
        terms = Terms.of(join, carry, offsets, rotate)
        rows, single = read_rows(x)
        seeds = read_seeds(seed, len(rows), samples)
        readings = self._read(rows, read_contexts(context, len(rows), single), terms)
        starts = [len(r.kv) if r.system is None else r.system[1] for r in readings]
        readings, single = repeat(self.engine, readings, samples), single and samples == 1
        read = self.engine.prefill([r.ids for r in readings], [r.kv for r in readings])
        if inner == "prefill":
            # no header of a reply that is not given: closed empty ones teach to say nothing
            ends = [a + self.chat.asked(row) for a, row in zip(starts, rows, strict=True)]
            thought, closed = read, [kv[: ends[n // samples]] for n, kv in enumerate(read)]
        else:
            thought = self.engine.latent(read, steps, settle=settle, spread=spread, seed=seeds)
            end = self.chat.close()
            closed = self.engine.prefill([end] * len(thought), thought) if end else thought
        seconds = (now() - begun) / len(readings)
        outputs = []
        for row, (reading, before, after, kv) in enumerate(
            zip(readings, read, thought, closed, strict=True)
        ):
            start = starts[row // samples] if inner == "prefill" else len(before)
            out = Output("", kv=kv, finish="handover", reply_start=start, hidden=after.hidden)
            outputs.append(
                account(out, reading, name=self.name, inner=inner, seconds=seconds,
                        latent=len(after) - len(before), dropped=max(0, len(after) - len(kv)))
            )  # fmt: skip
        return outputs[0] if single else outputs

    @property
    def system_kv(self) -> KV:
        """The cached system prompt, prefilled on first use and kept."""
        self.prepare()
        return self._system_kv

    def prepare(self) -> int:
        """Prefill the system prompt if that was not done yet; return the tokens computed now."""
        return 0 if self._system_kv is not None else alone(self._prepare)

    def _prepare(self) -> int:
        with self._lock:
            if self._system_kv is not None:
                return 0
            ids = self.system_ids
            kv = self.engine.prefill(ids) if ids else KV(self.engine.pool)
            if ids:
                kv.marks = (Mark(begin=0, end=len(ids), kind="system"),)
            self._system_kv = kv
            return len(ids)

    def _read(self, rows, contexts, terms: Terms) -> list[Reading]:
        """Lay out what each row stands on and what it still has to read."""
        if not terms.rotate:
            warnings.warn(UNROTATED, NotRotated, stacklevel=3)
        turns = [self.chat.turn(messages) for messages in rows]
        return take_over(self, turns, contexts, terms)
