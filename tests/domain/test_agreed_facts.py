"""Facts that several surfaces state: catalog, audit, forecast, fleet and plans take each from its one owner."""

from __future__ import annotations

from datetime import date

import pytest
from msgspec.structs import replace

from kymatui.cli.output import audit_formats
from kymatui.domain.audit.findings import AuditFinding
from kymatui.domain.audit.fleet_rules import unreachable_finding
from kymatui.domain.audit.ignores import IgnoreEntry
from kymatui.domain.audit.report import audit, audit_runtime, judge_findings
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import NAMING_LISTS, ModuleRow
from kymatui.domain.fleet.manifest_summary import read_summary
from kymatui.domain.fleet.pending_actions import runtime_reason
from kymatui.domain.fleet.runtimes import build_fleet
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.manifests import FINALIZER
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.ownership import deletion_protection
from kymatui.domain.plans.direct_install import InstallChoice, choose_template
from kymatui.domain.remote.catalog_sync import SyncStatus, plan_pair_sync
from kymatui.domain.remote.differences import LineArea, LineVerdict
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.remote.side_by_side import compare_sides
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from kymatui.domain.versions.resolution import missing_versions
from kymatui.domain.whatif.fleet_objects import CatalogChange, build_fleet_objects
from kymatui.domain.whatif.summary import change_notes
from kymatui.ui.presenters.module.version_rows import offer_key
from tests.domain.agreed_worlds import CONTROL, RUNTIME, world_of
from tests.domain.builders import (
    NOW,
    Json,
    deployment,
    gvk,
    kyma,
    labels,
    manifest,
    meta,
    old_template,
    report,
    resource,
    shelf,
    snapshot,
    stamp,
    template,
)

MIXER = meta("mixer", {"regular": "1.0.0", "fast": "1.1.0"})


def row_of(world: Snapshot, module: str) -> ModuleRow:
    row = build_catalog(world, NOW).row(module)
    assert row is not None
    return row


def findings(world: Snapshot, rule: str) -> list[AuditFinding]:
    return [finding for finding in audit(world, NOW).findings if finding.rule.id == rule]


# versions without a template


@pytest.mark.parametrize(
    ("release_meta", "templates", "missing"),
    [
        pytest.param(MIXER, ["1.0.0"], [("fast", "1.1.0")], id="a channel"),
        pytest.param(MIXER, ["1.0.0", "1.1.0"], [], id="all channels have one"),
        pytest.param(
            meta("mixer", mandatory={"version": "9.9.9"}), ["1.0.0"], [("", "9.9.9")], id="a mandatory module"
        ),
    ],
)
def test_a_version_without_a_template_is_found_by_audit_and_forecast(
    release_meta: Json, templates: list[str], missing: list[tuple[str, str]]
) -> None:
    offered = [template("mixer", version) for version in templates]
    index = shelf(release_meta, *offered)
    assert list(missing_versions(index, index.metas[0])) == missing
    world = snapshot(templates=offered, release_metas=[release_meta], kymas=[kyma()])
    found = findings(world, "template.missing")
    assert [(one.value, one.actor) for one in found] == [(version, Actor.CATALOG) for _, version in missing]
    fleet = build_fleet_objects("kcp", [kyma()], offered, {}, NOW)
    notes = list(change_notes(CatalogChange((release_meta,)), fleet))
    assert [version in note for note, (_, version) in zip(notes, missing, strict=True)] == [True] * len(missing)


def test_a_version_that_lacks_its_template_today_is_no_news_of_a_change() -> None:
    fleet = build_fleet_objects("kcp", [kyma()], [MIXER, template("mixer", "1.0.0")], {}, NOW)
    assert list(change_notes(CatalogChange((MIXER,)), fleet)) == []


def test_a_mandatory_module_without_its_template_waits_for_the_owner_of_the_catalog() -> None:
    guard = meta("guard", mandatory={"version": "9.9.9"})
    row = row_of(snapshot(templates=[template("guard", "1.0.0")], release_metas=[guard], kymas=[kyma()]), "guard")
    assert (row.actor, row.reason.severity) == (Actor.CATALOG, Severity.ERROR)
    assert "9.9.9" in row.reason.text


def test_lifecycle_manager_downgrades_a_mandatory_module() -> None:
    world = snapshot(
        templates=[template("guard", "1.0.0", mandatory=True), template("guard", "1.1.0", mandatory=True)],
        release_metas=[meta("guard", mandatory={"version": "1.0.0"})],
        kymas=[kyma()],
        manifests=[manifest("guard", "1.1.0")],
        workloads=[deployment("guard", "1.1.0")],
    )
    row = row_of(world, "guard")
    assert (row.drift.kind.value, row.actor) == ("ahead", Actor.KLM)


