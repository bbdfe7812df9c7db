"""Keep other libraries from writing between our lines."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr

from transformers.utils import logging


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings and progress bars of transformers and of what it calls, for a while.

    Faults still come as exceptions, which carry their message themselves.
    """
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # its handler has taken its stream long ago
    try:
        # our own progress has taken its stream before, too; bars take theirs when they start
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
