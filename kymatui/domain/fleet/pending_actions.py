"""Pending actions over a fleet: one line for each runtime or module that is not at rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, RuntimeKey
from kymatui.domain.fleet.manifest_summary import ManifestSummary
from kymatui.domain.fleet.runtimes import Runtime, RuntimeModule, reported_actor
from kymatui.domain.kubernetes.object_meta import MalformedObject
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.kyma_keeper import NOT_RUNNING, actor_with_keeper, with_keeper
from kymatui.domain.kyma.problems import (
    Actor,
    Advice,
    AdviceKind,
    Severity,
    action_needed,
    advice_for_runtime,
    shell_command,
    unpause,
    with_advice,
)
from kymatui.domain.kyma.states import State, parse_state, state_rank
from kymatui.domain.modules.presence import Presence, actor_for_manifest_state, actor_on_report, is_held_by_resources
from kymatui.domain.modules.risks import kyma_error_advice, kyma_error_words
from kymatui.domain.snapshot.missing_lists import UnknownFact
from kymatui.domain.versions.drift import DriftKind


class PendingAction(Struct, frozen=True):
    """A pending action and who has to act.

    `module` is "" if the action is about the runtime itself; `since` may be unknown.
    """

    runtime: RuntimeKey
    module: str
    state: State
    actor: Actor
    reason: str
    since: float | None = None
    advice: Advice | None = None


Catalogs = Mapping[RuntimeKey, Catalog]
"""The catalogs of runtimes that are connected: what runs in them is read."""


def pending_actions(picture: FleetSnapshot, catalogs: Catalogs = MappingProxyType({})) -> list[PendingAction]:
    """Return the pending actions of the whole fleet, the worst first."""
    actions = [
        action
        for key, runtime in picture.runtimes.items()
        if key in catalogs or not _is_at_rest(runtime)
        for action in runtime_pending_actions(runtime, picture.manifests_of(key), catalogs.get(key))
    ]
    for key in picture.mandatory:
        if key not in catalogs and (runtime := picture.runtimes.get(key)) is not None:
            actions += _of_mandatory(runtime, picture.manifests.get(key, ()))
    actions += map(malformed_action, picture.malformed)
    return sorted(
        actions, key=lambda action: (state_rank(action.state), action.actor.value, action.module, action.runtime)
    )


def _of_mandatory(runtime: Runtime, manifests: Sequence[ManifestSummary]) -> Iterator[PendingAction]:
    """Yield the mandatory modules that are not ready; only their Manifests say so."""
    key = (runtime.ref.namespace, runtime.name)
    waiting = (_of_manifest(key, manifest) for manifest in manifests if manifest.mandatory and manifest.is_waiting)
    return (_with_keeper(action, runtime) for action in waiting)


def malformed_action(item: MalformedObject) -> PendingAction:
    """Return what a Kyma needs that cannot be read."""
    key = (item.ref.namespace, item.ref.name)
    words = ("kubectl", "edit", item.ref.kind.kind.lower(), item.ref.name, "-n", item.ref.namespace)
    advice = Advice(AdviceKind.EDIT, "Correct it", shell_command(*words))
    return _yours(key, State.UNKNOWN, f"the Kyma is malformed: {item.reason}", advice)


def _yours(key: RuntimeKey, state: State, cause: str, advice: Advice | None) -> PendingAction:
    """Return what a person has to do for the runtime itself."""
    reason = action_needed(cause, Severity.ERROR, advice=advice)
    return PendingAction(key, "", state, reason.actor, reason.text, advice=advice)


def _is_at_rest(runtime: Runtime) -> bool:
    own_error = kyma_error_words(runtime.state, runtime.message, (module.state for module in runtime.modules))
    quiet = (State.READY, State.UNMANAGED)
    settled = all(module.state in quiet and not module.maintenance for module in runtime.modules)
    return settled and not runtime.deleting and not (runtime.skipped and runtime.state != State.READY) and not own_error


def _with_keeper(action: PendingAction, runtime: Runtime) -> PendingAction:
    """Return the action with the name of what works on the Kyma, or who can start it."""
    keeper, is_stopped = runtime.keeper, runtime.is_stopped
    if keeper is Actor.KLM and not is_stopped:
        return action
    reason = action.reason
    if is_stopped and action.actor is Actor.KLM:
        reason = f"{reason.removesuffix('.')}; {NOT_RUNNING}"
    actor = actor_with_keeper(action.actor, keeper, stopped=is_stopped)
    return replace(action, actor=actor, reason=with_keeper(reason, keeper))


def runtime_pending_actions(
    runtime: Runtime, manifests: Sequence[ManifestSummary] | None = None, catalog: Catalog | None = None
) -> Iterator[PendingAction]:
    """Yield the pending actions of one runtime.

    `manifests` is None where they were not read, `catalog` where the runtime is not connected.
    """
    key = (runtime.ref.namespace, runtime.name)
    reported = _of_kyma(key, runtime, manifests) if catalog is not None else _pending_actions(key, runtime, manifests)
    yield from (_with_keeper(action, runtime) for action in reported)
    if catalog is not None:
        yield from _of_catalog(key, catalog, manifests or ())


def _of_catalog(key: RuntimeKey, catalog: Catalog, manifests: Sequence[ManifestSummary]) -> Iterator[PendingAction]:
    """Yield the modules of a connected runtime that are not at rest, as its catalog explains them."""
    since = {manifest.module: manifest.changed for manifest in manifests}
    for row in catalog.rows:
        is_pending = row.state in _IN_TRANSITION or row.drift.kind in _AWAITED
        if row.reason.severity is not Severity.INFO or is_pending:
            reason = row.reason
            changed = since.get(row.name)
            yield PendingAction(key, row.name, row.state, row.actor, reason.text, changed, reason.advice)


_IN_TRANSITION: Final = (State.PROCESSING, State.DELETING)
_AWAITED: Final = (DriftKind.AWAITING_WINDOW, DriftKind.ROLLING_OUT)


def _of_kyma(key: RuntimeKey, runtime: Runtime, manifests: Sequence[ManifestSummary] | None) -> Iterator[PendingAction]:
    """Yield what is pending for the runtime itself."""
    if runtime.skipped and not runtime.deleting:  # lifecycle-manager deletes a Kyma whatever its label
        state, cause = parse_state(runtime.state) or State.UNKNOWN, "lifecycle-manager skips this runtime"
        yield _yours(
            key, state, cause, advice_for_runtime(unpause("", "Remove the skip label from its Kyma"), runtime.name)
        )
    if runtime.deleting:
        reason = "the runtime is being deleted"
        if manifests is not None:
            reason += f"; {format_count(len(manifests), 'Manifest') if manifests else 'no Manifests'} left"
        yield PendingAction(key, "", State.DELETING, Actor.KLM, reason)
    if words := _own_error(runtime):
        yield _yours(key, runtime.known_state, words, kyma_error_advice(runtime.message, runtime.name))


def _own_error(runtime: Runtime) -> str:
    """Return why the Kyma itself is in Error or Warning, "" if it is not."""
    states = [module.state for module in runtime.modules]
    return "" if runtime.deleting else kyma_error_words(runtime.state, runtime.message, states)


def _pending_actions(
    key: RuntimeKey, runtime: Runtime, manifests: Sequence[ManifestSummary] | None
) -> Iterator[PendingAction]:
    yield from _of_kyma(key, runtime, manifests)
    by_module = {manifest.module: manifest for manifest in manifests or ()}
    has_own_error = bool(_own_error(runtime))
    for module in runtime.modules:
        if has_own_error and module.repeats_kyma:
            continue
        if module.maintenance:
            reason = module.message or "Awaiting maintenance window: the upgrade needs downtime"
            yield PendingAction(key, module.name, module.state, Actor.KLM, reason)
        elif module.state not in (State.READY, State.UNMANAGED):
            yield _of_module(key, module, by_module.get(module.name))


class RuntimeReason(Struct, frozen=True):
    """What is wrong with a runtime, or that nothing is, and who acts; `state` is None where nothing is wrong."""

    text: str
    actor: Actor = Actor.NOBODY
    state: State | None = None
    advice: Advice | None = None


def runtime_reason(
    runtime: Runtime,
    manifests: Sequence[ManifestSummary] | None = None,
    unknown_drift: UnknownFact | None = None,
    catalog: Catalog | None = None,
) -> RuntimeReason:
    """Return the worst that a runtime waits for, else what drifts; `unknown_drift` says why that is unknown.

    `manifests` is None where they were not read, `catalog` where the runtime is not connected.
    """
    actions = [*runtime_pending_actions(runtime, manifests, catalog)]
    if catalog is None:
        actions += _of_mandatory(runtime, manifests or ())
    if actions:
        first, more = min(actions, key=lambda action: state_rank(action.state)), len(actions) - 1
        module = f"{first.module}: " if first.module else ""
        text = f"{module}{first.reason.removesuffix('.')} (and {more} more)" if more else f"{module}{first.reason}"
        return RuntimeReason(text, first.actor, first.state, first.advice)
    if catalog is None and runtime.drifting:
        names = ", ".join(
            f"{entry.name}: {entry.version} installed, {entry.desired} in its channel" for entry in runtime.drifting[:3]
        )
        return RuntimeReason(names, reported_actor(runtime, runtime.drifting[0]), State.WARNING)
    if unknown_drift is not None:
        return RuntimeReason(f"All modules are ready. Drift: {unknown_drift}")
    if runtime.unknown_drift:
        names = ", ".join(entry.name for entry in runtime.modules if entry.unknown_drift)
        return RuntimeReason(f"All modules are ready. Drift is unknown: no ModuleReleaseMeta offers {names}")
    return RuntimeReason("All modules are ready and up to date")


def _of_module(key: RuntimeKey, module: RuntimeModule, manifest: ManifestSummary | None) -> PendingAction:
    """Return what is pending for a module that is not ready; what it waits for is in its runtime."""
    actor = actor_on_report(module.state, module.drift.kind, maintenance=False)
    operation = manifest.operation if manifest is not None else ""
    if module.state is State.DELETING and is_held_by_resources(operation):
        operation = f"{Actor.KLM} waits until the CRs of {module.name} are deleted"
    reported = module.message or operation
    if module.presence is Presence.DELETING and module.state is State.ERROR:
        reported = f"{Actor.KLM} cannot delete the module: {reported or module.state}"
    advice = None if reported else _read_why(key, module.name)
    reason = with_advice(reported or str(module.state), advice)
    return PendingAction(key, module.name, module.state, actor, reason, manifest.changed if manifest else None, advice)


def _read_why(key: RuntimeKey, module: str) -> Advice:
    command = shell_command("kymatui", "module", module, "--remote", key[1])
    return Advice(AdviceKind.INSPECT, "Read why", command)


def _of_manifest(key: RuntimeKey, manifest: ManifestSummary) -> PendingAction:
    state = parse_state(manifest.state) or State.UNKNOWN
    module = manifest.module or manifest.name
    advice = None if manifest.operation else _read_why(key, module)
    reason = with_advice(f"mandatory: {manifest.operation or state}", advice)
    actor = actor_for_manifest_state(state, is_read=False)
    return PendingAction(key, module, state, actor, reason, manifest.changed, advice)
