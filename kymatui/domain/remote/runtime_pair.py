"""A runtime's two sides, and the one picture that lifecycle-manager makes of them.

The runtime's Kyma says which modules there should be; everything that decides about them (labels, maintenance windows,
the whole catalog, the status with its references, the Manifests) is the control plane's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.managed_fields import CATALOG_SYNC
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Kyma, read_kyma
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.states import State
from kymatui.domain.snapshot.cluster_index import KYMA_FEED, choose_kyma
from kymatui.domain.snapshot.missing_lists import ListGap, UnknownFact, explain_missing, gap_of
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, Feed, FeedState, Object, Snapshot

_OF_CONTROL = tuple(
    f"{plural}.operator.kyma-project.io" for plural in ("moduletemplates", "modulereleasemetas", "manifests")
)


@dataclass(frozen=True)
class RuntimePair:
    """One runtime.

    `control` has the Kyma of this runtime alone, its Manifests, and the whole catalog; `runtime` is the runtime's own
    snapshot, None where nobody could look, and `unreachable` says why in a sentence.
    """

    name: str
    control: Snapshot
    runtime: Snapshot | None
    unreachable: str = ""

    @cached_property
    def control_kyma(self) -> Kyma | None:
        """The control plane's Kyma."""
        return _kyma(self.control.kymas)

    @cached_property
    def runtime_kyma(self) -> Kyma | None:
        """The runtime's Kyma, None where there is none or it could not be read.

        It is in `kyma-system`; a control plane that is its own runtime has only the one.
        """
        if self.runtime is None:
            return None
        control = read_ref(self.control_kyma.raw) if self.control_kyma is not None else None
        own = [raw for raw in self.runtime.kymas if read_ref(raw).namespace == KYMA_NAMESPACE]
        return _kyma(own or [raw for raw in self.runtime.kymas if read_ref(raw) == control])

    @cached_property
    def own_templates(self) -> tuple[Object, ...]:
        """The runtime's community templates: those that neither the catalog sync brought, nor the control plane has,
        which may be its own runtime."""
        if self.runtime is None:
            return ()
        known = {(read_ref(raw), _uid(raw)) for raw in self.control.templates}
        mine = (raw for raw in self.runtime.templates if not is_synced_copy(raw))
        return tuple(raw for raw in mine if (read_ref(raw), _uid(raw)) not in known or not _uid(raw))

    @property
    def is_one_cluster(self) -> bool:
        """Whether the control plane is its own runtime."""
        control, runtime = self.control_kyma, self.runtime_kyma
        return control is not None and runtime is not None and bool(control.meta.uid) and _is_one(control, runtime)

    @property
    def runtime_kyma_unknown(self) -> UnknownFact | None:
        """Why the runtime may have a Kyma that is not seen; None where it would be seen."""
        if self.runtime is None:
            return UnknownFact(ListGap.UNKNOWN if self.unreachable else ListGap.LOADING, (), self.unreachable)
        return explain_missing(self.runtime.feeds, [KYMA_FEED])

    @property
    def runtime_is_listed(self) -> bool:
        """Whether the runtime was seen whole: it is not while it is connected to anew, since its Secret changed."""
        feeds = self.runtime.feeds.values() if self.runtime is not None else ()
        return self.runtime is not None and all(feed.state is not FeedState.SYNCING for feed in feeds)

    @property
    def rules(self) -> ControllerSettings:
        """What is known of lifecycle-manager's own configuration."""
        return self.control.rules or ControllerSettings()


def _kyma(raws: Iterable[object]) -> Kyma | None:
    found = read_kyma(choose_kyma(tuple(raws)))
    return found if isinstance(found, Kyma) else None


def _is_one(left: Kyma, right: Kyma) -> bool:
    return (left.meta.uid, left.ref) == (right.meta.uid, right.ref)


def _uid(raw: object) -> str:
    return JsonReader(raw).child("metadata").text("uid")


def effective_kyma(pair: RuntimePair) -> Object | None:
    """The Kyma as lifecycle-manager works with it: the control plane's, with channel and modules of the runtime's.

    Where the runtime's is not known, the status of the control plane's mirrors what it asks for; None where there is
    none at all.
    """
    control, runtime = pair.control_kyma, pair.runtime_kyma
    if control is None:
        return None
    if runtime is None:
        return control.raw if pair.runtime_kyma_unknown is None else _mirrored(control)
    asked = JsonReader(runtime.raw).child("spec").raw
    spec = {**JsonReader(control.raw).child("spec").raw, "modules": list(asked.get("modules") or [])}
    if asked.get("channel"):
        spec["channel"] = asked["channel"]
    return {**control.raw, "spec": spec}


def _mirrored(control: Kyma) -> Object:
    """The control plane's Kyma with the modules that its status reports: its own list need not name them.

    A module that is being deleted is not asked for any more; of an unmanaged one the status says so.
    """
    spec = JsonReader(control.raw).child("spec").raw
    named = {request.name for request in control.modules}
    reported = [
        {"name": one.name, "managed": one.state != State.UNMANAGED, **({"channel": one.channel} if one.channel else {})}
        for one in control.reports
        if one.name not in named and one.state != State.DELETING
    ]
    return {**control.raw, "spec": {**spec, "modules": [*(spec.get("modules") or []), *reported]}}


def join_snapshots(pair: RuntimePair) -> Snapshot:
    """One snapshot of both: what is decided from the control plane, what runs from the runtime.

    Names and namespaces stay what they are: a Manifest is shown where it is, and community templates of the runtime
    stand beside the control plane's catalog.
    """
    kyma = effective_kyma(pair)
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
        joined=pair.runtime is not None,
    )


def _feeds(pair: RuntimePair, runtime: Snapshot) -> Mapping[str, Feed]:
    """Of each kind, the condition of the side that it is taken from; of the Kyma, the worse of both."""
    control = pair.control.feeds
    found = {**runtime.feeds, **{name: control[name] for name in _OF_CONTROL if name in control}}
    if KYMA_FEED in control and (pair.runtime is None or gap_of(control[KYMA_FEED]) is not None):
        found[KYMA_FEED] = control[KYMA_FEED]
    unknown = pair.runtime_kyma_unknown
    if pair.runtime is None and unknown is not None:
        state = FeedState.SYNCING if unknown.gap is ListGap.LOADING else FeedState.FAILED
        found[RUNTIME_FEED] = Feed(state, 0.0, unknown.message)
    return found


def is_synced_copy(raw: object) -> bool:
    """Whether the catalog sync wrote this object, so that it also deletes it."""
    fields = JsonReader(raw).child("metadata").children("managedFields")
    return any(field.text("manager") == CATALOG_SYNC for field in fields)
