"""Something bad at every request of the operator during a recorded scenario, and then the clusters are compared.

    python -m tests.benchmarks.operator_walk [deaths|faults|MISHAP,…] [reads] [every:N] [spread:N] [jobs:N] [SCENARIO …]

Deaths are SIGKILL before a write leaves and after its answer came; the operator is then started again. Faults are 409,
429, 500, and connections that break or stay silent before and after the write was carried out. With `reads`, they are
at reads and watches: 429, 500, broken and silent. With `spread`, a run of a scenario has a mishap at every Nth request,
and there are N runs, so that every request has one. After each step both clusters have to be as the real
lifecycle-manager left them. Ends with 1 if one is not.
"""

from __future__ import annotations

import queue
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from tests.benchmarks.mortal_operator import MISHAPS, read_lines
from tests.integration.recorded import RecordedPair, recorded_pair

SETS = {"deaths": MISHAPS[:2], "faults": MISHAPS[2:]}
AT_READS = ("error", "throttle", "drop", "hang")
_AT_START = re.compile(r"GET /apis?|GET /apis/apps/v1/namespaces/[a-z-]+/deployments")
"""An operator that cannot read these at its start ends with 1, and is started again."""
SCENARIOS = ("enable-plain", "upgrade-release-meta", "disable", "unmanage", "kyma-deletion")


class OperatorWalk:
    """The walk over all writes, with a pair of clusters for each job."""

    def __init__(self, jobs: int, requests: str, spread: int) -> None:
        self._jobs, self._requests, self._spread = jobs, requests, spread
        self._todo: queue.Queue[tuple[str, str, int, int]] = queue.Queue()
        self._lock = threading.Lock()
        self._done = 0
        self.met: Counter[str] = Counter()
        self.wrong: list[str] = []

    def run(self, scenarios: list[str], mishaps: list[str], every: int) -> None:
        for name, count in self._measured(scenarios).items():
            print(f"{name}: {count} {self._requests}", flush=True)
            for number in range(1, (min(self._spread, count) if self._spread else count) + 1, every):
                for mishap in mishaps:
                    self._todo.put((name, mishap, number, count))
        threads = [threading.Thread(target=self._work) for _ in range(self._jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _measured(self, scenarios: list[str]) -> dict[str, int]:
        with tempfile.TemporaryDirectory() as place, recorded_pair(Path(place)) as pair:
            return {name: len(self._play(pair, name, "none", 0, 0)[1]) for name in scenarios}

    def _work(self) -> None:
        with tempfile.TemporaryDirectory() as place, recorded_pair(Path(place)) as pair:
            while True:
                try:
                    name, mishap, number, last = self._todo.get_nowait()
                except queue.Empty:
                    return
                problem, _ = self._play(pair, name, mishap, number, last)
                with self._lock:
                    self._done += 1
                    if self._done % 20 == 0:
                        print(f"{self._done} runs", file=sys.stderr, flush=True)
                    if problem:
                        self.wrong.append(f"{name}: {mishap} at {self._requests} {number}: {problem}")
                        print(f"wrong: {self.wrong[-1]}", flush=True)

    def _play(self, pair: RecordedPair, name: str, mishap: str, number: int, last: int) -> tuple[str, list[str]]:
        """Return what is wrong, "" if nothing, and the requests."""
        plain = pair.operator.command
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            what = f"{mishap} {self._requests} {number} {self._spread} {last}"
            start = f"-m tests.benchmarks.mortal_operator {folder} {what} operator"
            pair.operator.command = plain.replace("-m kymatui operator", start)
            problem = ""
            try:
                pair.play(name)
            except (AssertionError, RuntimeError) as error:
                problem = f"{str(error)[:600]}; {pair.log.read_text()[-600:]}"
            finally:
                pair.operator.command = plain
            met, ends, requests = (read_lines(folder / one) for one in ("met", "ends", "requests"))
            if ended := [one for one in ends if not _AT_START.fullmatch(one)]:
                problem = f"the operator ended after {ended}; {problem}"
            with self._lock:
                self.met.update({f"{name} {mishap}": len(met)} if met else {})
            return problem and f"{problem}; mishaps: {', '.join(met)}", requests


def main(words: list[str]) -> int:
    given = {name: int(number) for name, _, number in (word.partition(":") for word in words) if number}
    reads = "reads" in words
    rest = [word for word in words if ":" not in word and word != "reads"]
    mishaps = [*(AT_READS if reads else MISHAPS)]
    if rest and all(part in (*SETS, *MISHAPS) for part in rest[0].split(",")):
        mishaps = [one for part in rest.pop(0).split(",") for one in SETS.get(part, (part,))]
    walk = OperatorWalk(given.get("jobs", 4), "reads" if reads else "writes", given.get("spread", 0))
    began = time.monotonic()
    walk.run(rest or [*SCENARIOS], mishaps, given.get("every", 1))
    for key, count in sorted(walk.met.items()):
        print(f"{key}: {count} met")
    print(f"{sum(walk.met.values())} points, {len(walk.wrong)} wrong, {time.monotonic() - began:.0f} s")
    return 1 if walk.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
