"""Answers that are wrong somewhere, under every command and screen, on a real sandbox.

    python -m tests.benchmarks.fuzz_answers [minutes] [first seed] [words of a command …]

Between the socket and the reader of an answer a few values are changed: types swapped, fields dropped, nulls, huge
numbers, wrong kinds, bytes that are no JSON. Every run is a process of its own with a seed. It has to end with an exit
status of the project and without a traceback, below 300 MB; writes leave as dry runs, and are counted where an answer
for the same object could not be read. Ends with 1 where something was wrong.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.adapters.hostile import peak_memory
from tests.benchmarks.mutating import Mutator

SECONDS = 45.0
STATUSES = (0, 1, 2, 3, 4, 64, 130)
PROGRAMMING = re.compile(
    r"Traceback|\b(?:Attribute|Type|Key|Index|Recursion|Unicode\w*|Assertion|ZeroDivision|NotImplemented|Overflow)Error\b"
)


def change_answers(mutator: Mutator, log: Path) -> None:
    """Puts the mutator between sockets and readers, for the rest of this process; writes leave as dry runs."""
    from kymatui.adapters.kube.transport import transport as module
    from kymatui.adapters.kube.transport.streams import AnswerStream

    read, lines, once = module._body, AnswerStream._lines, module.Transport._once
    unread: set[str] = set()

    def body(response: Any, deadline: Any, slot: Any) -> bytes:
        found = read(response, deadline, slot)
        made = mutator.body(found)
        if response._original_response._method == "GET":
            path = str(response.geturl()).partition("?")[0]
            if response.status < 300 and made != found and not _readable(made):
                unread.add(path)
            else:  # it was asked again
                unread.discard(path)
        return made

    def streamed(stream: Any) -> Iterator[bytes]:
        for line in lines(stream):
            yield mutator.body(line)

    def sent(transport: Any, request: Any, *given: Any, **named: Any) -> Any:
        dry = any(key == "dryRun" for key, _ in request.query)
        if request.method != "GET" and not dry and "/selfsubject" not in request.path:
            with log.open("a") as file:
                doubt = any(path.endswith(request.path) for path in unread)
                file.write(f"{request.method} {request.path}{' UNREAD' if doubt else ''}\n")
            request = replace(request, query=[*request.query, ("dryRun", "All")])
        return once(transport, request, *given, **named)

    module._body = body
    AnswerStream._lines = streamed  # type: ignore[method-assign, assignment]
    module.Transport._once = sent  # type: ignore[method-assign, assignment]


def _readable(body: bytes) -> bool:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("metadata"), dict) and isinstance(found.get("kind"), str)


# what is run

WAIT = ("--timeout", "4")
EDIT = ("--yes", "--no-wait")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("catalog",), ("catalog", "-o", "json"), ("module", "istio"), ("module", "btp-operator", "-o", "json"),
    ("checks", "istio"), ("drift",), ("windows",), ("watchers", *WAIT), ("audit",), ("audit", "--objects"),
    ("audit", "-o", "json"), ("compare", *WAIT), ("sync", *WAIT), ("fleet",), ("fleet", "-o", "json"), ("matrix",),
    ("catalog", "--remote", "*"), ("enable", "keda", *EDIT), ("disable", "istio", *EDIT),
    ("channel", "istio", "fast", *EDIT), ("manage", "istio", *EDIT), ("unmanage", "istio", *EDIT),
    ("policy", "istio", "Ignore", *EDIT), ("label", "operator.kyma-project.io/beta=true", *EDIT),
    ("install", "SOURCE", "--file", "FILE", "-n", "fuzzed", "--yes", *WAIT),
    ("install", "cap-operator", "--yes", *WAIT), ("upgrade", "cap-operator", "--yes", *WAIT),
    ("upgrade", "--all", "--yes", *WAIT), ("plan", "cap-operator", "--dry-run"),
    ("check", "SOURCE", "--file", "FILE", "-n", "fuzzed"), ("check", "istio"), ("adopt", "istio", "--yes", *WAIT),
    ("manifest", "istio", "--yes", *WAIT), ("delete", "istio", "--yes", *WAIT),
    ("delete", "istio", "nats", "--cascade", "--yes", *WAIT), ("delete", "SOURCE", "-n", "fuzzed", "--yes", *WAIT),
    ("finalizers", "istio"), ("restore", "BACKUP", "--yes", *WAIT), ("reconcile", "manifest", "MANIFEST", *WAIT),
    ("__complete", "bash", "3", "kymatui", "module", ""), ("SCREEN",), ("SCREEN",), ("FLEET-SCREEN",),
)  # fmt: skip
MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: fuzzed}
data: {a: b}
---
apiVersion: v1
kind: Namespace
metadata: {name: fuzzed-more}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager, namespace: fuzzed}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: manager, image: "example.org/manager:1.0.0"}]}
"""


