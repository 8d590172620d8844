"""A control plane and a runtime side by side: each difference is told for what it is."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma_edit.label_effects import preview_label_effects
from kymatui.domain.remote.catalog_sync import SyncStatus, plan_pair_sync
from kymatui.domain.remote.differences import ComparisonLine, LineArea, LineVerdict
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.remote.side_by_side import SideBySide, compare_sides
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Object, Snapshot
from tests.domain.builders import API, NOW, Json, deployment, kyma, labels, meta, old_template, report, stamp, template

CONTROL = "kcp-system"
KIND = GroupVersionKind("operator.kyma-project.io", "v1alpha1", "Keda")
SYNC = [{"manager": "catalog-sync", "operation": "Apply"}]
OWNED_BY = "deprecated-operator.kyma-project.io/owned-by"


def tracked(namespace: str) -> Json:
    return {"apiVersion": API, "kind": "ModuleTemplate", "metadata": {"name": "keda-1.0.0", "namespace": namespace}}


def manifest(module: str = "keda", version: str = "1.0.0", **more: Any) -> Json:
    found: Json = {
        "apiVersion": API,
        "kind": "Manifest",
        "metadata": {
            "name": f"one-{module}",
            "namespace": CONTROL,
            "labels": labels(kyma_name="one", module_name=module),
        },
        "spec": {
            "version": version,
            "remote": True,
            "resource": {"apiVersion": KIND.api_version, "kind": "Keda", "metadata": {"name": "default"}},
        },
        "status": {"state": "Ready", "conditions": [{"type": "ModuleCR", "status": "True"}]},
    }
    found["metadata"].update(more)
    return found


def control_template(module: str, version: str, **more: Any) -> Json:
    found = template(module, version, namespace=CONTROL, **more)
    del found["metadata"]["labels"]["operator.kyma-project.io/managed-by"]
    return found


def synced(raw: Json) -> Json:
    """The copy that the catalog sync writes."""
    found = copy.deepcopy(raw)
    marks = found["metadata"].setdefault("labels", {})
    marks["operator.kyma-project.io/managed-by"] = "kyma"
    found["metadata"].update(namespace="kyma-system", managedFields=SYNC)
    return found


class World:
    """A runtime on which both sides agree; tests spoil one thing."""

    def __init__(self) -> None:
        entry = report("keda", "1.0.0", template=tracked(CONTROL))
        entry["manifest"] = {"apiVersion": API, "kind": "Manifest", "metadata": {"name": "one-keda"}}
        told = {key: value for key, value in entry.items() if key != "manifest"}
        told["template"] = tracked("kyma-system")
        marks = labels(watched_by="kyma", managed_by="kyma") | {"kyma-project.io/runtime-id": "r1"}
        self.control_kyma = kyma(
            name="one", namespace=CONTROL, status=[entry], labelled={"kyma-project.io/runtime-id": "r1"}
        )
        self.control_kyma["status"]["lastOperation"] = {"operation": "ready", "lastUpdateTime": stamp(600)}
        self.runtime_kyma = kyma([{"name": "keda"}], status=[told], labelled=marks)
        self.runtime_kyma["status"]["lastOperation"] = {"operation": "ready"}
        self.runtime_kyma["metadata"]["annotations"] = {OWNED_BY: f"{CONTROL}/one"}
        self.metas = [meta("keda", {"regular": "1.0.0"}, namespace=CONTROL)]
        self.templates = [control_template("keda", "1.0.0")]
        self.copies = [synced(raw) for raw in (*self.metas, *self.templates)]
        self.manifests = [manifest()]
        self.resources: dict[GroupVersionKind, tuple[Object, ...]] = {
            KIND: (
                {
                    "apiVersion": KIND.api_version,
                    "kind": "Keda",
                    "metadata": {"name": "default", "namespace": "kyma-system"},
                    "status": {"state": "Ready"},
                },
            )
        }
        self.rules: ControllerSettings | None = None
        self.feeds: dict[str, Feed] = {}
        self.unreachable = ""

    def pair(self) -> RuntimePair:
        control = Snapshot(
            "kcp",
            kymas=(self.control_kyma,),
            templates=tuple(self.templates),
            release_metas=tuple(self.metas),
            manifests=tuple(self.manifests),
            rules=self.rules,
        )
        runtime = Snapshot(
            "skr",
            kymas=(self.runtime_kyma,) if self.runtime_kyma else (),
            templates=tuple(raw for raw in self.copies if raw["kind"] == "ModuleTemplate"),
            release_metas=tuple(raw for raw in self.copies if raw["kind"] == "ModuleReleaseMeta"),
            module_resources=self.resources,
            workloads=(deployment("keda", "1.0.0"),),
            feeds=self.feeds,
        )
        return RuntimePair("one", control, None if self.unreachable else runtime, self.unreachable)

    def compared(self) -> SideBySide:
        return compare_sides(self.pair(), NOW)

    def line(self, subject: str, field: str) -> ComparisonLine:
        found = [line for line in self.compared().lines if (line.subject, line.field) == (subject, field)]
        assert len(found) == 1, found
        return found[0]


@pytest.fixture
def world() -> World:
    return World()


def test_where_both_agree_nothing_is_wrong(world: World) -> None:
    found = world.compared()
    assert [line for line in found.lines if line.verdict in (LineVerdict.WRONG, LineVerdict.UNDER_WAY)] == []
    intended = {(line.subject, line.field) for line in found.lines if line.verdict is LineVerdict.INTENDED}
    assert {("keda", "spec.modules"), ("keda", "manifest"), ("keda", "template")} <= intended


def change(path: str, value: object) -> Callable[[World], None]:
    """Sets one field below one of the world's objects; a path like `runtime_kyma.status.state`."""
    name, *keys = path.split(".")

    def act(world: World) -> None:
        at: Any = getattr(world, name)
        for key in keys[:-1]:
            at = at[int(key)] if isinstance(at, list) else at.setdefault(key, {})
        if isinstance(at, list):
            at[int(keys[-1])] = value
        else:
            at[keys[-1]] = value

    return act


