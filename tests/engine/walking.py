"""A module's whole way: installed, looked at, upgraded, looked at, and taken away to nothing, on a real server.

By the library, or by a Manifest that a running controller works on. What the cluster holds before and after is
compared whole: every object of every kind, but for what the cluster itself keeps writing.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from kymatui.adapters.content.blob_fetcher import BlobFetcher
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.adapters.oci.registry import Registry
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine import Options, check, install, uninstall
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.cluster.ports import PatchKind, ServedKind
from kymatui.engine.jobs.lease import LeaseTerms
from kymatui.engine.jobs.run import RunLimits, SystemClock
from kymatui.engine.sources.render_target import manifest_targets
from kymatui.errors import KymatuiError
from kymatui.operator.manifests.standalone_context import Runtimes, StandaloneContext
from kymatui.sessions.control_plane.runtime_clients import SecretRuntimes
from tests.controllers.desks import run_alone

Json = dict[str, Any]
LIMITS = RunLimits(definitions=30.0, ready=60.0, hooks=60.0, gone=60.0, poll=1.0, lease=LeaseTerms(timeout=30.0))
TURN = RunLimits(definitions=20.0, ready=0.0, hooks=60.0, gone=5.0, poll=1.0)
PATIENCE = 60.0
OWN = "operator.kyma-project.io"
OPERATOR_LEASE = "kymatui.operator"
_COMES_WITH_NAMESPACES = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
"""What controllers put into every namespace, a moment after it is made, perhaps after the first look."""
_WRITTEN_BY_THE_CLUSTER = frozenset({"Event", "PodMetrics", "NodeMetrics"})
_VOLATILE = frozenset({"managedFields", "resourceVersion", "generation"})


class Trouble(AssertionError):
    """Something on the way is not as it should be."""


def holdings(cluster: KubeCluster) -> dict[str, Json]:
    """All that a cluster holds, by kind, namespace and name; without status, and without counters."""
    cluster.forget_kinds()
    found: dict[str, Json] = {}
    for kind in cluster.all_kinds():
        if "list" not in kind.verbs or kind.gvk.kind in _WRITTEN_BY_THE_CLUSTER:
            continue
        for body in cluster.list(kind.gvk):
            metadata = body["metadata"]
            if metadata.get("namespace") == "kube-node-lease" or metadata["name"] == OPERATOR_LEASE:
                continue
            if (kind.gvk.kind, metadata["name"]) in _COMES_WITH_NAMESPACES:
                continue
            key = f"{kind.gvk.kind}.{kind.gvk.group} {metadata.get('namespace', '')}/{metadata['name']}"
            plain = {name: part for name, part in metadata.items() if name not in _VOLATILE}
            found[key] = {**{name: part for name, part in body.items() if name != "status"}, "metadata": plain}
    return found


def differences(before: dict[str, Json], after: dict[str, Json]) -> list[str]:
    """One line for each object that came, went or changed."""
    return [
        f"{'left' if key not in before else 'gone' if key not in after else 'changed'}: {key}"
        + (f" {_changed(before[key], after[key])}" if key in before and key in after else "")
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]


def _changed(before: Json, after: Json) -> str:
    return "; ".join(f"{key}: {after.get(key)}" for key in after if before.get(key) != after[key])[:400]


def wait_for(holds: Callable[[], bool], what: Callable[[], str], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise Trouble(what())
        time.sleep(0.05)


def same_again(cluster: KubeCluster, before: dict[str, Json]) -> set[str]:
    """Everything is as before, once the cluster has collected what was left to it.

    Returns what stays by a rule: objects that ask for it (helm.sh/resource-policy), and the claims of StatefulSets with
    their volumes, which Kubernetes keeps for whoever comes back.
    """
    kept: set[str] = set()

    def left() -> list[str]:
        after = holdings(cluster)
        lines = differences(before, after)
        found = {line for line in lines if line.startswith("left: ") and _stays(after[line.removeprefix("left: ")])}
        kept.clear()
        kept.update(line.removeprefix("left: ") for line in found)
        return [line for line in lines if line not in found]

    wait_for(lambda: not left(), lambda: "not as before: " + "; ".join(left()[:8]), seconds=20.0)
    return kept


def _stays(body: Json) -> bool:
    annotations = body["metadata"].get("annotations") or {}
    keeps = annotations.get("helm.sh/resource-policy") == "keep"
    return keeps or body.get("kind") in ("PersistentVolumeClaim", "PersistentVolume")


# what is walked with


@dataclass(frozen=True, slots=True)
class Subject:
    """A module in two versions: `make(version, cluster)` for the library, `layers` for the registry (same versions)."""

    name: str
    namespace: str
    make: Callable[[int, KubeCluster], Bundle]
    layers: tuple[bytes, bytes]
    kind: str
    """"raw" or "chart"."""


MORE = "walk-added"


def with_config_map(text: bytes, namespace: str) -> bytes:
    """A manifest with one object more."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": MORE, "namespace": namespace}}
    return text.rstrip() + b"\n---\n" + yaml.safe_dump({**body, "data": {"x": "1"}}).encode()


