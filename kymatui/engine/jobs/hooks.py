"""Hooks of charts: in sequence by weight, each awaited, and each once in a run despite interruptions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from kymatui.domain.inventories import Inventory
from kymatui.domain.kubernetes.object_meta import read_ref, uid_of
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.states import State
from kymatui.domain.modules.readiness import check_readiness
from kymatui.domain.ownership import ANNOTATION_RUN, resource_policy, was_created_by_hook
from kymatui.engine.bundles.bundle import BundleHook, hooks_of
from kymatui.engine.cluster.kind_order import is_definition, is_namespace
from kymatui.engine.cluster.ports import Object
from kymatui.engine.inventory.inventory_store import InventoryStore
from kymatui.engine.jobs.run import Progress, Run
from kymatui.engine.jobs.wait import NotReadyError, is_deleted_when_done, wait_ready, wait_until_deleted
from kymatui.errors import ConflictError, KymatuiError, NotFoundError, PartlyDoneError

BEFORE_CREATION: Final = "before-hook-creation"
SUCCEEDED: Final = "hook-succeeded"
FAILED: Final = "hook-failed"
_AWAITED: Final = frozenset({("batch", "Job"), ("", "Pod")})


def hook_key(event: str, hook: BundleHook) -> str:
    """Return the inventory's key of a completed hook."""
    return f"{event} {hook.hook.path}#{hook.hook.name}"


def run_hooks(
    run: Run, hooks: Iterable[BundleHook], event: str, inventory: Inventory, keeper: InventoryStore
) -> Inventory:
    """Run the hooks of an event ("pre-install", …); return the inventory with the completed hooks.

    Raises PartlyDoneError if one fails, after applying the hooks' delete policies.
    """
    ordered = hooks_of(hooks, event)
    for number, hook in enumerate(ordered):
        if hook_key(event, hook) in inventory.done:
            continue
        run.report(Progress(f"{event} hook {hook.hook.name}", read_ref(hook.body), number, len(ordered), unit="hook"))
        try:
            with run.step(f"hook {event}", read_ref(hook.body)):
                _run(run, hook, f"{inventory.digest[:16]}-{inventory.revision}")
        except KymatuiError as error:
            _delete(run, [hook], FAILED)
            _delete(run, ordered[:number], SUCCEEDED)
            raise PartlyDoneError(
                f"the {event} hook {read_ref(hook.body)} failed: {error}",
                hint="see its logs, then run the command again",
            ) from error
        inventory = keeper.note(replace(inventory, done=(*inventory.done, hook_key(event, hook))))
    _delete(run, ordered, SUCCEEDED)
    return inventory


def _run(run: Run, hook: BundleHook, mark: str) -> None:
    ref = read_ref(hook.body)
    live = run.cluster.get(ref)
    if live is not None and not _is_of_this_run(run, live, mark):
        if was_created_by_hook(live) and _outlives(live) and not live["metadata"].get("deletionTimestamp"):
            run.report(Progress(f"{ref} already exists, and stays as it is", ref))
            return
        policies = hook.hook.delete_policies
        if policies and BEFORE_CREATION not in policies:
            raise PartlyDoneError(f"{ref} already exists, and its delete policy does not delete it first")
        _remove(run, ref)
        live = None
    if live is None:
        _create(run, hook.body, mark)
    if (ref.kind.group, ref.kind.kind) in _AWAITED:
        wait_ready(run, [ref], run.limits.hooks, [ref] if is_deleted_when_done(hook.body) else [])


def _outlives(live: Object) -> bool:
    """Return whether no delete policy deletes a hook's object, because others may be lost with it.

    helm deletes no CRD of a hook either. It does delete namespaces, and what an annotation keeps; only a Job or a Pod
    has to be deleted to run again.
    """
    ref = read_ref(live)
    kept = bool(resource_policy(live)) and (ref.kind.group, ref.kind.kind) not in _AWAITED
    return is_definition(ref) or is_namespace(ref) or kept


def _is_of_this_run(run: Run, live: Object, mark: str) -> bool:
    """Return whether this run started the hook before an interruption, and it has not failed."""
    annotations = live["metadata"].get("annotations") or {}
    if annotations.get(ANNOTATION_RUN) != mark or live["metadata"].get("deletionTimestamp"):
        return False
    return check_readiness(live, run.clock.now()).state is not State.ERROR


def _create(run: Run, body: Object, mark: str) -> None:
    metadata = dict(body["metadata"])
    metadata["annotations"] = {**(metadata.get("annotations") or {}), ANNOTATION_RUN: mark}
    try:
        run.cluster.create({**body, "metadata": metadata}, manager=run.manager)
    except ConflictError:
        live = run.cluster.get(read_ref(body))  # created by a request without an answer, or by another client
        if live is None or (live["metadata"].get("annotations") or {}).get(ANNOTATION_RUN) != mark:
            raise


def _delete(run: Run, hooks: Iterable[BundleHook], policy: str) -> None:
    """Delete the hooks with this delete policy, and wait until they are gone."""
    for hook in hooks:
        if policy in hook.hook.delete_policies:
            _remove(run, read_ref(hook.body))


def _remove(run: Run, ref: ObjectRef) -> None:
    live = run.cluster.get(ref)
    if live is None:
        return
    if was_created_by_hook(live) and _outlives(live):
        return
    if not was_created_by_hook(live):
        message = f"{ref} already exists and was not created by a hook, so it is not deleted"
        raise PartlyDoneError(message, hint="rename or delete it")
    uid = uid_of(live)
    try:
        run.cluster.delete(ref, uid=uid)
    except NotFoundError:  # it ended by itself, as after a TTL
        return
    if remaining := wait_until_deleted(run, [ref], run.limits.gone, lambda _: "", {ref: uid}):
        finalizers = remaining[ref]["metadata"].get("finalizers") or ()
        raise NotReadyError(f"{ref} is not deleted (finalizers: {', '.join(finalizers) or 'none'})", [])
