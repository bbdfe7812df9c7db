"""Where a dense cache would be read wrongly: there a mask counts columns, not positions."""

from collections.abc import Iterable

from agentprim.cache.layout import Layout
from agentprim.cache.span import Span
from agentprim.errors import UnsupportedModel


def check_columns(layout: Layout, spans: Iterable[Span]) -> None:
    """Check that a mask over columns sees what one over positions would.

    A causal mask does, whatever the gaps. A window or a chunk counts columns, so positions must be
    consecutive, or all tokens near enough to see each other; chunks also count from column 0. A
    model whose positions are not proved may count columns anywhere.

    Args:
        layout: Of the model.
        spans: All tokens of a row, new ones included.

    Raises:
        UnsupportedModel: The row would be read wrongly.
    """
    spans = list(spans)
    if not spans:
        return
    first, last = min(span.start for span in spans), max(span.stop for span in spans)
    extent = max(last - first, sum(span.length for span in spans))
    places = [span.start for span in spans[1:]]
    consecutive = not any(span.positions for span in spans) and places == [
        span.stop for span in spans[:-1]
    ]
    if layout.rope is None:
        if not consecutive or first:
            _refuse(layout, "positions that are not proved", "it may count columns instead")
    elif layout.rope.chunk_size is not None:
        size = layout.rope.chunk_size
        together = first // size == (last - 1) // size and extent <= size
        if not together and (not consecutive or first):
            _refuse(layout, f"chunks of {size} columns", "positions differ from columns")
    elif layout.window is not None and extent > layout.window and not consecutive:
        _refuse(layout, f"a window of {layout.window} columns", "positions have gaps in it")


def _refuse(layout: Layout, feature: str, reason: str) -> None:
    raise UnsupportedModel.because(layout.model_class, feature, reason)
