"""Who has to act for what, over a whole fleet: one line for everything that is not at rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kymatui.domain.fleet_manifests import ManifestSight
from kymatui.domain.fleet_pictures import FleetPicture, Key
from kymatui.domain.fleets import ModuleSight, Runtime
from kymatui.domain.states import State, severity, state_of
from kymatui.domain.texts import counted

YOU = "you"
KLM = "lifecycle-manager"
WINDOW = "a maintenance window"
_CUSTOM_RESOURCES = "module crs"
"""Of the operation that a Manifest tells while resources that somebody made keep its module from going."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Something that waits, and for whom. `module` is "" where the runtime itself does; `since` may not be known."""

    runtime: Key
    module: str
    state: State
    on: str
    reason: str
    since: float | None = None


def waits(picture: FleetPicture) -> list[Wait]:
    """All over the fleet, the worst first."""
    found = [
        wait
        for key, runtime in picture.runtimes.items()
        if not _is_at_rest(runtime)
        for wait in waits_of(runtime, picture.manifests.get(key, ()))
    ]
    found += [
        wait
        for key, sights in picture.manifests.items()
        for sight in sights
        if sight.mandatory and sight.state not in (State.READY, "") and key in picture.runtimes
        for wait in (_of_manifest(key, sight),)
    ]
    return sorted(found, key=lambda wait: (severity(wait.state), wait.on, wait.module, wait.runtime))


def _is_at_rest(runtime: Runtime) -> bool:
    quiet = (State.READY, State.UNMANAGED)
    settled = all(module.state in quiet and not module.maintenance for module in runtime.modules)
    return settled and not runtime.deleting and not (runtime.skipped and runtime.state != State.READY)


def waits_of(runtime: Runtime, sights: Sequence[ManifestSight] = ()) -> Iterator[Wait]:
    """Of one runtime."""
    key = (runtime.ref.namespace, runtime.name)
    by_module = {sight.module: sight for sight in sights}
    if runtime.skipped:
        reason = "labelled skip-reconciliation: lifecycle-manager passes over it"
        yield Wait(key, "", state_of(runtime.state) or State.UNKNOWN, YOU, reason)
    if runtime.deleting:
        left = f"{counted(len(sights), 'Manifest')} left" if sights else "no Manifest left"
        yield Wait(key, "", State.DELETING, KLM, f"the runtime is being deleted; {left}")
    for module in runtime.modules:
        if module.maintenance:
            yield Wait(key, module.name, module.state, WINDOW, module.message or "its upgrade needs downtime")
        elif module.state not in (State.READY, State.UNMANAGED):
            yield _of_module(key, module, by_module.get(module.name))


def _of_module(key: Key, module: ModuleSight, sight: ManifestSight | None) -> Wait:
    operation = sight.operation if sight is not None else ""
    on, words = _who(module.name, module.state, operation)
    since = sight.changed if sight is not None else None
    return Wait(key, module.name, module.state, on, module.message or words or operation, since)


def _of_manifest(key: Key, sight: ManifestSight) -> Wait:
    name = sight.module or sight.name
    state = state_of(sight.state) or State.UNKNOWN
    on, words = _who(name, state, sight.operation)
    return Wait(key, name, state, on, words or f"mandatory: {sight.operation}", sight.changed)


def _who(module: str, state: State, operation: str) -> tuple[str, str]:
    """Who acts next, and in which words where the cluster's own are not enough.

    A Warning of a module asks its user for something; a deletion waits for resources that people made.
    """
    if state is State.DELETING and _CUSTOM_RESOURCES in operation.lower():
        return YOU, f"resources of {module} that somebody made are still there"
    if state is State.WARNING:
        return YOU, ""
    if state is State.ERROR:
        return KLM, ""
    return f"{module}'s manager", ""
