"""What is installed beside lifecycle-manager: kymatui's inventories and Helm releases, of Secrets the metadata alone.

While a run on an installation is unfinished, its objects and the Leases of running changes are followed, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.projections import MetadataOnly
from kymatui.domain.installed import INVENTORIES, RecordedInstallation, read_installations
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.ownership import LABEL_PART_OF, read_owner
from kymatui.domain.snapshot.cluster_index import INVENTORY_FEED, RELEASE_FEED
from kymatui.domain.snapshot.snapshots import FeedState, namespaced_feed
from kymatui.engine.jobs.identity import is_dead
from kymatui.sessions.feeds.watched_kinds import DEFINITIONS

if TYPE_CHECKING:
    from kymatui.adapters.kube.api.client import Client
    from kymatui.domain.snapshot.snapshots import Object
    from kymatui.sessions.feeds.feeds import Feeds

_VERBS: Final = ("get", "list", "watch")
_LEASES: Final = ApiResource("coordination.k8s.io", "v1", "Lease", "leases", True, _VERBS)
_LEASE_FEED: Final = namespaced_feed("leases", "all namespaces")
_OF_HELM: Final = "app.kubernetes.io/managed-by=Helm"
_MOST: Final = 40  # kinds and namespaces of one installation that are listed
_LISTED: Final = (FeedState.LIVE, FeedState.STALE)


class InstalledFeeds:
    """Watches records of installations, and of the unfinished ones which of their objects exist."""

    def __init__(self, client: Client, feeds: Feeds) -> None:
        self._client = client
        self._feeds = feeds
        self._read: tuple[object, object, tuple[RecordedInstallation, ...]] = ((), (), ())
        self._parts: dict[ObjectRef, tuple[RecordedInstallation, tuple[str, ...]]] = {}
        self._extra: frozenset[str] = frozenset()

    @property
    def inventories(self) -> tuple[Object, ...]:
        return self._feeds.objects(INVENTORY_FEED)

    @property
    def releases(self) -> tuple[Object, ...]:
        """Return the metadata of the current revision of each Helm release."""
        return self._feeds.objects(RELEASE_FEED)

    @property
    def installations(self) -> tuple[RecordedInstallation, ...]:
        """Return what the records say; read again only if one changed."""
        inventories, releases = self.inventories, self.releases
        if self._read[0] is not inventories or self._read[1] is not releases:
            self._read = inventories, releases, read_installations(inventories, releases)
        return self._read[2]

    @property
    def leases(self) -> tuple[Object, ...] | None:
        """Return the Leases whose holder may live, None if they are not listed."""
        if not self._is_listed(_LEASE_FEED):
            return None
        found = self._feeds.objects(_LEASE_FEED)
        return tuple(raw for raw in found if not is_dead(str((raw.get("spec") or {}).get("holderIdentity") or "")))

    def applied(self) -> dict[ObjectRef, tuple[Object, ...]]:
        """Return the objects of unfinished installations by their records, as far as all of them are listed."""
        found = {}
        for record, (installation, names) in dict(self._parts).items():
            if all(map(self._is_listed, names)):
                objects = (raw for name in names if name != DEFINITIONS for raw in self._feeds.objects(name))
                found[record] = tuple(
                    raw for raw in objects if not installation.is_chart or read_owner(raw) == installation.owner
                )
        return found

    def arrange(self, namespaces: tuple[str, ...]) -> None:
        """Follow the objects of unfinished runs, and Leases, in `namespaces` where not all may be listed."""
        unfinished = [one for one in self.installations if one.is_unfinished]
        followed = set()
        if unfinished:
            followed.add(_LEASE_FEED)
            self._feeds.follow(_LEASE_FEED, _LEASES, namespaces=namespaces, labels=INVENTORIES)
        parts = {}
        for one in unfinished:
            kinds = list(dict.fromkeys((ref.kind, ref.namespace) for ref in one.refs))
            if one.inventory is not None and len(kinds) <= _MOST:
                parts[one.record] = one, tuple(dict.fromkeys(self._follow(one, kinds)))
                followed.update(name for name in parts[one.record][1] if name != DEFINITIONS)
        self._parts = parts
        for name in self._extra - followed:
            self._feeds.drop(name)
        self._extra = frozenset(followed)

    def _follow(self, installation: RecordedInstallation, kinds: list[tuple[GroupVersionKind, str]]) -> Iterator[str]:
        """Follow what has the marks of an installation; yield the names of the feeds."""
        labels = _OF_HELM if installation.is_chart else f"{LABEL_PART_OF}={installation.owner.name}"
        for kind, namespace in kinds:
            resource = self._client.discovery.find_kind(kind.group, kind.kind, (kind.version,))
            if resource is None:  # a kind that is not served has no objects
                continue
            if resource.name == DEFINITIONS:
                yield DEFINITIONS
                continue
            name = f"{namespaced_feed(resource.name, namespace or 'the cluster')} of {installation.record.path}"
            self._feeds.follow(name, resource, only=namespace, labels=labels, decode=MetadataOnly, metadata_only=True)
            yield name

    def _is_listed(self, name: str) -> bool:
        feed = self._feeds.states().get(name)
        return feed is not None and feed.state in _LISTED
