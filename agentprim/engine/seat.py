"""Seats: a job that runs in turns with others, and waits wherever it calls the engine."""

import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from threading import Semaphore, Thread, current_thread
from typing import TypeVar

import torch

T = TypeVar("T")

_seat: ContextVar["Seat | None"] = ContextVar("seat", default=None)


@dataclass(eq=False)
class Call:
    """A call that waits.

    Attributes:
        key: What calls must have in common to run as one.
        run: Called with columns; returns a list with one entry for each row.
        columns: What rows differ in, one entry a row.
        short: Whether it takes a forward pass or two.
        answered: Whether there is `found`, one entry a row, or `error`.
        seconds: Its share of the time that its batches took.
    """

    key: Hashable
    run: Callable[..., list]
    columns: tuple[Sequence, ...]
    short: bool
    answered: bool = False
    found: list | None = None
    error: Exception | None = None
    seconds: float = 0.0

    def __len__(self) -> int:
        """Count its rows."""
        return len(self.columns[0])


def batched(
    key: Hashable, run: Callable[..., list], *columns: Sequence, short: bool = False
) -> list:
    """Run a call: of a job, in one batch with equal calls of others; else at once.

    Arguments are those of `Call`.
    """
    seat = _seat.get()
    if seat is None or not seat.is_here:
        return run(*columns)
    return seat.wait(Call(key, run, columns, short))


def alone(run: Callable[[], T]) -> T:
    """Run a function while every job waits: it may hold a lock while it calls an engine.

    Where the pool is too small for it, it waits and runs anew, as any call does.
    """
    return batched(object(), lambda _: [run()], [None], short=True)[0]


def now() -> float:
    """Return seconds on a job's clock, which stands while others use the engine.

    Elsewhere it is `time.perf_counter`.
    """
    seat = _seat.get()
    return time.perf_counter() - (0.0 if seat is None else seat.lag)


class Seat:
    """A job in a thread that runs only while its owner waits for it.

    Attributes:
        call: What it waits for.
        over: Whether it has ended; then there is `found` or `error`.
        held: Whether it begins only when another one has ended.
        lag: By how much its clock is behind.
    """

    def __init__(self, job: Callable[[], object], *, held: bool = False) -> None:
        """Begin nothing yet."""
        self.held, self._job = held, job
        self.call: Call | None = None
        self.over, self.found, self.error, self.lag = False, None, None, 0.0
        self._unwanted = False
        self._go, self._rest = Semaphore(0), Semaphore(0)
        self._begin = partial(copy_context().run, self._work, job, _thread_state())
        self._thread: Thread | None = None

    @property
    def waits(self) -> bool:
        """Whether it has a call without an answer."""
        return self.call is not None and not self.call.answered

    @property
    def is_here(self) -> bool:
        """Whether the job itself asks, and not a thread to which it has handed its context."""
        return self._thread is current_thread()

    def again(self) -> "Seat":
        """Unwind it; return one for the same job that is held back."""
        self.leave()
        return Seat(self._job, held=True)

    def resume(self) -> None:
        """Let it run until it waits or ends."""
        if self._thread is None:
            thread = Thread(target=self._begin, daemon=True)
            thread.start()
            self._thread, self._begin = thread, None
        self._go.release()
        self._rest.acquire()

    def leave(self) -> None:
        """Unwind it where it has begun and not ended, and forget what came of it."""
        self._unwanted = True
        while self._thread is not None and not self.over:
            self.resume()
        self.call = self.found = self.error = self._begin = None  # which knows this seat

    def wait(self, call: Call) -> list:
        """Hand a call to the owner; called by the job."""
        stopped, self.call = time.perf_counter(), call
        self._rest.release()
        self._go.acquire()
        self.lag += time.perf_counter() - stopped - call.seconds
        self.call = None  # it holds caches
        if self._unwanted:
            raise _Unwanted
        if call.error is not None:
            error, call.error = call.error, None
            try:
                raise error
            finally:
                del error  # which holds this frame
        return call.found

    def _work(self, job: Callable[[], object], state: Callable[[], ExitStack]) -> None:
        self._go.acquire()
        _seat.set(self)
        try:
            with state():
                self.found = job()
        except BaseException as error:  # for the owner to raise
            self.error = error
        self.over = True
        self._rest.release()


class _Unwanted(BaseException):
    """Unwinds a job whose result nobody waits for."""


def _thread_state() -> Callable[[], ExitStack]:
    """Return what makes another thread compute as this one does: torch keeps that by thread."""
    grad, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    stream = torch.cuda.current_stream() if torch.cuda.is_initialized() else None
    casts = [
        (kind, torch.get_autocast_dtype(kind))
        for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)
    ]  # fmt: skip

    def enter() -> ExitStack:
        stack = ExitStack()
        stack.enter_context(torch.inference_mode(inference))
        stack.enter_context(torch.set_grad_enabled(grad))
        for kind, dtype in casts:
            stack.enter_context(torch.autocast(kind, dtype))
        if stream is not None:
            stack.enter_context(torch.cuda.stream(stream))
        return stack

    return enter
