"""The kinds that a catalog is made of: found by discovery, watched, and found again whenever CRDs change."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kymatui.adapters.kube.watch.projections import MetadataOnly, Workload
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.sessions.feeds.crd_metadata import CrdMetadata, crd_name
from kymatui.sessions.feeds.feed_director import FeedDirector
from kymatui.sessions.feeds.installed_feeds import InstalledFeeds
from kymatui.sessions.feeds.watched_kinds import (
    DEFINITIONS,
    KYMA_KINDS,
    KYMA_NAMESPACE,
    WATCHED_KINDS,
    WatchedKind,
    module_kinds,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kymatui.adapters.kube.api.client import Client
    from kymatui.adapters.kube.objects.api_resource import ApiResource
    from kymatui.adapters.kube.watch.watch_cache import ChangeBell
    from kymatui.domain.kubernetes.refs import GroupVersionKind
    from kymatui.domain.snapshot.snapshots import Object
    from kymatui.sessions.feeds.community_catalogs import CommunityCatalogs
    from kymatui.sessions.feeds.feeds import Feeds

_PROBE = 120.0
"""Seconds between two calls of `arrange` where CRDs cannot be watched."""

_SETTLE = (0.25, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds between two discoveries: CRDs come in bursts, and a new one is served a moment after it is created."""


