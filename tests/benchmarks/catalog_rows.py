"""What a catalog costs: `python -m tests.benchmarks.catalog_rows` from the checkout prints a table."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from string import ascii_lowercase
from typing import Any

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.snapshot.snapshots import ReadCache, Snapshot
from tests.domain.builders import NOW, deployment, gvk, kyma, manifest, meta, report, resource, template


def names(count: int) -> list[str]:
    """Module names that the schema accepts: letters only."""
    letters = ascii_lowercase
    return [f"mod{letters[n // 676 % 26]}{letters[n // 26 % 26]}{letters[n % 26]}" for n in range(count)]


def runtime(modules: int = 30, other_workloads: int = 500) -> dict[str, Any]:
    """A runtime with every module installed, three versions each, and many Deployments of other people."""
    chosen = names(modules)
    return {
        "kymas": (kyma([{"name": n} for n in chosen], status=[report(n, "1.1.0") for n in chosen]),),
        "templates": tuple(template(n, v) for n in chosen for v in ("1.0.0", "1.1.0", "1.2.0")),
        "release_metas": tuple(meta(n, {"regular": "1.1.0", "fast": "1.2.0"}) for n in chosen),
        "workloads": (
            *(deployment(n, "1.1.0") for n in chosen),
            *(deployment(f"other{n}", "1.0.0") for n in range(other_workloads)),
        ),
        "module_resources": {gvk(n): (resource(n),) for n in chosen},
    }


def control_plane(kymas: int = 5000, modules: int = 5) -> dict[str, Any]:
    """A control plane: thousands of Kymas, five Manifests each; the rows are about one of them."""
    chosen = names(30)
    objects = runtime()
    one = objects["kymas"][0]
    owners = tuple(
        {**one, "metadata": {**one["metadata"], "name": f"runtime-{n}", "namespace": "kcp-system"}}
        for n in range(kymas)
    )
    applied = tuple(
        manifest(n, "1.1.0", owner=f"runtime-{owner}", namespace="kcp-system")
        for owner in range(kymas)
        for n in chosen[:modules]
    )
    kept = {key: objects[key] for key in ("templates", "release_metas")}
    return {**kept, "kymas": owners, "manifests": applied}


def measure(run: Callable[[int], object], repeats: int = 15) -> float:
    """The median in milliseconds; each run gets its number."""
    times = []
    for number in range(repeats):
        start = time.perf_counter()
        run(number)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def main() -> None:
    """Prints one line a case."""
    seen, memory, objects = Snapshot("runtime", **runtime()), ReadCache(), runtime()
    fleet = Snapshot("control plane", **control_plane())
    build_catalog(seen, NOW, None, memory)
    kept = ReadCache()

    def one_event(number: int) -> None:
        name = names(30)[number]
        changed = (deployment(name, "1.1.0"), *(w for w in objects["workloads"] if w["metadata"]["name"] != name))
        build_catalog(Snapshot("runtime", **{**objects, "workloads": changed}), NOW, None, kept)

    cases: list[tuple[str, Callable[[int], object]]] = [
        ("30 modules, 530 workloads, the first time", lambda _: build_catalog(seen, NOW)),
        ("the same again, nothing changed", lambda _: build_catalog(seen, NOW, None, memory)),
        ("the same again, one workload changed", one_event),
        ("5,000 Kymas and 25,000 Manifests, the first time", lambda _: build_catalog(fleet, NOW)),
    ]
    for words, run in cases:
        sys.stdout.write(f"{words:52} {measure(run):8.1f} ms\n")


if __name__ == "__main__":
    main()
