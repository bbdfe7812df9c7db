"""Voices: what a row says aloud, each piece once, also where its batch has to begin again."""

from collections.abc import Callable

Say = Callable[[str], None]


class Voice:
    """Passes on the pieces of a text, but for those that an earlier attempt at it has said."""

    def __init__(self, say: Say) -> None:
        """Begin with nothing."""
        self._say, self._said = say, ""

    def attempt(self) -> Say:
        """Return what takes the pieces of a text from its beginning; another text is said whole."""
        heard = ""

        def say(piece: str) -> None:
            nonlocal heard
            heard += piece
            if self._said.startswith(heard):
                return
            self._say(heard.removeprefix(self._said))
            self._said = heard

        return say
