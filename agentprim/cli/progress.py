"""Progress: who works right now, on a terminal; and the answer as it is decoded."""

import sys
from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner


class Progress:
    """A line on stderr that names the current role while a `with` lasts; call it to change it.

    Where stderr is no terminal, nothing is shown, or one line for each message.
    """

    def __init__(self, *, lines: bool = False) -> None:
        """Prepare it; `lines` shows messages where there is no terminal, too."""
        # the stream as it is now: what others write is silenced by replacing sys.stderr
        self._console = Console(file=sys.stderr)
        self._lines = lines and not self._console.is_terminal
        self._spinner = Spinner("dots", text="starts ...")
        self._live = Live(
            self._spinner,
            console=self._console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.prefix = ""

    def __enter__(self) -> Self:
        """Show it."""
        self._live.start()
        return self

    def __exit__(self, *fault) -> None:
        """Take it away."""
        self._live.stop()

    def __call__(self, message: str) -> None:
        """Say what goes on."""
        text = f"{self.prefix}{message} ..."
        self._spinner.update(text=text)
        if self._lines:
            self._console.print(text, highlight=False, markup=False)

    def stop(self) -> None:
        """Take it away early."""
        self._live.stop()

    def stream(self, out: Console) -> Callable[[str], None]:
        """Return a function that writes pieces of an answer; the first one ends the progress."""

        def emit(text: str) -> None:
            self._live.stop()
            out.file.write(text)
            out.file.flush()

        return emit
