"""Sentences name what works on the Kyma: lifecycle-manager, or kymatui's operator in its role."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import NAMING_LISTS, Catalog
from kymatui.domain.fleet.pending_actions import runtime_reason
from kymatui.domain.fleet.runtimes import metas_by_module, read_runtime
from kymatui.domain.kyma.kyma_keeper import keeper_of, with_keeper
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma_edit.edit_progress import track_edit
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit, propose_edit
from kymatui.domain.plans.cluster_management import ClusterManagement, ClusterManager, Operator, detect_management
from kymatui.domain.plans.direct_install import install_refusals
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


@pytest.mark.parametrize(
    ("managers", "keeper"),
    [
        ((), Actor.KLM),
        (("kubectl",), Actor.KLM),
        (("kubectl", "kymatui-operator"), Actor.OPERATOR),
        (("kymatui-operator", "lifecycle-manager"), Actor.KLM),
        (("kymatui-operator", "declarative.kyma-project.io/applier"), Actor.KLM),
    ],
)
def test_what_has_written_a_kyma_works_on_it(managers: tuple[str, ...], keeper: Actor) -> None:
    assert keeper_of(managers) is keeper


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
        (("kymas", "manifests"), Operator("a", 1.0, True), "enable modules in the Kyma resource", True),
        (("kymas",), None, "enable modules in the Kyma resource", True),
        (
            ("kymas",),
            Operator("", None, False),
            "edits of the Kyma have no effect until `kymatui operator` runs",
            False,
        ),
        (("manifests",), Operator("a", 1.0, True), "the operator installs modules that have a Manifest", False),
    ],
)
def test_an_operator_of_kymas_is_told_from_one_of_manifests(
    writes: tuple[str, ...], lease: Operator | None, way: str, works: bool
) -> None:
    objects = {"kymas": kyma(), "manifests": manifest("mod", "1.0.0")}
    seen = snapshot(
        **{name: [kept(raw, "kymatui-operator" if name in writes else "kubectl")] for name, raw in objects.items()}
    )
    found: ClusterManagement = detect_management(seen, lambda: lease)
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
    theirs = said[Actor.KLM]
    assert all("lifecycle-manager" in words for words in theirs)
    assert said[Actor.OPERATOR] == [words.replace("lifecycle-manager", "kymatui's operator") for words in theirs]
