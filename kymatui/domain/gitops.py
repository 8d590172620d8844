"""What applies an object from Git, so that a change here does not last: Flux and Argo CD, known by their marks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, Protocol

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LAST_APPLIED, field_managers, read_meta, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef

GitChanges = tuple["GitChange", ...]


class ChangesGit(Protocol):
    """A plan, or a part of one."""

    @property
    def git(self) -> GitChanges:
        """Return what it changes of what comes from Git."""


class GitTool(StrEnum):
    """The controllers that apply objects from a Git repository or a chart, again and again."""

    KUSTOMIZATION = "Flux Kustomization"
    HELM_RELEASE = "Flux HelmRelease"
    APPLICATION = "Argo CD Application"


class GitSource(Struct, frozen=True):
    """The object of a tool that applies others; `namespace` is "" where their marks do not name it."""

    tool: GitTool
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.tool.value} {f'{self.namespace}/' if self.namespace else ''}{self.name}"


class GitChange(Struct, frozen=True):
    """A change of an object that comes from Git; `after` is what the repository has to say, None for a deletion.

    `release` means that a new revision of a Helm release changes it, or the deletion of the release.
    """

    source: GitSource
    ref: ObjectRef
    after: Mapping[str, Any] | None = None
    release: bool = False


KINDS: Final = {
    GitTool.KUSTOMIZATION: ("kustomize.toolkit.fluxcd.io", "Kustomization"),
    GitTool.HELM_RELEASE: ("helm.toolkit.fluxcd.io", "HelmRelease"),
    GitTool.APPLICATION: ("argoproj.io", "Application"),
}
"""Group and kind of the sources; the group is also the prefix of Flux's marks."""
_NOT_AGAIN: Final = (
    ("reconcile", "disabled"),
    ("ssa", "ifnotpresent"),
    ("ssa", "ignore"),
    ("driftdetection", "disabled"),
)
"""Annotations of Flux with the values, in small letters, for which it does not apply an object again."""
_ARGO_TRACKING: Final = "argocd.argoproj.io/tracking-id"
_ARGO_LABEL: Final = "app.kubernetes.io/instance"
_ARGO_MANAGER: Final = "argocd-controller"
_TOOLS_MARKS: Final = ("fluxcd.io/", "argocd.argoproj.io/", "applyset.kubernetes.io/", LAST_APPLIED)


def git_source(raw: object) -> GitSource | None:
    """Return what applies an object from Git, None if nothing does.

    Argo CD names the Application in its annotation; its earlier label counts only where Argo CD wrote the object.
    """
    metadata = read_meta(JsonReader(raw))
    annotations = {(name.lower(), value.lower()) for name, value in metadata.annotations.items()}
    for tool in (GitTool.KUSTOMIZATION, GitTool.HELM_RELEASE):
        group = KINDS[tool][0]
        if name := metadata.labels.get(f"{group}/name"):
            if any((f"{group}/{key}", value) in annotations for key, value in _NOT_AGAIN):
                return None
            return GitSource(tool, metadata.labels.get(f"{group}/namespace", ""), name)
    tracked = metadata.annotations.get(_ARGO_TRACKING, "").partition(":")[0]
    if not tracked and _ARGO_MANAGER in field_managers(raw):
        tracked = metadata.labels.get(_ARGO_LABEL, "")
    namespace, _, name = tracked.rpartition("_")
    return GitSource(GitTool.APPLICATION, namespace, name) if tracked else None


def git_changes(raw: object, after: Mapping[str, Any] | None = None) -> GitChanges:
    """Return the change of an object as it is now, () if nothing applies it from Git; `after` as in `GitChange`."""
    source = git_source(raw)
    return () if source is None else (GitChange(source, read_ref(raw), after),)


def changes_of(sources: Iterable[tuple[GitSource | None, ObjectRef]], *, release: bool = False) -> GitChanges:
    """Return the changes of objects whose sources are known; `release` as in `GitChange`."""
    return tuple(GitChange(source, ref, release=release) for source, ref in sources if source is not None)


def joined_changes(plans: Iterable[ChangesGit]) -> GitChanges:
    """Return what several plans change of what comes from Git."""
    return tuple(change for plan in plans for change in plan.git)


def _by_source(changes: Iterable[GitChange]) -> dict[GitSource, list[ObjectRef]]:
    applied: dict[GitSource, list[ObjectRef]] = {}
    for change in changes:
        refs = applied.setdefault(change.source, [])
        if change.ref not in refs:
            refs.append(change.ref)
    return applied


def git_warnings(changes: Iterable[GitChange]) -> tuple[str, ...]:
    """Return that changes may not last, for each source."""
    return tuple(
        f"{source} applies {refs[0]} and may revert this change: make it in Git"
        if len(refs) == 1
        else f"{source} applies {len(refs)} of these objects and may revert their changes: make them in Git"
        for source, refs in _by_source(changes).items()
    )


def lasting(source: GitSource, raw: Mapping[str, Any] | None, *, release: bool = False) -> str:
    """Return for how long a change lasts beside a source, from its object; None means that it cannot be read.

    A HelmRelease without the detection of drift looks at its release only: `release` as in `GitChange`.
    """
    if raw is None:
        return "until it is applied again, when is unknown"
    spec = JsonReader(raw).child("spec")
    if source.tool is GitTool.APPLICATION:
        policy = spec.child("syncPolicy").child("automated")
        if not spec.child("syncPolicy").has("automated") or not policy.flag("enabled", True):
            return "until the Application is synchronised"
        return "for seconds: it heals itself" if policy.flag("selfHeal") else "until the next change in Git"
    if spec.flag("suspend"):
        return "until it is resumed: it is suspended"
    is_blind = source.tool is GitTool.HELM_RELEASE and spec.child("driftDetection").text("mode") != "enabled"
    if is_blind and not release:
        return "until its next upgrade"
    interval = spec.text("interval")
    until = f"for at most {interval}, its interval" if interval else "until its next reconciliation"
    return f"{until}; a field that Git does not have stays"  # Flux applies on the server side, and names no others


def repository_document(change: GitChange) -> dict[str, Any] | None:
    """Return the changed object as a repository has it: no status, no metadata of server and tools; never a Secret."""
    after = change.after
    if after is None or change.ref.kind.kind == "Secret":
        return None
    return {"apiVersion": change.ref.kind.api_version, "kind": change.ref.kind.kind} | plain_object(after)


def plain_object(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without status, and without what the server and tools that apply objects wrote to it."""
    metadata: Mapping[str, Any] = raw.get("metadata") or {}
    kept: dict[str, Any] = {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
    for key in ("labels", "annotations"):
        own = {
            name: value
            for name, value in (metadata.get(key) or {}).items()
            if not any(mark in name for mark in _TOOLS_MARKS)
        }
        kept |= {key: own} if own else {}
    return {"metadata": kept, **{key: value for key, value in raw.items() if key not in ("metadata", "status")}}


def git_document(change: GitChange) -> dict[str, Any]:
    """Return `{"source", "object", "manifest"}`; the manifest is null where it is not displayed."""
    return {"source": str(change.source), "object": str(change.ref), "manifest": repository_document(change)}
