"""Fuzz every door for foreign bytes, watched from outside: python -m tests.benchmarks.door_fuzz [SECONDS [SEED]] [DOOR]

A child process opens the doors under limits of memory, and this one watches its processor time. Nothing may come out of
a door but a result or one of the project's errors, and nothing may take more than the door's bounds. An input is made
by door and number alone: `door_fuzz again DOOR NUMBER` opens that door again, and prints the smallest part of the input
that still does harm. Linux only, since the limits are its own.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import resource
import select
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.door_inputs import make_input
from tests.benchmarks.doors import Door, doors

ROOT: Final = Path(__file__).parents[2]
WALL: Final = 12
"""How many times its processor time an input may take on the clock, on a machine that others use as well."""
SETTLE: Final = 0.5
MAKING: Final = 30.0
"""Seconds of processor time that the making of an input may take; they are not the door's."""
REPORT: Final = 300.0
"""Seconds from one line about the progress to the next."""
MOST_TRIES: Final = 60
"""How often a finding is opened again to make it smaller."""
_DISGUISED: Final = ("rendering template failed", "more memory than there is", "a bug in kymatui")
"""Beginnings and parts of errors that stand for a defect."""


# the child


def check(door: Door, data: bytes) -> str:
    """Open a door. Return "" for a result, "refused" for one of the project's errors, else what came out instead."""
    from kymatui.errors import DefectError, KymatuiError

    try:
        door.read(data)
    except KymatuiError as error:
        text = str(error)
        if isinstance(error, DefectError) or any(part in text for part in _DISGUISED):
            return f"{type(error).__name__}: {text[:200]}"
        return "refused"
    except door.allowed:
        return "refused"
    except MemoryError:
        return "memory: MemoryError"
    except Exception as error:  # noqa: BLE001 - what comes out is the finding
        frames = [one for one in traceback.extract_tb(error.__traceback__) if "kymatui" in one.filename]
        place = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
        return f"{type(error).__name__} in {place}: {str(error)[:200]}"
    return ""


