"""What an audit of a fleet reads of the control plane: the catalog once, of everything else names, page by page.

Kymas and Manifests are read again by their names, one runtime at a time, when its turn comes: five thousand runtimes
need hardly more memory than eight, and no server has to search all Manifests for each of them.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kymatui.domain.audits.auditing import catalog_findings
from kymatui.domain.audits.findings import Case, Finding
from kymatui.domain.audits.fleets import broken_links, left_secret
from kymatui.domain.audits.kymas import check as check_feeds
from kymatui.domain.audits.leftovers import without_kyma
from kymatui.domain.catalog import catalog
from kymatui.domain.objects import LABEL_KYMA_NAME, LABEL_MODULE_NAME, read_ref
from kymatui.domain.reading import Reader
from kymatui.domain.refs import ObjectRef
from kymatui.domain.snapshots import Feed, FeedState, Snapshot
from kymatui.domain.watcher_chains import ControlSide, chains
from kymatui.errors import ClusterError, NotFoundError
from kymatui.wiring.controllers import found_rules
from kymatui.wiring.fleets import list_fixed
from kymatui.wiring.kinds import KYMA_KINDS, Fixed
from kymatui.wiring.pairs import kymas_of
from kymatui.wiring.watchers import control_side

if TYPE_CHECKING:
    from kymatui.adapters.kube.clusters import KubeCluster
    from kymatui.adapters.kube.resources import Resource
    from kymatui.domain.fleet_pictures import Key
    from kymatui.domain.resolution import Rules
    from kymatui.domain.snapshots import Object
    from kymatui.wiring.options import SessionOptions

_KYMAS, _TEMPLATES, _METAS, _MANIFESTS = KYMA_KINDS
_SECRETS: Final = Fixed("secrets", "", "Secret", ("v1",))
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class AuditedPlane:
    """A control plane with the names of its runtimes. `notes` tell in sentences what is not known of its configuration.

    Raises what keeps its Kymas from being listed.
    """

    def __init__(self, home: KubeCluster, options: SessionOptions, cancel: threading.Event) -> None:
        self.home, self._options, self._cancel = home, options, cancel
        self._feeds: dict[str, Feed] = {_KYMAS.feed: Feed(FeedState.LIVE, time.time())}
        resource = kymas_of(home)
        self.keys: tuple[Key, ...] = tuple(sorted(map(_key, self._metadata(resource, ""))))
        self._namespaces = tuple(dict.fromkeys(namespace for namespace, _ in self.keys))
        templates, metas = self._listed(_TEMPLATES), self._listed(_METAS)
        self._catalogs = {name: (_within(templates, name), _within(metas, name)) for name in self._namespaces}
        found = {name: found_rules(home, name, options) for name in self._namespaces}
        self._rules: dict[str, Rules] = {name: rules for name, (rules, _) in found.items()}
        self.notes = tuple(dict.fromkeys(note for _, notes in found.values() for note in notes))
        self._manifests: dict[Key, list[str]] = defaultdict(list)
        self._left = tuple(self._left_over())
        self.watchers = self._watchers()

    # what is its own

    def findings(self) -> Iterator[Finding]:
        """What is wrong with the control plane itself: its catalog, its Watchers, and what is left of runtimes."""
        now = time.time()
        for name in self._namespaces:
            yield from catalog_findings(self._snapshot(name, (), ()), now)
        bare = self._snapshot("", (), ())
        yield from check_feeds(Case(bare, catalog(bare, now), now))
        yield from self._left
        if self.watchers is not None:
            yield from broken_links(chains(self.watchers, None))

    def _left_over(self) -> Iterator[Finding]:
        """Manifests and access Secrets whose Kyma is gone; names and labels are all that is asked for."""
        known = frozenset(self.keys)
        for fixed in (_MANIFESTS, _SECRETS):
            resource = self.home.client.discovery.find_kind(fixed.group, fixed.kind, fixed.versions)
            if resource is None:
                self._feeds[fixed.feed] = Feed(FeedState.ABSENT, time.time())
                continue
            try:
                for raw in self._metadata(resource, LABEL_KYMA_NAME):
                    labels = Reader(raw).child("metadata").labels("labels")
                    (namespace, name), kyma = _key(raw), labels[LABEL_KYMA_NAME]
                    if (namespace, kyma) in known:
                        if fixed is _MANIFESTS:
                            self._manifests[namespace, kyma].append(name)
                        continue
                    ref = ObjectRef(resource.gvk, namespace, name)
                    if fixed is _SECRETS:
                        yield left_secret(ref, kyma)
                    else:
                        yield without_kyma(ref, kyma, labels.get(LABEL_MODULE_NAME, ""))
            except ClusterError as error:
                self._feeds[fixed.feed] = _feed(error)
            else:
                self._feeds[fixed.feed] = Feed(FeedState.LIVE, time.time())

    def _watchers(self) -> ControlSide | None:
        """None where it has none, or they may not be read: then nothing is said of chains."""
        try:
            return control_side(self.home)
        except NotFoundError:
            return None

    # one of its runtimes

    def side(self, key: Key) -> Snapshot | None:
        """What it has of one runtime, now; None where the Kyma went away since. Raises what keeps it from reading."""
        namespace, name = key
        client = self.home.client
        try:
            kyma = client.get(kymas_of(self.home), name, namespace, cancel=self._cancel)
        except NotFoundError:
            return None
        return self._snapshot(namespace, (kyma,), tuple(self._manifests_of(key)))

    def _manifests_of(self, key: Key) -> Iterator[Object]:
        client = self.home.client
        resource = client.discovery.find_kind(_MANIFESTS.group, _MANIFESTS.kind, _MANIFESTS.versions)
        if resource is None:
            return
        for name in self._manifests.get(key, ()):
            with suppress(NotFoundError):  # it went away since
                yield client.get(resource, name, key[0], cancel=self._cancel)

    def _snapshot(self, namespace: str, kymas: tuple[Object, ...], manifests: tuple[Object, ...]) -> Snapshot:
        templates, metas = self._catalogs.get(namespace, ((), ()))
        return Snapshot(
            cluster=self.home.name,
            kymas=kymas,
            templates=templates,
            release_metas=metas,
            manifests=manifests,
            feeds=self._feeds,
            taken_at=time.time(),
            rules=self._rules.get(namespace),
        )

    def _metadata(self, resource: Resource, labels: str) -> Iterator[Object]:
        from kymatui.adapters.kube.projections import MetadataOnly

        pages = self.home.client.pages(
            resource,
            self._options.namespace,
            labels=labels,
            decode=MetadataOnly,
            accept=_METADATA_LIST,
            cancel=self._cancel,
        )
        for page in pages:
            yield from page.items

    def _listed(self, kind: Fixed) -> list[dict[str, object]]:
        try:
            found = list_fixed(self.home.client, kind)
        except ClusterError as error:
            self._feeds[kind.feed] = _feed(error)
            return []
        self._feeds[kind.feed] = Feed(FeedState.LIVE, time.time())
        return found


def _feed(error: ClusterError) -> Feed:
    state = {403: FeedState.FORBIDDEN, 404: FeedState.ABSENT}.get(error.status, FeedState.FAILED)
    return Feed(state, time.time(), str(error))


def _key(raw: Object) -> Key:
    metadata = Reader(raw).child("metadata")
    return metadata.text("namespace"), metadata.text("name")


def _within(objects: Sequence[Object], namespace: str) -> tuple[Object, ...]:
    return tuple(raw for raw in objects if read_ref(raw).namespace == namespace)
