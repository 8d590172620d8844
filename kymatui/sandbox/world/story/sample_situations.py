"""The situations of the sample world and their steps, each produced as it occurs on a real cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import LABEL_SKIP
from kymatui.sandbox.apimachinery.clock import Timer
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.status_conditions import find_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader
from kymatui.sandbox.controllers.workloads.rollout_math import replicas_of
from kymatui.sandbox.world.lifecycle.kind_index import DEFINITIONS
from kymatui.sandbox.world.lifecycle.local_cluster import LocalCluster
from kymatui.sandbox.world.modules.module_announcement import KYMAS, MANIFESTS, RELEASES
from kymatui.sandbox.world.modules.module_manifest import default_resource, definitions_of, manifest_objects
from kymatui.sandbox.world.modules.sample_module import SampleModule
from kymatui.sandbox.world.modules.sample_modules import MODULES, module_named

if TYPE_CHECKING:
    from kymatui.sandbox.apimachinery.clock import SandboxClock


log = logging.getLogger(__name__)
LOOK_SECONDS = 0.2
FIRST_LOOK_SECONDS = 0.025
"""The first pause between two checks, doubled up to `LOOK_SECONDS`: until the first step, nothing is on the screen."""
PATIENCE_SECONDS = 120.0
"""Without any step; fifty clusters take longer for all steps."""


class StoryStep(Struct, frozen=True, dict=True):
    """One step; `do` runs once, when `when` becomes true."""

    name: str
    when: Callable[[], bool]
    do: Callable[[], None]


class Story:
    """Runs its chapters (ordered lists of steps) in parallel; `done` after the last step."""

    def __init__(self, clock: SandboxClock) -> None:
        self._clock = clock
        self._chapters: list[list[StoryStep]] = []
        self._ends: list[list[StoryStep]] = []
        self._timer: Timer | None = None
        self._end = 0.0
        self._pause = FIRST_LOOK_SECONDS

    def add(self, *steps: StoryStep) -> None:
        self._chapters.append(list(steps))

    def end_with(self, step: StoryStep) -> None:
        """Add a step after the end of all chapters."""
        self._ends.append([step])

    def begin(self) -> None:
        self._wait()
        self._poll()

    def _wait(self) -> None:
        self._end = self._clock.now() + PATIENCE_SECONDS

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def done(self) -> bool:
        return not any(self._chapters) and not any(self._ends)

    @property
    def given_up(self) -> bool:
        """Return whether the story timed out."""
        return not self.done and self._end > 0 and self._clock.now() > self._end

    @property
    def waiting_for(self) -> list[str]:
        """Return the names of the next steps."""
        return [steps[0].name for steps in (*self._chapters, *self._ends) if steps]

    def _poll(self) -> None:
        self._timer = None
        for steps in self._chapters:
            self._advance(steps)
        if not any(self._chapters):
            for steps in self._ends:
                self._advance(steps)
        if self.done:
            return
        if self._clock.now() > self._end:
            log.warning("the sample world is not complete: %s", ", ".join(self.waiting_for))
            return
        self._timer = self._clock.call_later(self._pause, self._poll)
        self._pause = min(2 * self._pause, LOOK_SECONDS)

    def _advance(self, steps: list[StoryStep]) -> None:
        while steps and steps[0].when():
            try:
                steps[0].do()
            except (LookupError, StatusError) as error:
                log.debug("%s: %s", steps[0].name, error)
                return
            steps.pop(0)
            self._wait()


SYSTEM = "kyma-system"
Kyma = tuple[str, str]
DEFAULT: Kyma = (SYSTEM, "default")


def tell_situations(story: Story, *runtimes: tuple[ControllerContext, ControllerContext, Kyma]) -> None:
    """Add all chapters; each runtime has its own context, that of its control plane, and its Kyma there."""
    tellers = [_Teller(*runtime) for runtime in runtimes]
    for teller in tellers:
        _add_chapters(story, teller)
    if tellers:  # the release is in the catalog, which all of them share
        story.add(*_waiting_for_a_window(tellers, "nats", "1.1.0", "1.2.0"))


def _add_chapters(story: Story, teller: _Teller) -> None:
    story.add(*teller.behind("keda", "1.4.0"))
    story.add(*teller.ahead("application-connector", "1.1.7"))
    story.add(*teller.held_back("telemetry"))
    story.add(*teller.deleting("api-gateway"))
    story.add(*teller.unmanaged("cloud-manager"))
    story.add(*teller.used("serverless"))
    story.add(*teller.orphan("cap-operator"))
    story.add(*teller.community("docker-registry"))
    story.end_with(teller.rest())


class _Teller:
    """Acts as the users of the story, mostly with the field manager of `kubectl`."""

    def __init__(self, context: ControllerContext, control: ControllerContext, kyma: Kyma) -> None:
        self._observer = context.observer
        self._client = context.client.named("kubectl-edit")
        self._cluster = LocalCluster(kyma[1], context.client)
        self._control = control.client.named("kubectl-edit")
        self._control_observer = control.observer
        self._kyma = kyma

    # -- state

    def _status(self, name: str) -> Obj:
        kyma = self._control_observer.get(KYMAS, self._kyma) or {}
        modules = (kyma.get("status") or {}).get("modules") or []
        status: Obj = next((m for m in modules if m["name"] == name), {})
        return status

    def is_in(self, name: str, *states: str, version: str = "") -> bool:
        status = self._status(name)
        return status.get("state") in states and version in ("", status.get("version"))

    def _resource(self, module: SampleModule) -> Obj | None:
        return self._observer.get(module.resource.resource, (module.namespace, module.resource_name))

    def _is_working(self, module: SampleModule) -> bool:
        """Return whether the operator has taken over the module CR."""
        resource = self._resource(module)
        return bool(resource and resource["metadata"].get("finalizers") and resource.get("status"))

    # -- actions

    def _edit_module(self, name: str, **fields: Any) -> None:
        """Change a module's entry in the Kyma; without fields, remove it."""
        namespace, title = DEFAULT
        kyma = self._observer.get(KYMAS, DEFAULT)
        if kyma is None:
            raise LookupError(title)
        entries = kyma["spec"]["modules"]
        remaining = [e for e in entries if e["name"] != name]
        if fields:
            known = next((e for e in entries if e["name"] == name), {"name": name})
            remaining.append({k: v for k, v in {**known, **fields}.items() if v is not None})
        self._client.patch(KYMAS, title, {"spec": {"modules": remaining}}, namespace=namespace)

    def _set_image(self, module: SampleModule, version: str) -> None:
        patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": module.image(version)}]
        resource = "statefulsets.apps" if module.stateful else "deployments.apps"
        self._client.patch(resource, module.manager_name, patch, namespace=module.namespace, type="json")

    def release(self, name: str, version: str) -> None:
        """Set the version of a module's regular channel."""
        meta = self._control_observer.get(RELEASES, (self._kyma[0], name))
        if meta is None:
            raise LookupError(name)
        channels = [{**c, "version": version} for c in meta["spec"]["channels"]]
        self._control.patch(RELEASES, name, {"spec": {"channels": channels}}, namespace=self._kyma[0])

    def _create(self, resource: str, obj: Obj) -> None:
        try:
            self._client.create(resource, obj, namespace=obj["metadata"].get("namespace", ""))
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise

    def _user_object(self, module: SampleModule, name: str, namespace: str, spec: Obj) -> None:
        kind = module.user_kinds[0]
        self._create("namespaces", {"metadata": {"name": namespace}})
        metadata = {"name": name, "namespace": namespace}
        self._create(
            kind.resource, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
        )

    # -- chapters

    def rest(self) -> StoryStep:
        """Return the last step of the story: all situations are at rest."""
        look = at_rest(self._observer, self._control_observer, self._kyma, MODULES)
        return StoryStep("all objects settled", look, lambda: None)

    def behind(self, name: str, version: str) -> list[StoryStep]:
        """Disable the reconciliation and set an older manager."""
        return [self._paused(name, version, f"{name} is outdated")]

    def ahead(self, name: str, version: str) -> list[StoryStep]:
        """Disable the reconciliation, which would undo it, and set the next version's manager."""
        return [self._paused(name, version, f"{name} is ahead")]

    def _paused(self, name: str, version: str, title: str) -> StoryStep:
        module = module_named(name)

        def ready() -> bool:
            return self.is_in(name, "Ready") and self._is_working(module)

        def pause() -> None:
            manifest = self._status(name)["manifest"]["metadata"]
            labels = {"metadata": {"labels": {LABEL_SKIP: "true"}}}
            self._control.patch(MANIFESTS, manifest["name"], labels, namespace=manifest["namespace"])
            self._set_image(module, version)

        return StoryStep(title, ready, pause)

    def held_back(self, name: str) -> list[StoryStep]:
        """Move from the fast channel back to regular, which has a lower version."""

        def ready() -> bool:
            return self.is_in(name, "Ready")

        return [StoryStep(f"{name} is newer than its channel", ready, lambda: self._edit_module(name, channel=None))]

    def deleting(self, name: str) -> list[StoryStep]:
        """Remove the module from the Kyma while two users still have its objects."""
        module = module_named(name)

        def use() -> None:
            for namespace, host in (("shop", "orders"), ("billing", "invoices")):
                rule = {"hosts": [host], "gateway": "kyma-system/kyma-gateway", "service": {"name": host, "port": 80}}
                self._user_object(module, host, namespace, rule)

        def ready() -> bool:
            return self.is_in(name, "Ready") and self._is_working(module)

        return [
            StoryStep(f"{name} is used", ready, use),
            StoryStep(f"{name} is being deleted", lambda: True, lambda: self._edit_module(name)),
        ]

    def unmanaged(self, name: str) -> list[StoryStep]:
        def ready() -> bool:
            return self.is_in(name, "Ready")

        return [StoryStep(f"{name} is unmanaged", ready, lambda: self._edit_module(name, managed=False))]

    def used(self, name: str) -> list[StoryStep]:
        """Create functions in two namespaces; they block the deletion of their module."""
        module = module_named(name)

        def use() -> None:
            source = {"inline": {"source": "module.exports = { main: () => 'hello' }"}}
            for namespace, title in (("shop", "price"), ("shop", "stock"), ("billing", "tax")):
                self._user_object(module, title, namespace, {"runtime": "nodejs22", "source": source})

        return [StoryStep(f"{name} is used", lambda: self._is_working(module), use)]

    def orphan(self, name: str) -> list[StoryStep]:
        """Create the CRD and a module CR without an operator."""
        module = module_named(name)

        def leave() -> None:
            for definition in definitions_of(module):
                self._create(DEFINITIONS, definition)
            self._create("namespaces", {"metadata": {"name": module.namespace}})
            self._create(module.resource.resource, default_resource(module))

        return [StoryStep(f"{name} is deleted without its module CR", lambda: True, leave)]

    def community(self, name: str) -> list[StoryStep]:
        """Install an older version manually."""
        module = module_named(name)

        def install() -> None:
            for body in manifest_objects(module, module.versions[0]):
                self._cluster.apply(body, manager="kubectl", force=True)
            self._create(module.resource.resource, default_resource(module))

        return [StoryStep(f"{name} is installed directly", lambda: True, install)]


