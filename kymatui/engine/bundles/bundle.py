"""A bundle: the rendered content of a module, before any comparison with a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from kymatui.domain.inventories import Origin
from kymatui.engine.bundles.hidden_content import HiddenContent
from kymatui.engine.cluster.ports import Object
from kymatui.helm.rendering.manifests import Hook, sort_hooks


class BundleHook(Struct, frozen=True):
    """A hook of a chart with its object; hooks run in sequence by weight and name."""

    hook: Hook
    body: Object


def hooks_of(hooks: Iterable[BundleHook], event: str) -> list[BundleHook]:
    """Return the hooks of an event ("pre-install", …) in Helm's order."""
    by_hook = {id(hook.hook): hook for hook in hooks}
    return [by_hook[id(hook)] for hook in sort_hooks([hook.hook for hook in by_hook.values()], event)]


class ChartRelease(Struct, frozen=True):
    """The data of a Helm release Secret besides the objects: chart, user's values, manifest, notes."""

    chart: Mapping[str, Any]
    config: Mapping[str, Any]
    manifest: str
    notes: str = ""


class Bundle(Struct, frozen=True):
    """One installation and everything that belongs to it.

    namespace  default namespace of namespaced objects
    objects    in the order of their source, each once
    crds       CRDs that are created if missing and never changed (a chart's `crds/`)
    hooks      hooks of a chart, else empty
    resource   the module's default CR, created by the first installation and never changed by an upgrade
    release    for charts: the data that makes the release readable by helm
    resources  further CRs, treated like `resource`
    notes      notes for the user about the source, one sentence each
    create_namespace  False if the namespace must already exist
    hidden     what of a chart's rendering is displayed to nobody
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
    hidden: HiddenContent = HiddenContent()

    @property
    def defaults(self) -> tuple[Object, ...]:
        """Return all CRs that are created once."""
        return (*((self.resource,) if self.resource is not None else ()), *self.resources)

    @property
    def displayed_notes(self) -> str:
        """Return the notes of a chart's release, "" without any."""
        if self.release is None:
            return ""
        return self.hidden.notes if self.hidden.objects else self.release.notes
