"""The trace file of a command: one JSON object a line, what happened first and the answer last."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from agentprim.engine import Output


@contextmanager
def tracing(path: Path | None) -> Iterator[Callable[[Output], None]]:
    """Open a trace file, where one is asked for, and give a function that writes an answer to it.

    It is opened first: a place that cannot be written shall not cost a model's time.
    """
    with path.open("w") if path else nullcontext() as lines:

        def write(answer: Output) -> None:
            if lines is not None:
                lines.writelines(json.dumps(one) + "\n" for one in story(answer))

        yield write


def story(answer: Output) -> list[dict]:
    """List every event as plain data, and the answer last."""
    last = {"kind": "answer", "text": str(answer), "finish": answer.finish}
    return [*(event.to_dict() for event in answer.trace), {**last, **answer.usage.total.to_dict()}]
