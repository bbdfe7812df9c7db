"""What others write stays away, and what the model says comes through untouched."""

import io
import sys
import warnings
from logging import StreamHandler

from rich.console import Console
from tqdm.auto import tqdm as plain_bar
from transformers.utils import logging

from agentprim.cli.progress import Progress
from agentprim.cli.quiet import quiet


def make_noise():
    logging.get_logger("transformers.modeling").warning("a warning")
    warnings.warn("another warning", stacklevel=1)
    list(logging.tqdm(range(2), desc="a bar of theirs"))
    list(plain_bar(range(2), desc="a bar of nobody"))


def test_nothing_of_others_reaches_the_terminal_and_their_settings_come_back(capfd):
    before, log = (logging.get_verbosity(), sys.stderr), io.StringIO()
    handler = StreamHandler(log)
    logging.add_handler(handler)
    with quiet():
        make_noise()
    logging.remove_handler(handler)
    assert capfd.readouterr() == ("", "")
    assert log.getvalue() == ""
    assert before == (logging.get_verbosity(), sys.stderr)


def test_an_answer_is_written_as_it_is():
    file = io.StringIO()
    text = "[bold]not markup[/bold] :smile: 1234 " + "word " * 40 + "\n  end"
    with Progress() as progress:
        emit = progress.stream(Console(file=file, width=40, force_terminal=True))
        for piece in (text[:20], text[20:]):
            emit(piece)
    assert file.getvalue() == text


def test_messages_name_the_work_on_lines_where_there_is_no_terminal(capsys):
    with Progress(lines=True) as progress, quiet():
        progress.prefix = "1/7 review: "
        progress("critic works")
    with Progress() as progress:
        progress("nothing of this is shown")
    assert capsys.readouterr().err == "1/7 review: critic works ...\n"
