"""Something bad at every write of the operator during a recorded scenario, and then the clusters are compared.

    python -m tests.benchmarks.operator_walk [deaths|faults|MISHAP,...] [every:N] [jobs:N] [SCENARIO ...]

Deaths are SIGKILL before a write leaves and after its answer came; the operator is then started again. Faults are 409,
429, 500, and connections that break or stay silent before and after the write was carried out. After each step both
clusters have to be as the real lifecycle-manager left them. Ends with 1 if one is not.
"""

from __future__ import annotations

import queue
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from tests.benchmarks.mortal_operator import MISHAPS
from tests.integration.recorded import RecordedPair, recorded_pair

SETS = {"deaths": MISHAPS[:2], "faults": MISHAPS[2:]}
SCENARIOS = ("enable-plain", "upgrade-release-meta", "disable", "unmanage", "kyma-deletion")


class OperatorWalk:
    """The walk over all writes, with a pair of clusters for each job."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._todo: queue.Queue[tuple[str, str, int]] = queue.Queue()
        self._lock = threading.Lock()
        self.met: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self, scenarios: list[str], mishaps: list[str], every: int) -> None:
        for name, count in self._measured(scenarios).items():
            print(f"{name}: {count} writes", flush=True)
            for number in range(1, count + 1, every):
                for mishap in mishaps:
                    self._todo.put((name, mishap, number))
        threads = [threading.Thread(target=self._work) for _ in range(self._jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _measured(self, scenarios: list[str]) -> dict[str, int]:
        with tempfile.TemporaryDirectory() as place, recorded_pair(Path(place)) as pair:
            return {name: len(self._play(pair, name, "none", 0)[1]) for name in scenarios}

    def _work(self) -> None:
        with tempfile.TemporaryDirectory() as place, recorded_pair(Path(place)) as pair:
            while True:
                try:
                    name, mishap, number = self._todo.get_nowait()
                except queue.Empty:
                    return
                problem, _ = self._play(pair, name, mishap, number)
                with self._lock:
                    if problem:
                        self.wrong.append(f"{name}: {mishap} at write {number}: {problem}")
                        print(f"wrong: {self.wrong[-1]}", flush=True)

    def _play(self, pair: RecordedPair, name: str, mishap: str, number: int) -> tuple[str, list[str]]:
        """Return what is wrong, "" if nothing, and the writes."""
        plain = pair.operator.command
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            start = f"-m tests.benchmarks.mortal_operator {folder} {mishap} {number} operator"
            pair.operator.command = plain.replace("-m kymatui operator", start)
            problem = ""
            try:
                pair.play(name)
            except (AssertionError, RuntimeError) as error:
                problem = f"{str(error)[:600]}; {pair.log.read_text()[-600:]}"
            finally:
                pair.operator.command = plain
            met = folder / "met"
            if met.exists():
                with self._lock:
                    self.met[f"{name} {mishap}"] += 1
                problem = problem and f"{met.read_text()}: {problem}"
            writes = folder / "writes"
            return problem, writes.read_text().splitlines() if writes.exists() else []


def main(words: list[str]) -> int:
    every = next((int(word[6:]) for word in words if word.startswith("every:")), 1)
    jobs = next((int(word[5:]) for word in words if word.startswith("jobs:")), 4)
    rest = [word for word in words if ":" not in word]
    mishaps = [*MISHAPS]
    if rest and all(part in (*SETS, *MISHAPS) for part in rest[0].split(",")):
        mishaps = [one for part in rest.pop(0).split(",") for one in SETS.get(part, (part,))]
    began, walk = time.monotonic(), OperatorWalk(jobs)
    walk.run(rest or [*SCENARIOS], mishaps, every)
    for key, count in sorted(walk.met.items()):
        print(f"{key}: {count} met")
    print(f"{sum(walk.met.values())} points, {len(walk.wrong)} wrong, {time.monotonic() - began:.0f} s")
    return 1 if walk.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
