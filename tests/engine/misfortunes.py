"""A walk over all requests of a verb: at each one something bad happens once, and then everything is compared.

    python -m tests.engine.misfortunes chart install kill-before,kill-after every:7 2      # in two processes at a time
    python -m tests.engine.misfortunes manifest upgrade lose 1 5 50% 1 + chart upgrade hang 50% 1  # side by side

prints one line of JSON for each: how it ended, and what is not as in an undisturbed cluster. Every one begins in a copy
(a fork) of the same cluster; walks side by side begin in copies of the same empty one, which costs more than a walk.
What is counted at the server for faults, and at the client for deaths.
"""

from __future__ import annotations

import faulthandler
import gc
import itertools
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import Connection
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.engine.bundles.bundle import Bundle
from kymatui.sandbox.apiserver.http.server_faults import parse_fault
from tests.engine import keeping, thirty
from tests.engine.comparing import plain
from tests.engine.forking import KILLED, World, contents
from tests.engine.places import Json

NAMESPACE = "walked"
GROUP = "walked.example.org"


class Shape(Struct, frozen=True):
    """What is walked with; `protected` is what every run leaves."""

    install: Callable[[KubeCluster, str], None]
    uninstall: Callable[[KubeCluster], None]
    protected: tuple[str, ...] = ()


def _thirty(bundle: Callable[[str, str, str], Bundle]) -> Shape:
    return Shape(
        lambda cluster, version: thirty.install(cluster, bundle(NAMESPACE, GROUP, version)),
        lambda cluster: thirty.uninstall(cluster, "thirty", NAMESPACE),
    )


SHAPES = {
    "chart": _thirty(thirty.as_chart),
    "manifest": _thirty(thirty.as_manifest),
    "kept": Shape(keeping.install, keeping.uninstall, keeping.PROTECTED),
}
KILLS = ("kill-before", "kill-after")
FAULTS = ("conflict", "throttle", "error", "drop", "lose", "hang", "stall")
PATIENCE = 0.6
"""Seconds that a client of a walk waits for an answer; the calm server needs milliseconds."""

Work = Callable[[KubeCluster], None]


class MortalTransport(Transport):
    """Kills its own process at request `number` (from 1; 0 never), after the answer where `after`; waits briefly."""

    number = 0
    after = False
    patience = 0.0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._numbers = itertools.count(1)

    def _once(self, request: Any, *given: Any, **named: Any) -> Any:
        mine = next(self._numbers)
        if mine == self.number and not self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.patience:
            request = replace(request, timeout=(5.0, self.patience))
        answer = super()._once(request, *given, **named)
        if mine == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer


class Walk:
    """One shape of module and one verb, with the world in which it begins."""

    def __init__(self, world: World, folder: Path, shape: str, verb: str) -> None:
        self._world, self._folder, self._shape, self._verb = world, folder, SHAPES[shape], verb
        if verb != "install":
            status = self._run([_with(self._installing("1"))])
            assert status == 0, f"the installation before the walk ended with {status}"
        self._world.forget()
        self.requests = 0
        self._expected: Json = {}
        self._created: dict[str, int] = {}
        self.methods: list[str] = []

    def measure(self) -> None:
        """The undisturbed run."""
        file, pid = _forked(lambda: self._told(time.monotonic(), self._run([_with(self._work())])))
        os.waitpid(pid, 0)
        found = _read(file)
        assert found is not None, "the undisturbed run died"
        assert found["status"] == 0, "the undisturbed run failed"
        self.requests, self._expected, self._created = found["requests"], found["contents"], found["created"]
        self.methods = found["methods"]
        lost = [name for name in self._shape.protected if self._verb != "install" and name not in self._expected]
        assert not lost, f"the undisturbed run lost {lost}: {sorted(self._expected)}"
        gc.collect()
        gc.freeze()  # what is shared with the copies is not to be written to by a collector

    def walk(self, words: list[str], numbers: list[int], side_by_side: int) -> Iterator[Json]:
        """One line for each misfortune at each number."""
        todo = iter([(number, word) for number in numbers for word in words if self._makes_sense(number, word)])
        running: dict[int, tuple[int, str, int]] = {}

        def begin(count: int) -> None:
            for number, word in itertools.islice(todo, count):
                file, pid = _forked(lambda number=number, word=word: self._meet(number, word))  # type: ignore[misc]
                running[pid] = (number, word, file)

        begin(side_by_side)
        while running:
            number, word, file = running.pop(os.wait()[0])
            yield {"number": number, "misfortune": word, **self._judged(_read(file))}
            begin(1)

    def _makes_sense(self, number: int, word: str) -> bool:
        """Of what only reads, it is all one whether it was carried out before the answer was lost."""
        return word not in ("lose", "stall") or self.methods[number - 1] != "GET"

    def _judged(self, found: Json | None) -> Json:
        if found is None:
            return {"met": True, "ended_well": False, "differing": {"the walk": "its process died"}}
        here, expected = found["contents"], self._expected
        differing: Json = {
            key: list(differences(expected.get(key), here.get(key)))
            for key in sorted(here.keys() | expected.keys())
            if here.get(key) != expected.get(key)
        }
        for key, count in found["created"].items():
            if count > self._created.get(key, 0):
                differing[f"created: {key}"] = [self._created.get(key, 0), count]
        told = {key: found[key] for key in ("met", "request", "again", "seconds")}
        return {**told, "ended_well": found["status"] == 0, "differing": differing}

    # in a copy of the world

    def _meet(self, number: int, word: str) -> Json:
        began, runs = time.monotonic(), []
        self._world.forget()
        work = self._work()
        if word in KILLS:
            first = _with(work, number=number, after=word == "kill-after")
        else:
            self._world.faults.number = number
            self._world.faults.fault = parse_fault({"kind": word})
            first = _with(work, patience=PATIENCE)

        def enough(status: int) -> bool:
            runs.append(status)
            return status == 0

        told = self._told(began, self._run([first, _with(work)], enough))
        met = runs[0] == KILLED if word in KILLS else bool(self._world.faults.met)
        return {**told, "met": met, "request": self._world.faults.met, "again": len(runs) > 1}

    def _run(self, works: list[Callable[[Connection], None]], enough: Callable[[int], bool] | None = None) -> int:
        return self._world.serve(self._folder, works, enough or (lambda status: True))

    def _told(self, began: float, status: int) -> Json:
        return {
            "status": status,
            "requests": self._world.faults.seen,
            "methods": self._world.faults.methods,
            "contents": {key: plain(body, NAMESPACE) for key, body in contents(self._world).items()},
            "created": dict(self._world.created),
            "seconds": round(time.monotonic() - began, 2),
        }

    # what is done

    def _work(self) -> Work:
        if self._verb == "uninstall":
            return self._shape.uninstall
        return self._installing("1" if self._verb == "install" else "2")

    def _installing(self, version: str) -> Work:
        return lambda cluster: self._shape.install(cluster, version)