# templates with a channel beside a release meta


def both_generations() -> TemplateIndex:
    return shelf(
        meta("mixer", {"regular": "1.0.0"}),
        template("mixer", "1.0.0"),
        old_template("mixer-fast", "mixer", "fast", "2.0.0"),
        old_template("alone-fast", "alone", "fast", "2.0.0"),
    )


def test_no_channel_offers_an_old_template_beside_a_release_meta() -> None:
    index = both_generations()
    old = {one.module: one for one in index.templates if one.channel}
    assert index.is_superseded(old["mixer"])
    assert not index.is_superseded(old["alone"])
    newest = choose_template(index, "mixer", from_component=True)
    assert isinstance(newest, InstallChoice)
    assert newest.template.meta.name == "mixer-1.0.0"


def test_an_old_template_beside_a_release_meta_is_not_the_newest_version() -> None:
    old = old_template("mixer-fast", "mixer", "fast", "2.0.0")
    world = snapshot(
        templates=[template("mixer", "1.0.0"), old], release_metas=[meta("mixer", {"regular": "1.0.0"})], kymas=[kyma()]
    )
    row = row_of(world, "mixer")
    assert same_version(row.newest, "1.0.0")
    assert {offer.version: offer.channels for offer in row.offers} == {"1.0.0": ("regular",), "2.0.0": ()}


# the Kyma itself


def test_audit_reports_the_error_of_the_kyma_itself_with_its_message() -> None:
    well = {"templates": [template("mod", "1.0.0")], "release_metas": [meta("mod", {"regular": "1.0.0"})]}
    failing = kyma([{"name": "mod"}], status=[report("mod", "1.0.0")], state="Error", operation="no certificate")
    (finding,) = findings(snapshot(**well, kymas=[failing]), "kyma.error")
    assert "no certificate" in finding.message
    assert finding.severity is Severity.ERROR
    assert findings(snapshot(**well, kymas=[failing]), "kyma.state") == []
    warned = kyma([{"name": "mod"}], status=[report("mod", "1.0.0")], state="Warning", operation="check it")
    assert [one.severity for one in findings(snapshot(**well, kymas=[warned]), "kyma.warning")] == [Severity.WARNING]
    assert (
        findings(snapshot(**well, kymas=[kyma([{"name": "mod"}], status=[report("mod", "1.0.0")])]), "kyma.error") == []
    )


def test_a_deletion_in_error_is_no_wait() -> None:
    leaving = manifest("mod", "1.0.0", "Error", deletionTimestamp=stamp(5), finalizers=[FINALIZER])
    world = snapshot(
        templates=[template("mod", "1.0.0")],
        release_metas=[meta("mod", {"regular": "1.0.0"})],
        kymas=[kyma(status=[report("mod", "1.0.0", "Error", message="failed rest mapping")], state="Error")],
        manifests=[leaving],
    )
    row = row_of(world, "mod")
    assert (row.actor, row.reason.severity) == (Actor.YOU, Severity.ERROR)
    assert "failed rest mapping" in row.reason.text
    assert [finding.module for finding in findings(world, "state.deleting")] == ["mod"]


# runtimes in deletion


def test_the_skip_label_is_no_reason_of_a_runtime_in_deletion() -> None:
    leaving = kyma(name="one", namespace="kcp-system", state="Deleting")
    leaving["metadata"]["deletionTimestamp"] = stamp(5)
    (before,) = build_fleet([leaving]).runtimes
    leaving["metadata"]["labels"] = labels(skip_reconciliation="true")
    (after,) = build_fleet([leaving]).runtimes
    assert after.skipped
    assert runtime_reason(after) == runtime_reason(before)


def test_manifests_that_were_not_read_are_not_counted() -> None:
    leaving = kyma(name="one", namespace="kcp-system", state="Deleting")
    leaving["metadata"]["deletionTimestamp"] = stamp(5)
    (runtime,) = build_fleet([leaving]).runtimes
    summary = read_summary(manifest("mod", "1.0.0", owner="one"))
    assert summary is not None
    assert "Manifest" not in runtime_reason(runtime).text
    assert "no Manifests left" in runtime_reason(runtime, ()).text
    assert "1 Manifest left" in runtime_reason(runtime, (summary,)).text


# deletions


