"""Reports: the papers' tables and curves, as far as runs hold them, and why cells are missing."""

from agentprim.evaluate.report.write import write

__all__ = ["write"]
