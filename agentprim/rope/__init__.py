"""Read how a model places its keys, prove it on the model at hand, refuse the rest."""

from agentprim.rope.probe import prove
from agentprim.rope.spec import LayerRope, RopeProof

__all__ = ["LayerRope", "RopeProof", "prove"]