BETA = "operator.kyma-project.io/beta"
CASES = [
    # what is changed, whose line, the verdict, who acts
    (
        "spec.channel",
        change("runtime_kyma.spec.channel", "fast"),
        "spec",
        "channel",
        LineVerdict.INTENDED,
        Actor.NOBODY,
    ),
    (
        "windows",
        change("runtime_kyma.spec.skipMaintenanceWindows", True),
        "spec",
        "skipMaintenanceWindows",
        LineVerdict.INTENDED,
        Actor.NOBODY,
    ),
    ("state", change("runtime_kyma.status.state", "Warning"), "status", "state", LineVerdict.WRONG, Actor.KLM),
    ("version", change("runtime_kyma.status.modules.0.version", "0.9.0"), "keda", "version", None, Actor.KLM),
    (
        "manifest told",
        change("runtime_kyma.status.modules.0.manifest", {"kind": "Manifest", "metadata": {"name": "x"}}),
        "keda",
        "manifest",
        LineVerdict.WRONG,
        Actor.KLM,
    ),
    (
        "runtime id",
        change("runtime_kyma.metadata.labels.kyma-project", "x"),
        "kyma-project",
        "labels",
        LineVerdict.INTENDED,
        Actor.NOBODY,
    ),
    (
        "owner",
        change("runtime_kyma.metadata.annotations", {OWNED_BY: "kcp-system/two"}),
        OWNED_BY,
        "annotations",
        LineVerdict.WRONG,
        Actor.KLM,
    ),
]


