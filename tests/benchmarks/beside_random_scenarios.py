"""The operator beside the real lifecycle-manager in random scenarios, each recorded first and then played.

    python -m tests.benchmarks.beside_random_scenarios [COUNT] [from:SEED] [steps:N] [jobs:N] [out:FOLDER]

Needs `lifecycle-manager` on the PATH. It plays a scenario on an empty pair of the sandbox's clusters, and the state of
both is kept after each step when nothing has moved for a while. The operator plays the same steps. Where it differs,
lifecycle-manager plays them once more, and the difference counts only if it agrees with itself. Scenarios that differ
are written to FOLDER, for `replay.py --data`. Ends with 1 if there are any.
"""

from __future__ import annotations

import base64
import copy
import gzip
import json
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kymatui.crds import read_crds
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.benchmarks.random_scenarios import KYMA, RandomScenario
from tests.controllers.certificates import issue
from tests.integration.real_lifecycle_manager import RealManager
from tests.integration.recorded import KLM, created, load
from tests.sandboxes.starting import ready_sandbox

_QUIET, _LEAST, _MOST = 4.0, 6.0, 60.0
"""Seconds without a change, at least and at most for a step."""
_INTERVALS = (
    "--mandatory-module-requeue-success-interval=1s --mandatory-module-deletion-requeue-success-interval=1s "
    "--istio-gateway-secret-requeue-success-interval=1s"
)
Json = dict[str, Any]


@dataclass
class Manager:
    """A lifecycle-manager for the pair: how it is started, and what has to be there before."""

    operator: Any
    surroundings: list[Json]


class ScenarioPair:
    """A pair of clusters on which both programs play in turn."""

    def __init__(self, replay: Any, kcp: Any, skr: Any, registry: str, managers: dict[str, Manager]) -> None:
        self.replay, self.kcp, self.skr, self.registry, self.managers = replay, kcp, skr, registry, managers
        self.fixtures = replay.load(KLM / "fixtures.json.gz") if KLM is not None else {}

    def surround(self, name: str) -> None:
        """Create what a program needs before it starts."""
        for body in self.managers[name].surroundings:
            created(self.kcp, "/api/v1/namespaces/istio-system/secrets", body)

    @contextmanager
    def player(self, name: str, scenario: Json) -> Iterator[Any]:
        manager = self.managers[name]
        self.replay.reset(self.kcp, self.skr)
        self.surround(name)
        player = self.replay.Player(self.kcp, self.skr, self.registry, manager.operator, self.fixtures)
        player.scenario, player.patience = scenario, 5
        try:
            yield player
        finally:
            manager.operator.stop()

    def record(self, scenario: Json) -> Json:
        """Return the scenario with the states in which lifecycle-manager left both clusters; end if it never rests."""
        found = {**scenario, "steps": []}
        with self.player("lifecycle-manager", scenario) as player:
            player.act({"do": "start"})
            for step in scenario["steps"]:
                began = time.monotonic()
                for action in copy.deepcopy(step["do"]):
                    player.act(action)
                state = self._rested(player)
                if state is None:
                    break
                found["steps"].append({**step, "state": state, "seconds": round(time.monotonic() - began, 1)})
        return found

    def _rested(self, player: Any) -> Json | None:
        began = since = time.monotonic()
        state = player.state()
        while time.monotonic() - since < _QUIET or time.monotonic() - began < _LEAST:
            if time.monotonic() - began > _MOST:
                return None
            time.sleep(0.7)
            found = player.state()
            if not self.replay.same(state, found):
                state, since = found, time.monotonic()
        return dict(state)

    def differences(self, name: str, scenario: Json, patience: float) -> list[tuple[str, list[Any]]]:
        """Return the steps in which a program does not get into the recorded state, and how each differs."""
        found: list[tuple[str, list[Any]]] = []

        def on_step(step: Json, must: list[Any], *_: Any) -> None:
            if must:
                found.append((step["name"], must))

        with self.player(name, scenario) as player:
            self.replay.play(player, copy.deepcopy(scenario), patience, 2.0, on_step)
        return found


