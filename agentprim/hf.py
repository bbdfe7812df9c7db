"""For existing Hugging Face loops: paged and joined caches without an engine.

from agentprim.hf import PagedCache, join_caches, relocate
"""

from agentprim.cache.attach import attach
from agentprim.cache.dense import join_caches, relocate
from agentprim.cache.hf import PagedCache

__all__ = ["PagedCache", "attach", "join_caches", "relocate"]
