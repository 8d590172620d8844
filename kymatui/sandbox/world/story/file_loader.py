"""Loader of YAML and JSON files into a cluster: CRDs, then namespaces, then all other objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from kymatui.errors import ConfigurationError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import documents
from kymatui.json_input import read_json
from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.apimachinery.object_store import ObjectStore
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.controllers.framework.store_reader import Obj
from kymatui.sandbox.world.lifecycle.kind_index import DEFINITIONS, KindIndex

SUFFIXES = (".yaml", ".yml", ".json")
PAUSE_SECONDS, PATIENCE_SECONDS = 0.1, 5.0


class LoadReport(Struct, dict=True):
    """The result: `loaded` as "kind namespace/name"; failures and skipped objects with file and reason."""

    loaded: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    done: bool = False


class _Found(Struct, frozen=True, dict=True):
    path: Path
    obj: Obj

    @property
    def rank(self) -> int:
        return {"CustomResourceDefinition": 0, "Namespace": 1}.get(self.obj["kind"], 2)

    @property
    def title(self) -> str:
        metadata = self.obj.get("metadata") or {}
        full_name = "/".join(p for p in (metadata.get("namespace"), metadata.get("name")) if p)
        return f"{self.obj['kind']} {full_name}"


def load(client: LocalClient, store: ObjectStore, paths: Iterable[Path], *, namespace: str = "default") -> LoadReport:
    """Create or replace every object of the files; `namespace` is the default for namespaced objects.

    The loading continues with the clock, because a new kind is served only when its CRD is established: the report is
    complete when it is `done`. A file that is not YAML and an object that the server refuses are added to `failures`;
    the rest is loaded. Raise ConfigurationError if a path does not exist.
    """
    report = LoadReport()
    entries = sorted(_objects(_files(paths), report), key=lambda f: f.rank)
    _Loading(client, KindIndex(store), namespace, report).go_on(entries)
    return report


class _Loading:
    """Writes objects, and retries those whose kind is not served yet."""

    def __init__(self, client: LocalClient, kinds: KindIndex, namespace: str, report: LoadReport) -> None:
        self._client = client
        self._kinds = kinds
        self._namespace = namespace
        self._report = report
        self._end = client.clock.now() + PATIENCE_SECONDS

    def go_on(self, entries: Sequence[_Found]) -> None:
        waiting = [entry for entry in entries if not self._put(entry)]
        if waiting:
            self._client.clock.call_later(PAUSE_SECONDS, lambda: self.go_on(waiting))
        else:
            self._report.done = True

    def _put(self, entry: _Found) -> bool:
        """Write the object; return False if it must be retried."""
        try:
            note = _put(self._client, self._kinds, entry.obj, self._namespace)
        except LookupError as error:
            if self._client.clock.now() < self._end:
                return False
            self._report.failures.append(f"{entry.path}: {entry.title}: {error.args[0]}")
        except (StatusError, ValueError) as error:
            self._report.failures.append(f"{entry.path}: {entry.title}: {error}")
        else:
            self._report.loaded.append(entry.title)
            if note:
                self._report.skipped.append(f"{entry.path}: {entry.title}: {note}")
        return True


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        elif path.is_file():
            yield path
        else:
            raise ConfigurationError(f"{path} does not exist", hint="--load takes files and folders")


def _objects(files: Iterable[Path], report: LoadReport) -> Iterator[_Found]:
    for path in files:
        try:
            documents = _documents(path)
        except (YamlError, ValueError) as error:
            reason = error.summary if isinstance(error, YamlError) else str(error)
            report.failures.append(f"{path}: {reason}")
            continue
        for document in documents:
            for obj in _flattened(document):
                if _is_object(obj):
                    yield _Found(path, obj)
                else:
                    report.skipped.append(f"{path}: not a Kubernetes object")


def _documents(path: Path) -> list[Any]:
    text = path.read_bytes()
    if path.suffix == ".json":
        return [read_json(text)]
    return [document for document in documents(text, keeps_integers=True) if document is not None]


def _flattened(document: Any) -> Sequence[Any]:
    if isinstance(document, dict) and str(document.get("kind", "")).endswith("List") and "items" in document:
        return list(document["items"] or [])
    return [document]


def _is_object(obj: Any) -> bool:
    return (
        isinstance(obj, dict)
        and isinstance(obj.get("kind"), str)
        and isinstance(obj.get("apiVersion"), str)
        and isinstance(obj.get("metadata"), dict)
        and bool(obj["metadata"].get("name") or obj["metadata"].get("generateName"))
    )


def _put(client: LocalClient, kinds: KindIndex, obj: Obj, default: str) -> str:
    """Create or replace the object and write its status; return why the status was left out, or ""."""
    known = kinds.find(obj["apiVersion"], obj["kind"])
    if known is None:
        raise LookupError(f"no matches for kind {obj['kind']!r} in version {obj['apiVersion']!r}")
    resource, namespaced = known
    version = obj["apiVersion"].rpartition("/")[2]
    metadata = {k: v for k, v in obj["metadata"].items() if k not in ("uid", "resourceVersion", "managedFields")}
    if namespaced:
        metadata["namespace"] = metadata.get("namespace") or default
        _ensure_namespace(client, metadata["namespace"])
    else:
        metadata.pop("namespace", None)
    body = {**obj, "metadata": metadata}
    try:
        created = client.create(resource, body, namespace=metadata.get("namespace", ""), version=version)
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise
        created = _replace(client, resource, body, version)
    if obj.get("status") and resource not in ("namespaces", DEFINITIONS):
        return _write_status(client, resource, created, obj["status"], version)
    return ""


def _replace(client: LocalClient, resource: str, obj: Obj, version: str) -> Obj:
    """Update the object; a Job, which is immutable, is deleted and created."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if resource == "jobs.batch":
        client.delete(resource, metadata["name"], namespace=namespace, propagation="Background")
        return client.create(resource, obj, namespace=namespace, version=version)
    live = client.get(resource, metadata["name"], namespace=namespace, version=version)
    changed = {**obj, "metadata": {**metadata, "resourceVersion": live["metadata"]["resourceVersion"]}}
    if resource == "services":
        addresses = {k: live["spec"][k] for k in ("clusterIP", "clusterIPs") if k in live["spec"]}
        changed["spec"] = {**addresses, **obj["spec"]}
    return client.update(resource, changed, version=version)


def _write_status(client: LocalClient, resource: str, created: Obj, status: Any, version: str) -> str:
    """Write the status; return the reason if the server refuses it.

    A kind without the status subresource has stored the status already.
    """
    try:
        client.update_status(resource, {**created, "status": status}, version=version)
    except StatusError as error:
        if error.reason not in ("NotFound", "MethodNotAllowed"):
            return f"the status was not written: {error}"
    return ""


def _ensure_namespace(client: LocalClient, name: str) -> None:
    if client.find("namespaces", name) is None:
        client.create("namespaces", {"metadata": {"name": name}})
