"""A control plane with the Manifest of one module and the module's runtime, both in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from kymatui.crds import read_crds
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.cluster.ports import Object, PatchKind, Write, WriteVerb
from kymatui.errors import KymatuiError, ServerError
from kymatui.operator.framework.controller import RequeueIntervals
from kymatui.operator.framework.runtime_cache import RuntimeCache, RuntimeClusters, SingleCluster
from kymatui.operator.kymas.kyma_context import KYMA, MANIFEST
from kymatui.operator.manifests.controller import ManifestReconciler
from kymatui.operator.manifests.module_pass import ModuleContext
from kymatui.operator.manifests.resource_rendering import ModuleRenderer
from kymatui.operator.monitoring.event_correlation import ObjectEvent
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.world.lifecycle.local_cluster import LocalCluster
from tests.domain import builders
from tests.sandbox.living import Living

SPACE: Final = "kcp-system"
REF: Final = ObjectRef(MANIFEST, SPACE, "default-keda-1")
CANCEL: Final = threading.Event()
PASSES: Final = 30
Json = dict[str, Any]


class Faulty(LocalCluster):
    """A cluster that refuses to list some kinds, and as many patches as a test says."""

    def __init__(self, name: str, client: LocalClient) -> None:
        super().__init__(name, client)
        self.refused: dict[str, KymatuiError] = {}
        self.listed: list[str] = []
        self.patch_errors = 0

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        if write.verb is WriteVerb.PATCH and self.patch_errors:
            self.patch_errors -= 1
            raise ServerError("etcdserver: request timed out", status=500)
        return super().write(write, cancel=cancel)

    def list(self, gvk: GroupVersionKind, *given: Any, **more: Any) -> list[Object]:
        self.listed.append(gvk.kind)
        if error := self.refused.get(gvk.kind):
            raise error
        return super().list(gvk, *given, **more)


class Layers:
    """The layers by digest; implements `LayerReader`."""

    def __init__(self) -> None:
        self.content: dict[str, Sequence[Json]] = {}

    def objects(self, manifest: Manifest) -> Sequence[Json]:
        return self.content[manifest.raw["spec"]["install"]["source"]["ref"]]


class Clock:
    """A clock that a test sets forward."""

    seconds = builders.NOW

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        raise AssertionError


class ModuleWorld:
    """The Manifest of a module in passes of its reconciler, with lifecycle-manager's intervals."""

    def __init__(self, *, mandatory: bool = True) -> None:
        self._mandatory = "true" if mandatory else "false"
        self.control_plane, self.living = Living(), Living()
        self.home = Faulty("kcp", self.control_plane.client)
        self.runtime = Faulty("skr", self.living.client)
        self.layers, self.clock = Layers(), Clock()
        self.events: list[ObjectEvent] = []
        for body in read_crds():
            self.home.create(body)
        for cluster, name in ((self.home, SPACE), (self.runtime, "kyma-system")):
            cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.control_plane.advance(1)
        self.living.advance(1)
        self.home.create(builders.kyma(namespace=SPACE) | {"apiVersion": KYMA.api_version})
        self.restart()

    def restart(self, runtimes: RuntimeClusters | None = None) -> None:
        """Begin with a new operator, which remembers nothing; `runtimes` takes the place of the module's runtime."""
        self.reconciler = ManifestReconciler(
            modules=ModuleContext(
                self.home,
                self.clock,
                RuntimeCache(runtimes or SingleCluster(self.runtime)),
                ModuleRenderer(self.layers),
                RequeueIntervals(),
                events=lambda raw, event: self.events.append(event),
            )
        )

    def put(self, version: str, *objects: Json) -> None:
        """Write the Manifest with a layer of these objects."""
        digest = f"sha256:{version}"
        self.layers.content[digest] = objects
        source = {"repo": "http://reg.example", "name": "keda", "ref": digest, "type": "oci-ref"}
        labels = builders.labels(
            kyma_name="default", managed_by="lifecycle-manager", module_name="keda", mandatory_module=self._mandatory
        )
        body = {
            "apiVersion": MANIFEST.api_version,
            "kind": "Manifest",
            "metadata": {"name": REF.name, "namespace": SPACE, "labels": labels},
            "spec": {"remote": True, "version": version, "install": {"name": "raw-manifest", "source": source}},
        }
        self.home.apply(body, manager="test", force=True)

    def write_status(self, **fields: Any) -> None:
        self.home.patch(REF, {"status": fields}, PatchKind.MERGE, subresource="status")

    def reconcile(self) -> float:
        seconds = self.reconciler.reconcile(REF, CANCEL)
        assert seconds is not None
        return seconds

    def settle(self) -> None:
        """Reconcile until nothing changes any more."""
        before: Json | None = None
        for _ in range(PASSES):
            if (after := self.manifest()) == before:
                return
            before = after
            self.reconcile()
            self.living.advance(1)
            self.control_plane.advance(1)
        raise AssertionError(f"the Manifest does not come to rest: {before}")

    def resync(self) -> None:
        """Reconcile once more an interval later."""
        self.clock.seconds += 2 * RequeueIntervals().success
        self.settle()

    def delete(self) -> None:
        """Delete the Manifest, and reconcile until it is gone."""
        self.home.delete(REF)
        for _ in range(PASSES):
            if self.home.get(REF) is None:
                return
            self.reconcile()
            self.living.advance(1)
            self.control_plane.advance(1)
        raise AssertionError(f"the Manifest stays: {self.manifest()}")

    def manifest(self) -> Json:
        found = self.home.get(REF)
        assert found is not None
        return found

    def state(self) -> str:
        return str(self.manifest()["status"]["state"])

    def synced(self) -> list[str]:
        return [one["name"] for one in self.manifest()["status"]["synced"]]

    def exists(self, body: Json) -> bool:
        return self.runtime.get(read_ref(body)) is not None


def config(name: str) -> Json:
    """A ConfigMap of a module."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "kyma-system"}}
