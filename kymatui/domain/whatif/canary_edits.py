"""The edits that try a catalog change on canaries: their module follows a channel that has the version already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from kymatui.domain.kyma.release_metas import ReleaseMeta, read_release_meta
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.whatif.canaries import Canary
from kymatui.domain.whatif.fleet_objects import RELEASE_META, FleetObjects
from kymatui.domain.whatif.forecast import ModuleForecast
from kymatui.domain.whatif.module_results import ResultKind

_MOVES: Final = (ResultKind.UPGRADE, ResultKind.WAIT, ResultKind.INSTALL)


class CanaryEdit(Struct, frozen=True):
    """One edit: `module` of these runtimes follows `channel`, which gives them the version of the change today."""

    module: str
    version: str
    channel: str
    runtimes: tuple[str, ...]


def canary_edits(fleet: FleetObjects, canaries: Iterable[Canary]) -> tuple[CanaryEdit, ...]:
    """Return the edits by module; a version that no channel has today needs a channel of its own first."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for canary in canaries:
        for entry in canary.entries:
            channel = next(_channels(fleet, entry), "") if entry.kind in _MOVES else ""
            if channel:
                found.setdefault((entry.module, entry.then.version, channel), []).append(canary.runtime.name)
    return tuple(CanaryEdit(*key, tuple(names)) for key, names in sorted(found.items()))


def _channels(fleet: FleetObjects, entry: ModuleForecast) -> Iterator[str]:
    raw = fleet.catalog.get((RELEASE_META, entry.runtime[0], entry.module))
    meta = read_release_meta(raw) if raw is not None else None
    if isinstance(meta, ReleaseMeta):
        yield from (name for name, version in meta.channels.items() if same_version(version, entry.then.version))
