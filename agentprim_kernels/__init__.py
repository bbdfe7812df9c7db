"""Paged KV kernels for caches that move: rotate, store, materialize, select, attend.

Knows tensors, pages, slots and angles; nothing of models. Needs only torch; Triton and the
compiled module are used where they are there.
"""

from agentprim_kernels.angles import rotation
from agentprim_kernels.attend import attend
from agentprim_kernels.build_info import build_info
from agentprim_kernels.cascade import Cascade, cascade
from agentprim_kernels.copy_pages import copy_pages_
from agentprim_kernels.materialize import materialize_
from agentprim_kernels.pack_pages import pack_pages_, unpack_pages_
from agentprim_kernels.pool import PagePool, PoolExhausted
from agentprim_kernels.rotate import rotate_
from agentprim_kernels.select import select_
from agentprim_kernels.staging_ring import StagingRing
from agentprim_kernels.store import store_

__all__ = [
    "Cascade",
    "PagePool",
    "PoolExhausted",
    "StagingRing",
    "attend",
    "build_info",
    "cascade",
    "copy_pages_",
    "materialize_",
    "pack_pages_",
    "rotate_",
    "rotation",
    "select_",
    "store_",
    "unpack_pages_",
]