def _with(work: Work, *, number: int = 0, after: bool = False, patience: float = 0.0) -> Callable[[Connection], None]:
    def run(connection: Connection) -> None:
        transport = MortalTransport(connection)
        transport.number, transport.after, transport.patience = number, after, patience
        work(KubeCluster(Client(transport)))

    return run


def _forked(call: Callable[[], Json]) -> tuple[int, int]:
    """A file in memory that will hold what the call returned, and the process in which it runs."""
    file = os.memfd_create("told")
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            os.write(file, json.dumps(call()).encode())
            status = 0
        finally:
            os._exit(status)
    return file, pid


def _read(file: int) -> Json | None:
    os.lseek(file, 0, os.SEEK_SET)
    with os.fdopen(file, "rb") as opened:
        text = opened.read()
    found: Json | None = json.loads(text) if text else None
    return found


def differences(expected: Any, found: Any, path: str = "") -> Iterator[Any]:
    """[path, expected, found] of every place where two documents differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() | found.keys()):
            yield from differences(expected.get(key), found.get(key), f"{path}.{key}")
    elif expected != found:
        yield [path, expected, found]


def chosen(words: list[str], methods: list[str]) -> Iterator[int]:
    """The numbers that words stand for: "7", "50%", "every:3", "writes"."""
    requests = len(methods)
    for word in words:
        if word.startswith("every:"):
            yield from range(1, requests + 1, int(word.removeprefix("every:")))
        elif word == "writes":
            yield from (number for number, method in enumerate(methods, 1) if method != "GET")
        elif word.endswith("%"):
            yield max(1, requests * int(word.removesuffix("%")) // 100)
        elif int(word) <= requests:
            yield int(word)


def walk(world: World, words: list[str]) -> None:
    """Prints what was met; "walk" says in which one, and the first line how many requests it has."""
    shape, verb, misfortunes, *numbers, processes = words
    name = f"{shape}-{verb}"
    with tempfile.TemporaryDirectory() as folder:
        walking = Walk(world, Path(folder), shape, verb)
        walking.measure()
        _tell({"walk": name, "requests": walking.requests})
        for line in walking.walk(misfortunes.split(","), list(chosen(numbers, walking.methods)), int(processes)):
            _tell({"walk": name, **line})


def _tell(line: Json) -> None:
    """Print a line at a stroke: copies share standard output, and unbuffered, `print` writes each end by itself."""
    sys.stdout.write(f"{json.dumps(line)}\n")
    sys.stdout.flush()


def main(words: list[str]) -> int:
    """Returns the exit status."""
    faulthandler.enable()
    walks = [list(found) for between, found in itertools.groupby(words, lambda word: word == "+") if not between]
    world = World()
    if len(walks) == 1:
        walk(world, walks[0])
        return 0
    gc.collect()
    gc.freeze()
    running = [_in_a_copy(world, one) for one in walks]
    return max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0 for pid in running)


def _in_a_copy(world: World, words: list[str]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        walk(world, words)
        status = 0
    except BaseException:  # noqa: BLE001 (the copy ends here, whatever happens)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
