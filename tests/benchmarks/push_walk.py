"""SIGKILL at every request of a push, then the push again; and ten pushes at once, some of them killed.

    python -m tests.benchmarks.push_walk [ROUNDS]

`create`, `sign`, `add` and `copy` on the sandbox's registry, killed before a request is carried out and after it. What
is visible then has all that it names, and after the second run the registry has the tags and digests of an undisturbed
run. ROUNDS (10) of ten processes follow, which push the same and other versions. Ends with 1 where anything differs.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import logging
import multiprocessing
import multiprocessing.process
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.cli.commands.bundle import add, create, sign  # noqa: F401 (what the commands need is imported once)
from kymatui.cli.commands.bundle import copy as copy_command  # noqa: F401
from kymatui.cli.main import main as kymatui
from kymatui.sandbox.registry.registry_server import RegistryFault, RegistryFaultKind, SandboxRegistry
from tests.benchmarks.large_layers import push_base
from tests.bundle.components import key_files
from tests.bundle.sources import CR, NAME, write_sources
from tests.engine.sources.packing import tar

PAUSE = 0.15  # seconds that each request waits for its death
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}
State = Mapping[str, tuple[Mapping[str, str], frozenset[str]]]


PROCESSES = multiprocessing.get_context("forkserver")  # forked from one that has imported everything


def start(words: list[str]) -> multiprocessing.process.BaseProcess:
    process = PROCESSES.Process(target=_command, args=(words,))
    process.start()
    return process


def _command(words: list[str]) -> None:
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        status = kymatui(words)
    sys.exit(status)


class Walk:
    """One registry whose content is put back before each trial."""

    def __init__(self, registry: SandboxRegistry, top: Path) -> None:
        self.registry, self.top = registry, top
        self.bad = 0

    def command(self, name: str) -> list[str]:
        host = self.registry.address
        component = f"{host}/p//{NAME}:1.0.0"
        sources = ["-c", f"{self.top}/m/module-config.yaml", "--sources", f"{self.top}/m"]
        words = {
            "create": ["create", *sources, "-o", f"{self.top}/t.yaml", "--registry", f"{host}/p"],
            "sign": ["sign", component, "--signature", "acme", "--private-key", f"{self.top}/0.key"],
            "add": ["add", f"{host}/base:1", "--layer", f"{self.top}/layer.tar", "-t", f"{host}/more:1"],
            "copy": ["copy", component, f"{host}/mirror"],
        }[name]
        return ["bundle", *words, "--insecure-registry", host]

    def run(self, name: str) -> int:
        process = start(self.command(name))
        process.join()
        return process.exitcode or 0

    def saved(self) -> tuple[object, object]:
        store = self.registry.store
        return copy.deepcopy(store._content), copy.deepcopy(store._repositories)

    def restore(self, saved: tuple[object, object]) -> None:
        self.registry.faults.clear()
        store = self.registry.store
        store._content.clear()
        store._content.update(copy.deepcopy(saved[0]))  # type: ignore[call-overload]
        store._repositories.clear()
        store._repositories.update(copy.deepcopy(saved[1]))  # type: ignore[call-overload]

    def state(self) -> State:
        """Return tags and manifests of each repository, after a look at all that they name."""
        found = {}
        for name, home in copy.deepcopy(self.registry.store._repositories).items():
            for stored in home.manifests.values():
                body = stored.document
                named = [body["config"], *body["layers"]] if "config" in body else []
                missing = [one["digest"] for one in named if one["digest"] not in home.blobs]
                missing += [one["digest"] for one in body.get("manifests", ()) if one["digest"] not in home.manifests]
                if missing:
                    self.wrong(f"{name}@{stored.digest} names what is not there: {missing}")
            found[name] = (dict(home.tags), frozenset(home.manifests))
        return found

    def wrong(self, words: str) -> None:
        self.bad += 1
        print(f"WRONG: {words}", flush=True)

    def walk(self, name: str) -> None:
        """Kill one command at each of its requests."""
        before, began = self.saved(), time.monotonic()
        self.registry.requests.clear()
        if self.run(name):
            self.wrong(f"{name} fails undisturbed")
            return
        expected, after, requests = self.state(), self.saved(), len(self.registry.requests)
        deaths = 0
        for number in range(1, requests + 1):
            for moment in ("before", "after"):
                self.restore(before)
                deaths += self.killed(name, number, moment)
                self.registry.faults.clear()
                self.state()
                if self.run(name):
                    self.wrong(f"{name}, killed {moment} request {number}: the second run fails")
                elif {key: tags for key, (tags, _) in self.state().items() if tags} != {
                    key: tags for key, (tags, _) in expected.items() if tags
                }:
                    self.wrong(f"{name}, killed {moment} request {number}: another result")
        self.restore(after)
        print(f"{name:8}{requests:4} requests {deaths:4} deaths {time.monotonic() - began:6.0f} s", flush=True)

    def killed(self, name: str, number: int, moment: str) -> bool:
        """Run a command and kill it at a request: while it waits, or when the next one has come."""
        self.registry.requests.clear()
        self.registry.faults.set(RegistryFault(RegistryFaultKind.DELAY, times=0, seconds=PAUSE))
        process = start(self.command(name))
        target = number if moment == "before" else number + 1
        while len(self.registry.requests) < target and process.is_alive():
            time.sleep(0.002)
        process.kill()
        process.join()
        died = process.exitcode == -signal.SIGKILL
        time.sleep(PAUSE)  # what was on its way is carried out or not, but not later
        return died

    def ten_at_once(self, rounds: int) -> None:
        """Push four versions by ten processes, kill some, and push all of them again."""
        chance, began, deaths = random.Random(1), time.monotonic(), 0
        host = self.registry.address
        versions = ["2.0.0", "2.0.0", "2.0.0", "2.0.1", "2.0.1", "2.0.2", "2.0.2", "2.0.3", "2.0.3", "2.0.3"]
        commands = []
        for at, version in enumerate(versions):
            folder = self.top / f"ten{at}"
            config = write_sources(folder, SETTINGS, default_cr=CR, version=version)
            words = ["create", "-c", str(config), "--sources", str(folder), "-o", str(folder / "t.yaml")]
            words += ["--registry", f"{host}/ten", "--insecure-registry", host]
            commands.append(["bundle", *words])
        before, tags = self.saved(), set[str]()
        for number in range(rounds):
            self.restore(before)
            self.registry.requests.clear()
            running = [start(one) for one in commands]
            victims = chance.sample(running, 4)
            for victim in victims:
                point = chance.randrange(1, 100)
                while len(self.registry.requests) < point and victim.is_alive():
                    time.sleep(0.002)
                victim.kill()
            for one in running:
                one.join()
            deaths += sum(one.exitcode == -signal.SIGKILL for one in victims)
            survivors = [one.exitcode for one in running if one not in victims]
            if any(survivors):
                self.wrong(f"round {number}: a process fails beside others: {survivors}")
            self.state()
            again = [start(one) for one in commands]
            for one in again:
                one.join()
            if any(one.exitcode for one in again):
                self.wrong(f"round {number}: the second run fails")
            (found,) = [home for name, (home, _) in self.state().items() if "/ten" in f"/{name}"]
            tags.add(json.dumps(found, sort_keys=True))
        if len(tags) != 1:
            self.wrong(f"{len(tags)} results of {rounds} rounds")
        print(f"ten processes, {rounds} rounds, {deaths} deaths {time.monotonic() - began:6.0f} s", flush=True)


def main(rounds: int) -> int:
    os.environ.pop("SOURCE_DATE_EPOCH", None)
    logging.getLogger("aiohttp.server").disabled = True  # it has much to say of connections that are dropped on demand
    os.environ["PYTHONWARNINGS"] = "ignore::RuntimeWarning:runpy"  # of a module that each process runs again
    PROCESSES.set_forkserver_preload(["tests.benchmarks.push_walk"])
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    registry = SandboxRegistry()
    asyncio.run_coroutine_threadsafe(registry.start(), loop).result(10)
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        walk = Walk(registry, top)
        write_sources(top / "m", SETTINGS, default_cr=CR)
        key_files(top)
        (top / "layer.tar").write_bytes(tar({"a": b"b"}))
        push_base(registry.address)
        assert RegistryArtifacts(insecure=[registry.address]).tags(f"{registry.address}/base") == ["1"]
        for name in ("create", "sign", "add", "copy"):
            walk.walk(name)
        walk.ten_at_once(rounds)
    asyncio.run_coroutine_threadsafe(registry.stop(), loop).result(10)
    return int(walk.bad > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