@pytest.mark.parametrize(
    ("spoil", "subject", "field", "verdict", "actor"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_kymas(
    world: World, spoil: Callable[[World], None], subject: str, field: str, verdict: LineVerdict | None, actor: Actor
) -> None:
    spoil(world)
    lines = [one for one in world.compared().lines if (one.subject, one.field) == (subject, field) and one.differs]
    assert [(line.verdict, line.actor) for line in lines] == [(verdict or LineVerdict.WRONG, actor)]
    assert lines[0].why


def test_a_mirrored_label_is_missed(world: World) -> None:
    del world.runtime_kyma["metadata"]["labels"]["kyma-project.io/runtime-id"]
    line = world.line("kyma-project.io/runtime-id", "labels")
    assert (line.verdict, line.control, line.runtime) == (LineVerdict.WRONG, "r1", "")


def test_only_the_control_planes_beta_label_counts(world: World) -> None:
    world.control_kyma["metadata"]["labels"][BETA] = "true"
    line = world.line(BETA, "labels")
    assert (line.verdict, "only the control plane's label applies" in line.why) == (LineVerdict.INTENDED, True)


def test_a_status_that_just_changed_is_on_its_way(world: World) -> None:
    world.control_kyma["status"].update(state="Warning", lastOperation={"lastUpdateTime": stamp(5)})
    assert world.line("status", "state").verdict is LineVerdict.UNDER_WAY


def test_nothing_is_mirrored_to_a_kyma_that_is_being_deleted(world: World) -> None:
    world.control_kyma["status"]["state"] = "Warning"
    world.runtime_kyma["metadata"]["deletionTimestamp"] = stamp(60)
    assert world.line("status", "state").verdict is LineVerdict.INTENDED
    assert world.line("Kyma kcp-system/one", "presence").verdict is LineVerdict.WRONG


def test_a_deletion_of_the_runtimes_kyma_names_what_only_it_requests(world: World) -> None:
    world.control_kyma["spec"]["modules"] = []
    assert "deleting the runtime's Kyma uninstalls this module" in world.line("keda", "spec.modules").why
    world.runtime_kyma["metadata"]["deletionTimestamp"] = stamp(60)
    why = world.line("Kyma kcp-system/one", "presence").why
    assert "uninstalls what only the runtime's Kyma requests: keda." in why


def test_the_catalog_of_a_pair_names_the_deletion_of_the_runtimes_kyma(world: World) -> None:
    """lifecycle-manager creates it again from the control plane's, which does not request every module."""
    world.runtime_kyma["metadata"]["deletionTimestamp"] = stamp(5)
    world.runtime_kyma["spec"]["modules"] = [{"name": "keda"}, {"name": "nats"}, {"name": "old", "managed": False}]
    world.control_kyma["spec"]["modules"] = [{"name": "keda"}]
    problems = [one.message for one in build_catalog(join_snapshots(world.pair()), NOW).problems]
    (words,) = [one for one in problems if "of the runtime is being deleted" in one]
    assert words.endswith("uninstalls what only the runtime's Kyma requests: nats"), "an unmanaged module stays"


def test_a_skipped_kyma_waits_for_a_person(world: World) -> None:
    world.control_kyma["status"]["state"] = "Warning"
    world.control_kyma["metadata"]["labels"].update(labels(skip_reconciliation="true"))
    assert world.line("status", "state").actor is Actor.YOU


@pytest.mark.parametrize(("deleting", "verdict"), [(False, LineVerdict.WRONG), (True, LineVerdict.INTENDED)])
def test_a_runtime_without_a_kyma(world: World, deleting: bool, verdict: LineVerdict) -> None:
    world.runtime_kyma = {}
    if deleting:
        world.control_kyma["metadata"]["deletionTimestamp"] = stamp(60)
    assert world.line("Kyma kcp-system/one", "presence").verdict is verdict


def test_a_runtime_that_was_not_reached_is_no_verdict_on_it(world: World) -> None:
    world.unreachable = "it did not answer"
    (line,) = world.compared().lines
    assert (line.verdict, line.why, world.compared().is_as_intended) == (
        LineVerdict.UNKNOWN,
        "it did not answer",
        False,
    )


# the catalog


def test_a_copy_that_is_missing_comes_with_the_next_sync(world: World) -> None:
    world.copies = world.copies[:1]
    line = world.line("keda-1.0.0", "presence")
    assert (line.area, line.verdict, line.actor) == (LineArea.TEMPLATE, LineVerdict.WRONG, Actor.KLM)


def test_a_copy_that_somebody_edited_says_who_wrote_to_it(world: World) -> None:
    world.copies[1]["spec"]["requiresDowntime"] = True
    world.copies[1]["spec"]["moduleName"] = "other"
    world.copies[1]["metadata"]["managedFields"] = [*SYNC, {"manager": "kubectl-edit"}]
    added, changed = (world.line("keda-1.0.0", f"spec.{name}") for name in ("requiresDowntime", "moduleName"))
    assert (added.actor, changed.actor) == (Actor.YOU, Actor.KLM), "the sync takes away nothing that it did not write"
    assert "kubectl-edit changed the copy" in changed.why


@pytest.mark.parametrize("taken", [False, True])
def test_a_users_template_with_the_name_of_a_synced_one_is_taken_over(world: World, taken: bool) -> None:
    mine = {"manager": "kubectl", "operation": "Update", "time": stamp(600)}
    theirs = {"manager": "catalog-sync", "operation": "Apply", "time": stamp(60)}
    world.copies[1]["metadata"]["managedFields"] = [mine, theirs] if taken else [mine]
    line = world.line("keda-1.0.0", "created by")
    assert (line.verdict, line.actor, "under another name" in line.why) == (LineVerdict.WRONG, Actor.YOU, True)


def test_a_label_that_the_runtime_added_may_stay(world: World) -> None:
    world.copies[1]["metadata"]["labels"]["mine"] = "1"
    assert world.line("keda-1.0.0", "metadata.labels[mine]").verdict is LineVerdict.INTENDED


def test_a_release_meta_comes_with_the_channels_that_are_for_the_kyma(world: World) -> None:
    world.metas = [meta("keda", {"regular": "1.0.0", "fast": "2.0.0"}, namespace=CONTROL)]
    world.templates.append(control_template("keda", "2.0.0", labelled=labels(beta="true")))
    assert world.line("keda", "channels").verdict is LineVerdict.INTENDED
    world.control_kyma["metadata"]["labels"][BETA] = "true"
    lines = [
        line for line in world.compared().lines if line.area is LineArea.RELEASE and line.verdict is LineVerdict.WRONG
    ]
    assert lines, "now fast should be there, too"


def test_the_label_of_older_versions_withholds_no_template_with_a_version(world: World) -> None:
    """lifecycle-manager removed the label `sync` in March 2025."""
    name = world.templates[0]["metadata"]["name"]
    for raw in (*world.templates, *world.copies):
        if raw["metadata"]["name"] == name:
            raw["metadata"]["labels"].update(labels(sync="false"))
    assert world.line(name, "presence").verdict is LineVerdict.SAME


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        ([control_template("x-y-z", "1.0.0", labelled=labels(internal="true"))], "internal"),
        ([control_template("warden", "1.0.0", mandatory=True)], "mandatory"),
        ([control_template("keda", "0.5.0")], "no channel of this runtime has this version"),
        ([old_template("keda-fast", "keda", "fast", "1", namespace=CONTROL, labelled=labels(sync="FALSE"))], "sync"),
    ],
)
def test_13_what_is_not_for_the_runtime_is_not_missed(world: World, objects: list[Json], why: str) -> None:
    world.templates += objects
    line = world.line(objects[0]["metadata"]["name"], "presence")
    assert (line.verdict, why in line.why) == (LineVerdict.INTENDED, True)


