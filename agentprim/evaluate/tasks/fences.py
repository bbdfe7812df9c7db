"""Take the code out of an answer."""

import ast
import re
import warnings

_FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE
)


def extract_code(text: str, name: str, *, prompt: str = "") -> str | None:
    """Return the code of an answer that defines a function.

    The last fenced block that compiles and defines it, after those that only import; otherwise all
    blocks together; otherwise the
    answer as it stands, or its longest beginning that compiles; otherwise, where the answer only
    goes on with a function, the prompt and the answer.

    Args:
        text: What a model wrote.
        name: Of the function.
        prompt: The beginning of a function that the model may have completed.

    Returns:
        None where nothing defines it.
    """
    raw = [match[3] for match in _FENCE.finditer(text)]
    blocks = [_even(block) for block in raw]
    for place in reversed(range(len(blocks))):
        if _defines(blocks[place], name):
            return "\n".join([*filter(_imports_only, blocks[:place]), blocks[place]])
    for code in ("\n".join(blocks), text):
        if _defines(code, name):
            return code
    for code in [*reversed(blocks), text]:
        for beginning in _beginnings(code):
            if _defines(beginning, name):
                return beginning
    for code in [*reversed(raw), text] if prompt else []:
        for body in _beginnings(prompt + code):
            if len(body.strip()) > len(prompt.strip()) and _defines(body, name):
                return body
    return None


def behind(before: str, code: str) -> str:
    """Put code behind what it builds on; imports from the future stay at the very front."""
    first = [
        node for node in _statements(code)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
    ]  # fmt: skip
    return "\n".join([*map(ast.unparse, first), before, *_without(code, first)])


def _without(code: str, nodes: list[ast.stmt]) -> list[str]:
    gone = {line for node in nodes for line in range(node.lineno, node.end_lineno + 1)}
    return [line for n, line in enumerate(code.split("\n"), 1) if n not in gone]


def _even(block: str) -> str:
    """Remove the indentation that a block shares with its fence."""
    lines = block.split("\n")
    shared = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[shared:] for line in lines)


def _beginnings(code: str) -> list[str]:
    """List a text without its last lines, the longest first, as far as that is worth a try."""
    lines = code.split("\n")
    return ["\n".join(lines[:end]) for end in range(len(lines), max(0, len(lines) - 60), -1)]


def _defines(code: str, name: str) -> bool:
    """Tell whether code compiles and defines a name at its top."""
    return any(name in _names(node) for node in _statements(code))


def _imports_only(code: str) -> bool:
    found = _statements(code)
    return bool(found) and all(isinstance(node, ast.Import | ast.ImportFrom) for node in found)


def _statements(code: str) -> list[ast.stmt]:
    """Parse code that compiles; otherwise there are none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
            compile(tree, "<answer>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return tree.body


def _names(node: ast.stmt) -> set[str]:
    """Return what a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}
