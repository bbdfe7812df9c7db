"""What code in the sandbox may use, and what is said of it afterwards."""

from dataclasses import dataclass, fields

KINDS = ("network", "processes", "files", "user")


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """What code may use.

    Attributes:
        seconds: Wall time of the code and its check.
        prepare_seconds: Wall time of what the check prepares before, which is trusted.
        memory_mib: Address space of each process, MiB.
        processes: Most processes and threads at once.
        disk_mib: Most that one file, and all of them together where files are isolated, may take.
        files: Most open files.
        output: Most characters that are kept of what is printed.
        need: Kinds of isolation without which nothing is run; see `Ran.isolation`.
    """

    seconds: float = 10.0
    prepare_seconds: float = 120.0
    memory_mib: int = 1024
    processes: int = 16
    disk_mib: int = 16
    files: int = 64
    output: int = 4096
    need: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check them.

        Raises:
            ValueError: One is out of range or unknown.
        """
        for one in fields(self):
            if one.name != "need" and getattr(self, one.name) <= 0:
                raise ValueError(f"{one.name} must be positive, got {getattr(self, one.name)}")
        if unknown := sorted(set(self.need) - set(KINDS)):
            raise ValueError(f"need must be among {KINDS}, got {unknown}")


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What became of code.

    Attributes:
        ok: It came to its end, and so did the check.
        reason: Otherwise why: `"time"`, `"memory"`, `"exit"` (it left before the check),
            `"error"` (it raised), `"check"` (what the check prepares raised), `"killed"` or
            `"isolation"` (what was needed was not to be had, and nothing was run).
        error: Its exception in one line.
        value: What the check returned.
        printed: The beginning of what it printed.
        seconds: Wall time from the start of the code.
        isolation: What was in force beside the limits: `"network"` (none at all), `"processes"`
            (it saw and reached only its own), `"files"` (all but its own folder in memory was
            read-only), `"user"` (a user id of its own; root's processes are not counted without).
            Without `"network"` and `"files"` it could reach and change what the caller can; it can
            read what the caller can in any case.
    """

    ok: bool
    reason: str = ""
    error: str = ""
    value: object = None
    printed: str = ""
    seconds: float = 0.0
    isolation: tuple[str, ...] = ()