def newer_chart(archive: bytes) -> bytes:
    """The archive of a chart with one template more."""
    template = f'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{{{ .Release.Name }}}}-{MORE}\ndata:\n  x: "1"\n'
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(archive)) as old, tarfile.open(fileobj=out, mode="w") as new:
        root = ""
        for entry in old:
            root = root or entry.name.split("/")[0]
            new.addfile(entry, old.extractfile(entry) if entry.isfile() else None)
        info = tarfile.TarInfo(f"{root}/templates/{MORE}.yaml")
        info.size = len(template)
        new.addfile(info, io.BytesIO(template.encode()))
    return gzip.compress(out.getvalue(), mtime=0)


def packed(folder: Path) -> bytes:
    """A folder as a packed archive, under its own name."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(folder, folder.name)
    return gzip.compress(out.getvalue(), mtime=0)


# by the library


def by_library(subject: Subject, cluster: KubeCluster) -> set[str]:
    """Raises Trouble and KymatuiError; returns what its rules keep, in words."""
    options = Options(limits=LIMITS)
    for version in (0, 1):
        bundle = subject.make(version, cluster)
        install(bundle, cluster, options=options)
        report = check(bundle, cluster, options=options)
        if not (report.consistent and report.ready):
            waiting = [f"{one.ref}: {one.message}" for one in report.readiness if not one.ready]
            raise Trouble(f"version {version + 1} does not check clean: {report.drifts} {waiting}"[:600])
    found = uninstall(bundle.name, bundle.namespace, cluster, options=options)
    if found is None:
        raise Trouble("nothing was installed")
    return {f"{step.ref.kind.kind} {step.ref.name}: {step.reason}" for step in found.kept}


# by a Manifest


class Desk:
    """A cluster with a running controller, and a registry to push layers to."""

    def __init__(self, cluster: KubeCluster, registry: str, cache: Path, *, runtimes: Runtimes | None = None) -> None:
        self.cluster = cluster
        self.registry = registry
        self.told: list[str] = []
        blobs = BlobFetcher(cache=cache, insecure=(registry,))
        self.runtimes = runtimes or SecretRuntimes(cluster)
        clock = SystemClock()
        targets = partial(manifest_targets, clock, ())
        self.context = StandaloneContext(cluster, self.runtimes, blobs, clock, targets, limits=TURN)
        self._cancel = threading.Event()
        given = (self.context, "default", self._cancel, self._tell)
        self._thread = threading.Thread(target=run_alone, args=given, kwargs={"workers": 2}, daemon=True)

    def __enter__(self) -> Desk:
        self._thread.start()
        return self

    def __exit__(self, *given: object) -> None:
        self._cancel.set()
        self._thread.join(30)

    def _tell(self, ref: ObjectRef, error: KymatuiError, seconds: float | None) -> None:
        self.told.append(f"{ref}: {error}")

    def push(self, repository: str, content: bytes) -> str:
        """Returns the digest."""
        registry = Registry(insecure=True)
        return registry.push_blob(f"{self.registry}/{repository}", content, "application/octet-stream").digest

    def put(self, body: Json) -> ObjectRef:
        metadata = body["metadata"]
        self.cluster.apply(body, manager="walk", force=True)
        kind = GroupVersionKind.of(body["apiVersion"], body["kind"])
        return ObjectRef(kind, metadata["namespace"], metadata["name"])

    def status(self, ref: ObjectRef) -> Json:
        found = self.cluster.get(ref) or {}
        status: Json = found.get("status") or {}
        return status

    def settle(self, ref: ObjectRef, state: str = "Ready") -> Json:
        """Until the state is reached for what the Manifest says now."""

        def reached() -> bool:
            found = self.cluster.get(ref) or {}
            status, generation = found.get("status") or {}, found.get("metadata", {}).get("generation")
            said = [status, *(status.get("conditions") or ())]
            seen = [item.get("observedGeneration", generation) for item in said]
            return status.get("state") == state and all(one == generation for one in seen)

        wait_for(reached, lambda: f"not {state}: {self._words(ref)}")
        return self.status(ref)

    def _words(self, ref: ObjectRef) -> str:
        status = self.status(ref)
        told = [f"{one[:300]} ... {one[-300:]}" for one in self.told[-1:]]
        said = status.get("lastOperation") or status.get("conditions")
        return f"{status.get('state')}, {json.dumps(said)[:900]}, told {told}"

    def gone(self, ref: ObjectRef) -> None:
        self.cluster.delete(ref)
        wait_for(lambda: self.cluster.get(ref) is None, lambda: f"still there: {self._words(ref)}")


def manifest(desk: Desk, subject: Subject, digest: str, **more: Any) -> Json:
    """A Manifest for one layer: v1beta2 for a raw manifest, v1alpha1 for a chart."""
    source = {"repo": f"http://{desk.registry}", "name": f"walk/{subject.name}", "ref": digest, "type": "oci-ref"}
    if subject.kind == "raw":
        version, installs = "v1beta2", Json(install={"name": "raw-manifest", "source": source})
    else:
        version, installs = "v1alpha1", Json(installs=[{"name": subject.name, "source": source}])
    return {
        "apiVersion": f"{OWN}/{version}",
        "kind": "Manifest",
        "metadata": {"name": subject.name, "namespace": "default"},
        "spec": {"remote": False, **installs, **more},
    }


def by_manifest(subject: Subject, desk: Desk) -> set[str]:
    """Raises Trouble."""
    for content in subject.layers:
        ref = desk.put(_with_layer(subject, desk, content))
        _is_well(desk.settle(ref), desk.cluster.get(ref) or {})
    desk.gone(ref)
    return set()


def _with_layer(subject: Subject, desk: Desk, content: bytes) -> Json:
    folder = "component-descriptors/" if subject.kind == "raw" else ""
    body = manifest(desk, subject, desk.push(f"{folder}walk/{subject.name}", content))
    if subject.kind == "chart":
        entry = {"name": subject.name, "clientConfig": f"Namespace={subject.namespace},CreateNamespace=true"}
        config = desk.push(f"walk/{subject.name}", yaml.safe_dump({"configs": [entry]}).encode())
        body["spec"]["config"] = {**body["spec"]["installs"][0]["source"], "ref": config}
    return body


def refused_by_library(subject: Subject, cluster: KubeCluster) -> set[str]:
    """What cannot be installed is refused in words."""
    try:
        install(subject.make(0, cluster), cluster, options=Options(limits=LIMITS))
    except KymatuiError as error:
        return {str(error)}
    raise Trouble("it was installed")


def refused_by_manifest(subject: Subject, desk: Desk) -> set[str]:
    ref = desk.put(_with_layer(subject, desk, subject.layers[0]))
    words = str(desk.settle(ref, "Error")["lastOperation"]["operation"])
    desk.gone(ref)
    return {words}


def _is_well(status: Json, body: Json) -> None:
    bad = [item for item in status["conditions"] if item["status"] != "True"]
    if bad or not body["metadata"].get("finalizers"):
        raise Trouble(f"Ready, but {bad} {body['metadata'].get('finalizers')}")


def served(cluster: KubeCluster, kind: GroupVersionKind) -> Callable[[], bool]:
    def look() -> bool:
        cluster.forget_kinds()
        return cluster.kind(kind) is not None

    return look


def definitions_in(path: Path) -> Iterator[Json]:
    for body in yaml.load_all(path.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if body:
            metadata = {key: value for key, value in body["metadata"].items() if key != "creationTimestamp"}
            yield {**{key: value for key, value in body.items() if key != "status"}, "metadata": metadata}


def sweep(cluster: KubeCluster, before: dict[str, Json]) -> None:
    """Takes away what was not there before, by force, so that the next one begins where this one did."""
    for _ in range(10):
        cluster.forget_kinds()
        left = [ref for kind in cluster.all_kinds() for ref in _new_of(cluster, kind, before)]
        for ref in left:
            with contextlib.suppress(KymatuiError):
                cluster.patch(ref, {"metadata": {"finalizers": None}}, PatchKind.MERGE, manager="walk")
                cluster.delete(ref)
        if not left:
            return
        time.sleep(0.2)


def _new_of(cluster: KubeCluster, kind: ServedKind, before: dict[str, Json]) -> Iterator[ObjectRef]:
    if not {"list", "delete"} <= set(kind.verbs) or kind.gvk.kind in _WRITTEN_BY_THE_CLUSTER:
        return
    for body in cluster.list(kind.gvk):
        space, name = body["metadata"].get("namespace", ""), body["metadata"]["name"]
        if f"{kind.gvk.kind}.{kind.gvk.group} {space}/{name}" not in before and space != "kube-node-lease":
            yield ObjectRef(kind.gvk, space, name)
