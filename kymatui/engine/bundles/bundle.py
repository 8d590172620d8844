"""What a module consists of, rendered and read, and not yet compared with any cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kymatui.engine.cluster.ports import Object
from kymatui.helm.manifests import Hook, sort_hooks


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a bundle came from: `kind` is helm, oci, kustomize or raw; `address` is what the user named, without
    passwords; `digest` ("sha256:…") is that of the bytes that were read. Of a chart that was named in a repository,
    `repository` is the address of that, without passwords, too."""

    kind: str
    address: str
    version: str = ""
    digest: str = ""
    repository: str = ""


@dataclass(frozen=True, slots=True)
class BundleHook:
    """A hook of a chart with its object; hooks run one after another by weight and name."""

    hook: Hook
    body: Object


def hooks_of(hooks: Iterable[BundleHook], event: str) -> list[BundleHook]:
    """The hooks of an event ("pre-install", …) in the order in which Helm runs them."""
    by_hook = {id(one.hook): one for one in hooks}
    return [by_hook[id(hook)] for hook in sort_hooks([one.hook for one in by_hook.values()], event)]


@dataclass(frozen=True, slots=True)
class ChartRelease:
    """What a Helm release Secret needs beside the objects: the chart as Helm stores it, the user's values, texts."""

    chart: Mapping[str, Any]
    config: Mapping[str, Any]
    manifest: str
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Bundle:
    """One install: everything that belongs to it.

    namespace  where objects of namespaced kinds go that name none
    objects    in the order of their source; each once
    crds       definitions that are created where they are missing, and never changed after that (a chart's `crds/`)
    hooks      of a chart; empty otherwise
    resource   the module's default custom resource: created on the first install, never changed by an upgrade
    release    for charts: what makes the release readable by helm
    resources  further custom resources that are treated like it
    notes      what a person should be told about the source, one sentence each
    create_namespace  false where its namespace has to be there already
    """

    name: str
    namespace: str
    origin: Origin
    version: str = ""
    objects: tuple[Object, ...] = ()
    crds: tuple[Object, ...] = ()
    hooks: tuple[BundleHook, ...] = ()
    resource: Object | None = None
    release: ChartRelease | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    resources: tuple[Object, ...] = ()
    create_namespace: bool = True

    @property
    def defaults(self) -> tuple[Object, ...]:
        """All custom resources that are created once."""
        return (*((self.resource,) if self.resource is not None else ()), *self.resources)
