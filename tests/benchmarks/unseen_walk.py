"""An intruder between every plan and its yes, in every command and every flow of the screen; see `tests.cli.unseen`.

    python -m tests.benchmarks.unseen_walk [FLOW …] [rounds:N] [screens:|remote:|manifests:]

Each flow with each sort of intruder, N times, commands and screens on a cluster each; or the screens alone, the
commands with `--remote`, or those that write Manifests. Ends with 1 where something unseen was touched.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from kymatui.sandbox.sandbox_process import start_sandbox
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.cli import unseen_manifests as manifests
from tests.cli.intruding import Stage, new_stage
from tests.cli.unseen import Walk, walk, walks
from tests.ui import unseen as screens
from tests.ui.driving import SIZE
from tests.ui.test_toggling import Person, app_of


def main(words: list[str]) -> None:
    rounds = next((int(word.partition(":")[2]) for word in words if word.startswith("rounds:")), 1)
    names = [word for word in words if ":" not in word]
    os.environ["HOME"] = os.environ["XDG_STATE_HOME"] = os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
    bad = 0
    if "remote:" in words or "manifests:" in words:
        sys.exit(1 if sum(_elsewhere(names, remote="remote:" in words) for _ in range(rounds)) else 0)
    parts = [_screens] if "screens:" in words else [_commands, _screens]
    for part in parts * rounds:
        with start_sandbox(clusters=("kcp",), settled=True) as running:
            os.environ["KUBECONFIG"] = str(running.kubeconfig)
            bad += part(new_stage(running.kubeconfig), names, running.kubeconfig)
    sys.exit(1 if bad else 0)


def _elsewhere(names: list[str], *, remote: bool) -> int:
    """Commands about a runtime behind its control plane, or about Manifests on a bare cluster."""
    folder, clusters = Path(tempfile.mkdtemp()), ("kcp", "skr") if remote else ("own",)
    with start_sandbox(clusters=clusters, empty=not remote, settled=remote) as running:
        os.environ["KUBECONFIG"] = str(running.kubeconfig)
        if not remote:
            stage = manifests.new_stage(running.kubeconfig, folder, running.registry)
            return _walked(stage, manifests.walks(names))
        there = ((flow, sort) for flow, sort in walks(names) if flow.name != "adopt")  # nothing is to be adopted
        return _walked(Stage(running.kubeconfig, folder, "skr"), there)


def _commands(stage: Stage, names: list[str], kubeconfig: Path) -> int:
    del kubeconfig
    return _walked(stage, walks(names))


def _walked(stage: Stage, flows: Iterable[tuple[Walk, str]]) -> int:
    began, statuses, wrong, writes = time.monotonic(), Counter[int](), 0, 0
    for flow, sort in flows:
        came = walk(flow, sort, stage)
        statuses[came.asked.status] += 1
        writes += len(came.asked.writes)
        if came.wrong:
            wrong += 1
            print(f"  {flow.name} {sort} ({came.asked.status}): {came.wrong}")
    told = ", ".join(f"{count} left with {status}" for status, count in sorted(statuses.items()))
    seconds = time.monotonic() - began
    points = sum(statuses.values())
    print(
        f"commands {points} points, {told}; {writes} writes after the yes; {wrong} wrong; {seconds:.0f} s", flush=True
    )
    return wrong


def _screens(stage: Stage, names: list[str], kubeconfig: Path) -> int:
    began, points, wrong, writes = time.monotonic(), 0, 0, 0
    for flow, sort in screens.walks(names):
        stage.next()
        flow.prepare(stage)
        watch = screens.Watch()
        found = asyncio.run(_screen(flow, sort, stage, kubeconfig, watch))
        points += 1
        writes += len(watch.writes)
        if found:
            wrong += 1
            print(f"  screen {flow.name} {sort}: {found}")
    seconds = time.monotonic() - began
    print(f"screens {points} points; {writes} writes after the yes; {wrong} wrong; {seconds:.0f} s", flush=True)
    return wrong


async def _screen(flow: screens.ScreenWalk, sort: str, stage: Stage, kubeconfig: Path, watch: screens.Watch) -> str:
    with watch.watching():
        async with app_of(SessionOptions(str(kubeconfig))).run_test(size=SIZE) as pilot:
            return await screens.walk(flow, sort, Person(pilot), stage, watch)


if __name__ == "__main__":
    main(sys.argv[1:])