@pytest.mark.parametrize(
    ("managed", "verdict", "standing"),
    [(SYNC, LineVerdict.WRONG, SyncStatus.LEFT_OVER), ([], LineVerdict.INTENDED, SyncStatus.OWN)],
)
def test_14_what_only_the_runtime_has(
    world: World, managed: list[Json], verdict: LineVerdict, standing: SyncStatus
) -> None:
    extra = synced(control_template("mine", "1.0.0"))
    extra["metadata"]["managedFields"] = managed
    world.copies.append(extra)
    assert world.line("mine-1.0.0", "presence").verdict is verdict
    plan = plan_pair_sync(world.pair())
    assert plan is not None
    assert plan.count(standing) == 1


def test_old_templates_are_no_affair_of_todays_sync(world: World) -> None:
    world.templates.append(old_template("old-fast", "old", "fast", "1.0.0", namespace=CONTROL))
    assert world.line("old-fast", "presence").verdict is LineVerdict.INTENDED


SELECTOR = {"matchLabels": {"team": "a"}}


@pytest.mark.parametrize(
    ("selector", "restricted", "team", "wanted"),
    [
        (SELECTOR, True, "a", True),
        (SELECTOR, True, "b", False),
        (SELECTOR, False, "a", False),
        (None, True, "a", False),
        (None, False, "b", True),
        ({"matchExpressions": [{"key": "team", "operator": "Like"}]}, True, "a", False),
    ],
)
def test_16_restricted_modules(world: World, selector: Json | None, restricted: bool, team: str, wanted: bool) -> None:
    more: Json = {"kymaSelector": selector} if selector else {}
    world.metas = [meta("keda", {"regular": "1.0.0"}, namespace=CONTROL, **more)]
    world.rules = ControllerSettings(restricted=frozenset({"keda"} if restricted else ()))
    world.control_kyma["metadata"]["labels"]["team"] = team
    plan = plan_pair_sync(world.pair())
    assert plan is not None
    assert [entry.is_wanted for entry in plan.metas] == [wanted]
    assert plan.metas[0].why


def test_what_may_not_be_read_is_not_taken_for_missing(world: World) -> None:
    world.copies = []
    world.feeds["moduletemplates.operator.kyma-project.io"] = Feed(FeedState.FORBIDDEN)
    assert world.line("keda-1.0.0", "presence").verdict is LineVerdict.UNKNOWN


