"""GPTSwarm: agents of several kinds as the nodes of a graph, and a vote over all."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Extract, Limits
from agentprim.evaluate.methods.majority import elect_each
from agentprim.evaluate.methods.single import PLAIN, STEPS
from agentprim.evaluate.methods.talk import Talk, words
from agentprim.primitives.prompts import said

REFLECT = "Say what may be wrong with this answer to the task.\n\nTask: {task}"
REVISE = "Answer the task again with this reflection.\n\nTask: {task}"
KINDS = {"io": PLAIN, "cot": STEPS, "reflect": STEPS}


@dataclass(frozen=True, kw_only=True)
class GptSwarm:
    """GPTSwarm (arXiv 2402.16823): a graph of agents, each of which is a small graph itself.

    Agents: input-output, chain of thought, and reflexion (answer, reflect, answer again). An agent
    reads the last words of those with an edge to it; the final node takes the majority. Edges run
    forwards only and are drawn for each question with the paper's initial probability of 0.5. Not
    as in the paper: edges and prompts are not optimised (REINFORCE on a training set is its
    point), so this is its starting point; no tree of thought, no tools, no web or file search.

    Attributes:
        agents: Their kinds, in the order of the graph: `"io"`, `"cot"` or `"reflect"`.
        edges: Probability of each edge from an earlier to a later agent.
    """

    name: str = "gptswarm"
    about: str = "a random forward graph of agents, majority (arXiv 2402.16823, not optimised)"
    agents: tuple[str, ...] = ("io", "cot", "cot", "reflect")
    edges: float = 0.5
    takes_extracts = True

    def __call__(
        self,
        engine: Engine,
        questions: Sequence[str],
        limits: Limits,
        seeds: Sequence[int],
        extracts: Sequence[Extract] | None = None,
    ) -> list[Output]:
        """Answer; see `Method`."""
        talk = Talk(engine, questions, limits, seeds, extracts)
        nodes = [(f"{kind}{number}", kind) for number, kind in enumerate(self.agents, 1)]
        graphs = [self._graph(line) for line in talk.lines]
        said_by: list[list[Output]] = [[] for _ in talk.lines]
        for place, (name, kind) in enumerate(nodes):
            agent = talk.agent(name)
            heard = [
                [(f"Agent {one + 1}", words(done[one])) for one in graph[place]]
                for graph, done in zip(graphs, said_by, strict=True)
            ]
            found = self._ask(talk, agent, KINDS[kind], heard)
            if kind == "reflect":
                answers = [[("Answer", words(out))] for out in found]
                thoughts = self._ask(talk, agent, REFLECT, answers)
                for answer, out in zip(answers, thoughts, strict=True):
                    answer.append(("Reflection", words(out)))
                found = self._ask(talk, agent, REVISE, answers)
            for done, out in zip(said_by, found, strict=True):
                done.append(out)
        everything = [out for done in said_by for out in done]
        return talk.end(elect_each(talk.lines, self.name, everything), self.name)

    def _graph(self, line) -> list[list[int]]:
        """Draw which agents each agent reads, and note it."""
        source = line.source("edges")
        graph = [
            [one for one in range(place) if source.random() < self.edges]
            for place in range(len(self.agents))
        ]
        line.note("plan", self.name, reads=graph)
        return graph

    @staticmethod
    def _ask(talk: Talk, agent, turn: str, heard: list) -> list[Output]:
        turns = [
            said(turn.format(task=line.question), before)
            for line, before in zip(talk.lines, heard, strict=True)
        ]
        return talk.say(agent, talk.lines, turns)
