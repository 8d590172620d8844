"""Labels of a Kyma that decide about modules: the patch that sets them, and how far what follows has come."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.gitops import git_document
from kymatui.domain.kubernetes.object_meta import LABEL_BETA, LABEL_INTERNAL
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma_edit.edit_progress import NOT_VISIBLE, track_label_edit
from kymatui.domain.kyma_edit.label_edit import Labels, label_edit, propose_labels
from kymatui.domain.kyma_edit.label_effects import preview_label_effects
from kymatui.domain.remote.catalog_sync import SyncEntry, SyncPlan, SyncStatus, plan_pair_sync
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.domain.snapshot.snapshots import Snapshot
from tests.domain.builders import NOW, Json, deployment, kyma, labels, manifest, meta, report, snapshot, template

BETA, INTERNAL = (f"/metadata/labels/operator.kyma-project.io~1{name}" for name in ("beta", "internal"))
SAME = {"op": "test", "path": "/metadata/uid", "value": "u-1"}
VERSION = {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}


def labelled(found: dict[str, str] | None) -> Json:
    raw = kyma([{"name": "mod"}], status=[report("mod", "1.0.0")])
    raw["metadata"] |= {"uid": "u-1", "resourceVersion": "7"}
    raw["metadata"].pop("labels", None)
    return raw if found is None else {**raw, "metadata": {**raw["metadata"], "labels": found}}


@pytest.mark.parametrize(
    ("there", "wanted", "patch"),
    [
        ({LABEL_BETA: "true"}, {LABEL_BETA: "true", LABEL_INTERNAL: None}, []),
        (None, {LABEL_BETA: None}, []),
        (
            {LABEL_BETA: "true"},
            {LABEL_BETA: None},
            [SAME, {"op": "test", "path": BETA, "value": "true"}, {"op": "remove", "path": BETA}],
        ),
        (
            {LABEL_BETA: "false"},
            {LABEL_BETA: "true", LABEL_INTERNAL: "true"},
            [
                SAME,
                VERSION,
                {"op": "test", "path": BETA, "value": "false"},
                {"op": "replace", "path": BETA, "value": "true"},
                {"op": "add", "path": INTERNAL, "value": "true"},
            ],
        ),
        (
            None,
            {LABEL_BETA: "true"},
            [SAME, VERSION, {"op": "add", "path": "/metadata/labels", "value": {LABEL_BETA: "true"}}],
        ),
    ],
    ids=["as it is", "not there", "taken away", "two at once", "the first label"],
)
def test_the_patch_applies_only_to_what_was_seen(
    there: dict[str, str] | None, wanted: Labels, patch: list[Json]
) -> None:
    found = read_kyma(labelled(there))
    assert isinstance(found, Kyma)
    assert list(label_edit(found, wanted).patch) == patch


COPY = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1beta2", "ModuleTemplate"), "kcp-system", "mod-1.0.0")
TEMPLATE = template("mod", "1.0.0", labelled=labels(beta="true"))
SHELF: Json = {"templates": [TEMPLATE], "release_metas": [meta("mod", {"regular": "1.0.0"})]}
IS = "operator.kyma-project.io/beta is removed"


def world(there: dict[str, str], *, installed: bool = True) -> Snapshot:
    found = labelled(there)
    workloads = [deployment("mod", "1.0.0")] if installed else []
    if not installed:
        found["status"]["modules"] = [report("mod", "", "Error", template=None, message="not allowed")]
    return snapshot(kymas=[found], workloads=workloads, **SHELF)


def plan(standing: SyncStatus) -> SyncPlan:
    return SyncPlan((), (SyncEntry(COPY, "mod", "1.0.0", False, "", standing),))


BEFORE = world({LABEL_BETA: "true"})


@pytest.mark.parametrize(
    ("now", "copy", "words", "ended"),
    [
        (BEFORE, None, NOT_VISIBLE, ""),
        (world({}), None, "mod is not uninstalled yet", ""),
        (world({}, installed=False), None, f"{IS}; mod is uninstalled", "finished"),
        (world({}, installed=False), SyncStatus.LEFT_OVER, "the catalog sync has not deleted ModuleTemplate", ""),
        (world({}, installed=False), SyncStatus.WITHHELD, f"{IS}; mod is uninstalled", "finished"),
        (world({LABEL_BETA: "maybe"}), None, "another client has changed the labels", "lost"),
        (replace(BEFORE, kymas=()), None, "Kyma kyma-system/default no longer exists", "lost"),
    ],
    ids=["unseen", "installed", "gone", "copy there", "copy gone", "changed", "no Kyma"],
)
def test_what_follows_from_a_label_is_waited_for(
    now: Snapshot, copy: SyncStatus | None, words: str, ended: str
) -> None:
    proposal = replace(propose_labels(BEFORE, {LABEL_BETA: None}, NOW), goes=(COPY,))
    assert [(one.module, one.uninstalls) for one in proposal.effects] == [("mod", True)]
    stage = track_label_edit(proposal, now, build_catalog(now, NOW), plan(copy) if copy is not None else None)
    assert words in stage.message
    assert ("finished" if stage.finished else "lost" if stage.lost else "") == ended


def test_what_a_label_brings_is_waited_for_until_it_is_ready() -> None:
    before, after = world({}, installed=False), world({LABEL_BETA: "true"})
    proposal = propose_labels(before, {LABEL_BETA: "true"}, NOW)
    unready = replace(before, kymas=after.kymas)
    assert not track_label_edit(proposal, unready, build_catalog(unready, NOW), None).finished
    assert track_label_edit(proposal, after, build_catalog(after, NOW), None).message.endswith("; mod 1.0.0 is ready")


def test_labels_of_a_runtimes_own_kyma_are_nobodys_concern() -> None:
    theirs = labelled({LABEL_BETA: "true"})
    theirs["metadata"]["annotations"] = {"deprecated-operator.kyma-project.io/owned-by": "kcp-system/one"}
    found = propose_labels(replace(BEFORE, kymas=(theirs,)), {LABEL_BETA: None}, NOW)
    assert (found.effects, "lifecycle-manager reads the labels of kcp-system/one" in found.refusal) == ((), True)


@pytest.mark.parametrize("there", [{LABEL_BETA: "true"}, {}], ids=["the label goes", "it comes"])
def test_a_mandatory_module_stays_whatever_the_labels_of_its_kyma(there: dict[str, str]) -> None:
    """lifecycle-manager installs mandatory modules in every runtime, beta or not."""
    offered = template("mod", "1.0.0", labelled=labels(beta="true"))
    mandatory = meta("mod", mandatory={"version": "1.0.0"})
    raw = kyma()
    raw["metadata"] |= {"uid": "u-1", "resourceVersion": "7", "labels": there}
    applied = manifest("mod", "1.0.0")
    applied["metadata"]["labels"] |= labels(mandatory_module="true")
    found = snapshot(
        kymas=[raw],
        templates=[offered],
        release_metas=[mandatory],
        manifests=[applied],
        workloads=[deployment("mod", "1.0.0")],
    )
    value = None if there else "true"
    assert propose_labels(found, {LABEL_BETA: value}, NOW).effects == ()
    pair = RuntimePair("r1", found, found)
    effects = preview_label_effects(pair, {LABEL_BETA: value}, NOW)
    assert effects is not None
    assert (effects.effects, effects.offered, effects.withdrawn) == ((), (), ())
    plan = plan_pair_sync(pair)
    assert plan is not None
    assert {entry.why.partition(":")[0] for entry in plan.entries} == {"mandatory"}


def test_a_label_of_a_kyma_that_git_applies_is_warned_of() -> None:
    raw = labelled({"kustomize.toolkit.fluxcd.io/name": "kyma", "kustomize.toolkit.fluxcd.io/namespace": "flux"})
    found = propose_labels(snapshot(kymas=[raw], templates=[template("mod", "1.0.0")]), {LABEL_BETA: "true"}, NOW)
    assert found.warnings == (
        "Flux Kustomization flux/kyma applies Kyma kyma-system/default and may revert this change: make it in Git",
    )
    (change,) = found.git
    document = git_document(change)
    metadata = {"name": "default", "namespace": "kyma-system", "labels": {LABEL_BETA: "true"}}
    assert (document["manifest"]["metadata"], "spec" in document["manifest"]) == (metadata, False)