# modules


def test_a_resource_that_somebody_deleted_stays_away(world: World) -> None:
    world.resources = {KIND: ()}
    name = "Keda kyma-system/default"
    line = world.line("keda", name)
    assert (line.verdict, line.actor) == (LineVerdict.WRONG, Actor.YOU)
    world.manifests[0]["spec"]["customResourcePolicy"] = "Ignore"
    assert world.line("keda", name).verdict is LineVerdict.INTENDED
    world.resources = {}
    assert world.line("keda", name).verdict is LineVerdict.UNKNOWN


def test_a_module_that_is_asked_for_has_a_manifest(world: World) -> None:
    world.manifests = []
    assert (world.line("keda", "Manifest").verdict, world.line("keda", "Manifest").actor) == (
        LineVerdict.WRONG,
        Actor.KLM,
    )
    world.runtime_kyma["spec"]["modules"][0]["channel"] = "experimental"
    world.control_kyma["status"]["modules"] = []
    line = world.line("keda", "Manifest")
    assert "channel experimental has no version" in line.why


def test_a_manifest_that_nobody_asks_for_is_on_its_way_out(world: World) -> None:
    world.runtime_kyma["spec"]["modules"] = []
    assert world.line("keda", "Manifest").verdict is LineVerdict.WRONG
    world.manifests[0]["metadata"]["deletionTimestamp"] = stamp(5)
    assert world.line("keda", "Manifest").verdict is LineVerdict.UNDER_WAY


def test_mandatory_modules_are_shown_though_the_runtime_is_not_told(world: World) -> None:
    world.metas.append(meta("warden", mandatory={"version": "1.0.0"}, namespace=CONTROL))
    world.templates.append(control_template("warden", "1.0.0"))
    found = manifest("warden")
    found["metadata"]["labels"].update(labels(mandatory_module="true"))
    world.manifests.append(found)
    row = build_catalog(join_snapshots(world.pair()), NOW).row("warden")
    assert row is not None
    assert (row.mandatory, row.reports.manifest, row.manifest is not None) == (True, "Ready", True)
    assert world.line("warden", "Manifest").verdict is LineVerdict.INTENDED


# labels, before they are set


def test_12_a_label_that_goes_takes_modules_with_it(world: World) -> None:
    world.templates[0]["metadata"]["labels"] = labels(beta="True")
    world.control_kyma["metadata"]["labels"][BETA] = "true"
    world.copies = [synced(raw) for raw in (*world.metas, *world.templates)]
    found = preview_label_effects(world.pair(), {BETA: None}, NOW)
    assert found is not None
    assert found.uninstalls == ("keda",)
    assert {entry.ref.name for entry in found.withdrawn} == {"keda", "keda-1.0.0"}
    assert not found.offered


def test_12_a_label_that_comes_brings_them(world: World) -> None:
    world.templates[0]["metadata"]["labels"] = labels(beta="true")
    world.control_kyma["status"]["modules"] = []
    world.manifests, world.copies, world.resources = [], [], {KIND: ()}
    found = preview_label_effects(world.pair(), {BETA: "true"}, NOW)
    assert found is not None
    assert {entry.ref.name for entry in found.offered} == {"keda", "keda-1.0.0"}
    assert [(effect.module, effect.message) for effect in found.effects] == [("keda", "is installed (1.0.0)")]


def test_a_module_that_nobody_asked_for_is_not_uninstalled(world: World) -> None:
    world.templates.append(control_template("other", "1.0.0", labelled=labels(beta="true")))
    world.metas.append(meta("other", {"regular": "1.0.0"}, namespace=CONTROL))
    world.control_kyma["metadata"]["labels"][BETA] = "true"
    found = preview_label_effects(world.pair(), {BETA: "false"}, NOW)
    assert found is not None
    assert found.uninstalls == ()
    assert {entry.ref.name for entry in found.withdrawn} == {"other", "other-1.0.0"}


def test_a_control_plane_that_is_its_own_runtime_has_each_template_once() -> None:
    raw = control_template("keda", "1.0.0")
    raw["metadata"]["uid"] = "one"
    own = template("mine", "1.0.0", namespace="default")
    side = Snapshot(cluster="kcp", feeds={}, templates=(raw,))
    pair = RuntimePair("one", side, Snapshot(cluster="kcp", feeds={}, templates=({**raw}, own)))
    assert join_snapshots(pair).templates == (raw, own)
