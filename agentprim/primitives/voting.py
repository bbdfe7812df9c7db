"""Voting and Selection: independent solvers as one batch, and a selector that answers."""

import torch

from agentprim.agent import Agent
from agentprim.engine import Engine, Event, Output
from agentprim.primitives import prompts
from agentprim.primitives.primitive import Item, Primitive, Speak

VOTES = ("agreement", "all")


class Voting(Primitive):
    """Several solvers work on one reading of the task; a vote on their states picks candidates.

    The solvers are one role sampled several times: the prompt is read once and forked, and the
    forks run as one batch. Latent steps are deterministic, so each solver's first one is pushed
    by `spread`; with `inner="text"` they sample.

    The vote decides whose caches the selector gets, from the solvers' last hidden states:

    * `"agreement"`: a candidate's support is its mean cosine with the others; the `keep` best
      supported travel, in their order;
    * `"all"`: all travel.

    *Agent Primitives* (arXiv 2602.03695), section 3; it leaves the vote open, so this one is ours.
    """

    def __init__(
        self,
        engine: Engine,
        solvers: int = 3,
        *,
        vote: str = "agreement",
        keep: int | None = None,
        spread: float = 0.1,
        temperature: float = 0.6,
        top_p: float = 0.95,
        solver=None,
        selector=None,
        name: str = "voting",
        **options,
    ) -> None:
        """Make both roles.

        Args:
            engine: The model of all roles.
            solvers: How many solve.
            vote: `"agreement"` or `"all"`.
            keep: Candidates that travel after `"agreement"`; default a majority,
                `solvers // 2 + 1`.
            spread: Relative size of the push on each solver's first latent step.
            temperature, top_p: Sampling of solvers that decode (`inner="text"`).
            solver, selector: Agents or primitives that take the roles instead.
            name: Name of the whole.
            options: Fields of `Options`.

        Raises:
            ValueError: A number or a name is out of range.
        """
        super().__init__(engine, name=name, **options)
        if solvers < 1:
            raise ValueError(f"solvers must be at least 1, got {solvers}")
        if vote not in VOTES:
            raise ValueError(f"vote must be one of {VOTES}, got {vote!r}")
        self.solvers, self.vote, self.spread = solvers, vote, spread
        self.keep = solvers // 2 + 1 if keep is None else keep
        if not 1 <= self.keep <= solvers:
            raise ValueError(f"keep must be between 1 and {solvers}, got {keep}")
        self._sampling = {"temperature": temperature, "top_p": top_p}
        self.solver = solver or Agent(engine, prompts.INDEPENDENT, name="solver")
        self.selector = selector or Agent(engine, prompts.SELECTOR, name="selector")

    def run(self, items: list[Item], speak: Speak) -> list[Output]:
        """Let all solvers of all items run as one batch, vote, and let the selector answer."""
        more = self._sampling if self.options.inner == "text" else {"spread": self.spread}
        outputs = self.hand_over(
            self.solver, items, prompts.ALONE, [item.context for item in items],
            samples=self.solvers, **more,
        )  # fmt: skip
        chosen = []
        for number, item in enumerate(items):
            candidates = outputs[number * self.solvers : (number + 1) * self.solvers]
            chosen.append(self._elect(item, candidates))
        del outputs, candidates  # who lost the vote is freed before the selector works
        return self.finish(self.selector, items, prompts.SELECT, chosen, speak)

    def support(self, states: torch.Tensor) -> list[float]:
        """Return each candidate's mean cosine with the others, from states `[n, hidden_size]`."""
        if len(states) == 1:
            return [1.0]
        unit = torch.nn.functional.normalize(states.float(), dim=-1)
        cosine = unit @ unit.T
        return ((cosine.sum(1) - cosine.diagonal()) / (len(states) - 1)).tolist()

    def _elect(self, item: Item, candidates: list[Output]) -> list[Output]:
        states = torch.stack([out.hidden for out in candidates])
        support = self.support(states)
        order = sorted(range(len(candidates)), key=lambda i: (-support[i], i))
        kept = sorted(order[: self.keep]) if self.vote == "agreement" else list(range(len(order)))
        detail = {"rule": self.vote, "support": support, "kept": kept}
        item.trace.append(Event(kind="vote", role=self.name, detail=detail))
        elected = [candidates[i] for i in kept]
        return elected if item.options.inherits else [*item.context, *elected]
