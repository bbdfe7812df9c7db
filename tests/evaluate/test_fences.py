"""Code is found in fences, without them, and as the rest of a function."""

import pytest

from agentprim.evaluate.tasks.fences import extract_code

PROMPT = 'def f(x):\n    """Return x."""\n'


def run(text: str) -> object:
    """Call what was extracted."""
    code = extract_code(text, "f", prompt=PROMPT)
    if code is None:
        return None
    names = {}
    exec(code, names)
    return names["f"](3)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("Here:\n```python\ndef f(x):\n    return x\n```\nDone.", 3),
        ("```py\ndef f(x):\n    return 1\n```\nBetter:\n```py\ndef f(x):\n    return 2\n```", 2),
        ("```\nimport math\n```\n```\ndef f(x):\n    return math.floor(x)\n```", 3),
        ("```python\ndef f(x):\n    return 1\n```\nUse it:\n```python\nprint(f(2))\n```", 1),
        ("def f(x):\n    return x\nThis returns x.", 3),
        ("  ```python\n  def f(x):\n      return x\n  ```", 3),
        ("f = lambda x: x", 3),
        ("    return x\n", 3),
        ("```python\n    return x\n```", 3),
        ("```python\ndef f(x):\n    return x\n\nprint(f(1)\n", 3),
        ("```python\ndef g(x):\n    return x\n```", None),
        ("I cannot.", None),
        ("", None),
        ("(" * 5000, None),
    ],
)
def test_the_function_is_found(text, result):
    assert run(text) == result
