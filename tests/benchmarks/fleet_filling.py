"""How long a fleet takes to get into the sandbox, and what controllers and readers make of it.

python -m tests.benchmarks.fleet_filling [KYMAS]
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

from kymatui.sandbox.apimachinery.exchange import SYSTEM, ServerRequest
from kymatui.sandbox.world.modules.module_announcement import KYMAS
from kymatui.sandbox.world.story import sample_fleet
from kymatui.sandbox.world.story.world_population import prepare
from tests.sandbox.living import Living

MANIFESTS = "/apis/operator.kyma-project.io/v1beta2/manifests"


def timed(name: str, work: Callable[[], object]) -> None:
    begin = time.perf_counter()
    work()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"| {name} | {(time.perf_counter() - begin) * 1000:.0f} ms | {memory} MB |")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    living = Living()
    prepare(living.client, namespaces=(sample_fleet.CONTROL,))
    living.advance(1)
    page = ServerRequest("GET", MANIFESTS, {"limit": ["500"]}, {"accept": "application/json"}, b"", SYSTEM)
    patch = {"spec": {"channel": "fast"}}
    [first] = sample_fleet.runtimes(1)
    print("| what | time | memory so far |\n|---|---|---|")
    timed(
        f"{count} Kymas, {5 * count} Manifests",
        lambda: sample_fleet.fill(living.server.store, count, now=1_700_000_000.0),
    )
    timed("the controllers see them", lambda: living.clock.advance(1))
    timed("a page of 500", lambda: living.server.api.handle(page))
    timed("an edit", lambda: living.client.patch(KYMAS, first, patch, namespace=sample_fleet.CONTROL))
    timed("a minute of idleness", lambda: living.clock.advance(60))


if __name__ == "__main__":
    main()