@pytest.mark.parametrize(
    ("definitions", "objects", "is_wide"),
    [
        pytest.param("Cluster", [], True, id="by the CRD"),
        pytest.param("Namespaced", [], False, id="namespaced by the CRD"),
        pytest.param("", [{"name": "default"}], True, id="by its objects, where CRDs are not listed"),
        pytest.param("", [{"name": "default", "namespace": "kyma-system"}], False, id="namespaced by its objects"),
        pytest.param("", [], False, id="unknown"),
    ],
)
def test_the_scope_of_a_kind_is_its_definitions(definitions: str, objects: list[Json], is_wide: bool) -> None:
    gate = GroupVersionKind("operator.kyma-project.io", "v1alpha1", "Gate")
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gates.{gate.group}"},
        "spec": {
            "group": gate.group,
            "scope": definitions,
            "names": {"kind": gate.kind, "plural": "gates"},
            "versions": [{"name": gate.version, "served": True}],
        },
    }
    bodies = tuple({"apiVersion": gate.api_version, "kind": gate.kind, "metadata": one} for one in objects)
    world = snapshot(definitions=[crd] if definitions else [], module_resources={gate: bodies})
    assert index_cluster(world).is_cluster_scoped(gate) is is_wide


@pytest.mark.parametrize(("value", "is_protected"), [("true", True), ("True", True), ("false", False), ("", False)])
def test_an_annotation_protects_an_object_from_deletion(value: str, is_protected: bool) -> None:
    body = resource("mod", annotations={"services.cloud.sap.com/preventDeletion": value})
    assert bool(deletion_protection(body)) is is_protected


# what comes first


def test_a_catalog_that_may_not_be_listed_hides_no_error() -> None:
    feeds = {name: Feed(FeedState.LIVE, NOW) for name in NAMING_LISTS}
    feeds[NAMING_LISTS[1]] = feeds[NAMING_LISTS[2]] = Feed(FeedState.FORBIDDEN, NOW)
    failing = kyma([{"name": "mod"}], status=[report("mod", "1.0.0", "Error", message="no image")], state="Error")
    row = row_of(snapshot(kymas=[failing], manifests=[manifest("mod", "1.0.0", "Error")], feeds=feeds), "mod")
    assert "no image" in row.reason.text
    assert row.reason.severity is Severity.ERROR
    well = kyma([{"name": "mod"}], status=[report("mod", "1.0.0")])
    row = row_of(snapshot(kymas=[well], manifests=[manifest("mod", "1.0.0")], feeds=feeds), "mod")
    assert row.reason.text.startswith("Expected version unknown")


def test_a_finalizer_that_was_set_by_hand_waits_for_you() -> None:
    writer = {
        "manager": "kubectl-edit",
        "operation": "Update",
        "fieldsV1": {"f:metadata": {"f:finalizers": {'v:"example.com/held"': {}}}},
    }
    held = resource("mod", deletionTimestamp=stamp(60), finalizers=["example.com/held"], managedFields=[writer])
    world = {
        "templates": [template("mod", "1.0.0")],
        "release_metas": [meta("mod", {"regular": "1.0.0"})],
        "kymas": [kyma(status=[report("mod", "1.0.0", "Deleting")])],
        "workloads": [deployment("mod", "1.0.0")],
    }
    row = row_of(snapshot(**world, module_resources={gvk("mod"): (held,)}), "mod")
    assert row.actor is Actor.YOU
    assert "set by hand (kubectl-edit)" in row.reason.text
    held["metadata"]["managedFields"] = [{**writer, "manager": "mod-manager"}]
    assert row_of(snapshot(**world, module_resources={gvk("mod"): (held,)}), "mod").actor is Actor.MANAGER


def test_a_window_that_the_kyma_reports_is_not_unknown() -> None:
    world = {
        "templates": [template("mod", "1.0.0"), template("mod", "1.1.0", requiresDowntime=True)],
        "release_metas": [meta("mod", {"regular": "1.1.0"})],
        "workloads": [deployment("mod", "1.0.0")],
        "module_resources": {gvk("mod"): (resource("mod"),)},
    }
    waiting = report("mod", "1.0.0", maintenance=True, message="the next window is on Saturday")
    row = row_of(snapshot(**world, kymas=[kyma([{"name": "mod"}], status=[waiting])]), "mod")
    assert row.reason.text.endswith("the next window is on Saturday (reported by the Kyma)")
    waiting["message"] = ""
    row = row_of(snapshot(**world, kymas=[kyma([{"name": "mod"}], status=[waiting])]), "mod")
    assert row.reason.text.endswith("the next window is unknown")


