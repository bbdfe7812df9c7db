"""Namespaces, limits and the end of every descendant, by the kernel's own calls."""

import ctypes
import math
import os
import resource
import signal
import sys
import time
from pathlib import Path

import mounts

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW = {"files": 0x00020000, "ipc": 0x08000000, "processes": 0x20000000, "network": 0x40000000}
_NEW_USER = 0x10000000
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS = 1, 8
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_CAPABILITIES_3, _READ_ANY_FILE = 0x20080522, 1 << 2


def adopt() -> None:
    """Die with the caller, and become the parent of descendants that lose theirs."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def unshare() -> set[str]:
    """Leave the caller's namespaces, as far as the kernel lets us; return which."""
    if not hasattr(_LIBC, "unshare"):
        return set()
    everything = sum(_NEW.values())
    user, group = os.getuid(), os.getgid()
    if _LIBC.unshare(everything) == 0:
        return {"network", "processes", "mounts"}
    if _LIBC.unshare(everything | _NEW_USER) == 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        return {"network", "processes", "mounts"}
    return {name for name in ("network", "processes") if _LIBC.unshare(_NEW[name]) == 0}


def enter(folder: str, limits: dict, held: set[str], boss: int) -> set[str]:
    """Give up every right and set every limit; return the isolation that is in force.

    Args:
        folder: The only place to write; becomes the working folder.
        limits: As `SandboxLimits`.
        held: What `unshare` returned.
        boss: Process id of the supervisor.
    """
    held = set(held)
    os.setsid()
    user, drop = 60000 + boss % 5000, os.getuid() == 0
    if "mounts" in held and mounts.seal(folder, limits["disk_mib"], user if drop else None):
        held.add("files")
    held.discard("mounts")
    # an interpreter in root's own folder must stay readable
    keep = 0 if _readable_by_all(sys.path) else _READ_ANY_FILE
    if drop and _become(user, folder):
        held.add("user")
    os.chdir(folder)
    _limit(limits)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _keep_capabilities(keep)
    # after the change of user, which clears it
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if "processes" not in held and os.getppid() != boss:
        os._exit(1)
    return held


def sweep(pid: int) -> None:
    """Kill the worker and every descendant of this process, and wait for their end."""
    end = time.monotonic() + 2
    _kill(pid)
    while time.monotonic() < end:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for child in _children():
            _kill(child)
        time.sleep(0.002)


def _children() -> list[int]:
    """List this process's children; orphans below it have become such."""
    me, found = os.getpid(), []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == me:
            found.append(int(path.parent.name))
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _limit(limits: dict) -> None:
    mib = 1 << 20
    seconds = math.ceil(limits["seconds"] + 5 * limits["prepare_seconds"])
    for name, value in (
        ("AS", limits["memory_mib"] * mib), ("CPU", seconds), ("CORE", 0),
        ("FSIZE", limits["disk_mib"] * mib), ("NOFILE", limits["files"]),
        ("NPROC", limits["processes"]),
    ):  # fmt: skip
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _readable_by_all(paths: list[str]) -> bool:
    """Tell whether another user could still import what this one can."""
    for path in map(Path, [sys.executable, *paths]):
        folders = path.resolve().parents if path.is_file() else [path, *path.resolve().parents]
        if any(part.is_dir() and not part.stat().st_mode & 0o001 for part in folders):
            return False
    return True


def _become(user: int, folder: str) -> bool:
    """Take on a user id of our own."""
    try:
        os.chown(folder, user, user)
        _prctl(_PR_SET_KEEPCAPS, 1)
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    except OSError:
        return False
    return True


def _keep_capabilities(kept: int) -> None:
    if hasattr(_LIBC, "capset"):
        header = (ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0)
        # effective, permitted, inheritable, and again for capabilities above 31
        _LIBC.capset(header, (ctypes.c_uint32 * 6)(kept, kept, 0, 0, 0, 0))


def _prctl(option: int, value: int) -> None:
    if hasattr(_LIBC, "prctl"):
        _LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0)
