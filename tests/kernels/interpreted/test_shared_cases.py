"""Every test that takes an implementation, run by the Triton kernels."""

import importlib
import inspect

OPS = ("rotate", "store", "materialize", "select", "attend")

for _op in OPS:
    _module = importlib.import_module(f"tests.kernels.test_{_op}")
    for _name, _test in list(vars(_module).items()):
        if _name.startswith("test_") and "impl" in inspect.signature(_test).parameters:
            globals()[_name.replace("test_", f"test_{_op}_", 1)] = _test


def test_every_op_brings_tests():
    for op in OPS:
        assert sum(name.startswith(f"test_{op}_") for name in globals()) >= 2
