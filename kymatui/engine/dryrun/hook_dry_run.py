"""Dry runs of hooks: each is created with dryRun, like the applied objects.

A hook may need objects of another hook or of the module; if these do not exist yet, the hook is not blocked.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.engine.bundles.bundle import Bundle, BundleHook, hooks_of
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.kind_order import defined_kinds
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.dryrun.preview import COMPARED_LOCALLY, NO_DRY_RUN, WEBHOOK
from kymatui.engine.jobs.hooks import BEFORE_CREATION, hook_key, was_created_by_hook
from kymatui.engine.plans.plan import Action, BundlePart, Step
from kymatui.errors import ClusterError, ConflictError, ForbiddenError, InvalidError, NotFoundError, ServerError

_EXISTS: Final = "AlreadyExists"


class PlannedContext(Struct, frozen=True):
    """The planned context of the hooks: kinds and namespaces of the plan, and completed hooks."""

    kinds: Collection[GroupVersionKind]
    namespaces: Collection[str]
    done: Collection[str] = ()
    unfinished: bool = False


def dry_run_hooks(
    bundle: Bundle, verb: str, cluster: Cluster, stage: PlannedContext, cancel: threading.Event, width: int
) -> tuple[Step, ...]:
    """Return the hooks of install, upgrade or rollback in order; those the server rejects are BLOCKED."""
    events = (f"pre-{verb}", f"post-{verb}")
    hooks = [(event, one) for event in events for one in hooks_of(bundle.hooks, event)]
    brought = {*stage.kinds, *defined_kinds(one.body for _, one in hooks)}
    made = run_for_each(hooks, lambda pair: _Trial(cluster, stage, brought, *pair).step(), cancel, width)
    return tuple(made)


class _Trial(Struct, frozen=True):
    cluster: Cluster
    stage: PlannedContext
    brought: Collection[GroupVersionKind]
    event: str
    hook: BundleHook

    def step(self) -> Step:
        ref = read_ref(self.hook.body)
        if hook_key(self.event, self.hook) in self.stage.done:
            return self._hook_step(Action.SAME, "has already run")
        if ref.namespace in self.stage.namespaces:
            return self._later(f"namespace {ref.namespace} is part of the plan")
        if self.cluster.kind(ref.kind) is None:
            if ref.kind in self.brought:
                return self._later("its CRD is part of the plan")
            return self._hook_step(Action.BLOCKED, f"the cluster does not serve {ref.kind}")
        if self.cluster.read_only:
            return self._occupied() or self._later(COMPARED_LOCALLY)
        return self._tried()

    def _occupied(self) -> Step | None:
        """Return the blocked step if another client's object has the name of the hook: it is never deleted."""
        try:
            live = self.cluster.get(read_ref(self.hook.body))
        except ForbiddenError:  # the run finds out before it deletes anything
            return None
        if live is None or was_created_by_hook(live):
            return None
        reason = "already exists and was not created by a hook, so it is not deleted; rename or delete it"
        return self._hook_step(Action.BLOCKED, reason)

    def _tried(self) -> Step:
        try:
            self.cluster.create(self.hook.body, dry_run=True)
        except ConflictError as error:
            return self._there(error)
        except NotFoundError as error:
            return self._later(f"not checked: {error}")  # the namespace of another hook
        except (ForbiddenError, InvalidError) as error:
            if NO_DRY_RUN in str(error):
                return self._later(f"not checked: {error}")
            return self._hook_step(Action.BLOCKED, str(error))
        except ServerError as error:
            if WEBHOOK not in str(error):
                raise
            return self._hook_step(Action.BLOCKED, str(error))
        return self._hook_step(Action.CREATE, "")

    def _there(self, error: ClusterError) -> Step:
        if getattr(error, "reason", "") != _EXISTS:
            return self._hook_step(Action.BLOCKED, str(error))
        policies: Sequence[str] = self.hook.hook.delete_policies
        if not policies or BEFORE_CREATION in policies:
            return self._occupied() or self._hook_step(Action.CREATE, "the existing one is deleted first")
        reason = "already exists, and its delete policy does not delete it first"
        if not self.stage.unfinished:
            return self._hook_step(Action.BLOCKED, reason)
        return self._occupied() or self._hook_step(Action.CREATE, reason)

    def _later(self, reason: str) -> Step:
        return self._hook_step(Action.CREATE, reason, unchecked=True)

    def _hook_step(self, action: Action, reason: str, *, unchecked: bool = False) -> Step:
        weight = self.hook.hook.weight
        return Step(
            action,
            read_ref(self.hook.body),
            weight,
            BundlePart.HOOK,
            reason=reason,
            unchecked=unchecked,
            event=self.event,
        )
