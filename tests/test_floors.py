"""The floors: imports point down only, and a few doors are the only ones of their kind."""

import ast
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GROUND = ["config", "errors", "rope"]
FLOORS = [
    "cache", "engine", "trust", "decide", "agent", "primitives", "workflow", "organizer",
    "evaluate", "cli",
]  # fmt: skip
OPS = {"rotate", "store", "materialize", "select", "attend", "copy_pages"}
FILES = sorted([*ROOT.glob("agentprim/**/*.py"), *ROOT.glob("agentprim_kernels/**/*.py")])
SOURCES = [
    path for pattern in ("agentprim*/**/*.py", "tests/**/*.py", "bench/**/*.py", "csrc/**/*.*")
    for path in ROOT.glob(pattern)
]  # fmt: skip


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.AST) -> list[tuple[str, list[str]]]:
    """List what is imported: the module, and the names taken from it."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(name.name, []) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports must be absolute"
            found.append((node.module, [name.name for name in node.names]))
    return found


def _at_import_time(tree: ast.AST) -> ast.Module:
    """Keep the statements that run when a module is imported."""

    def keep(body):
        found = []
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                continue
            found.append(node)
            for name in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, name, None), list):
                    setattr(node, name, keep(getattr(node, name)) or [ast.Pass()])
        return found

    return ast.Module(body=keep(tree.body), type_ignores=[])


def _floor(module: str) -> int | None:
    """Return the height of a module: -1 for the ground, None for the faces on top."""
    parts = module.split(".")
    if parts[0] != "agentprim" or len(parts) == 1 or parts[1] in ("hf", "__main__"):
        return None
    if parts[1] in GROUND:
        return -1
    assert parts[1] in FLOORS, f"{module} is on no floor"
    return FLOORS.index(parts[1])


def _targets(module: str, names: list[str]) -> list[str]:
    """List the modules that an import may mean; `from agentprim import agent` means one too."""
    return [f"{module}.{name}" for name in names] if module == "agentprim" else [module]


@pytest.mark.parametrize("path", FILES, ids=_module)
def test_imports_point_down_only(path):
    module, tree = _module(path), ast.parse(path.read_text())
    here = _floor(module)
    for imported, names in _imports(tree):
        top = imported.split(".")[0]
        if module.startswith("agentprim_kernels"):
            assert top not in ("agentprim", "transformers"), f"{module} imports {imported}"
        if here is None or top != "agentprim":
            continue
        for target in _targets(imported, names):
            parts = target.split(".")
            assert len(parts) > 1 and parts[1] != "hf", f"{module} imports a face: {target}"
            if imported == "agentprim" and parts[1] not in [*GROUND, *FLOORS]:
                assert here == len(FLOORS) - 1, f"{module} imports the face: {target}"
                continue
            assert _floor(target) <= here, f"{module} imports {target} from above"


@pytest.mark.parametrize("path", FILES, ids=_module)
def test_only_the_cache_floor_calls_kernels(path):
    module, tree = _module(path), ast.parse(path.read_text())
    if not module.startswith("agentprim.") or module.startswith("agentprim.cache"):
        return
    for imported, names in _imports(tree):
        if not imported.startswith("agentprim_kernels"):
            continue
        calls = {name.rstrip("_") for name in names} & OPS
        calls |= {part for part in imported.split(".")[1:] if part in OPS}
        assert not calls or module.startswith("agentprim.rope"), f"{module} calls {calls}"


@pytest.mark.parametrize("path", FILES, ids=_module)
def test_only_one_file_is_a_cache_of_transformers(path):
    module, tree = _module(path), ast.parse(path.read_text())
    if module == "agentprim.cache.hf":
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            bases = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
                     for base in node.bases}  # fmt: skip
            found = {base for base in bases if base.endswith(("Cache", "CacheLayerMixin"))}
            assert not found, f"{module}.{node.name} is a {found}"
    names = {name for _, names in _imports(tree) for name in names}
    assert not names & {"AttentionInterface", "AttentionMaskInterface"}, module


@pytest.mark.parametrize("path", FILES, ids=_module)
def test_triton_is_imported_late_and_by_the_kernels_alone(path):
    module, tree = _module(path), ast.parse(path.read_text())
    if module.startswith("agentprim_kernels.triton"):
        return
    early = {imported.split(".")[0] for imported, _ in _imports(_at_import_time(tree))}
    assert "triton" not in early, module
    assert "agentprim_kernels.triton" not in {
        imported for imported, _ in _imports(_at_import_time(tree))
    }, module


def test_importing_the_kernels_brings_nothing_of_the_floors_above_nor_triton():
    code = (
        "import sys, agentprim_kernels; bad = {'agentprim', 'transformers', 'triton'};"
        "assert not bad & set(sys.modules), bad & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_nothing_imports_everything():
    for path in FILES:
        assert "*" not in {n for _, names in _imports(ast.parse(path.read_text())) for n in names}


def test_no_environment_variable_decides_at_run_time():
    allowed = {"agentprim.engine.folder"}  # where the user's cache folder is
    for path in FILES:
        text = path.read_text()
        if _module(path) not in allowed:
            assert "os.environ" not in text and "getenv" not in text, path


def test_files_are_small():
    lines = {path: len(path.read_text().splitlines()) for path in SOURCES if path.is_file()
             and path.suffix in (".py", ".cpp", ".cu", ".h")}  # fmt: skip
    assert len(lines) > 100
    assert not [path for path, count in lines.items() if count > 300]
    assert statistics.median(lines.values()) <= 120
