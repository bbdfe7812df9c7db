"""The engine itself as the model that writes plans."""

import json
from collections.abc import Sequence

from agentprim.agent import Agent
from agentprim.engine import Engine, Output
from agentprim.engine.chat import Message
from agentprim.errors import PoolExhausted
from agentprim.organizer.grammar import Grammar, read_tokenizer
from agentprim.organizer.reply import Reply, Unanswered, alone
from agentprim.organizer.schema import gathered, narrow_schema


class Local:
    """The engine itself, held to a schema, so that all it writes to its end is a plan that can run.

    What no step reads is read by the last one.
    """

    def __init__(
        self, engine: Engine, *, most_steps: int = 3, max_new_tokens: int = 600, free: bool = False
    ) -> None:
        """Take an engine.

        Args:
            engine: Any, with a tokenizer that llguidance knows.
            most_steps: Of a plan.
            max_new_tokens: Of a plan.
            free: Do not hold it to the schema; for models that write plans by themselves.
        """
        self.engine, self.max_new_tokens, self.free = engine, max_new_tokens, free
        self._schema, self._tokenizer = narrow_schema(most_steps), None
        self._agents: dict[str, Agent] = {}

    def __call__(self, messages: Sequence[Message]) -> Reply:
        """Write a plan.

        Raises:
            ImportError: llguidance is not installed.
            ValueError: The tokenizer is not known to it.
            Unanswered: The pool is too small for it.
        """
        return alone(self.each([messages]))

    def each(self, asked: Sequence[Sequence[Message]]) -> list[Reply | Unanswered]:
        """Write several plans as one ragged batch, each as if it were alone.

        Where the pool is too small for the batch, its halves are written one after the other, and
        so on; what does not fit alone is not answered.

        Raises:
            ImportError, ValueError: As a call.
        """
        rows: dict[str, list[int]] = {}  # one batch for each system prompt
        for row, (system, *_) in enumerate(asked):
            rows.setdefault(system["content"], []).append(row)
        found: list[Reply | Unanswered | None] = [None] * len(asked)
        for system, own in rows.items():
            turns = [list(asked[row][1:]) for row in own]
            for row, reply in zip(own, self._write(self.agent(system), turns), strict=True):
                found[row] = reply
        return found

    def agent(self, system: str) -> Agent:
        """Return who writes under a system prompt, the same for each call."""
        if system not in self._agents:
            self._agents[system] = Agent(self.engine, system, name="organizer")
        return self._agents[system]

    def _write(self, agent: Agent, turns: list[list[Message]]) -> list[Reply | Unanswered]:
        constraint = None if self.free else [self._grammar() for _ in turns]
        try:
            outs = agent(turns, max_new_tokens=self.max_new_tokens, constraint=constraint)
        except PoolExhausted as error:
            fault = str(error)
        else:
            return [self._reply(out) for out in outs]
        # only here, since the error keeps the pages of its batch as long as it lives
        if len(turns) == 1:
            return [Unanswered(f"organizer has no room for a plan: {fault}")]
        half = len(turns) // 2
        return [*self._write(agent, turns[:half]), *self._write(agent, turns[half:])]

    def _grammar(self) -> Grammar:
        self._tokenizer = self._tokenizer or read_tokenizer(self.engine)
        return Grammar(self.engine, self._schema, self._tokenizer)

    def _reply(self, out: Output) -> Reply:
        out.kv.release()
        text, cut = str(out), out.finish == "length"
        if not self.free and not cut:
            text = json.dumps(gathered(json.loads(text)))
        return Reply(text=text, cut=cut, usage=out.usage)
