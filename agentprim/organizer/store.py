"""Where a pool keeps what users add, remove and record: one SQLite file, or memory."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentprim.organizer.entry import Entry

_TABLES = """
create table if not exists entries (id text primary key, data text not null, place integer);
create table if not exists removed (id text primary key);
create table if not exists outcomes (
    id text primary key, runs integer not null default 0, wins integer not null default 0
);
create table if not exists version (one integer primary key check (one = 1), number integer);
insert or ignore into version values (1, 0);
"""


class Store:
    """A file that several threads and processes may use; each change is whole or not there."""

    def __init__(self, path: str | Path | None) -> None:
        """Open a file, or memory for None.

        Raises:
            sqlite3.Error: The file is no database, or cannot be opened.
        """
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            ":memory:" if path is None else str(path), timeout=30, check_same_thread=False,
            isolation_level=None,
        )  # fmt: skip
        if path is not None:
            self._connection.execute("pragma journal_mode = wal")
            self._connection.execute("pragma synchronous = normal")
        with self._change() as run:
            for statement in _TABLES.split(";"):
                run(statement)

    def version(self) -> int:
        """Return a number that changes with every change of entries, by whomever."""
        with self._lock:
            return self._connection.execute("select number from version").fetchone()[0]

    def read(self) -> tuple[int, list[Entry], set[str]]:
        """Return the version, the entries in the order of their first adding, and what was removed.

        All of it is of one moment.
        """
        with self._change("deferred") as run:
            number = run("select number from version").fetchone()[0]
            rows = run("select data from entries order by place, id").fetchall()
            removed = {row[0] for row in run("select id from removed")}
        return number, [Entry.model_validate(json.loads(data)) for (data,) in rows], removed

    def put(self, entry: Entry) -> None:
        """Store an entry in the place of one of the same id; if it differs, outcomes begin anew."""
        data = json.dumps(entry.to_dict(), ensure_ascii=False)
        with self._change() as run:
            old = run("select data, place from entries where id = ?", (entry.id,)).fetchone()
            if old and old[0] == data:
                return
            place = old[1] if old else run("select count(*) from entries").fetchone()[0]
            run("insert or replace into entries values (?, ?, ?)", (entry.id, data, place))
            run("delete from removed where id = ?", (entry.id,))
            run("delete from outcomes where id = ?", (entry.id,))
            run("update version set number = number + 1")

    def remove(self, name: str, *, hide: bool) -> None:
        """Delete an entry and its outcomes; `hide` leaves a note for one that stands elsewhere."""
        with self._change() as run:
            run("delete from entries where id = ?", (name,))
            run("delete from outcomes where id = ?", (name,))
            if hide:
                run("insert or ignore into removed values (?)", (name,))
            run("update version set number = number + 1")

    def record(self, name: str, success: bool) -> None:
        """Count a run."""
        with self._change() as run:
            run("insert or ignore into outcomes (id) values (?)", (name,))
            run("update outcomes set runs = runs + 1, wins = wins + ? where id = ?",
                (int(success), name))  # fmt: skip

    def outcomes(self) -> dict[str, tuple[int, int]]:
        """Return runs and wins by id."""
        with self._lock:
            rows = self._connection.execute("select id, runs, wins from outcomes").fetchall()
        return {name: (runs, wins) for name, runs, wins in rows}

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _change(self, kind: str = "immediate") -> Iterator:
        """Run statements as one transaction, kept whole or not at all."""
        with self._lock:
            self._connection.execute(f"begin {kind}")
            try:
                yield self._connection.execute
            except BaseException:
                self._connection.execute("rollback")
                raise
            self._connection.execute("commit")
