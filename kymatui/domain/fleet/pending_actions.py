"""Pending actions over a fleet: one line for each runtime or module that is not at rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, RuntimeKey
from kymatui.domain.fleet.manifest_summary import ManifestSummary
from kymatui.domain.fleet.runtimes import Runtime, RuntimeModule
from kymatui.domain.kubernetes.object_meta import MalformedObject
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.kyma_keeper import actor_with_keeper, with_keeper
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State, parse_state, state_rank
from kymatui.domain.modules.next_actor import actor_for_manifest_state, actor_for_state
from kymatui.domain.modules.risks import kyma_error_words
from kymatui.domain.snapshot.missing_lists import UnknownFact

YOU = Actor.YOU.value
KLM = Actor.KLM.value
WINDOW = "maintenance window"
NO_MESSAGE = ", and the Kyma has no message of it"
"""End of the reason of a module whose Manifest was not read."""


class PendingAction(Struct, frozen=True):
    """A pending action and who has to act.

    `module` is "" if the action is about the runtime itself; `since` may be unknown.
    """

    runtime: RuntimeKey
    module: str
    state: State
    on: str
    reason: str
    since: float | None = None


def pending_actions(picture: FleetSnapshot) -> list[PendingAction]:
    """Return the pending actions of the whole fleet, the worst first."""
    found = [
        wait
        for key, runtime in picture.runtimes.items()
        if not _is_at_rest(runtime)
        for wait in runtime_pending_actions(runtime, picture.manifests_of(key))
    ]
    for key in picture.mandatory:
        if (runtime := picture.runtimes.get(key)) is not None:
            found += _of_mandatory(runtime, picture.manifests.get(key, ()))
    found += map(malformed_action, picture.malformed)
    return sorted(found, key=lambda wait: (state_rank(wait.state), wait.on, wait.module, wait.runtime))


def _of_mandatory(runtime: Runtime, sights: Sequence[ManifestSummary]) -> Iterator[PendingAction]:
    """Yield the mandatory modules that are not ready; only their Manifests say so."""
    key = (runtime.ref.namespace, runtime.name)
    found = (_of_manifest(key, sight) for sight in sights if sight.mandatory and sight.is_waiting)
    return (_with_keeper(wait, runtime.keeper) for wait in found)


def malformed_action(item: MalformedObject) -> PendingAction:
    """Return what a Kyma needs that cannot be read."""
    key = (item.ref.namespace, item.ref.name)
    return PendingAction(key, "", State.UNKNOWN, YOU, f"Action needed: correct the malformed Kyma: {item.reason}")


def _is_at_rest(runtime: Runtime) -> bool:
    own_error = kyma_error_words(runtime.state, runtime.message, (module.state for module in runtime.modules))
    quiet = (State.READY, State.UNMANAGED)
    settled = all(module.state in quiet and not module.maintenance for module in runtime.modules)
    return settled and not runtime.deleting and not (runtime.skipped and runtime.state != State.READY) and not own_error


def _with_keeper(wait: PendingAction, keeper: Actor) -> PendingAction:
    """Return the action with the name of what works on the Kyma."""
    if keeper is Actor.KLM:
        return wait
    return replace(wait, on=keeper.value if wait.on == KLM else wait.on, reason=with_keeper(wait.reason, keeper))


def runtime_pending_actions(
    runtime: Runtime, manifests: Sequence[ManifestSummary] | None = None
) -> Iterator[PendingAction]:
    """Yield the pending actions of one runtime; `manifests` is None where they were not read."""
    return (_with_keeper(wait, runtime.keeper) for wait in _pending_actions(runtime, manifests))


def _pending_actions(runtime: Runtime, manifests: Sequence[ManifestSummary] | None) -> Iterator[PendingAction]:
    key = (runtime.ref.namespace, runtime.name)
    by_module = {manifest.module: manifest for manifest in manifests or ()}
    if runtime.skipped and not runtime.deleting:  # lifecycle-manager deletes a Kyma whatever its label
        reason = (
            "Action needed: lifecycle-manager skips this runtime. Remove the label skip-reconciliation from its Kyma."
        )
        yield PendingAction(key, "", parse_state(runtime.state) or State.UNKNOWN, YOU, reason)
    if runtime.deleting:
        reason = "the runtime is being deleted"
        if manifests is not None:
            reason += f"; {format_count(len(manifests), 'Manifest') if manifests else 'no Manifests'} left"
        yield PendingAction(key, "", State.DELETING, KLM, reason)
    states = [module.state for module in runtime.modules]
    if words := "" if runtime.deleting else kyma_error_words(runtime.state, runtime.message, states):
        yield PendingAction(key, "", runtime.known_state, YOU, f"Action needed: {words}")
    for module in runtime.modules:
        if words and module.repeats_kyma:
            continue
        if module.maintenance:
            yield PendingAction(
                key,
                module.name,
                module.state,
                WINDOW,
                module.message or "Awaiting maintenance window: the upgrade needs downtime",
            )
        elif module.state not in (State.READY, State.UNMANAGED):
            yield _of_module(key, module, by_module.get(module.name))


class RuntimeReason(Struct, frozen=True):
    """What is wrong with a runtime, or that nothing is, and who acts; `state` is None where nothing is wrong."""

    text: str
    actor: str = ""
    state: State | None = None


def runtime_reason(
    runtime: Runtime,
    manifests: Sequence[ManifestSummary] | None = None,
    unknown_drift: UnknownFact | None = None,
) -> RuntimeReason:
    """Return the worst that a runtime waits for, else what drifts; `unknown_drift` says why that is unknown.

    `manifests` is None where they were not read.
    """
    found = [*runtime_pending_actions(runtime, manifests), *_of_mandatory(runtime, manifests or ())]
    waits = sorted(found, key=lambda wait: state_rank(wait.state))
    if waits:
        first, more = waits[0], len(waits) - 1
        module = f"{first.module}: " if first.module else ""
        return RuntimeReason(f"{module}{first.reason}{f' (and {more} more)' if more else ''}", first.on, first.state)
    if runtime.drifting:
        names = ", ".join(
            f"{one.name}: {one.version} installed, {one.desired} in its channel" for one in runtime.drifting[:3]
        )
        actor = actor_with_keeper(runtime.drifting[0].actor, runtime.keeper)
        return RuntimeReason(names, actor.value, State.WARNING)
    if unknown_drift is not None:
        return RuntimeReason(f"All modules are ready. Drift: {unknown_drift}")
    if runtime.unknown_drift:
        names = ", ".join(one.name for one in runtime.modules if one.unknown_drift)
        return RuntimeReason(f"All modules are ready. Drift is unknown: no ModuleReleaseMeta offers {names}")
    return RuntimeReason("All modules are ready and up to date")


def _of_module(key: RuntimeKey, module: RuntimeModule, sight: ManifestSummary | None) -> PendingAction:
    operation = sight.operation if sight is not None else ""
    on = actor_for_state(module.state, operation)
    blocked = module.state is State.DELETING and on is Actor.YOU
    words = f"Action needed: delete the CRs of {module.name} that block the deletion" if blocked else ""
    since = sight.changed if sight is not None else None
    reason = module.message or words or operation or _state_words(module.state)
    reason += "" if module.message or words or sight is not None else NO_MESSAGE
    return PendingAction(key, module.name, module.state, on.value, reason, since)


def _state_words(state: State) -> str:
    """Return the reason of a module whose state is all that is known."""
    return f"state is {state}"


def _of_manifest(key: RuntimeKey, sight: ManifestSummary) -> PendingAction:
    state = parse_state(sight.state) or State.UNKNOWN
    on = actor_for_state(state, sight.operation) if state is State.DELETING else actor_for_manifest_state(state)
    reason = f"mandatory: {sight.operation or _state_words(state)}"
    return PendingAction(key, sight.module or sight.name, state, on.value, reason, sight.changed)
