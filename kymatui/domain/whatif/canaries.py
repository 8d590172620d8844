"""The runtimes to try a change on first: one of each plan, region and channel that runs each version."""

from __future__ import annotations

from msgspec import Struct

from kymatui.domain.fleet.runtimes import Runtime
from kymatui.domain.whatif.forecast import Forecast, ModuleForecast


class Canary(Struct, frozen=True):
    """A runtime that stands for `alike` runtimes (itself counted), and what the change does in it."""

    runtime: Runtime
    alike: int
    entries: tuple[ModuleForecast, ...]


def propose_canaries(forecast: Forecast) -> tuple[Canary, ...]:
    """Return one runtime of each plan × region × channel × versions that change, the smallest first.

    The smallest runtime has the fewest modules; equal ones come by name.
    """
    changed: dict[tuple[str, str], list[ModuleForecast]] = {}
    for entry in forecast.changed:
        changed.setdefault(entry.runtime, []).append(entry)
    classes: dict[tuple[object, ...], list[Runtime]] = {}
    for key, entries in changed.items():
        runtime = forecast.runtimes[key]
        moves = tuple((one.module, one.kind, one.installed, one.then.version) for one in entries)
        classes.setdefault((runtime.plan, runtime.region, runtime.channel, moves), []).append(runtime)
    smallest = [(min(found, key=_size), len(found)) for found in classes.values()]
    return tuple(
        Canary(runtime, alike, tuple(changed[runtime.ref.namespace, runtime.name]))
        for runtime, alike in sorted(smallest, key=lambda one: _size(one[0]))
    )


def _size(runtime: Runtime) -> tuple[int, str, str]:
    return len(runtime.modules), runtime.name, runtime.ref.namespace