@contextmanager
def scenario_pair() -> Iterator[ScenarioPair]:
    assert KLM is not None
    replay = load()
    with ready_sandbox("kcp", "skr") as sandbox, tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        config, files = yaml.safe_load(sandbox.kubeconfig.read_text()), {}
        for name in ("kcp", "skr"):
            files[name] = folder / f"{name}.yaml"
            files[name].write_text(yaml.safe_dump({**config, "current-context": name}))
        kcp, skr = (replay.Cluster(name, path) for name, path in files.items())
        replay.publish(sandbox.registry, replay.load(KLM / "fixtures.json.gz"))
        for body in read_crds():
            created(kcp, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
        replay.prepare(kcp, None)
        real = RealManager(open_cluster(SessionOptions(str(files["kcp"]))), sandbox.registry, folder, [KYMA])
        words = " ".join(real.command(requeue="1s"))
        names = {"kcp": str(files["kcp"]), "skr": str(files["skr"]), "registry": sandbox.registry}
        commands = {
            "lifecycle-manager": f"cd {folder}/bin && KUBECONFIG={{kcp}} exec {words} {_INTERVALS} "
            "--restricted-default-modules={restricted}",
            "operator": f"exec {sys.executable} -m kymatui operator run --kubeconfig {{kcp}} "
            "--registry http://{registry} --restricted-modules {restricted} --interval 1s",
        }
        authority, key = issue("authority").write(folder, "scenario")
        data = {"tls.crt": authority, "tls.key": key, "ca.crt": authority}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"{KYMA}-webhook-tls", "namespace": "istio-system"},
            "data": {name: base64.b64encode(path.read_bytes()).decode() for name, path in data.items()},
        }
        with (folder / "log").open("ab") as log:
            yield ScenarioPair(
                replay,
                kcp,
                skr,
                sandbox.registry,
                {
                    name: Manager(replay.Operator(command, names, log), [secret] if name == "lifecycle-manager" else [])
                    for name, command in commands.items()
                },
            )


class RandomWalk:
    """Scenarios by seed, shared among jobs."""

    def __init__(self, seeds: range, steps: int, out: Path) -> None:
        self._steps, self._out = steps, out
        self._todo: queue.Queue[int] = queue.Queue()
        for seed in seeds:
            self._todo.put(seed)
        self._lock = threading.Lock()
        self.played, self.differing, self.unstable = 0, 0, 0

    def work(self) -> None:
        with scenario_pair() as pair:
            while True:
                try:
                    seed = self._todo.get_nowait()
                except queue.Empty:
                    return
                try:
                    self._play(pair, seed)
                except RuntimeError as error:  # an action that cannot be done, or clusters that cannot be emptied
                    print(f"seed {seed}: {error}", flush=True)

    def _play(self, pair: ScenarioPair, seed: int) -> None:
        scenario = pair.record(RandomScenario(seed).draw(self._steps))
        found = pair.differences("operator", scenario, 20.0)
        again = pair.differences("lifecycle-manager", scenario, 30.0) if found else []
        with self._lock:
            self.played += len(scenario["steps"])
            unsure = {name for name, _ in again}
            self.unstable += len(unsure)
            sure = [one for one in found if one[0] not in unsure]
            print(f"seed {seed}: {len(scenario['steps'])} steps, {len(sure)} differ, {len(unsure)} unsure", flush=True)
            for name, must in sure:
                self.differing += 1
                print(f"  step {name}: {must[:8]}", flush=True)
            if sure:
                self._out.mkdir(parents=True, exist_ok=True)
                data = json.dumps({"version": 1, "scenarios": [scenario]}).encode()
                (self._out / f"{scenario['name']}.json.gz").write_bytes(gzip.compress(data))


def main(words: list[str]) -> int:
    given = dict(word.split(":", 1) for word in words if ":" in word)
    count = next((int(word) for word in words if ":" not in word), 20)
    first = int(given.get("from", 1))
    out = Path(given.get("out", Path(tempfile.gettempdir()) / "random-scenarios"))
    began, walk = time.monotonic(), RandomWalk(range(first, first + count), int(given.get("steps", 5)), out)
    threads = [threading.Thread(target=walk.work) for _ in range(int(given.get("jobs", 2)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{walk.played} steps, {walk.differing} differ, {walk.unstable} in which lifecycle-manager differs from")
    print(f"itself, {time.monotonic() - began:.0f} s")
    return 1 if walk.differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
