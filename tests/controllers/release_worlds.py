"""A control plane and its runtimes in memory, with the operator's controllers of Kymas and mandatory modules.

A fleet is drawn, a change of it is forecast from the control plane alone and then made, and `differences` says where a
module's Manifest or report is not as foretold. Manifests become ready at once, but those with the skip
label stay as they are; content comes from no registry.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from unittest.mock import patch

from msgspec.structs import replace

from kymatui.crds import read_crds
from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.fleet.manifest_summary import group_summaries, read_summary
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MODULE_NAME, LABEL_SKIP, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.states import State
from kymatui.domain.plans.kyma_manifest import ModuleContent
from kymatui.domain.plans.manifest_body import ManifestLayer
from kymatui.domain.remote.catalog_sync import name_key
from kymatui.domain.whatif.fleet_objects import CatalogChange, FleetObjects, build_fleet_objects, manifest_choice
from kymatui.domain.whatif.forecast import ModuleForecast, foresee
from kymatui.domain.whatif.module_results import ResultKind, ResultReason
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.errors import KymatuiError
from kymatui.operator.catalogs.runtime_catalog import RELEASE_META, TEMPLATE, CatalogCache
from kymatui.operator.framework.runtime_cache import RuntimeCache
from kymatui.operator.kymas import mandatory_modules, module_planning
from kymatui.operator.kymas.kyma_context import KYMA, MANIFEST, KymaContext
from kymatui.operator.kymas.kyma_reconciler import KymaController
from kymatui.operator.kymas.mandatory_modules import MandatoryInstallation, MandatoryRemoval
from kymatui.operator.kymas.runtime_kyma import RUNTIME_KYMA
from kymatui.operator.monitoring.event_correlation import ObjectEvent
from kymatui.sandbox.world.lifecycle.local_cluster import LocalCluster
from tests.domain.builders import NOW
from tests.domain.test_whatif import SPACE
from tests.sandbox.living import Living

LAYER: Final = ManifestLayer("http://reg.example", "kyma-project.io/module/mod", "sha256:1", True)
PASSES: Final = 12
_GOES: Final = (ResultKind.UNINSTALL, ResultKind.NOT_INSTALLED)
_MOVES: Final = (ResultKind.INSTALL, ResultKind.UPGRADE, ResultKind.DOWNGRADE, ResultKind.UNINSTALL)
HELD: Final = "tests.example/held"
ModuleKey = tuple[str, str]
"""The names of a Kyma and a module."""
_STAYS: Final = (ResultKind.ERROR, ResultKind.HELD_BACK, ResultKind.WAIT)
Json = dict[str, Any]


@dataclass(frozen=True)
class DrawnFleet:
    """What a control plane begins with: catalog, Kymas with the specs of their runtimes, settings."""

    catalog: Sequence[Json]
    kymas: Sequence[Json]
    settings: ControllerSettings = field(default_factory=ControllerSettings)


class NoWait:
    """A clock that stands still."""

    def now(self) -> float:
        return NOW

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        raise AssertionError("the reconcilers of Kymas wait for nothing")


class ReleaseWorld:
    """A control plane and its runtimes; `change` makes a change and brings the controllers to rest."""

    def __init__(self, drawn: DrawnFleet) -> None:
        self.home = open_cluster("kcp", SPACE)
        self.runtimes: dict[str, Cluster] = {}
        self.settings = drawn.settings
        self._cancel = threading.Event()
        self.events: list[ObjectEvent] = []
        self._applied: dict[ModuleKey, str] = {}
        """The versions that Manifests have brought into their runtimes."""
        for raw in drawn.catalog:
            put(self.home, raw)
        for raw in drawn.kymas:
            self._add_kyma(raw)
        self.settle()

    def runtime(self, kyma: str, namespace: str, cancel: threading.Event | None = None) -> Cluster | None:
        """Implement `RuntimeClusters`."""
        return self.runtimes.get(kyma)

    def fleet(self) -> FleetObjects:
        """Return what a what-if reads: nothing but the control plane."""
        catalog = [*self.home.list(TEMPLATE, SPACE), *self.home.list(RELEASE_META, SPACE)]
        fleet = build_fleet_objects("kcp", self.home.list(KYMA, SPACE), catalog, {SPACE: self.settings}, NOW)
        summaries = filter(None, map(read_summary, self.home.list(MANIFEST, SPACE)))
        return replace(fleet, manifests=group_summaries(summaries))

    def differences(self, change: CatalogChange) -> tuple[list[str], tuple[ModuleForecast, ...]]:
        """Forecast a change, make it; return what came otherwise, and the forecast."""
        before, applied = self.fleet(), dict(self._applied)
        forecast = foresee(before, change, NOW)
        command = foresee(_as_listed(before), change, NOW)
        assert command.entries == forecast.entries, "the command, which lists some Manifests, forecasts the same"
        skipped = {key for key, manifest in self._manifests().items() if is_skipped(manifest)}
        self.change(change)
        found = self._differences(
            forecast.entries, set(_without_channel(before)), {key: applied.get(key, "") for key in skipped}
        )
        return list(found), forecast.entries

    def skip(self, modules: Collection[ModuleKey]) -> None:
        """Give the Manifests of these modules, and no others, the skip label."""
        for key, raw in self._manifests().items():
            if is_skipped(raw) == (key in modules):
                continue
            if key in modules:
                patch_body: Json = {"labels": {LABEL_SKIP: "true"}, "finalizers": [HELD]}
            else:
                patch_body = {"labels": {LABEL_SKIP: None}, "finalizers": []}
            self.home.patch(read_ref(raw), {"metadata": patch_body}, PatchKind.MERGE)
        self.settle()

    def _manifests(self) -> dict[ModuleKey, Json]:
        """Return the Manifests by the names of Kyma and module."""
        listed = self.home.list(MANIFEST, SPACE)
        labels = [raw["metadata"]["labels"] for raw in listed]
        keys = [(label[LABEL_KYMA_NAME], label[LABEL_MODULE_NAME]) for label in labels]
        return dict(zip(keys, listed, strict=True))

    def change(self, change: CatalogChange) -> None:
        for raw in change.objects:
            if raw["kind"] == "Kyma":
                self._change_kyma(raw)
            else:
                put(self.home, raw)
        for kind, namespace, name in change.deleted:
            gvk = {"ModuleTemplate": TEMPLATE, "ModuleReleaseMeta": RELEASE_META}[kind]
            with suppress(KymatuiError):
                self.home.delete(ObjectRef(gvk, namespace, name))
        if change.labels:
            for raw in self.home.list(KYMA, SPACE):
                self._label(raw, change.labels)
        if change.windows is not None:
            self.settings = replace(self.settings, windows=change.windows)
        if change.restricted is not None:
            self.settings = replace(self.settings, restricted=change.restricted)
        self.settle()

    def settle(self) -> None:
        """Run the controllers until nothing changes any more."""
        context = KymaContext(
            self.home,
            NoWait(),
            SPACE,
            RuntimeCache(self),
            CatalogCache(self.home, SPACE),
            None,  # type: ignore[arg-type]  # `module_content` is replaced
            settings=self.settings,
            events=lambda about, event: self.events.append(event),
        )
        controllers = (KymaController(context, workers=1), MandatoryInstallation(context, workers=1))
        removal = MandatoryRemoval(context)
        with (
            patch.object(module_planning, "module_content", _content),
            patch.object(mandatory_modules, "module_content", _content),
        ):
            last: list[tuple[str, str]] = []
            for _ in range(PASSES):
                context.templates.changed()
                for raw in self.home.list(RELEASE_META, SPACE):
                    self._attempt(removal.reconcile, raw)
                for raw in self.home.list(KYMA, SPACE):
                    for one in controllers:
                        self._attempt(one.reconcile, raw)
                self._ready()
                after = self._versions()
                if after == last:
                    return
                previous, last = last, after
        moving = [new for new in after if new not in previous]
        raise AssertionError(f"the controllers do not come to rest in {PASSES} passes: {moving}")

    def _attempt(self, reconcile: Any, raw: Mapping[str, Any]) -> None:
        with suppress(KymatuiError):  # it is in the status, and the controllers try again
            reconcile(read_ref(raw), self._cancel)

    def _versions(self) -> list[tuple[str, str]]:
        kinds = (KYMA, MANIFEST, RELEASE_META)
        return [
            (one["metadata"]["uid"], repr((one.get("status"), one.get("spec"), one["metadata"].get("finalizers"))))
            for kind in kinds
            for one in self.home.list(kind, SPACE)
        ]

    def _ready(self) -> None:
        manifests = self._manifests()
        self._applied = {key: version for key, version in self._applied.items() if key in manifests}
        for key, raw in manifests.items():
            if is_skipped(raw):
                continue
            self._applied[key] = str(raw["spec"].get("version") or "")
            if (raw.get("status") or {}).get("state") != State.READY:
                self.home.patch(read_ref(raw), {"status": {"state": "Ready"}}, PatchKind.MERGE, subresource="status")

    # Kymas

    def _add_kyma(self, raw: Json) -> None:
        name = raw["metadata"]["name"]
        runtime = self.runtimes[name] = open_cluster(name, "kyma-system")
        body = {**raw, "metadata": {"name": RUNTIME_KYMA.name, "namespace": RUNTIME_KYMA.namespace}}
        runtime.create({key: value for key, value in body.items() if key != "status"})
        stored = {**raw, "spec": {**raw["spec"], "channel": "regular", "modules": []}}
        self.home.create({key: value for key, value in stored.items() if key != "status"})

    def _change_kyma(self, raw: Mapping[str, Any]) -> None:
        name = name_key(raw)[1]
        if name not in self.runtimes:
            self._add_kyma(dict(raw))
            return
        self._label(raw, raw["metadata"].get("labels") or {})
        spec = {key: value for key, value in raw["spec"].items() if key in ("channel", "modules")}
        self.runtimes[name].patch(RUNTIME_KYMA, {"spec": spec}, PatchKind.MERGE)

    def _label(self, raw: Mapping[str, Any], labels: Mapping[str, str | None]) -> None:
        if labels:
            self.home.patch(read_ref(raw), {"metadata": {"labels": dict(labels)}}, PatchKind.MERGE)

    # comparing

    def _differences(
        self,
        entries: Sequence[ModuleForecast],
        unknown: Collection[tuple[RuntimeKey, str]],
        skipped: Mapping[ModuleKey, str],
    ) -> Iterator[str]:
        """Yield what came otherwise; `skipped` are versions that the skip label keeps."""
        installed = dict(self._applied)
        kymas = {name_key(raw): read_kyma(raw) for raw in self.home.list(KYMA, SPACE)}
        for entry in entries:
            key = entry.runtime[1], entry.module
            version = installed.pop(key, "")
            if key in skipped:
                if version != skipped[key]:
                    yield f"{key} has the skip label: {skipped[key]!r} became {version!r}"
                if entry.kind in _MOVES:
                    yield f"{key} has the skip label, and {entry.kind.value} was foretold"
                continue
            if (entry.runtime, entry.module) in unknown:
                continue
            if problem := _difference(entry, version, kymas):
                yield problem
        for kyma, module in installed:
            yield f"{kyma}: {module} is installed, and nothing was foretold"


def is_skipped(raw: Mapping[str, Any]) -> bool:
    return (raw["metadata"].get("labels") or {}).get(LABEL_SKIP) == "true"


def _as_listed(fleet: FleetObjects) -> FleetObjects:
    """Return the fleet with the Manifests that `kymatui whatif` lists."""
    choice = manifest_choice(fleet)
    kept = (one for group in fleet.manifests.values() for one in group if choice.covers(one))
    return replace(fleet, manifests=group_summaries(kept))


def open_cluster(name: str, namespace: str) -> Cluster:
    living = Living()
    found = LocalCluster(name, living.client)
    for body in read_crds():
        found.create(body)
    found.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    living.advance(1)
    return found


def put(cluster: Cluster, raw: Mapping[str, Any]) -> None:
    """Replace an object as a whole, or create it; raises what the server refuses."""
    live = cluster.get(read_ref(raw))
    if live is None:
        cluster.create(raw)
        return
    kept = {key: live["metadata"][key] for key in ("uid", "resourceVersion", "finalizers") if key in live["metadata"]}
    cluster.update({**raw, "metadata": {**raw["metadata"], **kept}})


def _content(context: KymaContext, template: Any, component: str, version: str) -> ModuleContent:
    return ModuleContent(component or "kyma-project.io/module/mod", version or template.version, LAYER, ())


def _without_channel(fleet: FleetObjects) -> Iterator[tuple[RuntimeKey, str]]:
    """Yield the modules whose channel only the runtime's Kyma names: none of theirs was usable up to now.

    A module that waits for a window keeps the report that it had, with the channel of that time.
    """
    for key, raw in fleet.kymas.items():
        kyma = read_kyma(raw)
        if isinstance(kyma, Kyma):
            yield from (
                (key, one.name) for one in kyma.reports if not one.version and (one.maintenance or not one.channel)
            )


def _difference(entry: ModuleForecast, version: str, kymas: Mapping[RuntimeKey, object]) -> str:
    """Return how a module differs from its forecast, "" if it is as foretold."""
    kyma, then = kymas.get(entry.runtime), entry.then
    report = kyma.report(entry.module) if isinstance(kyma, Kyma) else None
    state = report.state if report is not None else "no report"
    expected = "" if then.kind in _GOES else entry.installed if then.kind in _STAYS else then.version
    # The forecast is lifecycle-manager's, which forgets the Manifest of a module that it cannot resolve.
    if then.reason is ResultReason.NOT_UNINSTALLED:
        return f"{entry.module} is not uninstalled" if version else ""
    if then.kind is ResultKind.DOWNGRADE and version == entry.installed:
        return "" if report is not None and "never downgraded" in report.message else f"{entry} is no downgrade"
    fits = version == expected
    if then.kind in (ResultKind.ERROR, ResultKind.HELD_BACK) and report is not None:
        fits = fits and report.state in (State.ERROR, State.WARNING)
    if then.kind is ResultKind.WAIT:
        fits = fits and report is not None and report.maintenance
    told = f"{entry.runtime[1]}: {entry.module} {then.kind.value} {then.version} {then.reason.value}"
    return "" if fits else f"{told} (installed {entry.installed!r}, today {entry.today}): {version!r}, {state}"
