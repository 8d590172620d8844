"""Who has to act for what, over a whole fleet: one line for everything that is not at rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kymatui.domain.fleet_manifests import ManifestSight
from kymatui.domain.fleet_pictures import FleetPicture, Key
from kymatui.domain.fleets import ModuleSight, Runtime
from kymatui.domain.problems import Actor
from kymatui.domain.reporting import actor_on, actor_on_manifest
from kymatui.domain.states import State, severity, state_of
from kymatui.domain.texts import counted

YOU = Actor.YOU.value
KLM = Actor.KLM.value
WINDOW = "a maintenance window"


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
    on = actor_on(module.state, operation)
    blocked = module.state is State.DELETING and on is Actor.YOU
    words = f"CRs of {module.name} block the deletion" if blocked else ""
    since = sight.changed if sight is not None else None
    return Wait(key, module.name, module.state, on.value, module.message or words or operation, since)


def _of_manifest(key: Key, sight: ManifestSight) -> Wait:
    state = state_of(sight.state) or State.UNKNOWN
    on = actor_on(state, sight.operation) if state is State.DELETING else actor_on_manifest(state)
    return Wait(key, sight.module or sight.name, state, on.value, f"mandatory: {sight.operation}", sight.changed)
