"""What an operator asks of a Kyma: the edit that comes of it, what it would do, and what speaks against it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.catalog.effects import EffectKind
from kymatui.domain.gitops import git_document
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma_edit import module_edit
from kymatui.domain.kyma_edit.module_edit import EditProposal, EditVerb, KymaEdit, ModuleEdit, edit_entry, propose_edit
from kymatui.domain.snapshot.snapshots import Snapshot
from tests.domain.builders import (
    NOW,
    Json,
    a_kyma,
    community_template,
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

MOD = [template("mod", "1.2.0"), template("mod", "1.3.1"), template("mod", "1.4.0")]
META = meta("mod", {"regular": "1.3.1", "fast": "1.4.0", "slow": "1.2.0"})
RUNNING: Json = {"workloads": [deployment("mod", "1.3.1")], "resources": [resource("mod")]}


def cluster(**more: Any) -> Snapshot:
    values: Json = {"templates": MOD, "release_metas": [META], **more}
    resources = values.pop("resources", [])
    return snapshot(module_resources={gvk("mod"): tuple(resources)}, **values)


def asked(entry: Json | None = None, *, version: str = "1.3.1", state: str = "Ready", **more: Any) -> Json:
    """A Kyma that has the module."""
    found = kyma([{"name": "mod", **(entry or {})}], status=[report("mod", version, state)], **more)
    found["metadata"]["uid"] = "u-1"
    return found


def proposal(verb: EditVerb, channel: str | None = None, policy: Policy | None = None, **more: Any) -> EditProposal:
    return propose_edit(cluster(**more), ModuleEdit(verb, "mod", channel, policy), NOW)


def effects(found: EditProposal) -> dict[str, str]:
    return {effect.module: effect.message for effect in found.effects}


def operations(edit: KymaEdit | None) -> list[tuple[str, str]]:
    assert edit is not None
    return [(step["op"], step["path"]) for step in edit.patch]


# edits


def applied(raw: Mapping[str, Any], edit: KymaEdit) -> Json:
    """A JSON patch as RFC 6902 has it, as far as edits use it; the tests must hold."""
    found: Json = copy.deepcopy(dict(raw))
    for step in edit.patch:
        *way, last = step["path"].split("/")[1:]
        place: Any = found
        for key in way:
            place = place[int(key)] if isinstance(place, list) else place[key]
        key = int(last) if isinstance(place, list) and last != "-" else last
        match step["op"]:
            case "test":
                assert place[key] == step["value"]
            case "add" if last == "-":
                place.append(step["value"])
            case "remove":
                del place[key]
            case _:
                place[key] = step["value"]
    return found


ENTRIES = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["mod", "other", "third"])},
        optional={"channel": st.sampled_from(["fast", "regular"]), "managed": st.booleans(), "future": st.integers()},
    ),
    max_size=4,
    unique_by=lambda entry: entry["name"],
)
CHANGES = st.sampled_from(
    [
        module_edit.enable_entry("mod"),
        module_edit.enable_entry("mod", "fast", Policy.IGNORE),
        module_edit.enable_entry("mod", ""),
        module_edit.disable_entry,
        module_edit.set_entry_channel("fast"),
        module_edit.set_entry_channel(""),
        module_edit.set_entry_managed(False),
        module_edit.set_entry_managed(True),
        module_edit.set_entry_policy(Policy.IGNORE),
        module_edit.set_entry_policy(Policy.CREATE_AND_DELETE),
    ]
)


@given(ENTRIES, CHANGES)
def test_the_patch_makes_of_the_kyma_what_the_edit_says(entries: list[Json], change: module_edit.EntryChange) -> None:
    raw = kyma(entries)
    raw["metadata"].update(uid="u-1", resourceVersion="7")
    before = copy.deepcopy(raw)
    edit = edit_entry(a_kyma_of(raw), "mod", change)
    assert raw == before, "what was seen stays as it was seen"
    assert applied(raw, edit) == edit.edited_kyma
    others = [entry for entry in edit.edited_kyma["spec"]["modules"] if entry["name"] != "mod"]
    assert others == [entry for entry in entries if entry["name"] != "mod"]
    again = edit_entry(a_kyma_of(dict(edit.edited_kyma)), "mod", change)
    assert again.is_empty, "asked for twice, nothing is left to be done"


def a_kyma_of(raw: Json) -> Any:
    from kymatui.domain.kyma.kymas import Kyma, read_kyma

    found = read_kyma(raw)
    assert isinstance(found, Kyma)
    return found


def test_an_entry_is_changed_only_if_it_is_still_the_one_that_was_seen() -> None:
    edit = proposal(EditVerb.CHANNEL, "fast", kymas=[asked({"future": 1})]).edit
    assert edit is not None
    assert edit.patch == (
        {"op": "test", "path": "/metadata/uid", "value": "u-1"},
        {"op": "test", "path": "/spec/modules/0", "value": {"name": "mod", "future": 1}},
        {"op": "replace", "path": "/spec/modules/0", "value": {"name": "mod", "future": 1, "channel": "fast"}},
    )


def test_a_kyma_without_a_list_gets_one_only_if_nothing_changed_meanwhile() -> None:
    raw = kyma()
    del raw["spec"]["modules"]
    raw["metadata"].update(uid="u-1", resourceVersion="7")
    edit = edit_entry(a_kyma_of(raw), "mod", module_edit.enable_entry("mod"))
    assert edit.patch[1:] == (
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "add", "path": "/spec/modules", "value": [{"name": "mod"}]},
    )


def test_the_lines_of_an_edit_say_what_changes() -> None:
    changed = edit_entry(
        a_kyma(modules=[{"name": "mod", "channel": "fast"}]), "mod", module_edit.set_entry_managed(False)
    )
    assert changed.lines() == (("spec.modules[mod].managed", "", "false"),)
    removed = edit_entry(a_kyma(modules=[{"name": "mod"}]), "mod", module_edit.disable_entry)
    assert removed.lines() == (("spec.modules", '{"name": "mod"}', ""),)


# what it would do


@pytest.mark.parametrize(
    ("verb", "channel", "objects", "words"),
    [
        pytest.param(EditVerb.ENABLE, None, {"kymas": [kyma()]}, "is installed (1.3.1)", id="enabled"),
        pytest.param(EditVerb.ENABLE, "fast", {"kymas": [kyma()]}, "is installed (1.4.0)", id="enabled in a channel"),
        pytest.param(EditVerb.DISABLE, None, {"kymas": [asked()], **RUNNING}, "is uninstalled (1.3.1)", id="disabled"),
        pytest.param(
            EditVerb.CHANNEL,
            "fast",
            {"kymas": [asked()], **RUNNING},
            "is upgraded 1.3.1 → 1.4.0",
            id="to a newer channel",
        ),
        pytest.param(
            EditVerb.UNMANAGE, None, {"kymas": [asked()], **RUNNING}, "stays installed, unmanaged", id="unmanaged"
        ),
    ],
)
def test_what_it_does_is_said_before(verb: EditVerb, channel: str | None, objects: Json, words: str) -> None:
    found = proposal(verb, channel, **objects)
    assert not found.is_refused, found.refusals
    assert effects(found) == {"mod": words}


def test_a_channel_with_a_lower_version_changes_nothing_and_says_so() -> None:
    found = proposal(EditVerb.CHANNEL, "slow", kymas=[asked()], **RUNNING)
    assert not found.is_refused
    (effect,) = found.effects
    words = "stays at 1.3.1, which is newer than channel slow (1.2.0) and never downgraded automatically"
    assert (effect.kind, effect.message) == (EffectKind.HELD_BACK, words)
    assert any(
        "never downgraded automatically; to downgrade, delete the module and enable it again" in text
        for text in found.warnings
    )


@pytest.mark.parametrize(
    ("verb", "channel", "policy", "entry"),
    [
        (EditVerb.ENABLE, None, None, {}),
        (EditVerb.ENABLE, "fast", Policy.IGNORE, {"channel": "fast", "customResourcePolicy": "Ignore"}),
        (EditVerb.CHANNEL, "", None, {}),
        (EditVerb.MANAGE, None, None, {}),
        (EditVerb.UNMANAGE, None, None, {"managed": False}),
        (EditVerb.POLICY, None, Policy.CREATE_AND_DELETE, {}),
    ],
)
def test_what_is_so_already_needs_no_edit(
    verb: EditVerb, channel: str | None, policy: Policy | None, entry: Json
) -> None:
    found = proposal(verb, channel, policy, kymas=[asked(entry)], **RUNNING)
    assert found.is_done
    assert (found.warnings, found.effects) == ((), ())


# what speaks against it


@pytest.mark.parametrize(
    ("verb", "channel", "objects", "words"),
    [
        pytest.param(EditVerb.ENABLE, None, {}, "this cluster has no Kyma to edit", id="no Kyma"),
        pytest.param(
            EditVerb.ENABLE,
            "nightly",
            {"kymas": [kyma()]},
            "is not in channel nightly; it is in regular (1.3.1), fast (1.4.0), slow (1.2.0)",
            id="a channel that does not have it",
        ),
        pytest.param(
            EditVerb.ENABLE,
            None,
            {"kymas": [kyma()], "release_metas": [meta("mod", None, mandatory={"version": "1.3.1"})]},
            "is mandatory",
            id="mandatory",
        ),
        pytest.param(
            EditVerb.ENABLE,
            None,
            {
                "kymas": [kyma()],
                "templates": [template("mod", "1.3.1", labelled=labels(beta="true"))],
                "release_metas": [meta("mod", {"regular": "1.3.1"}, beta=True)],
            },
            "would not be installed: it is a beta module",
            id="beta, and the Kyma is not",
        ),
        pytest.param(
            EditVerb.ENABLE,
            None,
            {"kymas": [kyma()], "templates": [community_template("mod", "1.0.0")], "release_metas": []},
            "is a community module",
            id="a community module",
        ),
        pytest.param(
            EditVerb.ENABLE,
            None,
            {"kymas": [kyma()], "templates": [], "release_metas": []},
            "no catalog of this cluster has a module",
            id="nobody offers it",
        ),
        pytest.param(
            EditVerb.ENABLE,
            None,
            {"kymas": [kyma()], "workloads": [deployment("mod", "1.1.0")], "resources": [resource("mod")]},
            "1.1.0 is installed directly, and no channel has that version",
            id="43 installed directly in a version that no channel has",
        ),
        pytest.param(EditVerb.DISABLE, None, {"kymas": [kyma()]}, "is not enabled in", id="not there to be disabled"),
        pytest.param(
            EditVerb.DISABLE,
            None,
            {"kymas": [asked({"managed": False}, state="Processing")]},
            "removing its entry now would uninstall it",
            id="54 disabled before the status says Unmanaged",
        ),
        pytest.param(EditVerb.CHANNEL, "nightly", {"kymas": [asked()]}, "is not in channel nightly", id="no channel"),
    ],
)
def test_what_speaks_against_it_is_said(verb: EditVerb, channel: str | None, objects: Json, words: str) -> None:
    found = proposal(verb, channel, **objects)
    assert found.is_refused
    assert any(words in text for text in found.refusals), found.refusals


def test_a_kyma_that_is_being_deleted_is_left_alone() -> None:
    dying = asked()
    dying["metadata"]["deletionTimestamp"] = "2026-11-21T11:00:00Z"
    assert proposal(EditVerb.DISABLE, kymas=[dying]).is_refused


def test_what_is_unmanaged_for_good_may_leave_the_list() -> None:
    found = proposal(EditVerb.DISABLE, kymas=[asked({"managed": False}, state="Unmanaged")], **RUNNING)
    assert not found.is_refused
    assert found.warnings == ("the module stays installed and is no longer managed",)


def test_a_direct_installation_in_a_version_of_a_channel_can_be_handed_over() -> None:
    found = proposal(EditVerb.ENABLE, kymas=[kyma()], **RUNNING)
    assert not found.is_refused, found.refusals


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"customResourcePolicy": "Ignore"}, "and waits until you delete Mod kyma-system/default"),
        ({}, "the default CR is deleted with the module; other objects that the module manages must be deleted first"),
    ],
)
def test_disabling_says_what_becomes_of_the_resources(entry: Json, words: str) -> None:
    found = proposal(EditVerb.DISABLE, kymas=[asked(entry)], **RUNNING)
    assert any(words in text for text in found.warnings), found.warnings


def test_a_beta_module_is_enabled_with_a_word_of_warning() -> None:
    beta: Json = {
        "kymas": [kyma(labelled=labels(beta="true"))],
        "release_metas": [meta("mod", {"regular": "1.3.1"}, beta=True)],
    }
    found = proposal(EditVerb.ENABLE, **beta)
    assert not found.is_refused
    assert any("is a beta module" in text for text in found.warnings)


def test_operations_come_after_their_tests() -> None:
    found = proposal(EditVerb.DISABLE, kymas=[asked()])
    assert operations(found.edit) == [
        ("test", "/metadata/uid"),
        ("test", "/spec/modules/0"),
        ("remove", "/spec/modules/0"),
    ]


@pytest.mark.parametrize("verb", [EditVerb.DISABLE, EditVerb.UNMANAGE])
def test_a_manifest_with_the_skip_label_is_named_before_its_module_is_edited(verb: EditVerb) -> None:
    skipped = manifest("mod", "1.3.1")
    skipped["metadata"]["labels"]["operator.kyma-project.io/skip-reconciliation"] = "true"
    found = proposal(verb, kymas=[asked(state="Ready")], manifests=[skipped], **RUNNING)
    (words,) = (one for one in found.warnings if one.startswith("Manifest kyma-system/default-mod-1 is paused"))
    assert "neither changed nor uninstalled. Remove the label to resume (`kymatui unpause mod`)" in words
    plain = proposal(verb, kymas=[asked(state="Ready")], manifests=[manifest("mod", "1.3.1")], **RUNNING)
    assert tuple(one for one in found.warnings if one != words) == plain.warnings


def test_one_of_several_kymas_is_not_edited() -> None:
    """On a control plane the first of many Kymas would be edited: nobody has chosen it."""
    many = [asked(name="a", namespace="kcp-system"), asked(name="b", namespace="kcp-system")]
    found = proposal(EditVerb.CHANNEL, "fast", kymas=many)
    assert found.refusals == ("this cluster has 2 Kymas, and none is named: use --remote RUNTIME, or --fleet",)
    assert found.edit is None


FLUX = "kustomize.toolkit.fluxcd.io"
APPLIED = "Kyma kyma-system/default and may revert this change: make it in Git"


def from_git(raw: Json, labels: Json, annotations: Json, manager: str = "") -> Json:
    """The Kyma with marks of what applies it from Git."""
    raw["metadata"]["labels"] = {**raw["metadata"].get("labels", {}), **labels}
    raw["metadata"]["annotations"] = annotations
    raw["metadata"]["managedFields"] = [{"manager": manager, "operation": "Update"}] if manager else []
    return raw


@pytest.mark.parametrize(
    ("labels", "annotations", "manager", "source"),
    [
        ({f"{FLUX}/name": "kyma", f"{FLUX}/namespace": "flux-system"}, {}, "", "Flux Kustomization flux-system/kyma"),
        ({f"{FLUX}/name": "kyma"}, {}, "", "Flux Kustomization kyma"),
        ({f"{FLUX}/name": "kyma"}, {f"{FLUX}/ssa": "Merge"}, "", "Flux Kustomization kyma"),
        ({f"{FLUX}/name": "kyma"}, {f"{FLUX}/ssa": "IfNotPresent"}, "", ""),
        ({f"{FLUX}/name": "kyma"}, {f"{FLUX}/reconcile": "disabled"}, "", ""),
        ({"helm.toolkit.fluxcd.io/name": "k", "helm.toolkit.fluxcd.io/namespace": "a"}, {}, "", "Flux HelmRelease a/k"),
        ({"helm.toolkit.fluxcd.io/name": "k"}, {"helm.toolkit.fluxcd.io/driftDetection": "disabled"}, "", ""),
        ({}, {"argocd.argoproj.io/tracking-id": "kyma:x/Kyma:a/b"}, "", "Argo CD Application kyma"),
        ({}, {"argocd.argoproj.io/tracking-id": "apps_kyma:x/Kyma:a/b"}, "", "Argo CD Application apps/kyma"),
        ({"app.kubernetes.io/instance": "kyma"}, {}, "argocd-controller", "Argo CD Application kyma"),
        ({"app.kubernetes.io/instance": "kyma"}, {}, "kubectl-client-side-apply", ""),
        ({}, {}, "", ""),
    ],
)
def test_an_edit_of_what_git_applies_is_warned_of(labels: Json, annotations: Json, manager: str, source: str) -> None:
    expected = [f"{source} applies {APPLIED}"] if source else []
    raw = from_git(asked(), labels, annotations, manager)
    proposals = [proposal(verb, "fast", Policy.IGNORE, kymas=[raw]) for verb in EditVerb]
    edits = [found for found in proposals if found.edit is not None and not found.edit.is_empty]
    assert {found.toggle.verb for found in edits} >= {EditVerb.CHANNEL, EditVerb.DISABLE, EditVerb.UNMANAGE}
    assert all([text for text in found.warnings if "Git" in text] == expected for found in edits)
    for found in edits if source else ():
        assert found.edit is not None
        (change,) = found.git
        document = git_document(change)
        spec = {"modules": found.edit.edited_kyma["spec"]["modules"]}
        assert (document["source"], document["manifest"]["spec"]) == (source, spec)
