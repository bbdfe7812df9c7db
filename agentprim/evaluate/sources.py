"""Sources: digest the module of a method or a task, and all of ours that it imports."""

import ast
import functools
import hashlib
import inspect
from pathlib import Path

import agentprim.config

ROOT = Path(agentprim.config.__file__).parents[1]
# what lies below these floors is told by the version, the model and its fingerprint
FLOORS = ("trust", "decide", "agent", "primitives", "workflow", "organizer", "evaluate")
# programs that are started by their path and not imported, by the module that starts them
STARTED = {"agentprim/evaluate/sandbox/run.py": "agentprim/evaluate/sandbox/jail"}


def source_digest(thing: object) -> str:
    """Digest the source that decides what a thing does; see `closure`.

    Args:
        thing: A method or a task, or any function or instance of a class.
    """
    defined = inspect.getfile(thing if inspect.isfunction(thing) else type(thing))
    return closure_digest(Path(defined), ROOT)


def closure_digest(start: Path, root: Path) -> str:
    """Digest the files of `closure`, wherever they lie."""
    files = closure(start, root)
    each = sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    return hashlib.sha256("".join(each).encode()).hexdigest()[:16]


def closure(start: Path, root: Path) -> set[Path]:
    """Return a module and those it imports, directly or not, also inside functions.

    Followed are modules of `FLOORS`. A package counts where names are taken from it, and not where
    only a module inside it is imported. A program of `STARTED` counts with the
    module that starts it.

    Args:
        start: File of the module.
        root: The folder where the package `agentprim` lies.
    """
    found, new = set(), {start}
    while new:
        file = new.pop()
        found.add(file)
        files = {_file(name, root) or _file(name.rpartition(".")[0], root)
                 for name in _imports(file.read_bytes())}  # fmt: skip
        for starting, folder in STARTED.items():
            if file == root / starting:
                files |= set((root / folder).glob("*.py"))
        new |= files - found - {None}
    return found


@functools.cache
def _imports(source: bytes) -> frozenset[str]:
    """List what a source imports from `FLOORS`: names of modules, or of what is in them."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = tuple(f"agentprim.{floor}." for floor in FLOORS)
    return frozenset(name for name in names if f"{name}.".startswith(ours))


def _file(name: str, root: Path) -> Path | None:
    """Find the file of a module, or of a package; None for anything else."""
    path = root.joinpath(*name.split("."))
    places = (path.with_suffix(".py"), path / "__init__.py")
    return next((place for place in places if place.is_file()), None)
