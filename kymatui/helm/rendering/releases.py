"""Releases stored as Helm does: Secrets `sh.helm.release.v1.NAME.vN`, encoded and decoded here.

A Secret of type helm.sh/release.v1 holds one revision: JSON, gzipped, in base64 (and again in base64, as all data of
Secrets), with labels for name, owner, status and version. It is compatible with the helm command in both directions;
the engine writes the Secrets.
"""

from __future__ import annotations

import base64
import binascii
import enum
import gzip
import io
import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.errors import HelmError
from kymatui.helm.charts.archives import ChartFile
from kymatui.helm.charts.metadata import Lock, dependency_fields, metadata_fields, omit_empty
from kymatui.helm.charts.trees import ChartNode
from kymatui.helm.govalues.text import runes
from kymatui.helm.rendering.manifests import Hook, RenderedManifest, split_manifests
from kymatui.json_input import read_json
from kymatui.moments import parse_moment

RELEASE_TYPE: Final = "helm.sh/release.v1"
NAME_PREFIX: Final = "sh.helm.release.v1"
HISTORY_LIMIT: Final = 10
"""Revisions that Helm keeps of a release where nothing else is said; 0 is no limit."""

MAX_BODY: Final = 128 << 20
_SYSTEM_LABELS: Final = frozenset({"name", "owner", "status", "version", "createdAt", "modifiedAt"})
_NO_TIME: Final = "0001-01-01T00:00:00Z"
_NEWER: Final = "use the helm that wrote it, or a newer kymatui"


class Status(enum.StrEnum):
    UNKNOWN = "unknown"
    DEPLOYED = "deployed"
    UNINSTALLED = "uninstalled"
    SUPERSEDED = "superseded"
    FAILED = "failed"
    UNINSTALLING = "uninstalling"
    PENDING_INSTALL = "pending-install"
    PENDING_UPGRADE = "pending-upgrade"
    PENDING_ROLLBACK = "pending-rollback"

    @property
    def is_pending(self) -> bool:
        """Return whether an operation on it is in progress or was interrupted."""
        return self in (Status.PENDING_INSTALL, Status.PENDING_UPGRADE, Status.PENDING_ROLLBACK)

    @property
    def was_deployed(self) -> bool:
        """Return whether the revision was complete once."""
        return self in (Status.DEPLOYED, Status.SUPERSEDED)


DESCRIPTIONS: Final = {
    Status.PENDING_INSTALL: "Initial install underway",
    Status.PENDING_UPGRADE: "Preparing upgrade",
    Status.PENDING_ROLLBACK: "Preparing rollback",
    Status.UNINSTALLING: "Deletion in progress (or silently failed)",
}
"""helm's descriptions of revisions that are not complete."""


class HookRun(Struct, frozen=True):
    """The last run of a hook: "Unknown", "Running", "Succeeded", "Failed", or "" for never."""

    phase: str = ""
    started_at: datetime | None = None
    completed_at: datetime | None = None


class ReleaseHook(Struct, frozen=True):
    """A hook of a release and its last run."""

    hook: Hook
    last_run: HookRun = HookRun()


