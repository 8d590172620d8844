"""A Manifest on a desk: its layers, its cluster, and turns of its controller as a test wants them."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from kymatui.crds import read_crds
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.cluster.ports import Cluster, FetchedChart
from kymatui.engine.jobs.lease import DURATION
from kymatui.engine.jobs.run import SystemClock
from kymatui.engine.sources.render_target import RenderTarget
from kymatui.errors import ConfigurationError, RegistryError
from kymatui.operator.framework.controller import FailureReport, GroupReports
from kymatui.operator.framework.controller_group import ControllerGroup
from kymatui.operator.manifests.controller import ManifestController, ManifestReconciler
from kymatui.operator.manifests.standalone_context import Runtimes, StandaloneContext
from tests.engine.places import Json, Place, eventually

MANIFEST = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest")


class Layers:
    """A registry in memory."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}

    def push(self, *objects: Json, archive: bool = False) -> str:
        """Returns the digest of a layer with these objects."""
        data = "---\n".join(yaml.safe_dump(body) for body in objects).encode()
        if archive:
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode="w") as tar:
                entry = tarfile.TarInfo("raw-manifest.yaml")
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
            data = buffer.getvalue()
        return self.keep(data)

    def keep(self, data: bytes) -> str:
        """Returns the digest of a layer with these bytes."""
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        self.content[digest] = data
        return digest

    def layer(self, repository: str, digest: str, *, insecure: bool = False) -> bytes:
        if digest not in self.content:
            raise RegistryError(f"{repository}@{digest} is not there")
        return self.content[digest]

    def chart(self, reference: str, *, repository: str = "", version: str = "") -> FetchedChart:
        raise RegistryError(f"no chart {reference}")

    def chart_versions(self, reference: str, *, repository: str = "") -> tuple[str, ...]:
        raise RegistryError(f"no chart {reference}")

    def url(self, address: str) -> bytes:
        raise RegistryError(f"nothing at {address}")


class Here:
    """Every Manifest is for the cluster that it is in, unless a test says otherwise."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster: Cluster | None = cluster
        self.error: ConfigurationError | None = None
        self.runtimes: Runtimes | None = None

    def of(self, manifest: Manifest, cancel: threading.Event) -> Cluster | None:
        if self.error is not None:
            raise self.error
        return self.runtimes.of(manifest, cancel) if self.runtimes is not None else self.cluster


def run_alone(
    context: StandaloneContext,
    namespace: str,
    cancel: threading.Event,
    told: FailureReport = lambda *given: None,
    *,
    tell: Callable[[str], None] = lambda words: None,
    lease: float = DURATION,
    **how: Any,
) -> None:
    """Run the controller of a namespace's Manifests until `cancel` is set."""
    controller = ManifestController(ManifestReconciler(context), namespace, **how)
    reports = GroupReports(told, lambda news, text: tell(text))
    group = ControllerGroup(context.home, context.clock, [controller], reports, limits=context.limits, lease=lease)
    group.run(cancel)


class Desk:
    """A Manifest, its layers, and turns of its controller."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.layers = Layers()
        self.here = Here(place.cluster)
        self.context = StandaloneContext(
            place.cluster, self.here, self.layers, SystemClock(), lambda cluster: lambda name, namespace: RenderTarget()
        )
        self.reconciler = ManifestReconciler(self.context)
        self.ref = ObjectRef(MANIFEST, place.namespace, f"m-{place.name}")
        for body in read_crds():
            place.raw.apply(body, manager="test")
        eventually(self._is_served, "Manifests are served")
        place.cluster.forget_kinds()

    def _is_served(self) -> bool:
        self.place.raw.forget_kinds()
        return self.place.raw.kind(MANIFEST) is not None

    def put(self, digest: str, *, kind: str = "oci-ref", **more: Any) -> None:
        """Writes the Manifest; `metadata` and further fields of the spec as they are given."""
        metadata = {"name": self.ref.name, "namespace": self.ref.namespace, **more.pop("metadata", {})}
        source = {"repo": "reg.example", "name": "component", "ref": digest, "type": kind}
        spec = {"remote": False, "install": {"name": "raw-manifest", "source": source}, **more}
        body = {"apiVersion": MANIFEST.api_version, "kind": "Manifest", "metadata": metadata, "spec": spec}
        self.place.raw.apply(body, manager="test", force=True)

    def turn(self) -> float | None:
        return self.reconciler.reconcile(self.ref, threading.Event())

    def settle(self, state: str = "Ready") -> Json:
        """Turns until the state is reached."""

        def reached() -> bool:
            self.turn()
            return self.status().get("state") == state

        eventually(reached, f"{state}, is {self.status()}")
        return self.status()

    def manifest(self) -> Json | None:
        return self.place.raw.get(self.ref)

    def status(self) -> Json:
        found = self.manifest()
        status: Json = (found or {}).get("status", {})
        return status

    def condition(self, name: str) -> Mapping[str, Any]:
        return next(item for item in self.status()["conditions"] if item["type"] == name)

    def delete(self) -> None:
        self.place.raw.delete(self.ref)

    def config(self, name: str) -> Json | None:
        return self.place.get("v1", "ConfigMap", name)
