"""The operator and the real lifecycle-manager one after the other, in the recorded scenarios.

    python -m tests.benchmarks.handover_walk [to|from] [jobs:N] [only:NAME*]

Needs `lifecycle-manager` on the PATH. One of them plays the first steps of a recording on a pair of the sandbox's
clusters, `kymatui operator handover` follows, and the other one plays the rest: `from` lifecycle-manager to the
operator, `to` lifecycle-manager from it. Each scenario is handed over before each of its steps but the first, and
every step has to end as recorded, but for what `recorded_differences.toml` names. Ends with 1 if one does not.
"""

from __future__ import annotations

import copy
import fnmatch
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

from tests.benchmarks.beside_random_scenarios import ScenarioPair, scenario_pair
from tests.benchmarks.recorded_operator import ALLOWED, read_allowed
from tests.integration.real_lifecycle_manager import stopped_manager
from tests.integration.recorded import KLM, created, load

LIFECYCLE_MANAGER: Final = "lifecycle-manager"
_ORDERS: Final = {"from": (LIFECYCLE_MANAGER, "operator"), "to": ("operator", LIFECYCLE_MANAGER)}
_PATIENCE: Final = 30.0
Json = dict[str, Any]
Turn = tuple[str, Json, int]
"""A direction, a scenario, and the step before which it is handed over."""


def differences(pair: ScenarioPair, direction: str, scenario: Json, at: int) -> list[tuple[str, Any]]:
    """Play a scenario by two programs; return what differs from the recording, by step."""
    first, second = (pair.managers[name] for name in _ORDERS[direction])
    differing: list[tuple[str, Any]] = []
    allowed = read_allowed(ALLOWED.read_text())
    played = copy.deepcopy(scenario)
    played["steps"][at]["do"].insert(0, {"do": "hand over"})
    pair.replay.reset(pair.kcp, pair.skr)
    pair.surround(LIFECYCLE_MANAGER)
    created(pair.kcp, "/apis/apps/v1/namespaces/kcp-system/deployments", stopped_manager())

    class Player(pair.replay.Player):  # type: ignore[misc, name-defined]
        operator: Any

        def act(self, action: Json) -> None:
            if action["do"] != "hand over":
                super().act(action)
                return
            first.operator.stop()
            command = (
                "operator",
                "handover",
                f"--{direction}",
                LIFECYCLE_MANAGER,
                "--yes",
                "--kubeconfig",
                pair.kcp.file,
            )
            ended = subprocess.run([sys.executable, "-m", "kymatui", *command], capture_output=True, text=True)
            if ended.returncode:
                differing.append((f"handover, {ended.returncode}", ended.stderr))
            self.operator = second.operator
            self.operator.start(self.scenario.get("restricted", ""), self.scenario.get("policy"))

    def on_step(step: Json, must: list[Any], *_: Any) -> None:
        if must and (scenario["name"], step["name"]) not in allowed:
            differing.append((step["name"], must[:6]))

    player = Player(pair.kcp, pair.skr, pair.registry, first.operator, pair.fixtures)
    try:
        pair.replay.play(player, played, _PATIENCE, 2.0, on_step)
    finally:
        first.operator.stop()
        second.operator.stop()
    return differing


def turns(directions: Sequence[str], only: str) -> list[Turn]:
    assert KLM is not None
    recorded = load().load(KLM / "recordings.json.gz")["scenarios"]
    chosen = [one for one in recorded if fnmatch.fnmatch(one["name"], only) and not one.get("policy")]
    return [(way, one, at) for way in directions for one in chosen for at in range(1, len(one["steps"]))]


def main() -> int:
    words = dict(word.partition(":")[::2] for word in sys.argv[1:])
    todo: queue.Queue[Turn] = queue.Queue()
    for turn in turns([way for way in _ORDERS if way in words] or list(_ORDERS), words.get("only", "*")):
        todo.put(turn)
    total, failed = todo.qsize(), 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal failed
        with scenario_pair() as pair:
            while True:
                try:
                    way, scenario, at = todo.get_nowait()
                except queue.Empty:
                    return
                differing = differences(pair, way, scenario, at)
                with lock:
                    failed += bool(differing)
                    print(f"{'differ' if differing else 'agree '} {way} {scenario['name']} {at}", flush=True)
                    for name, must in differing:
                        print(f"  {name}: {must}", flush=True)

    threads = [threading.Thread(target=work) for _ in range(int(words.get("jobs", 1)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"agree {total - failed}/{total} handovers")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
