"""The two clusters of a runtime, and the joined snapshot that matches lifecycle-manager's view.

The runtime's Kyma requests the modules; everything else that decides (labels, maintenance windows, the catalog, the
status with its references, the Manifests) is in the control plane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.managed_fields import CATALOG_SYNC, created_by
from kymatui.domain.kubernetes.object_meta import field_managers, read_ref, uid_of
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Kyma, read_kyma
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.remote.kyma_sync import requested_only_there, with_requests
from kymatui.domain.snapshot.cluster_index import KYMA_FEED, choose_kyma
from kymatui.domain.snapshot.missing_lists import ListGap, UnknownFact, are_settled, explain_missing, gap_of
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, Feed, FeedState, Object, Snapshot

_OF_CONTROL = tuple(
    f"{plural}.operator.kyma-project.io" for plural in ("moduletemplates", "modulereleasemetas", "manifests")
)


class RuntimePair(Struct, frozen=True, dict=True):
    """One runtime.

    `control` has this runtime's Kyma and Manifests, and the whole catalog. `runtime` is the runtime's own snapshot,
    None if unreachable; `unreachable` says why.
    """

    name: str
    control: Snapshot
    runtime: Snapshot | None
    unreachable: str = ""

    @cached_property
    def control_kyma(self) -> Kyma | None:
        return _kyma(self.control.kymas)

    @cached_property
    def runtime_kyma(self) -> Kyma | None:
        """Return the runtime's Kyma, None if absent or unreadable.

        It is in `kyma-system`; a control plane that is its own runtime has only one Kyma.
        """
        if self.runtime is None:
            return None
        control = read_ref(self.control_kyma.raw) if self.control_kyma is not None else None
        own = [raw for raw in self.runtime.kymas if read_ref(raw).namespace == KYMA_NAMESPACE]
        return _kyma(own or [raw for raw in self.runtime.kymas if read_ref(raw) == control])

    @cached_property
    def own_templates(self) -> tuple[Object, ...]:
        """Return the runtime's community templates.

        Copies of the catalog sync are excluded, and the control plane's templates too, as it may be its own
        runtime.
        """
        if self.runtime is None:
            return ()
        known = {(read_ref(raw), uid_of(raw)) for raw in self.control.templates}
        mine = (raw for raw in self.runtime.templates if not is_synced_copy(raw))
        return tuple(raw for raw in mine if (read_ref(raw), uid_of(raw)) not in known or not uid_of(raw))

    @property
    def is_one_cluster(self) -> bool:
        """Return whether the control plane is its own runtime."""
        control, runtime = self.control_kyma, self.runtime_kyma
        if control is None or runtime is None or not control.meta.uid:
            return False
        return (control.meta.uid, control.ref) == (runtime.meta.uid, runtime.ref)

    @property
    def runtime_kyma_unknown(self) -> UnknownFact | None:
        """Return why the runtime may have an unseen Kyma, None if it would be seen."""
        if self.runtime is None:
            return UnknownFact(ListGap.UNKNOWN if self.unreachable else ListGap.LOADING, (), self.unreachable)
        return explain_missing(self.runtime.feeds, [KYMA_FEED])

    @property
    def runtime_is_listed(self) -> bool:
        """Return whether all lists of the runtime came; not while kymatui reconnects with a new Secret."""
        return self.runtime is not None and are_settled(self.runtime.feeds, self.runtime.taken_at)

    @property
    def rules(self) -> ControllerSettings:
        """Return the known configuration of lifecycle-manager."""
        return self.control.rules or ControllerSettings()


def _kyma(raws: Iterable[object]) -> Kyma | None:
    kyma = read_kyma(choose_kyma(tuple(raws)))
    return kyma if isinstance(kyma, Kyma) else None


def effective_kyma(pair: RuntimePair) -> Object | None:
    """Return the Kyma as lifecycle-manager uses it: the control plane's, with the runtime's requests.

    If the runtime's Kyma is unknown, the control plane's status replaces it. None if there is no Kyma at all.
    """
    control, runtime = pair.control_kyma, pair.runtime_kyma
    if control is None:
        return None
    if runtime is None:
        return control.raw if pair.runtime_kyma_unknown is None else with_requests(control)
    asked = JsonReader(runtime.raw).child("spec").raw
    spec = {**JsonReader(control.raw).child("spec").raw, "modules": list(asked.get("modules") or [])}
    if asked.get("channel"):
        spec["channel"] = asked["channel"]
    return {**control.raw, "spec": spec}


def join_snapshots(pair: RuntimePair) -> Snapshot:
    """Return one snapshot: the control plane's decisions with the runtime's objects.

    Names and namespaces stay the same: a Manifest appears where it is, and the runtime's community templates are
    added to the control plane's catalog.
    """
    kyma, own = effective_kyma(pair), pair.runtime_kyma
    runtime = pair.runtime or Snapshot(cluster=pair.name, feeds={})
    return replace(
        runtime,
        cluster=pair.name,
        kymas=(kyma,) if kyma is not None else (),
        templates=(*pair.control.templates, *pair.own_templates),
        release_metas=pair.control.release_metas,
        manifests=pair.control.manifests,
        feeds=_feeds(pair, runtime),
        taken_at=runtime.taken_at or pair.control.taken_at,
        rules=pair.control.rules or runtime.rules,
        keeper_lease=pair.control.keeper_lease,
        joined=pair.runtime is not None,
        taken_over=_taken_over(pair),
        runtime_kyma=own.raw if own is not None else None,
        runtime_only=requested_only_there(own, pair.control_kyma) if own is not None else frozenset(),
    )


def _feeds(pair: RuntimePair, runtime: Snapshot) -> Mapping[str, Feed]:
    """Return the feed of each list from the side that it comes from; for the Kyma, the worse of both."""
    control = pair.control.feeds
    feeds = {**runtime.feeds, **{name: control[name] for name in _OF_CONTROL if name in control}}
    if KYMA_FEED in control and (pair.runtime is None or gap_of(control[KYMA_FEED]) is not None):
        feeds[KYMA_FEED] = control[KYMA_FEED]
    unknown = pair.runtime_kyma_unknown
    if pair.runtime is None and unknown is not None:
        state = FeedState.SYNCING if unknown.gap is ListGap.LOADING else FeedState.FAILED
        feeds[RUNTIME_FEED] = Feed(state, 0.0, unknown.message)
    return feeds


def _taken_over(pair: RuntimePair) -> tuple[Object, ...]:
    """Return the users' templates on the runtime that have the name of one of the control plane's."""
    if pair.runtime is None or pair.is_one_cluster:
        return ()
    names = {read_ref(raw).name for raw in pair.control.templates}
    templates = (raw for raw in pair.runtime.templates if created_by(raw) not in ("", CATALOG_SYNC))
    return tuple(raw for raw in templates if (ref := read_ref(raw)).namespace == KYMA_NAMESPACE and ref.name in names)


def is_synced_copy(raw: object) -> bool:
    """Return whether the catalog sync wrote this object and so will delete it."""
    return CATALOG_SYNC in field_managers(raw)
