"""Sentences name what works on the Kyma: lifecycle-manager, or kymatui's operator in its role."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from msgspec.structs import replace

from kymatui.adapters.kube.watch.projections import FleetKyma
from kymatui.domain.audit.findings import AuditResult
from kymatui.domain.audit.report import audit
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import NAMING_LISTS, Catalog
from kymatui.domain.fleet.pending_actions import runtime_reason
from kymatui.domain.fleet.runtimes import metas_by_module, read_runtime, with_lease
from kymatui.domain.kyma.kyma_keeper import KeeperLease, find_keeper, why_stopped, with_keeper
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.kyma_edit.edit_progress import track_edit
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit, propose_edit
from kymatui.domain.plans.cluster_management import ClusterManagement, ClusterManager, detect_management
from kymatui.domain.plans.direct_install import install_refusals
from kymatui.domain.remote.kyma_sync import ANNOTATION_OWNED_BY
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.domain.remote.side_by_side import compare_sides
from kymatui.domain.remote.watcher_chains import ControlPlaneObjects, build_chains
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from tests.domain.builders import (
    NOW,
    Json,
    deployment,
    gvk,
    kyma,
    labels,
    manifest,
    meta,
    report,
    resource,
    snapshot,
    template,
)

LISTED = {name: Feed(FeedState.LIVE) for name in NAMING_LISTS}
MANAGERS = {Actor.KLM: "lifecycle-manager", Actor.OPERATOR: "kymatui-operator"}


def kept(raw: Json, *managers: str) -> Json:
    """Return an object with field managers."""
    return {**raw, "metadata": {**raw["metadata"], "managedFields": [{"manager": one} for one in managers]}}


def clusters(keeper: Actor) -> Iterator[Snapshot]:
    """Yield a module in each situation that lifecycle-manager is named for."""
    entry, unmanaged = {"name": "mod"}, {"name": "mod", "managed": False}
    ignored = {"name": "mod", "customResourcePolicy": "Ignore"}
    deleting: Json = {"deletionTimestamp": "2026-11-20T00:00:00Z", "finalizers": ["a"]}
    skipped: Json = {"labels": labels(kyma_name="default", module_name="mod", skip_reconciliation="true"), **deleting}
    for request, status, more in (
        (entry, [], {}),
        (entry, [report("mod", "1.3.1", "Processing")], {"manifests": [manifest("mod", "1.3.1", "Processing")]}),
        (entry, [report("mod", "1.4.0")], {"workloads": [deployment("mod", "1.3.1")]}),
        (entry, [report("mod", "1.3.1", "Error", message="skr client context not found")], {}),
        (ignored, [report("mod", "1.3.1")], {"manifests": [manifest("mod", "1.3.1")]}),
        (unmanaged, [report("mod", "1.3.1", "Unmanaged")], {"manifests": [manifest("mod", "1.3.1")]}),
        (unmanaged, [report("mod", "1.3.1")], {"workloads": [deployment("mod", "1.3.1")]}),
        (None, [report("mod", "1.3.1", "Deleting")], {"manifests": [manifest("mod", "1.3.1", "Deleting", **deleting)]}),
        (None, [report("mod", "1.3.1", "Deleting")], {"manifests": [manifest("mod", "1.3.1", "Deleting", **skipped)]}),
        (entry, [report("mod", "1.3.1")], {"module_resources": {gvk("mod"): ()}}),
        (entry, [report("mod", "1.3.1")], {"module_resources": {gvk("mod"): (resource("mod", "Odd"),)}}),
    ):
        raw = kyma([request] if request is not None else [], status=status)
        raw["metadata"]["generation"] = 1
        yield snapshot(
            kymas=[kept(raw, "kubectl", MANAGERS[keeper])],
            templates=[template("mod", "1.3.1"), template("mod", "1.4.0")],
            release_metas=[meta("mod", {"regular": "1.3.1", "fast": "1.4.0"})],
            **more,
        )


def sentences(seen: Snapshot) -> Iterator[str]:
    """Yield what the screens and commands say of a cluster."""
    found: Catalog = build_catalog(seen, NOW)
    yield from (problem.message for problem in found.problems)
    yield from (problem.actor for problem in found.problems)
    for row in found.rows:
        yield from (row.reason.text, row.actor, *(one.message for one in row.foreseen))
    yield from install_refusals(
        found, "mod", found.row("mod"), LISTED, direct=False, keeper=detect_management(seen).keeper
    )
    for finding in audit(seen, NOW).findings:
        yield from (finding.message, finding.actor, finding.rule.title, finding.rule.why, finding.rule.remedy)
    for line in compare_sides(RuntimePair("default", seen, snapshot()), NOW).lines:
        yield from (line.why, line.actor)
    for verb in EditVerb:
        edit = ModuleEdit(verb, "mod", "fast" if verb is EditVerb.CHANNEL else None)
        proposed = propose_edit(seen, edit, NOW)
        yield from (*proposed.refusals, *proposed.warnings)
        if proposed.edit is not None:
            for generation in (1, 5):
                yield track_edit(edit, proposed.edit, generation, seen, found).message


def test_where_the_operator_works_no_sentence_names_lifecycle_manager() -> None:
    theirs = [list(sentences(seen)) for seen in clusters(Actor.KLM)]
    ours = [list(sentences(seen)) for seen in clusters(Actor.OPERATOR)]
    assert all(any("lifecycle-manager" in words for words in some) for some in theirs), "each situation is one"
    assert [words for some in ours for words in some if "lifecycle-manager" in words] == []
    assert ours == [[words.replace("lifecycle-manager", "kymatui's operator") for words in some] for some in theirs]


STOPPED = {actor: KeeperLease("pod-1", 7200.0, keeper=actor) for actor in MANAGERS}


UNREAD = KeeperLease("", keeper=Actor.KLM, unread="leases is forbidden")


def test_a_lease_that_may_not_be_read_leaves_it_unknown() -> None:
    seen = replace(next(clusters(Actor.KLM)), keeper_lease=UNREAD)
    (problem,) = (one for one in build_catalog(seen, NOW).problems if "lifecycle-manager runs" in one.message)
    assert problem.message == "it is unknown whether lifecycle-manager runs: leases is forbidden"
    assert problem.severity is Severity.INFO
    assert Actor.KLM in actors(seen)
    assert "has no effect" not in str(propose_edit(seen, ModuleEdit(EditVerb.CHANNEL, "mod", "fast"), NOW).warnings)


def actors(seen: Snapshot) -> list[Actor]:
    """Return who acts, as the catalog, the audit, a comparison and the progress of an edit say."""
    found, pair = build_catalog(seen, NOW), RuntimePair("default", seen, snapshot())
    said = [problem.actor for problem in found.problems]
    said += [actor for row in found.rows for actor in (row.actor, *(one.actor for one in row.foreseen))]
    said += [finding.actor for finding in audit(seen, NOW).findings]
    said += [line.actor for line in compare_sides(pair, NOW).lines]
    edit = ModuleEdit(EditVerb.CHANNEL, "mod", "fast")
    proposed = propose_edit(seen, edit, NOW).edit
    return [*said, *([track_edit(edit, proposed, 5, seen, found).actor] if proposed is not None else [])]


@pytest.mark.parametrize("keeper", [*MANAGERS])
def test_what_no_longer_runs_is_named_by_nothing_as_who_acts(keeper: Actor) -> None:
    """It is said once, first; the administrator can start it."""
    running = [actors(seen) for seen in clusters(keeper)]
    assert any(keeper in some for some in running)
    for before, seen in zip(running, clusters(keeper), strict=True):
        stopped = replace(seen, keeper_lease=STOPPED[keeper])
        expected = [Actor.CLUSTER if actor is keeper else actor for actor in before]
        first, *_ = problems = build_catalog(stopped, NOW).problems
        assert [problem.message.startswith(f"{keeper} is not running: pod-1 ") for problem in problems].count(True) == 1
        assert (first.severity, first.actor) == (Severity.ERROR, Actor.CLUSTER)
        assert keeper not in actors(stopped)
        assert actors(stopped).count(Actor.CLUSTER) > expected.count(Actor.CLUSTER)
        edit = propose_edit(stopped, ModuleEdit(EditVerb.CHANNEL, "mod", "fast"), NOW)
        is_made = edit.edit is not None and not edit.edit.is_empty
        assert any("has no effect until it runs" in words for words in edit.warnings) is is_made


@pytest.mark.parametrize(
    ("replicas", "lease", "stopped"),
    [
        (1, None, ""),
        (0, None, "lifecycle-manager is not running: Deployment kcp-system/klm-controller-manager is scaled to zero"),
        (0, KeeperLease("pod-1", 1.0, works=True, keeper=Actor.KLM), ""),
        (1, STOPPED[Actor.KLM], "lifecycle-manager is not running: pod-1 holds its Lease, renewed 2h ago"),
        (1, STOPPED[Actor.OPERATOR], ""),
        (1, UNREAD, ""),
        (0, UNREAD, "lifecycle-manager is not running: Deployment kcp-system/klm-controller-manager is scaled to zero"),
    ],
)
def test_the_lease_and_else_its_deployment_say_whether_it_runs(
    replicas: int, lease: KeeperLease | None, stopped: str
) -> None:
    workload = running("klm-controller-manager", replicas)
    workload["metadata"]["namespace"] = "kcp-system"
    assert why_stopped(Actor.KLM, [workload, running("shop", 0)], lease) == stopped


@pytest.mark.parametrize(
    ("replicas", "ready", "lease", "stopped"),
    [
        (1, 1, STOPPED[Actor.KLM], ""),  # --leader-elect=false, and a Lease of earlier
        (1, 0, STOPPED[Actor.KLM], "lifecycle-manager is not running: pod-1 holds its Lease, renewed 2h ago"),
        (1, 0, KeeperLease("", keeper=Actor.KLM), ""),  # it starts
        (0, 0, KeeperLease("", keeper=Actor.KLM), "lifecycle-manager is not running: it holds no Lease"),
    ],
)
def test_a_deployment_with_ready_pods_or_one_that_starts_is_not_stopped(
    replicas: int, ready: int, lease: KeeperLease, stopped: str
) -> None:
    workload = {**running("klm-controller-manager", replicas), "status": {"readyReplicas": ready}}
    assert why_stopped(Actor.KLM, [workload], lease) == stopped


@pytest.mark.parametrize("is_owned", [False, True])
def test_a_deployment_that_is_left_beside_a_control_planes_kyma_says_nothing(is_owned: bool) -> None:
    raw = kyma()
    annotations = {ANNOTATION_OWNED_BY: "kcp-system/default"} if is_owned else {}
    kept_kyma = kept({**raw, "metadata": {**raw["metadata"], "annotations": annotations}}, "lifecycle-manager")
    cluster = snapshot(kymas=[kept_kyma], workloads=[running("klm-controller-manager", 0)])
    summary = build_catalog(cluster, NOW).kyma
    assert summary is not None
    assert bool(summary.stopped) is bool(detect_management(cluster).stopped) is not is_owned


def test_an_audit_reports_that_the_lease_was_not_read() -> None:
    report = audit(replace(next(clusters(Actor.KLM)), keeper_lease=UNREAD), NOW)
    messages = [finding.message for finding in report.not_read]
    assert "it is unknown whether lifecycle-manager runs: leases is forbidden" in messages
    (outcome,) = (outcome for outcome in report.outcomes if outcome.rule.id == "kyma.stopped")
    assert outcome.result is AuditResult.INCOMPLETE


def written(**times: str) -> Json:
    """Return a Kyma that these managers wrote at these times."""
    raw = kyma()
    names = {"klm": "lifecycle-manager", "own": "kymatui-operator", "applier": "declarative.kyma-project.io/applier"}
    entries = [{"manager": names.get(name, name), **({"time": at} if at else {})} for name, at in times.items()]
    return {**raw, "metadata": {**raw["metadata"], "managedFields": entries}}


EARLY, LATE = "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"
WORKING = KeeperLease("pod-1", 1.0, works=True)


def running(name: str, replicas: int = 1) -> Json:
    return {"kind": "Deployment", "metadata": {"name": name}, "spec": {"replicas": replicas}}


@pytest.mark.parametrize(
    ("times", "workloads", "operator", "keeper"),
    [
        ({}, [], None, None),
        ({"kubectl": LATE}, [], None, None),
        ({"kubectl": LATE, "own": EARLY}, [], None, Actor.OPERATOR),
        ({"own": "", "klm": ""}, [], None, Actor.KLM),
        ({"own": "", "applier": ""}, [], None, Actor.KLM),
        ({"klm": EARLY, "own": LATE}, [], None, Actor.OPERATOR),
        ({"own": EARLY, "klm": LATE}, [], None, Actor.KLM),
        ({"own": EARLY, "klm": LATE}, [], WORKING, Actor.OPERATOR),
        ({"own": EARLY, "klm": LATE}, [], KeeperLease(""), Actor.KLM),
        ({"klm": EARLY, "own": LATE}, [running("klm-controller-manager")], WORKING, Actor.KLM),
        ({"klm": EARLY, "own": LATE}, [running("klm-controller-manager", 0)], None, Actor.OPERATOR),
        ({"own": EARLY, "klm": LATE}, [running("kymatui-operator")], None, Actor.OPERATOR),
        ({"klm": LATE}, [running("kymatui-operator")], None, Actor.KLM),
        ({}, [running("kymatui-operator")], None, Actor.OPERATOR),
        ({}, [running("shop")], WORKING, Actor.OPERATOR),
    ],
)
def test_writers_deployments_and_the_lease_show_what_works_on_a_kyma(
    times: dict[str, str], workloads: list[Json], operator: KeeperLease | None, keeper: Actor | None
) -> None:
    raw = written(**times)
    assert find_keeper([raw], workloads, operator) is keeper
    seen = snapshot(kymas=[raw], workloads=workloads, keeper_lease=operator)
    assert build_catalog(seen, NOW).kyma is not None
    assert (
        detect_management(seen).keeper
        is {
            Actor.KLM: ClusterManager.LIFECYCLE_MANAGER,
            Actor.OPERATOR: ClusterManager.OPERATOR,
            None: ClusterManager.LIFECYCLE_MANAGER,  # a status that neither wrote
        }[keeper]
    )
    summary = build_catalog(seen, NOW).kyma
    assert summary is not None
    assert summary.keeper is (keeper or Actor.KLM)


def test_what_a_fleet_reads_of_a_kyma_shows_what_works_on_it() -> None:
    body = msgspec.json.encode(written(klm=EARLY, own=LATE))
    assert find_keeper([msgspec.json.decode(body, type=FleetKyma)]) is Actor.OPERATOR


def test_watchers_are_told_from_what_wrote_their_virtual_services() -> None:
    watcher = {"kind": "Watcher", "metadata": {"name": "w", "namespace": "kcp-system"}, "spec": {}}
    for keeper, manager in MANAGERS.items():
        control = ControlPlaneObjects([kept(watcher, manager)], [], [], [], {})
        words = [link.why for chain in build_chains(control, None) for link in chain.links]
        assert any(f"{keeper} creates it" in text for text in words)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("waiting for lifecycle-manager", "waiting for kymatui's operator"),
        ("lifecycle-manager's report; lifecycle-manager.", "kymatui's operator's report; kymatui's operator."),
        ("Deployment kcp-system/lifecycle-manager is missing", "Deployment kcp-system/lifecycle-manager is missing"),
        ("lifecycle-manager-metrics and my-lifecycle-manager", "lifecycle-manager-metrics and my-lifecycle-manager"),
        ("lifecycle-manager.kyma-project.io", "lifecycle-manager.kyma-project.io"),
    ],
)
def test_only_the_name_alone_is_replaced(text: str, named: str) -> None:
    assert with_keeper(text, Actor.OPERATOR) == named
    assert with_keeper(text, Actor.KLM) == text


@pytest.mark.parametrize(
    ("writes", "lease", "way", "works"),
    [
        (("kymas", "manifests"), KeeperLease("a", 1.0, True), "enable modules in the Kyma resource", True),
        (("kymas",), None, "enable modules in the Kyma resource", True),
        (
            ("kymas",),
            KeeperLease("", None, False),
            "edits of the Kyma have no effect until `kymatui operator` runs",
            True,
        ),
        (("manifests",), KeeperLease("a", 1.0, True), "the operator installs modules that have a Manifest", False),
    ],
)
def test_an_operator_of_kymas_is_told_from_one_of_manifests(
    writes: tuple[str, ...], lease: KeeperLease | None, way: str, works: bool
) -> None:
    objects = {"kymas": kyma(), "manifests": manifest("mod", "1.0.0")}
    seen = snapshot(
        **{name: [kept(raw, "kymatui-operator" if name in writes else "kubectl")] for name, raw in objects.items()}
    )
    found: ClusterManagement = detect_management(replace(seen, keeper_lease=lease))
    assert found.keeper is ClusterManager.OPERATOR
    assert found.way.startswith(way)
    assert found.works_on_kymas is works


def test_the_fleet_names_the_operator_too() -> None:
    raws = [
        kyma([{"name": "mod"}], status=[report("mod", "1.3.1", "Processing")], state="Processing"),
        kyma([{"name": "mod"}], status=[report("mod", "1.2.0")]),
        kyma(state="Error", operation="skr client context not found"),
        kyma(labelled=labels(skip_reconciliation="true"), state="Error"),
    ]
    metas = metas_by_module([meta("mod", {"regular": "1.3.1"})])
    said = {}
    for keeper, manager in MANAGERS.items():
        read = [read_kyma(kept(raw, manager)) for raw in raws]
        runtimes = [read_runtime(one, metas) for one in read if isinstance(one, Kyma)]
        said[keeper] = [f"{found.text} {found.actor}" for found in map(runtime_reason, runtimes)]
    stopped = [
        runtime_reason(with_lease(read_runtime(one, metas), STOPPED[Actor.KLM]))
        for one in map(read_kyma, (kept(raw, MANAGERS[Actor.KLM]) for raw in raws))
        if isinstance(one, Kyma)
    ]
    assert (Actor.KLM in {found.actor for found in stopped}, stopped[0].actor) == (False, Actor.CLUSTER)
    assert stopped[0].text.endswith("; lifecycle-manager is not running")
    theirs = said[Actor.KLM]
    assert all("lifecycle-manager" in words for words in theirs)
    assert said[Actor.OPERATOR] == [words.replace("lifecycle-manager", "kymatui's operator") for words in theirs]