# Rest check of the sample world: no rollout is in progress and every module has a final state.


WORKLOADS = ("deployments.apps", "statefulsets.apps")
LOOKS = 3
"""How often in a row everything must be quiet: operators and managers pause a moment between two of their steps."""


def at_rest(
    runtime: StoreReader, control: StoreReader, kyma: tuple[str, str], modules: Iterable[SampleModule]
) -> Callable[[], bool]:
    """Return a check for repeated calls; it is true after `LOOKS` positive results in a row."""
    watched = tuple(modules)
    quiet = 0

    def is_quiet() -> bool:
        nonlocal quiet
        rests = (
            all(has_rolled_out(workload) for resource in WORKLOADS for workload in runtime.all(resource))
            and _lasts(control, kyma)
            and all(_is_reported(runtime, module) for module in watched)
        )
        quiet = quiet + 1 if rests else 0
        return quiet >= LOOKS

    return is_quiet


def has_rolled_out(workload: Obj) -> bool:
    """Return whether a Deployment or StatefulSet finished its rollout or gave up."""
    status = workload.get("status") or {}
    if status.get("observedGeneration", 0) < workload["metadata"].get("generation", 1):
        return False
    progressing = find_condition(status.get("conditions"), "Progressing")
    if progressing is not None and progressing["status"] == "False":
        return True
    replicas = replicas_of(workload)
    return all(
        status.get(field, 0) == replicas
        for field in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    )


