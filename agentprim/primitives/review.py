"""Review: a solver and a critic take turns; the solver answers."""

import torch

from agentprim.agent import Agent
from agentprim.decide import Decider
from agentprim.engine import Engine, Event, Output, Usage
from agentprim.primitives import prompts
from agentprim.primitives.primitive import Item, Primitive, Speak

STOPS = ("state", "words", "judge", "never")
CORRECT = "Is the solution correct and complete?"


class Review(Primitive):
    """Solve, criticise, and solve again, for some rounds or until the state stops moving.

    A round is the solver's turn and the critic's. After the last round, or when the stop rule
    fires, the solver answers with the last feedback. The rule looks at the solver's state when
    another round would begin; the first two compare it with the round before:

    * `"state"`: stop if the cosine of the two last hidden states is at least `threshold`;
    * `"words"`: stop if the KL divergence (nats) of the two next-token distributions, old to new,
      is at most `threshold`;
    * `"judge"`: stop, from the first round on, if a decider gives the solution, read from its
      cache, at least the probability `threshold` of being correct;
    * `"never"`: take all rounds.

    *Agent Primitives* (arXiv 2602.03695), section 3; it leaves the rule open, so this one is ours.
    """

    def __init__(
        self,
        engine: Engine,
        rounds: int = 2,
        *,
        stop: str = "state",
        threshold: float | None = None,
        solver=None,
        critic=None,
        decider: Decider | None = None,
        name: str = "review",
        **options,
    ) -> None:
        """Make both roles.

        Args:
            engine: The model of all roles.
            rounds: Most rounds.
            stop: `"state"`, `"words"`, `"judge"` or `"never"`.
            threshold: Of the rule; default 0.99 for `"state"`, 0.01 for `"words"`, what the
                decider was calibrated to, else 0.5, for `"judge"`.
            solver, critic: Agents or primitives that take the roles instead.
            decider: Of `"judge"`; default one on this engine.
            name: Name of the whole.
            options: Fields of `Options`.

        Raises:
            ValueError: A number or a name is out of range.
        """
        super().__init__(engine, name=name, **options)
        if rounds < 1:
            raise ValueError(f"rounds must be at least 1, got {rounds}")
        if stop not in STOPS:
            raise ValueError(f"stop must be one of {STOPS}, got {stop!r}")
        self.rounds, self.stop = rounds, stop
        self.decider = (decider or Decider(engine)) if stop == "judge" else None
        self.threshold = {"state": 0.99, "words": 0.01}.get(stop, 0.0)
        if self.decider is not None:
            self.threshold = self.decider.threshold(CORRECT)
        if threshold is not None:
            self.threshold = threshold
        self.solver = solver or Agent(engine, prompts.SOLVER, name="solver")
        self.critic = critic or Agent(engine, prompts.CRITIC, name="critic")

    def run(self, items: list[Item], speak: Speak) -> list[Output]:
        """Take rounds until each item is done, then let the solver answer all."""
        last = {id(item): list(item.context) for item in items}
        states: dict[int, torch.Tensor] = {}
        active = list(items)
        for number in range(self.rounds):
            turn = prompts.REVISE if number else prompts.ALONE
            known = [last[id(item)] for item in active]
            solved = self.hand_over(self.solver, active, turn, known)
            going = []
            for item, out in zip(active, solved, strict=True):
                before, states[id(item)] = states.get(id(item)), out.hidden
                if self._settled(item, number, before, out):
                    last[id(item)] = self._known(item, [out])
                else:
                    going.append((item, out))
            if not going:
                break
            active = [item for item, _ in going]
            solutions = [self._known(item, [out]) for item, out in going]
            judged = self.hand_over(self.critic, active, prompts.CRITICISE, solutions)
            for (item, out), verdict in zip(going, judged, strict=True):
                last[id(item)] = self._known(item, [out, verdict])
        known = [last[id(item)] for item in items]
        return self.finish(self.solver, items, prompts.REVISE, known, speak)

    def change(self, before: torch.Tensor, after: torch.Tensor) -> float:
        """Measure how two states `[hidden_size]` differ: a cosine, or a divergence in nats."""
        if self.stop == "words":
            old, new = (torch.log_softmax(self.engine.logits(h), -1) for h in (before, after))
            return float((old.exp() * (old - new)).sum())
        return float(torch.cosine_similarity(before.float(), after.float(), dim=0))

    def _settled(self, item: Item, number: int, before: torch.Tensor | None, out: Output) -> bool:
        if self.stop == "judge":
            value = self._judged(item, out)
        elif self.stop == "never" or not number:
            return False
        else:
            value = self.change(before, out.hidden)
        done = value <= self.threshold if self.stop == "words" else value >= self.threshold
        detail = {"rule": self.stop, "round": number + 1, "value": value, "stopped": done}
        item.trace.append(Event(kind="stop", role=self.name, detail=detail))
        return done

    def _judged(self, item: Item, out: Output) -> float:
        decision = self.decider.judge(CORRECT, out)
        item.usage += Usage.of(
            self.name, decision_calls=1, decision_tokens=decision.tokens, seconds=decision.seconds
        )
        return decision.value

    @staticmethod
    def _known(item: Item, chain: list[Output]) -> list:
        """List all that led to the last of a chain, or only the last where it holds the others."""
        return chain[-1:] if item.options.inherits else [*item.context, *chain]