class CatalogFeeds:
    """Watches Kyma's kinds, workloads, CRDs, and the kinds of the module CRs that templates name."""

    def __init__(
        self, client: Client, feeds: Feeds, catalogs: CommunityCatalogs, namespace: str, bell: ChangeBell
    ) -> None:
        self._client = client
        self._feeds = feeds
        self._catalogs = catalogs
        self._namespace = namespace
        self.director = FeedDirector("catalog-session", self.arrange, self.pause, feeds, bell)
        self._control_plane_templates: tuple[Object, ...] = ()
        self._crds = CrdMetadata()
        self.installed = InstalledFeeds(client, feeds)
        self._arranged_for: object = None
        self._seen_crds: frozenset[str] = frozenset()
        self._tries = 0
        self._due: float | None = None
        self._resources: Mapping[str, ApiResource] = {}
        self._modules: dict[tuple[str, str], str] = {}

    def expect(self) -> None:
        """Mark every kind as loading before anything is known of the server."""
        self._feeds.expect(fixed.feed for fixed in WATCHED_KINDS)

    def use_namespace(self, namespace: str) -> None:
        """Read this namespace of kinds that may not be listed in all; for those that are watched from now on."""
        self._namespace = namespace

    def add_templates(self, templates: tuple[Object, ...]) -> bool:
        """Follow the module CRs of templates that another cluster has too; return whether they are new."""
        changed = templates is not self._control_plane_templates
        self._control_plane_templates = templates
        return changed

    def arrange(self) -> None:
        """Watch what the cluster serves now of everything that is needed. Raise what discovery raises."""
        arranged_for = self._inputs()
        self._notice_crds()
        for fixed in WATCHED_KINDS:
            resource = self._client.discovery.find_kind(fixed.group, fixed.kind, fixed.versions)
            if resource is None:
                self._feeds.absent(fixed.feed, f"the cluster does not serve {fixed.kind} of {fixed.group}")
            else:
                self._follow(fixed.feed, resource, fixed)
        self.installed.arrange(self._namespaces)
        self._arrange_modules()
        self._resources = {resource.name: resource for resource in self._client.discovery.known()}
        if self._tries and not self._seen_crds - self._resources.keys():
            self._due = None  # every CRD is served
        self._arranged_for = arranged_for

    def pause(self) -> float | None:
        """Return the seconds until `arrange` is due; None while a change says so itself."""
        if self._due is not None:
            return max(0.0, self._due - time.monotonic())
        crds = self._feeds.states().get(DEFINITIONS)
        followed = crds is not None and crds.state in (FeedState.LIVE, FeedState.SYNCING)
        return None if followed else _PROBE

    @property
    def is_outdated(self) -> bool:
        """Return whether templates or CRDs have changed since `arrange`."""
        return self._arranged_for != self._inputs()

    @property
    def is_settled(self) -> bool:
        """Return whether `arrange` has seen everything, and no CRD waits for its first discovery."""
        return not self.is_outdated and (self._due is None or bool(self._tries))

    @property
    def crds(self) -> tuple[Object, ...]:
        """Return the metadata of every CRD."""
        return self._crds.of(self._feeds.objects(DEFINITIONS), self._resources)

    def module_crs(self) -> dict[GroupVersionKind, tuple[Object, ...]]:
        """Return the module CRs by kind."""
        found: dict[GroupVersionKind, tuple[Object, ...]] = {}
        for name in dict(self._modules).values():
            kind = self._feeds.kind(name)
            if kind is not None:
                found[kind] = self._feeds.objects(name)
        return found

    def _follow(self, feed: str, resource: ApiResource, fixed: WatchedKind | None = None) -> None:
        metadata_only = fixed is not None and fixed.metadata_only
        decode: Any = MetadataOnly if metadata_only else Workload if resource.group == "apps" else None
        self._feeds.follow(
            feed,
            resource,
            namespaces=self._namespaces,
            decode=decode,
            metadata_only=metadata_only,
            labels=fixed.labels if fixed is not None else "",
            missing=self._rediscover,
        )

    @property
    def _namespaces(self) -> tuple[str, ...]:
        """Return the namespaces that are read of what may not be listed in all."""
        wanted = (self._namespace, KYMA_NAMESPACE, self._client.transport.connection.namespace)
        return tuple(dict.fromkeys(name for name in wanted if name))

    def _arrange_modules(self) -> None:
        wanted: dict[tuple[str, str], str] = {}
        templates = (*self._feeds.objects(KYMA_KINDS[1].feed), *self._control_plane_templates)
        defaults = tuple(one.default_cr.kind for one in self.installed.installations if one.default_cr is not None)
        for (group, kind), versions in module_kinds(templates, self._catalogs.templates, defaults).items():
            resource = self._client.discovery.find_kind(group, kind, versions)
            if resource is None:
                # The plural is unknown here: kubectl takes the kind in its place, and so does this name.
                wanted[group, kind] = f"{kind.lower()}.{group}"
                self._feeds.absent(wanted[group, kind], f"the cluster does not serve {kind} of {group}")
            else:
                wanted[group, kind] = resource.name
                self._follow(resource.name, resource)
        for key, name in self._modules.items():
            if wanted.get(key) != name and name not in wanted.values():
                self._feeds.drop(name)
        self._modules = wanted

    def _notice_crds(self) -> None:
        """Discard discovery when CRDs came or went; again until all are served."""
        now = frozenset(crd_name(item) for item in self._feeds.objects(DEFINITIONS))
        known = {resource.name for resource in self._client.discovery.known()}
        if now != self._seen_crds:
            outdated = bool(now - known) or bool((self._seen_crds - now) & known)
            self._seen_crds, self._tries = now, 0
            self._due = time.monotonic() + _SETTLE[0] if outdated else None
        elif self._due is not None and time.monotonic() >= self._due:
            self._client.discovery.invalidate()
            self._tries += 1
            self._due = time.monotonic() + _SETTLE[self._tries] if self._tries < len(_SETTLE) else None

    def _rediscover(self) -> None:
        """Answer a 404 for a kind that was served."""
        self._client.discovery.invalidate()
        self.director.wake()

    def _inputs(self) -> object:
        """Return the inputs that select the watched kinds; the same tuples until one changes."""
        templates, outside = self._feeds.objects(KYMA_KINDS[1].feed), self._catalogs.templates
        crds = self._feeds.objects(DEFINITIONS)
        installed = self.installed.installations
        return tuple(map(_Same, (templates, outside, self._control_plane_templates, crds, installed)))


class _Same:
    """Compares by identity."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    __hash__ = None  # type: ignore[assignment]