def test_audit_reports_a_deletion_that_waits_for_a_person_at_once() -> None:
    """A deletion that its manager works on may take its time; one that is blocked does not end by itself."""
    leaving: Json = {"deletionTimestamp": stamp(5), "finalizers": ["mod/hook"]}
    blocked = resource("mod", "Warning", **leaving)
    blocked["status"]["description"] = "2 users exist"
    world = {
        "templates": [template("mod", "1.0.0")],
        "release_metas": [meta("mod", {"regular": "1.0.0"})],
        "kymas": [kyma(status=[report("mod", "1.0.0", "Deleting")])],
        "workloads": [deployment("mod", "1.0.0")],
    }
    (finding,) = findings(snapshot(**world, module_resources={gvk("mod"): (blocked,)}), "state.deleting")
    assert (finding.actor, "2 users exist" in finding.message) == (Actor.YOU, True)
    working = resource("mod", "Deleting", **leaving)
    assert findings(snapshot(**world, module_resources={gvk("mod"): (working,)}), "state.deleting") == []


def test_a_rule_is_ignored_by_the_id_that_it_had() -> None:
    entry = IgnoreEntry("runtime.unreached", "known", date(2999, 1, 1))
    assert entry.covers(unreachable_finding("r1", "no route"))
    assert not entry.covers(unreachable_finding("r1", "no Secret", access=True))


def test_a_template_outside_the_cluster_has_no_namespace_in_its_name() -> None:
    outside = template("mod", "1.0.0")
    del outside["metadata"]["namespace"]
    row = row_of(snapshot(outside=[outside]), "mod")
    assert [offer_key(offer) for offer in row.offers] == ["mod-1.0.0"]


@pytest.mark.parametrize("goes", [True, False], ids=["its Manifest is gone", "its Manifest is being deleted"])
def test_nothing_of_a_kyma_in_deletion_is_created_again(goes: bool) -> None:
    leaving: Json = {"deletionTimestamp": stamp(5), "finalizers": ["operator.kyma-project.io/Kyma"]}
    own = kyma(name=RUNTIME, namespace=CONTROL)["metadata"]
    changed = {"metadata": leaving, "spec": {"resource": resource("mod")}}  # its default CR goes with the Kyma, too
    world = world_of(entry={}, kyma={"metadata": {**own, **leaving}}, manifest=changed)
    control = replace(world.control, manifests=()) if goes else world.control
    pair = RuntimePair(RUNTIME, control, world.runtime)
    row = build_catalog(join_snapshots(pair), NOW).row("mod")
    assert row is not None
    lines = compare_sides(pair, NOW).lines
    plan = plan_pair_sync(pair)
    assert plan is not None
    reports = [finding.message for finding in audit_runtime(pair, NOW)]
    texts = [row.reason.text, *(line.why for line in lines), *(entry.why for entry in plan.entries), *reports]
    assert [text for text in texts if "again" in text or "creates" in text or "not created" in text.split(";")[0]] == []
    assert plan.count(SyncStatus.MISSING) == 0
    assert [line for line in lines if line.verdict is LineVerdict.WRONG and line.area is LineArea.MODULE] == []


@pytest.mark.parametrize(
    ("ago", "severity"), [(60, None), (300, Severity.WARNING), (3500, Severity.WARNING), (4000, Severity.ERROR)]
)
def test_a_deletion_that_does_not_end_is_worse_the_longer_it_takes(ago: float, severity: Severity | None) -> None:
    leaving: Json = {"deletionTimestamp": stamp(ago), "finalizers": ["mod/hook"]}
    world = snapshot(
        templates=[template("mod", "1.0.0")],
        release_metas=[meta("mod", {"regular": "1.0.0"})],
        kymas=[kyma(status=[report("mod", "1.0.0", "Deleting")])],
        workloads=[deployment("mod", "1.0.0")],
        module_resources={gvk("mod"): (resource("mod", "Deleting", **leaving),)},
    )
    found = findings(world, "state.deleting")
    assert [finding.severity for finding in found] == ([] if severity is None else [severity])
    reports = judge_findings("c", "k", NOW, found)
    listed = audit_formats.as_json(reports)["findings"]
    assert [one["severity"] for one in listed] == [finding.severity.value for finding in found]


def test_the_page_of_a_fleet_names_the_runtime_of_each_finding() -> None:
    lost = unreachable_finding("r-lost", "no route")
    page = audit_formats.as_html(judge_findings("kcp", "", NOW, [lost]))
    assert "<th>Runtime</th>" in page
    assert ">r-lost</td>" in page
    assert "<th>Runtime</th>" not in audit_formats.as_html(judge_findings("kcp", "", NOW, [replace(lost, runtime="")]))
