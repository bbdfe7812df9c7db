"""Installations that must succeed: no CUDA toolkit, no compiler, a stray CUDA_HOME.

Kinds of failure seen elsewhere: github.com/nerfstudio-project/gsplat/issues/197,
github.com/1ytic/pytorch-edit-distance/issues/9, github.com/pytorch/extension-cpp/issues/26.
Nothing is downloaded: the environment that runs the tests has what a build needs.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("setup.py", "pyproject.toml", "CMakeLists.txt", "LICENSE", "README.md", "MANIFEST.in",
           "csrc", "agentprim", "agentprim_kernels")  # fmt: skip

pytestmark = [
    pytest.mark.install,
    pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed"),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Copy the tree without anything built in it."""
    folder = tmp_path_factory.mktemp("sources")
    built = shutil.ignore_patterns("*.so", "_build.json", "__pycache__")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=built)
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Return an environment in which no CUDA toolkit can be found."""
    tools = tmp_path_factory.mktemp("tools")
    for tool in ("cmake", "c++", "g++", "git"):
        if path := shutil.which(tool):
            (tools / tool).symlink_to(path)
    folders = [p for p in os.environ["PATH"].split(":") if not (Path(p) / "nvcc").exists()]
    hidden = ("CUDA_HOME", "CUDA_PATH", "CUDACXX", "CUDAARCHS", "CXX", "AGENTPRIM_NATIVE",
              "PYTHONPATH")  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return kept | {"PATH": ":".join([str(tools), *folders]), "CMAKE_BUILD_PARALLEL_LEVEL": "2"}


def install(sources, target, environment):
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation",
               "--no-index", "--target", target, sources]  # fmt: skip
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def run_numbers(target, folder, environment):
    """Run the ops of an installation in its own process; return its report and numbers."""
    out = folder / "numbers.pt"
    done = subprocess.run(
        [sys.executable, ROOT / "tests/install/handover.py", out],
        env=environment | {"PYTHONPATH": str(target)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["file"].startswith(str(target))
    return report, torch.load(out)


@pytest.fixture(scope="module")
def with_compiler(sources, environment, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    done = install(sources, folder / "site", environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return run_numbers(folder / "site", folder, environment)


@pytest.fixture(scope="module")
def without_compiler(with_compiler, sources, environment, tmp_path_factory):
    # after the other on purpose: what was built of these sources then must not be picked up
    folder = tmp_path_factory.mktemp("pure")
    done = install(sources, folder / "site", environment | {"CXX": "false"})
    assert done.returncode == 0, done.stdout + done.stderr
    return run_numbers(folder / "site", folder, environment)


def test_without_nvcc_the_module_is_built_for_the_cpu(with_compiler):
    report, _ = with_compiler
    assert report["native"] and report["compiler"]
    assert not report["cuda"] and "no nvcc was found" in report["cuda_reason"]
    assert set(report["impls"]["cpu"].values()) == {"cpp"}


def test_without_a_compiler_it_is_pure_python_with_the_reason(with_compiler, without_compiler):
    report, _ = without_compiler
    assert not report["native"] and "compiler" in report["native_reason"].lower()
    assert set(report["impls"]["cpu"].values()) == {"reference"}


def test_pure_python_gives_the_same_numbers(with_compiler, without_compiler):
    (_, compiled), (_, pure) = with_compiler, without_compiler
    assert compiled.keys() == pure.keys()
    for name in compiled:
        torch.testing.assert_close(compiled[name], pure[name], rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["missing", "empty", "broken"])
def test_stray_cuda_home_only_means_no_cuda(sources, environment, tmp_path, kind):
    home = tmp_path / "cuda"
    if kind != "missing":
        (home / "bin").mkdir(parents=True)
    if kind == "broken":
        (home / "bin/nvcc").write_text("#!/bin/sh\necho not this one >&2\nexit 1\n")
        (home / "bin/nvcc").chmod(0o755)
    import pybind11

    command = ["cmake", "-S", sources, "-B", tmp_path / "build", "-G", "Ninja",
               f"-DPython_EXECUTABLE={sys.executable}",
               f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"]  # fmt: skip
    ninja = shutil.which("ninja") or str(Path(sys.executable).parent / "ninja")
    command.append(f"-DCMAKE_MAKE_PROGRAM={ninja}")
    stray = environment | {"CUDA_HOME": str(home)}
    done = subprocess.run(command, env=stray, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    built = json.loads((tmp_path / "build/built.json").read_text())
    assert built["cuda"] == ""
    assert ("does not run" if kind == "broken" else "no nvcc") in built["cuda_reason"]


def test_required_module_that_does_not_build_fails_the_installation(sources, environment, tmp_path):
    wanted = environment | {"CXX": "false", "AGENTPRIM_NATIVE": "require"}
    done = install(sources, tmp_path / "site", wanted)
    assert done.returncode != 0
    assert "AGENTPRIM_NATIVE=require, but: " in done.stdout + done.stderr
    assert not (tmp_path / "site").exists()


def test_skipped_module_is_not_built(sources, environment, tmp_path):
    done = install(sources, tmp_path / "site", environment | {"AGENTPRIM_NATIVE": "skip"})
    assert done.returncode == 0, done.stdout + done.stderr
    report, _ = run_numbers(tmp_path / "site", tmp_path, environment)
    assert not report["native"] and "AGENTPRIM_NATIVE=skip" in report["native_reason"]


def test_unknown_mode_is_refused(sources, environment, tmp_path):
    done = install(sources, tmp_path / "site", environment | {"AGENTPRIM_NATIVE": "maybe"})
    assert done.returncode != 0
    assert "AGENTPRIM_NATIVE must be" in done.stdout + done.stderr