@dataclass(frozen=True, slots=True)
class Found:
    """How a run ended; `wrong` is "" where all was well."""

    status: int
    wrong: str
    memory: int
    writes: tuple[str, ...]


Install = Callable[[int, Path], None]


def run(words: Sequence[str], seed: int, folder: Path, install: Install) -> Found:
    """One run in a process of its own, in which `install` puts what changes answers in its place."""
    out, err, log = folder / "out", folder / "err", folder / "log"
    log.write_text("")
    child = os.fork()
    if child == 0:
        _in_child(words, lambda: install(seed, log), seed, out, err)
    began, memory, ended, killed = time.monotonic(), 0, 0, False
    while True:
        memory = max(memory, peak_memory(child))
        done, ended = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if not killed and time.monotonic() - began > SECONDS:
            os.kill(child, signal.SIGKILL)
            killed = True
        time.sleep(0.02)
    status = os.waitstatus_to_exitcode(ended)
    said = out.read_text(errors="replace") + err.read_text(errors="replace")
    writes = log.read_text().splitlines()
    wrong = ""
    if match := PROGRAMMING.search(said):
        wrong = f"{said[max(0, match.start() - 200) : match.start() + 1500]}\n…\n{said[-2500:]}"
    elif killed:
        wrong = "it did not end" if "SCREEN" not in words[0] else ""
    elif status not in STATUSES:
        wrong = f"left with {status}: {said[-3000:]}"
    elif memory >= 300:
        wrong = f"took {memory} MB"
    elif doubtful := [line for line in writes if line.endswith("UNREAD")]:
        wrong = f"wrote after an answer that could not be read: {doubtful}"
    return Found(status, wrong, memory, tuple(writes))


