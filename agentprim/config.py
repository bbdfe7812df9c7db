"""The version, and sizes that a user may set, with the defaults that were measured."""

from dataclasses import dataclass

VERSION = "0.1.0"


@dataclass(frozen=True, kw_only=True)
class PoolConfig:
    """Size of a KV pool.

    Attributes:
        tokens: Slots in the pool, shared by all KVs of an engine; rounded up to whole pages.
        page_size: Slots in a page.
    """

    tokens: int = 65536
    page_size: int = 16

    def __post_init__(self) -> None:
        """Check both numbers."""
        if self.tokens < 1:
            raise ValueError(f"pool_tokens must be at least 1, got {self.tokens}")
        if self.page_size < 1:
            raise ValueError(f"page_size must be at least 1, got {self.page_size}")

    @property
    def pages(self) -> int:
        """Number of pages."""
        return -(-self.tokens // self.page_size)
