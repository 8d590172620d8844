"""The runtimes to try a change on first: one of each plan, region and channel that runs each version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from kymatui.domain.fleet.runtimes import Runtime
from kymatui.domain.kyma.template_index import ReleaseMeta, read_release_meta
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.whatif.fleet_objects import RELEASE_META, FleetObjects
from kymatui.domain.whatif.forecast import Forecast, ModuleForecast
from kymatui.domain.whatif.module_results import ResultKind


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
        moves = tuple((move.module, move.kind, move.installed, move.then.version) for move in entries)
        classes.setdefault((runtime.plan, runtime.region, runtime.channel, moves), []).append(runtime)
    smallest = [(min(members, key=_size), len(members)) for members in classes.values()]
    return tuple(
        Canary(runtime, alike, tuple(changed[runtime.ref.namespace, runtime.name]))
        for runtime, alike in sorted(smallest, key=lambda pair: _size(pair[0]))
    )


def _size(runtime: Runtime) -> tuple[int, str, str]:
    return len(runtime.modules), runtime.name, runtime.ref.namespace


# The edits that try a catalog change on canaries: their module follows a channel that has the version already.


_MOVES: Final = (ResultKind.UPGRADE, ResultKind.WAIT, ResultKind.INSTALL)


class CanaryEdit(Struct, frozen=True):
    """One edit: `module` of these runtimes follows `channel`, which gives them the version of the change today."""

    module: str
    version: str
    channel: str
    runtimes: tuple[str, ...]


def canary_edits(fleet: FleetObjects, canaries: Iterable[Canary]) -> tuple[CanaryEdit, ...]:
    """Return the edits by module; a version that no channel has today needs a channel of its own first."""
    runtimes: dict[tuple[str, str, str], list[str]] = {}
    for canary in canaries:
        for entry in canary.entries:
            channel = next(_channels(fleet, entry), "") if entry.kind in _MOVES else ""
            if channel:
                runtimes.setdefault((entry.module, entry.then.version, channel), []).append(canary.runtime.name)
    return tuple(CanaryEdit(*key, tuple(names)) for key, names in sorted(runtimes.items()))


def _channels(fleet: FleetObjects, entry: ModuleForecast) -> Iterator[str]:
    raw = fleet.catalog.get((RELEASE_META, entry.runtime[0], entry.module))
    meta = read_release_meta(raw) if raw is not None else None
    if isinstance(meta, ReleaseMeta):
        yield from (name for name, version in meta.channels.items() if same_version(version, entry.then.version))
