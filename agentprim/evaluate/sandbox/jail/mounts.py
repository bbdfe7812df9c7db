"""Make every file read-only, but for one folder in memory."""

import ctypes

_LIBC = ctypes.CDLL(None, use_errno=True)
_PRIVATE, _NOSUID, _NODEV = 1 << 18, 2, 4
_RECURSIVE = 1 << 14
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1


def seal(folder: str, mib: int, user: int | None) -> bool:
    """Make this mount namespace read-only, and put a fresh file system over a folder.

    Args:
        folder: Where it may be written.
        mib: How much, MiB.
        user: Whose the folder shall be; None leaves it to the current user.

    Returns:
        Whether that was done.
    """
    if _LIBC.mount(None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None) != 0:
        return False
    # struct mount_attr: set, clear, propagation, user namespace
    attributes = (ctypes.c_uint64 * 4)(_READ_ONLY, 0, 0, 0)
    done = _LIBC.syscall(
        ctypes.c_long(_MOUNT_SETATTR), ctypes.c_int(_AT_FDCWD), ctypes.c_char_p(b"/"),
        ctypes.c_uint(_AT_RECURSIVE), attributes, ctypes.c_size_t(32),
    )  # fmt: skip
    if done != 0:
        return False
    flags = ctypes.c_ulong(_NOSUID | _NODEV)
    owner = f",uid={user},gid={user}" if user is not None else ""
    options = f"size={mib}m,mode=700{owner}".encode()
    if _LIBC.mount(b"tmpfs", folder.encode(), b"tmpfs", flags, options) != 0:
        return False
    # of its own processes only; not granted everywhere, and not needed
    _LIBC.mount(b"proc", b"/proc", b"proc", flags, None)
    return True
