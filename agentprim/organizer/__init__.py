"""Organizers: from a query and a pool of known structures to a plan, and a system that runs it."""

from agentprim.organizer.choose import Chooser
from agentprim.organizer.embed import HiddenStates
from agentprim.organizer.entry import Entry, Pattern
from agentprim.organizer.local import Local
from agentprim.organizer.organizer import FALLBACK, Organizer
from agentprim.organizer.pool import KnowledgePool, Stats
from agentprim.organizer.proposal import Proposal
from agentprim.organizer.remote import Remote
from agentprim.organizer.reply import Backend, Reply, Unanswered
from agentprim.organizer.system import System

__all__ = [
    "FALLBACK", "Backend", "Chooser", "Entry", "HiddenStates", "KnowledgePool", "Local",
    "Organizer", "Pattern", "Proposal", "Remote", "Reply", "Stats", "System", "Unanswered",
]  # fmt: skip
