"""Build the compiled module with CMake where that works; metadata is in pyproject.toml.

`AGENTPRIM_NATIVE` decides at build time: unset tries and goes on in pure Python with the reason
recorded, `require` makes a failed build fail the installation, `skip` does not try.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
MODES = ("", "require", "skip")


class CMakeBuild(build_ext):
    def run(self):
        mode = os.environ.get("AGENTPRIM_NATIVE", "")
        if mode not in MODES:
            raise SystemExit(f"AGENTPRIM_NATIVE must be unset, 'require' or 'skip', got {mode!r}")
        package = (ROOT if self.inplace else Path(self.build_lib).resolve()) / "agentprim_kernels"
        package.mkdir(parents=True, exist_ok=True)
        work = ROOT / "build" / "inplace" if self.inplace else Path(self.build_temp).resolve()
        report = {"native": False, "reason": "built with AGENTPRIM_NATIVE=skip"}
        if mode != "skip":
            report = build(work, fresh=not self.inplace)
        for stale in package.glob("_C*.so"):
            stale.unlink()
        if report["native"]:
            for module in work.glob("_C*.so"):
                shutil.copy2(module, package)
        (package / "_build.json").write_text(json.dumps(report, indent=2) + "\n")
        if report["native"]:
            return
        if mode == "require":
            raise SystemExit(f"AGENTPRIM_NATIVE=require, but: {report['reason']}")
        print(f"agentprim: no compiled module, pure Python instead: {report['reason']}")

    def get_outputs(self):
        return []

    def get_output_mapping(self):
        return {}


def build(work, *, fresh):
    """Build in a folder, without CUDA if only CUDA is at fault; return what `_build.json` says."""
    cuda_reason = None
    for cuda in ("ON", "OFF"):
        reason = run_cmake(work, cuda, fresh=fresh)
        if reason is None:
            report = {"native": True, "reason": "", **json.loads((work / "built.json").read_text())}
            return report | ({"cuda_reason": cuda_reason} if cuda_reason else {})
        cuda_reason = cuda_reason or f"the build with CUDA failed: {reason}"
    return {"native": False, "reason": reason}


def run_cmake(work, cuda, *, fresh):
    """Configure and build; return None, or why it failed, in one line."""
    try:
        import pybind11
    except ImportError:
        return "pybind11 is not installed"
    work.mkdir(parents=True, exist_ok=True)
    # a cache from an earlier isolated build names a ninja that has vanished: start afresh
    configure = [
        "cmake", *(["--fresh"] if fresh else []), "-S", str(ROOT), "-B", str(work), *generator(),
        "-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}",
        f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
        f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={work}", f"-DAGENTPRIM_CUDA={cuda}",
    ]  # fmt: skip
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    for command in (configure, ["cmake", "--build", str(work), "--parallel", jobs]):
        try:
            done = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except OSError as error:
            return f"cmake did not start ({error.strerror})"
        print(done.stdout)
        if done.returncode:
            return first_error(done.stdout)
    return None


def generator():
    """Name ninja and where it is, if it is installed as a package; else CMake's default."""
    try:
        import ninja
    except ImportError:
        return []
    return ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={Path(ninja.BIN_DIR) / 'ninja'}"]


def first_error(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for index, line in enumerate(lines):
        if "error" in line.lower():
            return " ".join(lines[index : index + 2])[:300]
    return (lines or ["cmake failed without a word"])[-1][:300]


setup(
    ext_modules=[Extension("agentprim_kernels._C", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
)