def _in_child(words: Sequence[str], prepare: Callable[[], None], seed: int, out: Path, err: Path) -> None:
    import faulthandler

    status = 70
    try:
        for number, path in ((1, out), (2, err)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        faulthandler.dump_traceback_later(SECONDS - 2, file=open(f"{err}.hang", "w"))  # noqa: SIM115
        prepare()
        if "SCREEN" in words[0]:
            asyncio.run(_screen(seed, fleet=words[0].startswith("FLEET")))
            status = 0
        else:
            from kymatui.cli.main import main

            status = main(words)
    except BaseException as error:  # noqa: BLE001 (argparse and the rest leave by this, too)
        if isinstance(error, SystemExit):
            status = error.code if isinstance(error.code, int) else 1
        else:
            import traceback

            traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


async def _screen(seed: int, *, fleet: bool) -> None:
    """Opens the screen, and presses keys that it offers, for some seconds."""
    from kymatui.sessions.cluster.catalog_session import open_session
    from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
    from kymatui.sessions.control_plane.remote_session import RemoteSession
    from kymatui.settings.config_file import Settings
    from kymatui.ui.application.fleet_app import FleetApp
    from kymatui.ui.application.kymatui_app import KymatuiApp
    from tests.cli.walking import LEAVING, action_of

    chance = random.Random(seed)
    options = SessionOptions(os.environ["KUBECONFIG"])
    app: Any = (
        FleetApp(lambda: RemoteSession(RemoteOptions(options, by_hand=options)), settings=Settings())
        if fleet
        else KymatuiApp(lambda: open_session(options), settings=Settings())
    )
    app.animation_level = "none"
    async with app.run_test(size=chance.choice(((120, 40), (80, 24)))) as pilot:
        until = time.monotonic() + 2
        while time.monotonic() < until:
            await pilot.pause(0.1)
        until = time.monotonic() + SECONDS - 13
        while time.monotonic() < until and app.is_running:
            keys = [key for key, one in app.screen.active_bindings.items() if action_of(one) not in LEAVING]
            await pilot.press(chance.choice([*keys, "enter", "down", "escape", "y", "tab", "x"]))
            await pilot.pause(0.05)


# the whole


def prepared(folder: Path) -> Callable[[tuple[str, ...]], list[str]]:
    """Puts files and a module of its own in place; returns how commands name them."""
    from kymatui.cli.main import main

    file, backup = folder / "source.yaml", folder / "backup.yaml"
    file.write_text(MANIFEST)
    backup.write_text(MANIFEST)
    main(["install", "fuzzsource", "--file", str(file), "-n", "fuzzed", "--yes", "--no-wait"])
    names = {"SOURCE": "fuzzsource", "FILE": str(file), "BACKUP": str(backup), "MANIFEST": _manifest()}
    return lambda words: [names.get(word, word) for word in words]


def _manifest() -> str:
    """The name of a Manifest of the sample world."""
    from kymatui.domain.kubernetes.refs import GroupVersionKind
    from kymatui.sessions.cluster.cluster_access import open_cluster
    from kymatui.sessions.cluster.session_options import SessionOptions

    cluster = open_cluster(SessionOptions(os.environ["KUBECONFIG"]))
    found = cluster.list(GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest"), "")
    return "/".join((found[0]["metadata"]["namespace"], found[0]["metadata"]["name"])) if found else "none"


def main(words: list[str]) -> None:
    from kymatui.sandbox.sandbox_process import start_sandbox

    minutes, seed = float(words[0]) if words else 1.0, int(words[1]) if len(words) > 1 else 0
    folder = Path(tempfile.mkdtemp(prefix="kymatui-fuzz-"))
    os.environ["HOME"] = os.environ["XDG_STATE_HOME"] = os.environ["XDG_CACHE_HOME"] = str(folder)
    until, runs, wrong, heaviest, writes = time.monotonic() + minutes * 60, Counter[str](), Counter[str](), 0, 0
    statuses = Counter[int]()
    with start_sandbox(clusters=("kcp",), settled=True) as running:
        os.environ["KUBECONFIG"] = str(running.kubeconfig)
        named = prepared(folder)
        while time.monotonic() < until or not runs:
            command = tuple(words[2:]) or COMMANDS[seed % len(COMMANDS)]
            found = run(named(command), seed, folder, lambda seed, log: change_answers(Mutator(seed), log))
            runs[command[0]] += 1
            statuses[found.status] += 1
            writes += len(found.writes)
            heaviest = max(heaviest, found.memory)
            if found.wrong:
                wrong[command[0]] += 1
                print(f"--- seed {seed}: {' '.join(command)}\n{found.wrong}", flush=True)
            seed += 1
    told = ", ".join(f"{count} left with {status}" for status, count in sorted(statuses.items()))
    print(f"{sum(runs.values())} runs of {len(runs)} commands and screens, to seed {seed}: {told}")
    print(
        f"{writes} writes (as dry runs), at most {heaviest} MB; {sum(wrong.values())} wrong: {dict(wrong)}", flush=True
    )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
