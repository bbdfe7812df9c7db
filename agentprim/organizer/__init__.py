"""Organizers: from a query and a pool of known structures to a plan, and a system that runs it."""

from agentprim.organizer.backends import Local, Remote, Reply, Unanswered
from agentprim.organizer.choose import Chooser
from agentprim.organizer.embed import HiddenStates
from agentprim.organizer.entry import Entry, Pattern
from agentprim.organizer.organizer import FALLBACK, Organizer
from agentprim.organizer.pool import KnowledgePool, Stats
from agentprim.organizer.proposal import Proposal
from agentprim.organizer.system import System

__all__ = [
    "FALLBACK", "Chooser", "Entry", "HiddenStates", "KnowledgePool", "Local", "Organizer",
    "Pattern", "Proposal", "Remote", "Reply", "Stats", "System", "Unanswered",
]  # fmt: skip