def _lasts(control: StoreReader, kyma: tuple[str, str]) -> bool:
    """Return whether the Kyma's modules and Manifests have a final state."""
    kyma_object = control.get(KYMAS, kyma)
    modules = ((kyma_object or {}).get("status") or {}).get("modules") or []
    manifests = [m for m in control.all(MANIFESTS, kyma[0]) if _owner(m) == kyma[1]]
    states = [m["state"] for m in modules] + [(m.get("status") or {}).get("state", "") for m in manifests]
    return bool(modules) and not {"", "Processing"} & set(states)


def _owner(manifest: Obj) -> str:
    return str((manifest["metadata"].get("labels") or {}).get("operator.kyma-project.io/kyma-name", ""))


def _is_reported(runtime: StoreReader, module: SampleModule) -> bool:
    """Return whether the operator, if active, reported a final state for each module CR."""
    kind = WORKLOADS[1] if module.stateful else WORKLOADS[0]
    manager = runtime.get(kind, (module.namespace, module.manager_name))
    if not ((manager or {}).get("status") or {}).get("availableReplicas"):
        return True
    return all(_is_final(resource) for resource in runtime.all(module.resource.resource))


def _is_final(resource: Obj) -> bool:
    status = resource.get("status") or {}
    state = status.get("state") or status.get("phase") or ""
    return state not in ("", "Processing", "Pending")


def _waiting_for_a_window(tellers: Sequence[_Teller], name: str, old: str, new: str) -> list[StoryStep]:
    """Install the old version everywhere; the new one requires a downtime."""

    def ready() -> bool:
        return all(teller.is_in(name, "Ready", version=old) for teller in tellers)

    return [
        StoryStep(f"{name} is released at {old}", lambda: True, lambda: tellers[0].release(name, old)),
        StoryStep(f"{name} awaits a maintenance window", ready, lambda: tellers[0].release(name, new)),
    ]