def _serve() -> None:
    """Open doors as they are named on standard input, one a line, and answer each in a line of JSON."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    every = doors()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    for line in sys.stdin:
        order = json.loads(line)
        door = every[order["door"]]
        data = base64.b64decode(order["data"]) if "data" in order else _input(order["door"], door, order["number"])
        print("{}", file=answers, flush=True)  # the input is made: from here on the time is the door's
        before = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resident = _megabytes("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak of earlier inputs, and of the making
        resource.setrlimit(resource.RLIMIT_AS, (before + door.megabytes * 1_000_000, hard))
        begin = time.process_time()
        try:
            found = check(door, data)
        except MemoryError:
            found = "memory: MemoryError"
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        while threading.active_count() > 1 and time.process_time() - begin < door.seconds:
            time.sleep(0.01)  # a template function that goes on behind its deadline has to end as well
        answer = {"found": found, "seconds": time.process_time() - begin, "size": len(data)}
        answer["peak"] = _megabytes("VmHWM") - resident
        print(json.dumps(answer), file=answers, flush=True)


def _megabytes(field: str) -> int:
    return int(Path("/proc/self/status").read_text().partition(f"{field}:")[2].split()[0]) // 1024


def _input(name: str, door: Door, number: int) -> bytes:
    # A text as seed: it is the same in every process, whatever the hashes are.
    return make_input(door.language, door.samples, f"{name} {number}")


# the parent


class Child:
    """A process that opens doors; it is started again after each that did not come back."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.unread = b""

    def open(self, name: str, door: Door, **order: Any) -> dict[str, Any]:
        """Return the answer, or what ended the process."""
        if self.process is None:
            self.process = self._start()
        process = self.process
        begin, used, limit = time.monotonic(), _processor_time(process.pid), MAKING
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps({"door": name, **order}).encode() + b"\n")
            process.stdin.flush()
        while True:
            line, _, rest = self.unread.partition(b"\n")
            if len(line) < len(self.unread):
                self.unread = rest
                answer: dict[str, Any] = json.loads(line)
                if answer:
                    if answer["seconds"] > door.seconds and not answer["found"].startswith("memory"):
                        answer["found"] = f"slow: {answer['seconds']:.1f} s"
                    return answer
                begin, used, limit = time.monotonic(), _processor_time(process.pid), door.seconds
                continue
            if select.select([process.stdout], [], [], SETTLE)[0]:
                part = os.read(process.stdout.fileno(), 1 << 16)
                self.unread += part
                if part:
                    continue
                self.end()
                return {"found": f"died with status {process.returncode}", "seconds": 0.0, "size": 0, "peak": 0}
            seconds = _processor_time(process.pid) - used
            if seconds > limit * 1.5 or time.monotonic() - begin > limit * WALL:
                self.end()
                kind = "making the input, a defect of the fuzzer" if limit is MAKING else "slow"
                return {"found": f"{kind}: more than {seconds:.1f} s", "seconds": seconds, "size": 0, "peak": 0}

    def _start(self) -> subprocess.Popen[bytes]:
        self.unread = b""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.door_fuzz", "child"],
            cwd=ROOT,
            env={**os.environ, "MALLOC_ARENA_MAX": "1", "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _processor_time(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (OSError, IndexError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def reduce(child: Child, name: str, door: Door, data: bytes, found: str) -> bytes:
    """Return a smaller input with the same finding: parts are left out as long as that keeps it."""
    kind = found.partition(":")[0]
    size = max(len(data) // 2, 1)
    tries = 0
    while size and tries < MOST_TRIES:
        at = 0
        while at < len(data) and tries < MOST_TRIES:
            tries += 1
            less = data[:at] + data[at + size :]
            answer = child.open(name, door, data=base64.b64encode(less).decode())
            if answer["found"].partition(":")[0] == kind:
                data = less
            else:
                at += size
        size //= 2
    return data


class Tally:
    """What one door took of all its inputs."""

    def __init__(self) -> None:
        self.inputs = self.refused = 0
        self.longest, self.largest = (0.0, 0), (0, 0)

    def add(self, number: int, answer: dict[str, Any]) -> None:
        self.inputs += 1
        self.refused += answer["found"] == "refused"
        self.longest = max(self.longest, (answer["seconds"], number))
        self.largest = max(self.largest, (answer["peak"], number))

    def __str__(self) -> str:
        (seconds, slow), (peak, large) = self.longest, self.largest
        most = f"at most {seconds:.2f} s ({slow}), {peak} MB more ({large})"
        return f"{self.inputs} inputs, {self.refused} refused, {most}"


def run(seconds: float, first: int, only: str = "") -> int:
    """Open the doors in turn until the time is over, print what was found, and return how much that was."""
    every = {name: door for name, door in doors().items() if only in ("", name)}
    child = Child()
    tallies = {name: Tally() for name in every}
    known: Counter[tuple[str, str]] = Counter()
    begin, number = time.monotonic(), first
    report, loads = begin + REPORT, [os.getloadavg()[0]]
    while time.monotonic() - begin < seconds:
        for name, door in every.items():
            answer = child.open(name, door, number=number)
            tallies[name].add(number, answer)
            if (found := answer["found"]) not in ("", "refused"):
                key = (name, found.partition(":")[0])
                known[key] += 1
                if known[key] == 1:
                    print(f"{name} {number}: {found}", flush=True)
        number += 1
        if time.monotonic() > report:
            report, loads = report + REPORT, [*loads, os.getloadavg()[0]]
            print(f"{_summary(tallies, known)} in {time.monotonic() - begin:.0f} s", flush=True)
    child.end()
    print(f"{_summary(tallies, known)}; load {min(loads):.0f} to {max(loads):.0f}")
    for name, tally in tallies.items():
        print(f"  {name}: {tally}")
    for (name, kind), times in sorted(known.items()):
        print(f"  {times} × {name}: {kind}")
    return known.total()


def _summary(tallies: dict[str, Tally], known: Counter[tuple[str, str]]) -> str:
    opened, refused = (sum(getattr(tally, name) for tally in tallies.values()) for name in ("inputs", "refused"))
    return f"{opened} inputs for {len(tallies)} doors, {refused} refused, {known.total()} findings"


def again(name: str, number: int) -> None:
    """Open a door for one number again, and print the smallest input that does the same harm."""
    door, child = doors()[name], Child()
    answer = child.open(name, door, number=number)
    print(f"{name} {number}: {answer}")
    if answer["found"] not in ("", "refused"):
        data = reduce(child, name, door, _input(name, door, number), answer["found"])
        print(f"{len(data)} bytes: {data[:2000]!r}")
    child.end()


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["child"]:
        _serve()
    elif arguments[:1] == ["again"]:
        again(arguments[1], int(arguments[2]))
    else:
        seconds = float(arguments[0]) if arguments else 60.0
        first = int(arguments[1]) if len(arguments) > 1 else 0
        sys.exit(1 if run(seconds, first, arguments[2] if len(arguments) > 2 else "") else 0)


if __name__ == "__main__":
    main()
