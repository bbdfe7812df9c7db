"""GPTSwarm: agents of several kinds as the nodes of a graph, and a vote over all."""

from dataclasses import dataclass

from agentprim.engine import Output
from agentprim.evaluate.methods.line import Line, words
from agentprim.evaluate.methods.majority import elect
from agentprim.evaluate.methods.single import PLAIN, STEPS
from agentprim.evaluate.methods.talk import Talk
from agentprim.primitives.prompts import said

REFLECT = "Say what may be wrong with this answer to the task.\n\nTask: {task}"
REVISE = "Answer the task again with this reflection.\n\nTask: {task}"
KINDS = {"io": PLAIN, "cot": STEPS, "reflect": STEPS}


@dataclass(frozen=True, kw_only=True)
class GptSwarm(Talk):
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

    def cast(self) -> dict[str, None]:
        """Return a role for each place in the graph; see `Talk`."""
        return {f"{kind}{number}": None for number, kind in enumerate(self.agents, 1)}

    def answer(self, line: Line) -> Output:
        """Answer one question."""
        spoken: list[Output] = []
        for role, kind, reads in zip(self.cast(), self.agents, self._graph(line), strict=True):
            heard = [(f"Agent {one + 1}", words(spoken[one])) for one in reads]
            out = line.say(role, said(KINDS[kind].format(task=line.question), heard))
            spoken.append(self._reflected(line, role, out) if kind == "reflect" else out)
        return elect(line, self.name, spoken)

    def _graph(self, line: Line) -> list[list[int]]:
        """Draw which agents each agent reads, and note it."""
        source = line.source("edges")
        graph = [
            [one for one in range(place) if source.random() < self.edges]
            for place in range(len(self.agents))
        ]
        line.note("plan", self.name, reads=graph)
        return graph

    @staticmethod
    def _reflected(line: Line, role: str, answer: Output) -> Output:
        known = [("Answer", words(answer))]
        thought = line.say(role, said(REFLECT.format(task=line.question), known))
        known.append(("Reflection", words(thought)))
        return line.say(role, said(REVISE.format(task=line.question), known))
