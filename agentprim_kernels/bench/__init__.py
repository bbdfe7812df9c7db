"""Short benchmarks of the ops beside plain torch, on data of a real model's size.

Used by `agentprim bench` and by the benchmarks of the source tree. What is timed was checked first.
"""

from agentprim_kernels.bench.case import Case
from agentprim_kernels.bench.cases import CASES
from agentprim_kernels.bench.runner import Row, run
from agentprim_kernels.bench.timing import seconds_of

__all__ = ["CASES", "Case", "Row", "run", "seconds_of"]
