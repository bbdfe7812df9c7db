"""Trust: every model certified or refused, every hand-over measured."""

from agentprim.engine.certificate import Certificate, Fidelity, Interval, RopeKind
from agentprim.engine.way import Way
from agentprim.trust.auto import Auto
from agentprim.trust.mass import Mass, attention_mass
from agentprim.trust.verify import verify

__all__ = [
    "Auto",
    "Certificate",
    "Fidelity",
    "Interval",
    "Mass",
    "RopeKind",
    "Way",
    "attention_mass",
    "verify",
]
