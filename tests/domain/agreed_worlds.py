"""Worlds to ask every surface about: random ones, and situations that were seen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st
from msgspec.structs import replace

from kymatui.domain.catalog.rows import NAMING_LISTS
from kymatui.domain.inventories import InventoryState
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.domain.snapshot.cluster_index import WORKLOAD_FEEDS
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from tests.domain import builders as b
from tests.domain.test_installed import inventory, record

Json = dict[str, Any]
CONTROL: Final = "kcp-system"
RUNTIME: Final = "r1"
MODULES: Final = ("alpha", "beta", "gamma")
VERSIONS: Final = ("1.0.0", "1.1.0", "1.2.0")


EFFECTIVE, REPORTED = "effective", "reported"


class Answer(NamedTuple):
    """One answer; `value` is None where the surface says that it does not know, and why."""

    surface: str
    subject: str
    question: str
    value: object
    kind: str = EFFECTIVE


def without_mark(text: str) -> str:
    """Return a version without the mark of tables, for which documents have a key of its own."""
    return text.removesuffix(" (reported)").removesuffix(" (partial)")


class World(NamedTuple):
    """A runtime and its control plane."""

    control: Snapshot
    runtime: Snapshot

    def __repr__(self) -> str:
        """Return what its Kymas say, for the message of a failure."""
        return as_text(self)

    @property
    def pair(self) -> RuntimePair:
        return RuntimePair(RUNTIME, self.control, self.runtime)


# random worlds

_STATES: Final = ("Ready", "Ready", "Ready", "Processing", "Warning", "Error")
_CR_STATES: Final = (*_STATES, None)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A runtime whose modules are in any version and state, in order or not, with lists missing or not."""

    def chance(percent: int) -> bool:
        return draw(st.integers(0, 99)) < percent

    def one_of(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    requests, reports, metas, templates, manifests, workloads = [], [], [], [], [], []
    resources: dict[Any, tuple[Json, ...]] = {}
    place: Json = {"namespace": CONTROL}
    for name in MODULES:
        mandatory = chance(12)
        offered = {"regular": one_of(*VERSIONS), "fast": one_of(*VERSIONS)}
        if mandatory:
            metas.append(b.meta(name, mandatory={"version": one_of(*VERSIONS)}, **place))
        elif chance(92):
            metas.append(b.meta(name, offered, **place))
        for version in VERSIONS:
            if chance(85):
                extra: Json = {"requiresDowntime": True} if chance(20) else {}
                labelled = b.labels(beta="true") if chance(8) else {}
                templates.append(b.template(name, version, mandatory=mandatory, labelled=labelled, **place, **extra))
        requested = not mandatory and chance(75)
        if requested:
            entry: Json = {"name": name}
            if chance(30):
                entry["channel"] = one_of("regular", "fast", "missing")
            if chance(10):
                entry["managed"] = False
            if chance(20):
                entry["customResourcePolicy"] = one_of("Ignore", "CreateAndDelete")
            requests.append(entry)
        version = one_of(*VERSIONS)
        reported = chance(85) if requested else chance(20)
        if reported and not mandatory:
            state = one_of(*_STATES) if requested else one_of("Deleting", "Deleting", "Error")
            if requested and requests[-1].get("managed") is False:
                state = "Unmanaged"
            more: Json = {"maintenance": True} if chance(8) else {}
            channel = one_of("regular", "fast")
            message = one_of("", "", f"a message of {name}")
            reports.append(b.report(name, version, state, channel=channel, message=message, **more))
        if chance(80):
            metadata: Json = {"namespace": CONTROL}
            if chance(15):
                metadata |= {"deletionTimestamp": b.stamp(one_of(5, 3600)), "finalizers": [one_of("a.b/c", _FORGOTTEN)]}
            body = b.manifest(name, version, one_of(*_STATES), owner=RUNTIME, **metadata)
            if chance(12):
                body["metadata"]["labels"] |= b.labels(skip_reconciliation="true")
            if mandatory:
                body["metadata"]["labels"] |= b.labels(mandatory_module="true")
            body["status"]["lastOperation"] = {"operation": one_of("", "waiting for module crs deletion", "installing")}
            body["spec"]["customResourcePolicy"] = one_of("CreateAndDelete", "CreateAndDelete", "Ignore")
            manifests.append(body)
        if chance(85):
            running = b.deployment(name, one_of(version, version, *VERSIONS), ready=chance(85))
            if chance(8):
                running["spec"]["replicas"] = 0
                running["status"] = {"observedGeneration": 1}
            if chance(8):
                running["spec"]["paused"] = True
            workloads.append(running)
        if chance(80):
            metadata = {}
            if chance(20):
                metadata = {"deletionTimestamp": b.stamp(60), "finalizers": ["c.d/e"]}
            resources[b.gvk(name)] = (b.resource(name, draw(st.sampled_from(_CR_STATES)), **metadata),)
        else:
            resources[b.gvk(name)] = ()
    return _world(draw, requests, reports, metas, templates, manifests, workloads, resources)


_FORGOTTEN: Final = "resource.kyma-project.io/finalizer"


def _world(
    draw: st.DrawFn,
    requests: list[Json],
    reports: list[Json],
    metas: list[Json],
    templates: list[Json],
    manifests: list[Json],
    workloads: list[Json],
    resources: Mapping[Any, tuple[Json, ...]],
) -> World:
    state = draw(st.sampled_from(_STATES))
    operation = draw(st.sampled_from(("", "", "catalog sync failed", "skr client context not found")))
    labelled = b.labels(skip_reconciliation="true") if draw(st.integers(0, 19)) == 0 else {}
    control_kyma = b.kyma([], status=reports, name=RUNTIME, namespace=CONTROL, state=state, operation=operation)
    control_kyma["metadata"]["labels"] = labelled
    if draw(st.integers(0, 19)) == 0:
        control_kyma["metadata"] |= {"deletionTimestamp": b.stamp(60), "finalizers": ["operator.kyma-project.io/Kyma"]}
    runtime_kyma = b.kyma(requests, status=reports, state=state, operation=operation)
    feeds = {name: Feed(FeedState.LIVE, b.NOW) for name in (*NAMING_LISTS, *WORKLOAD_FEEDS.values())}
    control = Snapshot(
        "kcp",
        kymas=(control_kyma,),
        release_metas=tuple(metas),
        templates=tuple(templates),
        manifests=tuple(manifests),
        feeds={name: feeds[name] for name in NAMING_LISTS},
        taken_at=b.NOW,
    )
    hidden = draw(st.sampled_from(("", "", "", WORKLOAD_FEEDS["Deployment"], NAMING_LISTS[0])))
    if hidden:
        feeds[hidden] = Feed(FeedState.FORBIDDEN, b.NOW, "forbidden")
    runtime = Snapshot(
        RUNTIME,
        kymas=() if hidden == NAMING_LISTS[0] else (runtime_kyma,),
        templates=(),
        workloads=() if hidden == WORKLOAD_FEEDS["Deployment"] else tuple(workloads),
        module_resources=resources,
        feeds={**feeds, "runtime": Feed(FeedState.LIVE, b.NOW)},
        taken_at=b.NOW,
    )
    return World(control, runtime)


def as_text(world: World) -> str:
    """Return a world for the message of a failure."""
    return json.dumps({"control": world.control.kymas[0], "runtime": world.runtime.kymas}, indent=1, default=str)


# situations that were seen, each as one world


def world_of(
    *,
    entry: Json | None = None,
    status: Json | None = None,
    release_meta: Json | None = None,
    templates: Sequence[Json] | None = None,
    manifest: Json | None = None,
    running: str = "1.0.0",
    resource: Json | None = None,
    kyma: Json | None = None,
    runtime: Json | None = None,
    metadata: Json | None = None,
) -> World:
    """Return a runtime with the module `mod` at rest, but for what is given."""
    place: Json = {"namespace": CONTROL}
    reports = [{**b.report("mod", "1.0.0"), **(status or {})}] if status != {} else []
    requests = [{"name": "mod", **entry}] if entry is not None else []
    applied = b.manifest("mod", "1.0.0", owner=RUNTIME, **place)
    for part, change in (manifest or {}).items():
        applied[part] = {**applied[part], **change}
    control = b.kyma([], status=reports, name=RUNTIME, namespace=CONTROL)
    for part, change in (kyma or {}).items():
        control[part] = {**control[part], **change}
    own = b.kyma(requests, status=reports)
    own["metadata"] |= metadata or {}
    custom = b.resource("mod")
    custom["metadata"] |= resource or {}
    feeds = {name: Feed(FeedState.LIVE, b.NOW) for name in (*NAMING_LISTS, *WORKLOAD_FEEDS.values(), "runtime")}
    offered = [b.template("mod", version, **place) for version in VERSIONS] if templates is None else templates
    return World(
        Snapshot(
            "kcp",
            kymas=(control,),
            release_metas=(release_meta or b.meta("mod", {"regular": "1.0.0", "fast": "1.1.0"}, **place),),
            templates=tuple(offered),
            manifests=(applied,),
            feeds={name: feeds[name] for name in NAMING_LISTS},
            taken_at=b.NOW,
        ),
        Snapshot(
            RUNTIME,
            kymas=(own,),
            workloads=(b.deployment("mod", running),) if running else (),
            module_resources={b.gvk("mod"): (custom,) if resource is None or resource else ()},
            feeds=feeds,
            taken_at=b.NOW,
            **(runtime or {}),
        ),
    )


_LEAVING: Final[Json] = {"deletionTimestamp": b.stamp(300), "finalizers": ["declarative.kyma-project.io/finalizer"]}
_GUARD: Final = b.meta("mod", mandatory={"version": "9.9.9"}, namespace=CONTROL)
_SKIP: Final = b.labels(skip_reconciliation="true", kyma_name=RUNTIME, module_name="mod")
_OWNED: Final[Json] = {"annotations": {"operator.kyma-project.io/owned-by": f"{CONTROL}/{RUNTIME}"}}

_AWAITING: Final[Json] = {
    "entry": {"channel": "fast"},
    "status": {"maintenance": True, "message": "the next window is on Saturday"},
    "templates": [b.template("mod", version, namespace=CONTROL, requiresDowntime=True) for version in VERSIONS],
}


def without_workloads(world: World) -> World:
    """Return the world of a user who may not list workloads, which tell the running version."""
    feeds = {name: Feed(FeedState.FORBIDDEN, b.NOW, "forbidden") for name in WORKLOAD_FEEDS.values()}
    return world._replace(
        runtime=replace(
            world.runtime, workloads=(), feeds={**world.runtime.feeds, **feeds}, module_resources={b.gvk("mod"): ()}
        )
    )


SITUATIONS: Final[Mapping[str, World]] = {
    "at rest": world_of(entry={}),
    "a module in Error": world_of(entry={}, status={"state": "Error", "message": "no image"}),
    "held back by a slower channel": world_of(
        entry={}, status={"version": "1.1.0", "channel": "fast"}, running="1.1.0"
    ),
    "two channels until the next reconciliation": world_of(entry={"channel": "fast"}),
    "a channel whose version has no template": world_of(
        entry={"channel": "fast"}, templates=[b.template("mod", "1.0.0", namespace=CONTROL)]
    ),
    "a mandatory version without a template": world_of(status={}, release_meta=_GUARD),
    "an old template beside a release meta": world_of(
        entry={},
        templates=[
            b.template("mod", "1.0.0", namespace=CONTROL),
            b.old_template("mod-fast", "mod", "fast", "2.0.0", namespace=CONTROL),
        ],
    ),
    "the Kyma itself in Error": world_of(
        entry={}, kyma={"status": {"state": "Error", "lastOperation": {"operation": "no certificate"}}}
    ),
    "no access to the runtime": world_of(
        entry={}, kyma={"status": {"state": "Error", "lastOperation": {"operation": "skr client context not found"}}}
    ),
    "a deletion in Error": world_of(
        status={"state": "Error", "message": "failed rest mapping"},
        manifest={"metadata": _LEAVING, "status": {"state": "Error"}},
        resource={},
        running="",
    ),
    "a deletion that its CR blocks": world_of(
        status={"state": "Deleting"}, manifest={"metadata": _LEAVING}, resource=_LEAVING
    ),
    "a deletion that a foreign finalizer blocks": world_of(
        status={"state": "Deleting"},
        manifest={"metadata": {**_LEAVING, "finalizers": ["example.com/hold"]}},
        resource={},
        running="",
    ),
    "a deletion of a Manifest that the Kyma requests": world_of(
        entry={}, manifest={"metadata": {**_LEAVING, "finalizers": ["example.com/hold"]}}, resource={}, running=""
    ),
    "a deletion that its paused Manifest blocks": world_of(
        status={"state": "Deleting"}, manifest={"metadata": {**_LEAVING, "labels": _SKIP}}
    ),
    "a cluster-scoped default CR": world_of(status={"state": "Deleting"}, resource={"namespace": ""}),
    "a runtime in deletion with the skip label": world_of(
        entry={}, kyma={"metadata": {**_LEAVING, "labels": b.labels(skip_reconciliation="true")}}
    ),
    "a Kyma with the skip label": world_of(
        entry={"channel": "fast"}, kyma={"metadata": {"labels": b.labels(skip_reconciliation="true")}}
    ),
    "policy-pending": world_of(entry={"customResourcePolicy": "Ignore"}),
    "cr-stays": world_of(entry={}, manifest={"spec": {"customResourcePolicy": "Ignore"}}),
    "not-applied": world_of(entry={}, running="0.9.0"),
    "may-not-wait": world_of(
        entry={"customResourcePolicy": "Ignore"}, manifest={"spec": {"customResourcePolicy": "Ignore"}}
    ),
    "still-releasing": world_of(
        entry={"managed": False}, status={"state": "Unmanaged"}, manifest={"metadata": {"labels": _SKIP}}
    ),
    "a Manifest with the skip label": world_of(entry={"channel": "fast"}, manifest={"metadata": {"labels": _SKIP}}),
    "taken-over": world_of(
        entry={}, runtime={"templates": (b.community_template("mod", "1.0.0", namespace="kyma-system"),)}
    ),
    "kyma-deleted": world_of(entry={}, metadata={**_LEAVING, **_OWNED}),
    "an upgrade that awaits its window": world_of(**_AWAITING),
    "an upgrade that awaits its window, of a version that cannot be read": without_workloads(world_of(**_AWAITING)),
    "a component that kymatui installed": world_of(entry={}, runtime={"inventories": (record(inventory()),)}),
    "an installation that stopped": world_of(
        entry={}, runtime={"inventories": (record(inventory(InventoryState.PENDING)),)}
    ),
    "a module without its CR": world_of(entry={}, resource={}),
    "a Manifest that no Kyma names": world_of(status={}),
}
"""The situations of `kymatui sandbox situation` by their names, and others that gave two answers."""
