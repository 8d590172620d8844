"""Random changes of random fleets: each is forecast, then made, and every runtime gets what was foretold.

    python -m tests.benchmarks.whatif_walk [FLEETS]

Up to three changes follow each other: templates go and come back, mandatory versions go down, skip labels come and go.
The control plane and its 3 to 8 runtimes are API servers in memory; the operator's controllers of Kymas and mandatory
modules reconcile them until nothing changes. Ends with 1 if something came otherwise.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

from hypothesis import HealthCheck, Phase, given, settings

from kymatui.domain.whatif.module_results import ResultReason
from tests.controllers.drawn_fleets import DrawnStep, drawn_fleets, release_steps
from tests.controllers.release_worlds import DrawnFleet, ReleaseWorld

_SKIPPED = ResultReason.MANIFEST_SKIPPED


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    kinds, runs = Counter[str](), Counter[str]()
    wrong: list[str] = []

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn_fleets(), release_steps())
    def make(drawn: DrawnFleet, steps: list[DrawnStep]) -> None:
        world, last = ReleaseWorld(drawn), len(steps) - 1
        for number, step in enumerate(steps):
            world.skip(step.skipped)
            differences, entries = world.differences(step.change)
            runs.update(["changes"])
            runs.update({"runtimes": len(drawn.kymas), "modules": len(entries)})
            kinds.update(entry.kind.value for entry in entries if entry.changes)
            kinds.update(entry.then.reason.value for entry in entries if entry.then.reason is _SKIPPED)
            wrong.extend(f"step {number} of {last}: {difference}" for difference in differences)

    began, cpu = time.perf_counter(), time.process_time()
    make()
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    for one in wrong:
        print(one)
    outcomes = ", ".join(f"{kind} {number}" for kind, number in kinds.most_common())
    print(
        f"{runs['changes']} changes of {runs['runtimes']} runtimes with {runs['modules']} modules: {len(wrong)} other "
        f"than foretold; {seconds:.0f} s, processor {cpu:.0f} s; {outcomes}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
