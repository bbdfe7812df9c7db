"""The organizer: asks a model for a plan that suits a query. It does not answer the query."""

from collections.abc import Sequence

from agentprim.organizer.backends import backend
from agentprim.organizer.draft import Draft
from agentprim.organizer.entry import Entry
from agentprim.organizer.pool import KnowledgePool
from agentprim.organizer.proposal import Proposal
from agentprim.workflow import Plan

# independent solvers and a selector: the structure that asks least of a query
FALLBACK = Plan.from_dict(
    {"name": "fallback", "steps": [{"id": "vote", "primitive": "voting", "parameters": {
        "solvers": 3}}]}
)  # fmt: skip


class Organizer:
    """Maps a query to a plan. *Agent Primitives* (arXiv 2602.03695), section 3.

    The model is told the primitives and the structures of the knowledge pool that fit the query.
    What it writes is parsed and checked; if it is no plan that can run, it is asked once more with
    the error. If that fails too, or nobody answers, the fallback plan stands in, and the proposal
    says so.

        organizer = Organizer(engine, KnowledgePool.builtin())
        plan = organizer.plan("What is 17 * 23?")
    """

    def __init__(
        self,
        llm,
        knowledge: KnowledgePool | None = None,
        *,
        k: int = 3,
        retries: int = 1,
        fallback: Plan | None = FALLBACK,
    ) -> None:
        """Choose a model and a pool.

        Args:
            llm: An `Engine`, which is held to a schema; a `Remote` endpoint, or another
                `Backend`; or a function from chat messages to text, which may raise `Unanswered`;
                what else it raises is no reason for the fallback and is raised as it is.
            knowledge: Where structures come from; None shows the model none.
            k: How many structures it is shown.
            retries: How often a refused reply is asked again.
            fallback: Stands in where there is no plan; None raises instead.

        Raises:
            TypeError, ValueError: An argument is of another type, or below 0.
        """
        if k < 0:
            raise ValueError(f"k must be at least 0, got {k}")
        if retries < 0:
            raise ValueError(f"retries must be at least 0, got {retries}")
        self.llm, self.knowledge = backend(llm), knowledge
        self.k, self.retries, self.fallback = k, retries, fallback

    def plan(self, query: str) -> Plan:
        """Return a plan for a query; `propose` says where it comes from.

        Raises:
            PlanError: There is none, and no fallback.
        """
        return self.propose(query).plan

    def propose(self, query: str) -> Proposal:
        """Return a plan for a query with its story.

        Raises:
            PlanError: There is none, and no fallback.
        """
        return self.propose_each([query])[0]

    def propose_each(self, queries: Sequence[str]) -> list[Proposal]:
        """Return a plan for each query, as `propose` does, but ask for all of them at once.

        Those whose reply was refused are asked again together. What a proposal says, and what it
        cost, is of its query alone.

        Raises:
            PlanError: A query has none, and there is no fallback; all were asked by then.
        """
        drafts = [Draft(query=query, entries=self._shown(query)) for query in queries]
        for _ in range(1 + self.retries):
            if not (still := [draft for draft in drafts if draft.open]):
                break
            replies = self.llm.each([draft.messages for draft in still])
            for draft, reply in zip(still, replies, strict=True):
                draft.take(reply)
        return [draft.proposal(self.fallback) for draft in drafts]

    def _shown(self, query: str) -> list[Entry]:
        if self.knowledge is None or not self.k:
            return []
        return [entry for entry, _ in self.knowledge.search(query, self.k)]