class Release(Struct, frozen=True):
    """One revision of a release.

    chart     the chart as Helm stores it: {"metadata": {…}, "templates": [{"name", "data"}], "values": {…}, …}
    config    the user's values
    manifest  all manifests as one text (see join_manifests)
    labels    the user's labels, without Helm's own
    others    fields that only a newer helm knows, as they were stored; `info` has those of the state
    """

    name: str
    namespace: str
    version: int
    status: Status
    description: str = ""
    notes: str = ""
    first_deployed: datetime | None = None
    last_deployed: datetime | None = None
    deleted: datetime | None = None
    chart: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    manifest: str = ""
    hooks: tuple[ReleaseHook, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    apply_method: str = ""
    others: Mapping[str, Any] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return secret_name(self.name, self.version)

    @property
    def least_size(self) -> int:
        """Return the characters of the chart's files and the manifest, which cost time to pack if they are many."""
        files = [*(self.chart.get("templates") or ()), *(self.chart.get("files") or ())]
        return len(self.manifest) + len(self.notes) + sum(len(str(file.get("data") or "")) for file in files)


def secret_name(name: str, version: int) -> str:
    return f"{NAME_PREFIX}.{name}.v{version}"


def join_manifests(manifests: Iterable[RenderedManifest]) -> str:
    """Return the text of a release's manifests, each after a comment with its template."""
    return "".join(f"---\n# Source: {manifest.path}\n{manifest.content}\n" for manifest in manifests)


def encode_release(release: Release) -> bytes:
    """Return the content of the Secret's key `release`: base64 of gzipped JSON."""
    body = json.dumps(_document(release), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    packed = gzip.compress(body.encode("utf-8", "replace"), compresslevel=9, mtime=0)
    return base64.b64encode(packed)


def decode_release(data: bytes | str, labels: Mapping[str, str] | None = None) -> Release:
    """Return the release from a Secret's key `release` and labels. Raise HelmError."""
    try:
        packed = base64.b64decode(data, validate=True)
        body = _unpack(packed) if packed.startswith(b"\x1f\x8b\x08") else packed
        document = read_json(body)
    except binascii.Error as error:
        raise HelmError("a release cannot be read: its content is not base64") from error
    except (OSError, EOFError, zlib.error) as error:
        raise HelmError("a release cannot be read: its compressed content is damaged or cut off") from error
    except ValueError as error:
        raise HelmError(f"a release cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise HelmError("a release cannot be read: it is not a JSON object")
    _check_types(document, _TYPES, "")
    try:
        return _release(document, labels or {})
    except ValueError as error:  # a time
        raise HelmError(f"a release cannot be read: {error}") from error


def to_record(
    release: Release,
    *,
    created_at: datetime | None = None,
    modified_at: datetime | None = None,
    config_map: bool = False,
    texts: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """Return the Secret that stores a revision, or the ConfigMap (HELM_DRIVER=configmap), with further `texts`.

    Secrets have everything in base64 once more.
    """
    labels = {**release.labels, "name": release.name, "owner": "helm", "status": release.status.value}
    labels["version"] = str(release.version)
    if created_at is not None:
        labels["createdAt"] = str(int(created_at.timestamp()))
    if modified_at is not None:
        labels["modifiedAt"] = str(int(modified_at.timestamp()))
    texts = {"release": encode_release(release).decode(), **texts}
    metadata = {"name": release.key, "namespace": release.namespace, "labels": labels}
    if config_map:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": texts}
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": RELEASE_TYPE, "data": data}


def record_text(record: Mapping[str, Any], key: str) -> str:
    """Return a text of a Secret or ConfigMap, "" if it is missing. Raise HelmError."""
    text = str((record.get("data") or {}).get(key) or "")
    if record.get("kind") == "ConfigMap":
        return text
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except ValueError as error:
        raise HelmError(f"{_title(record)} has no {key} in it") from error


def from_record(record: Mapping[str, Any]) -> Release:
    """Return the revision in a Secret or ConfigMap. Raise HelmError, also for a format of a newer helm."""
    name = str((record.get("metadata") or {}).get("name") or "")
    stored_type = RELEASE_TYPE if record.get("kind") == "ConfigMap" else record.get("type")
    if stored_type != RELEASE_TYPE or not name.startswith(f"{NAME_PREFIX}."):
        words = f"{_title(record)} is no release in the format of helm 3 and 4 ({RELEASE_TYPE})"
        raise HelmError(words if stored_type == RELEASE_TYPE else f"{words}: its type is {stored_type!r}", hint=_NEWER)
    text = record_text(record, "release")
    if not text:
        raise HelmError(f"{_title(record)} has no release in it")
    try:
        return decode_release(text, record["metadata"].get("labels") or {})
    except HelmError as error:
        hint = error.hint or "restore it from a backup, or delete it with `kubectl`"
        raise HelmError(f"{_title(record)}: {error}", hint=hint) from error


def _title(record: Mapping[str, Any]) -> str:
    metadata = record.get("metadata") or {}
    path = "/".join(filter(None, (metadata.get("namespace"), str(metadata.get("name") or "?"))))
    return f"{record.get('kind') or 'Secret'} {path}"


def deployed(history: Iterable[Release]) -> Release | None:
    """Return the newest deployed revision."""
    return max(
        (release for release in history if release.status is Status.DEPLOYED),
        key=lambda release: release.version,
        default=None,
    )


def rollback_target(history: Sequence[Release], revision: int) -> Release | None:
    """Return the revision to roll back to: the given one, 0 for the one before the deployed one; None if missing."""
    current = deployed(history)
    complete = [release for release in history if release.status.was_deployed]
    matching = [release for release in complete if release.version == revision or (not revision and release != current)]
    return matching[-1] if matching else None


def next_values(history: Sequence[Release]) -> Mapping[str, Any]:
    """Return the values of the deployed revision; of the newest one if that is pending, or none is deployed."""
    release = deployed(history) if history and not history[-1].status.is_pending else None
    return (release or history[-1]).config if history else {}


def content_text(chart: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """Return a stored chart and its values as text, without helm's modification times of files."""
    return json.dumps([_timeless(chart), config], sort_keys=True)


def _timeless(part: Any) -> Any:
    if isinstance(part, Mapping):
        kept = {name: below for name, below in part.items() if name not in ("modtime", "schemamodtime")}
        files = {name: _timeless(kept[name]) for name in ("templates", "files") if name in kept}
        return {**kept, **files}
    return [_timeless(element) for element in part] if isinstance(part, list) else part


def crd_files(chart: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a stored chart's folder crds/."""
    for file in chart.get("files") or ():
        name, data = str(file.get("name") or ""), str(file.get("data") or "")
        if name.startswith("crds/"):
            try:
                yield base64.b64decode(data).decode("utf-8", "replace")
            except binascii.Error:  # helm reads no such file either
                continue


def mentioned_crds(release: Release, crds: Collection[str]) -> frozenset[str]:
    """Return the CRDs in a release's manifest and in its chart's folder crds/.

    A text that defines a CRD and has its name is not parsed: YAML of CRDs is large, and to return one too many is safe.
    """
    texts = [*split_manifests(release.manifest), *crd_files(release.chart)]
    definitions = [text for text in texts if "CustomResourceDefinition" in text]
    return frozenset(crd for crd in crds if any(crd in text for text in definitions))


def with_succeeded_hooks(release: Release, names: Collection[str]) -> Release:
    """Return the release with the last runs of these hooks ("path#name") marked as succeeded."""
    hooks = tuple(
        replace(hook, last_run=HookRun("Succeeded", hook.last_run.started_at, hook.last_run.completed_at))
        if f"{hook.hook.path}#{hook.hook.name}" in names
        else hook
        for hook in release.hooks
    )
    return replace(release, hooks=hooks)


def next_version(history: Iterable[Release]) -> int:
    return max((release.version for release in history), default=0) + 1


def surplus(history: Sequence[Release], limit: int = HISTORY_LIMIT) -> list[Release]:
    """Return the revisions that Helm deletes before it writes another, oldest first.

    The deployed revision always stays.
    """
    if limit <= 0:
        return []
    kept = deployed(history)
    excess = len(history) - (limit - 1)
    ordered = sorted(history, key=lambda release: release.version)
    removable = [release for release in ordered if kept is None or release.version != kept.version]
    return removable[: max(excess, 0)]


def chart_document(node: ChartNode) -> dict[str, Any]:
    """Return a chart as a release stores it: without dependencies, whose values are merged into its own."""
    chart = node.chart
    schema = None if chart.schema is None else base64.b64encode(chart.schema).decode()
    return {
        "metadata": _as_json(metadata_fields(node.metadata)),
        "lock": None if chart.lock is None else _lock_document(chart.lock),
        "templates": [_file_document(template) for template in chart.templates],
        "values": _as_json(node.values),
        "schema": schema,
        "schemamodtime": _NO_TIME,
        "files": [_file_document(file) for file in chart.files] or None,
    }


def _file_document(file: ChartFile) -> dict[str, str]:
    return {"name": file.name, "data": base64.b64encode(file.data).decode()}


def _lock_document(lock: Lock) -> dict[str, Any]:
    return {
        "generated": lock.generated or _NO_TIME,
        "digest": lock.digest,
        "dependencies": [_as_json(dependency_fields(dependency)) for dependency in lock.dependencies],
    }


def _as_json(value: Any) -> Any:
    """Return values as Go writes them: whole floats without a point, invalid UTF-8 replaced."""
    if isinstance(value, dict):
        return {_as_json(key): _as_json(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_as_json(part) for part in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    return runes(value) if isinstance(value, str) else value


def _document(release: Release) -> dict[str, Any]:
    info = {
        "first_deployed": _time_text(release.first_deployed),
        "last_deployed": _time_text(release.last_deployed),
        "deleted": _time_text(release.deleted),
        "description": release.description,
        "status": release.status.value,
        "notes": release.notes,
    }
    return omit_empty(
        {
            "name": release.name,
            "info": {**release.info, **omit_empty(info)},
            "chart": dict(release.chart),
            "config": _as_json(dict(release.config)),
            "manifest": release.manifest,
            "hooks": [_hook_document(hook) for hook in release.hooks],
            "version": release.version,
            "namespace": release.namespace,
            "apply_method": release.apply_method,
            **release.others,
        }
    )


def _hook_document(release_hook: ReleaseHook) -> dict[str, Any]:
    hook, run = release_hook.hook, release_hook.last_run
    times = {"started_at": _time_text(run.started_at), "completed_at": _time_text(run.completed_at)}
    return {
        **omit_empty({"name": hook.name, "kind": hook.kind, "path": hook.path, "manifest": hook.content}),
        **omit_empty({"events": list(hook.events)}),
        "last_run": {**omit_empty(times), "phase": run.phase},
        **omit_empty(
            {
                "weight": hook.weight,
                "delete_policies": list(hook.delete_policies),
                "output_log_policies": list(hook.output_log_policies),
            }
        ),
    }


_TEXTS: Final = ("name", "namespace", "manifest", "apply_method")
_TYPES: Final[Mapping[str, Any]] = {
    **dict.fromkeys(_TEXTS, str),
    "version": int,
    "chart": dict,
    "config": dict,
    "info": dict.fromkeys(("status", "description", "notes", "first_deployed", "last_deployed", "deleted"), str),
    "hooks": [
        {
            **dict.fromkeys(("name", "kind", "path", "manifest"), str),
            "weight": int,
            **{name: [str] for name in ("events", "delete_policies", "output_log_policies")},
            "last_run": dict.fromkeys(("phase", "started_at", "completed_at"), str),
        }
    ],
}
"""The types of a release's fields, each of which may be absent or null."""
_TYPE_NAMES: Final = {str: "text", int: "a whole number", dict: "a map", list: "a list"}


def _check_types(value: Any, expected: Any, path: str) -> None:
    """Raise HelmError with the path of a field that has another type."""
    if value is None:
        return
    kind: Any = expected if isinstance(expected, type) else type(expected)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise HelmError(f"a release cannot be read: {path or 'it'} is not {_TYPE_NAMES[kind]}")
    if isinstance(expected, dict):
        for name, part in expected.items():
            _check_types(value.get(name), part, f"{path}.{name}" if path else name)
    elif isinstance(expected, list):
        for number, item in enumerate(value):
            _check_types(item, expected[0], f"{path}[{number}]")
            if item is None:
                raise HelmError(f"a release cannot be read: {path}[{number}] is empty")


def _release(document: dict[str, Any], labels: Mapping[str, str]) -> Release:
    info = document.get("info") or {}
    return Release(
        name=document.get("name") or "",
        namespace=document.get("namespace") or "",
        version=document.get("version") or 0,
        status=_status(info.get("status") or ""),
        description=info.get("description") or "",
        notes=info.get("notes") or "",
        first_deployed=_time(info.get("first_deployed")),
        last_deployed=_time(info.get("last_deployed")),
        deleted=_time(info.get("deleted")),
        chart=document.get("chart") or {},
        config=document.get("config") or {},
        manifest=document.get("manifest") or "",
        hooks=tuple(_hook(hook) for hook in document.get("hooks") or ()),
        labels={name: value for name, value in labels.items() if name not in _SYSTEM_LABELS},
        apply_method=document.get("apply_method") or "",
        others={name: value for name, value in document.items() if name not in _TYPES},
        info={name: value for name, value in info.items() if name not in _TYPES["info"]},
    )


def _status(word: str) -> Status:
    """Return a status; one that only a newer helm knows may mean that it is at work."""
    if word and word not in {status.value for status in Status}:
        raise HelmError(f"a release cannot be read: its status {word!r} is not one of helm 3 and 4", hint=_NEWER)
    return Status(word or Status.UNKNOWN)


def _hook(document: Mapping[str, Any]) -> ReleaseHook:
    run = document.get("last_run") or {}
    hook = Hook(
        name=document.get("name") or "",
        kind=document.get("kind") or "",
        path=document.get("path") or "",
        content=document.get("manifest") or "",
        events=tuple(document.get("events") or ()),
        weight=document.get("weight") or 0,
        delete_policies=tuple(document.get("delete_policies") or ()),
        output_log_policies=tuple(document.get("output_log_policies") or ()),
    )
    return ReleaseHook(
        hook, HookRun(run.get("phase") or "", _time(run.get("started_at")), _time(run.get("completed_at")))
    )


def _time_text(moment: datetime | None) -> str:
    if moment is None:
        return ""
    text = moment.astimezone().isoformat() if moment.tzinfo is None else moment.isoformat()
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def _time(text: str | None) -> datetime | None:
    return parse_moment(text) if text and text != _NO_TIME else None


def _unpack(packed: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
        body = stream.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise ValueError(f"it unpacks to more than {MAX_BODY} bytes")
    return body
