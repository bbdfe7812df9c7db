"""Options that several commands share."""

from typing import Annotated

import typer

Model = Annotated[
    str, typer.Option(help="Hugging Face name or folder; 'smollm2' is the small one of the demo.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of a fault.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
