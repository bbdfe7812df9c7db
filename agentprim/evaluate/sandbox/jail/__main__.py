"""Read a job, let a worker do it, kill all that it started, report."""

import json
import os
import select
import signal
import sys
import time

import cage
import worker

_MOST = 1 << 22


def main() -> None:
    """Do the job on standard input and report on standard output."""
    job = json.load(sys.stdin.buffer)
    cage.adopt()
    held = cage.unshare()
    report = _supervise(job, held)
    os.write(1, json.dumps(report).encode())


def _supervise(job: dict, held: set[str]) -> dict:
    """Start the worker, wait until it is done or out of time, and end everything."""
    heard, tell = os.pipe()
    shown, show = os.pipe()
    boss = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(heard)
        os.close(shown)
        worker.work(job, held, tell, show, boss)
    os.close(tell)
    os.close(show)
    wait = _Wait(job, pid, heard, shown)
    try:
        wait.until_done()
    finally:
        cage.sweep(pid)
    return wait.report(held)


class _Wait:
    """What is known of a worker."""

    def __init__(self, job: dict, pid: int, heard: int, shown: int) -> None:
        self.job, self.pid = job, pid
        self.heard, self.shown = heard, shown
        self.said, self.printed = b"", b""
        self.status: int | None = None
        self.late = False
        self.start, self.allowed = time.monotonic(), job["limits"]["prepare_seconds"]

    def until_done(self) -> None:
        """Wait for the verdict, the end of the worker, or the end of its time."""
        open_ends, began = [self.heard, self.shown], False
        while self._event("done") is None:
            if not began and (ready := self._event("ready")) is not None:
                began, self.start = True, time.monotonic()
                self.allowed = max(self.job["limits"]["seconds"], 4 * ready["took"])
            left = self.start + self.allowed - time.monotonic()
            if left <= 0:
                self.late = True
                return
            for end in select.select(open_ends, [], [], min(left, 0.02))[0]:
                if not self._read(end):
                    open_ends.remove(end)
            if not open_ends:
                time.sleep(min(left, 0.005))
            if self.status is None:
                done, status = os.waitpid(self.pid, os.WNOHANG)
                self.status = status if done else None
            elif self.heard not in open_ends or not select.select([self.heard], [], [], 0)[0]:
                return

    def _read(self, end: int) -> bool:
        """Read what is there; False at the end."""
        data = os.read(end, 1 << 16)
        if end == self.heard:
            self.said = (self.said + data)[:_MOST]
        else:
            most = 4 * self.job["limits"]["output"]
            self.printed = (self.printed + data)[:most]
        return bool(data)

    def _event(self, kind: str) -> dict | None:
        """Find a message that carries the token."""
        for line in self.said.split(b"\n")[:-1]:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and event.get("token") == self.job["token"]:
                if event.get("kind") == kind:
                    return event
        return None

    def report(self, held: set[str]) -> dict:
        """Say what became of the worker, which is gone."""
        seconds = time.monotonic() - self.start
        while select.select([self.shown], [], [], 0)[0] and self._read(self.shown):
            pass
        caged = self._event("caged")
        text = self.printed.decode(errors="replace")[: self.job["limits"]["output"]]
        found = {
            "ok": False, "reason": "", "error": "", "value": None, "printed": text,
            "seconds": seconds, "isolation": sorted(caged["held"] if caged else held),
        }  # fmt: skip
        if (done := self._event("done")) is not None:
            found |= {key: done[key] for key in ("ok", "reason", "error", "value")}
        else:
            found["reason"] = self._why()
        return found

    def _why(self) -> str:
        """Name the end of a worker that gave no verdict."""
        if self.late or self.status is None:
            return "time"
        if os.WIFSIGNALED(self.status):
            return "time" if os.WTERMSIG(self.status) == signal.SIGXCPU else "killed"
        return "memory" if os.WEXITSTATUS(self.status) == worker.NO_MEMORY else "exit"


main()
