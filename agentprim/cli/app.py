"""The command line's entry: its commands, and faults as one line instead of a traceback."""

import sys
from collections.abc import Sequence

import typer
from typer.core import TyperGroup

from agentprim.cli.bench import bench
from agentprim.cli.calibrate import calibrate
from agentprim.cli.decide import decide
from agentprim.cli.demo import demo
from agentprim.cli.evaluate import evaluate
from agentprim.cli.info import info
from agentprim.cli.inspect import inspect
from agentprim.cli.plan import plan
from agentprim.cli.pool import pool
from agentprim.cli.report import report
from agentprim.cli.run import run
from agentprim.cli.solve import solve
from agentprim.cli.verify import verify
from agentprim.cli.workflow import workflow
from agentprim.errors import PlanError


class Commands(TyperGroup):
    """Commands that end with one line on stderr where something is wrong."""

    def main(self, args: Sequence[str] | None = None, *more, **options) -> None:
        """Run, and exit with 0, with 2 for what the caller got wrong, or with 1."""
        given = list(sys.argv[1:] if args is None else args)
        try:
            code = super().main(given, *more, **{**options, "standalone_mode": False})
        except Exception as error:
            if "--debug" in given:
                raise
            message, code = explain(error)
            if message:
                print(f"agentprim: {message}", file=sys.stderr)
        sys.exit(code if isinstance(code, int) else 0)


def explain(error: Exception) -> tuple[str, int]:
    """Turn a fault into one line and an exit code."""
    if isinstance(error, typer.Abort):
        return "interrupted", 130
    if hasattr(error, "format_message"):  # typer's own; its base class has moved between releases
        return " ".join(error.format_message().split()), error.exit_code
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, ValueError | PlanError):
        return text, 2
    return f"{text} (--debug shows where)", 1


app = typer.Typer(
    cls=Commands,
    help="Agents that share one model hand each other their KV caches instead of text.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(run)
app.command()(solve)
app.command()(plan)
app.command()(demo)
app.command()(info)
app.command()(bench)
app.command()(decide)
app.command()(calibrate)
app.command()(verify)
app.command()(inspect)
app.command(name="eval")(evaluate)
app.command()(report)
app.add_typer(workflow, name="workflow")
app.add_typer(pool, name="pool")


def main() -> None:
    """Run the command line with the arguments of this process."""
    app()
