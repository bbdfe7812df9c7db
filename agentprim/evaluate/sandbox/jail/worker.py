"""Run code and its check, and send a verdict that the code cannot send by leaving."""

import json
import os
import sys
import time
import types

import cage

NO_MEMORY = 77


def work(job: dict, held: set[str], tell: int, show: int, boss: int) -> None:
    """Enter the cage and run the job; never returns.

    Args:
        job: Code, check, data, folder, limits and token.
        held: Isolation that is in force already.
        tell: Where messages go.
        show: Where output goes.
        boss: Process id of the supervisor, as it sees itself.
    """
    # kept here, since the code may put others in their places
    leave, write, whose, me = os._exit, os.write, os.getpid, os.getpid()
    out = sys.stdout
    encode, token = json.JSONEncoder().encode, job["token"]

    def say(kind: str, **more: object) -> None:
        if whose() == me:
            data = encode({"token": token, "kind": kind, **more}).encode() + b"\n"
            while data:
                data = data[write(tell, data) :]

    null = os.open(os.devnull, os.O_RDWR)
    for end, target in ((null, 0), (show, 1), (show, 2)):
        os.dup2(end, target)
    held = cage.enter(job["folder"], job["limits"], held, boss)
    say("caged", held=sorted(held))
    if missing := sorted(set(job["limits"]["need"]) - held):
        say("done", ok=False, reason="isolation", error=f"no {', '.join(missing)}", value=None)
        leave(0)
    try:
        verdict = _verdict(job, say)
        encode(verdict)
    except MemoryError:
        leave(NO_MEMORY)
    except (TypeError, ValueError) as error:
        verdict = {"ok": False, "reason": "error", "error": _line(error), "value": None}
    try:
        out.flush()
    except BaseException as error:
        verdict["error"] = verdict["error"] or _line(error)
    say("done", **verdict)
    leave(0)


def _verdict(job: dict, say) -> dict:
    """Run the check's preparation, the code and the check."""
    value, names, reason = None, None, "check"
    reserve = bytearray(1 << 20)
    try:
        trusted = {"__name__": "check"}
        exec(compile(job["check"], "<check>", "exec"), trusted)
        prepare, check = trusted.get("prepare"), trusted.get("check")
        start = time.monotonic()
        prepared = prepare(job["data"]) if prepare else None
        say("ready", took=time.monotonic() - start)
        reason = "error"
        module = types.ModuleType("candidate")
        sys.modules["candidate"] = module
        names = vars(module)
        exec(compile(job["code"], "<candidate>", "exec"), names)
        value = check(names, job["data"], prepared) if check else None
    except MemoryError:
        names = module = prepared = reserve = None
        return {"ok": False, "reason": "memory", "error": "MemoryError", "value": None}
    except SystemExit as error:
        return {"ok": False, "reason": "exit", "error": _line(error), "value": None}
    except BaseException as error:
        return {"ok": False, "reason": reason, "error": _line(error), "value": None}
    del reserve
    return {"ok": True, "reason": "", "error": "", "value": value}


def _line(error: BaseException) -> str:
    """Describe an exception, whose text may itself be code of the candidate."""
    try:
        return f"{type(error).__name__}: {error}"[:500]
    except BaseException:
        return type(error).__name__
