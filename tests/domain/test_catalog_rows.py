"""Rows: what a person sees of a module, in every situation that an operator meets, and who has to act."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.module_inputs import CatalogOptions
from kymatui.domain.catalog.rows import Catalog, CatalogOrigin, ModuleRow, OfferMark
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.maintenance_windows import ControllerSettings, WindowPolicy, read_policy
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.modules.presence import Presence
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.domain.versions.drift import DriftKind
from tests.domain.builders import (
    NOW,
    Json,
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
    stamp,
    template,
)

CATALOG = [template("mod", "1.2.0"), template("mod", "1.3.1"), template("mod", "1.4.0-rc1")]
META = meta("mod", {"regular": "1.3.1", "fast": "1.3.1"})


def written_by(raw: dict[str, Any], manager: str) -> dict[str, Any]:
    """The same, applied by lifecycle-manager and written by somebody else after that."""
    entries = [
        {"manager": name, "operation": operation, "time": f"2026-11-21T12:0{minute}:00Z"}
        for minute, (name, operation) in enumerate((("lifecycle-manager", "Apply"), (manager, "Update")))
    ]
    return {**raw, "metadata": {**raw["metadata"], "managedFields": entries}}


def see(settings: CatalogOptions | None = None, **more: Any) -> Catalog:
    values: dict[str, Any] = {"templates": CATALOG, "release_metas": [META], **more}
    resources = values.pop("resources", [])
    return build_catalog(snapshot(module_resources={gvk("mod"): tuple(resources)}, **values), NOW, settings)


def row(settings: CatalogOptions | None = None, **more: Any) -> ModuleRow:
    found = see(settings, **more).row("mod")
    assert found is not None
    return found


def managed(version: str = "1.3.1", state: str = "Ready", entry: Json | None = None, **more: Any) -> Json:
    return kyma([{"name": "mod", **(entry or {})}], status=[report("mod", version, state, **more)])


def idle(version: str) -> Json:
    """A manager that somebody has scaled to zero."""
    found = deployment("mod", version)
    return {**found, "spec": {**found["spec"], "replicas": 0}, "status": {"observedGeneration": 1}}


RUNNING: dict[str, Any] = {"workloads": [deployment("mod", "1.3.1")], "resources": [resource("mod")]}
OLD: dict[str, Any] = {"workloads": [deployment("mod", "1.2.0")], "resources": [resource("mod")]}

SITUATIONS: list[object] = [
    pytest.param(
        {"kymas": [managed()], **RUNNING},
        (Presence.ENABLED, State.READY, "status.state", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        ("1.3.1 installed and ready", Actor.NOBODY),
        id="up to date",
    ),
    pytest.param(
        {"kymas": [managed("1.2.0")], **OLD},
        (Presence.ENABLED, State.READY, "status.state", "1.2.0", "1.3.1", DriftKind.BEHIND),
        ("Running 1.2.0, expected 1.3.1 (1 minor behind). lifecycle-manager has not finished the upgrade.", Actor.KLM),
        id="managed and behind",
    ),
    pytest.param(
        OLD,
        (Presence.ENABLED, State.READY, "status.state", "1.2.0", "1.3.1", DriftKind.BEHIND),
        ("1.2.0 installed, 1.3.1 available (1 minor behind). Upgrade it (`kymatui upgrade mod`).", Actor.YOU),
        id="direct and behind",
    ),
    pytest.param(
        {"workloads": [deployment("mod", "2.0.0")], "resources": [resource("mod")]},
        (Presence.ENABLED, State.READY, "status.state", "2.0.0", "1.3.1", DriftKind.AHEAD),
        ("Running 2.0.0, expected 1.3.1 (1 major ahead)", Actor.YOU),
        id="ahead",
    ),
    pytest.param(
        {"workloads": [written_by(deployment("mod", "2.0.0"), "kubectl-set")], "resources": [resource("mod")]},
        (Presence.ENABLED, State.READY, "status.state", "2.0.0", "1.3.1", DriftKind.AHEAD),
        (
            "Running 2.0.0, expected 1.3.1 (1 major ahead); "
            "field manager kubectl-set changed the Deployment after the installation",
            Actor.YOU,
        ),
        id="ahead by hand",
    ),
    pytest.param(
        {"workloads": [idle("1.3.1")], "resources": [resource("mod")]},
        (Presence.ENABLED, State.READY, "status.state", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            "Action needed: Deployment kyma-system/mod-manager is scaled to zero; "
            "the module CR keeps its last state, Ready. Scale it up "
            "(`kymatui unpause mod`).",
            Actor.YOU,
        ),
        id="nobody looks after it, and it says that all is well",
    ),
    pytest.param(
        {
            "kymas": [managed("2.0.0", "Warning", channel="fast", message="module template update not allowed")],
            "workloads": [deployment("mod", "2.0.0")],
            "resources": [resource("mod")],
        },
        (Presence.ENABLED, State.WARNING, "kyma", "2.0.0", "1.3.1", DriftKind.NEWER_THAN_CHANNEL),
        (
            (
                "Newer than channel regular (2.0.0 > 1.3.1), and never downgraded automatically. Wait "
                "for the channel; to downgrade, disable the module and enable it again (`kymatui disable mod`)."
            ),
            Actor.YOU,
        ),
        id="09 held back",
    ),
    pytest.param(
        {
            "kymas": [managed()],
            "workloads": [deployment("mod", "1.3.1")],
            "resources": [
                {
                    **resource("mod", None),
                    "status": {
                        "state": "Warning",
                        "conditions": [
                            {"type": "Ready", "status": "False", "message": "Secret sap-btp-manager not found"}
                        ],
                    },
                }
            ],
        },
        (Presence.ENABLED, State.WARNING, "status.state", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            "Action needed: Mod kyma-system/default reports Warning: Secret sap-btp-manager not found. Create Secret "
            "kyma-system/sap-btp-manager with the keys that the module needs (`kubectl create secret generic "
            "sap-btp-manager -n kyma-system --from-env-file=FILE`).",
            Actor.YOU,
        ),
        id="Warning that waits for the user",
    ),
    pytest.param(
        {"kymas": [managed()], "workloads": [deployment("mod", "1.3.1")], "resources": [resource("mod", "Foo")]},
        (Presence.ENABLED, State.WARNING, "status.state", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        ("Mod kyma-system/default reports the state 'Foo', which lifecycle-manager does not know", Actor.MANAGER),
        id="39 a word that is no state",
    ),
    pytest.param(
        {"kymas": [managed()], "workloads": [deployment("mod", "1.3.1", ready=False)], "resources": [resource("mod")]},
        (Presence.ENABLED, State.ERROR, "manager", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        ("Deployment kyma-system/mod-manager: 0 of 1 pods available for 60 minutes (R)", Actor.CLUSTER),
        id="the resource says Ready, and its manager is down",
    ),
    pytest.param(
        {
            "kymas": [managed()],
            "workloads": [written_by(deployment("mod", "1.3.1", ready=False), "kubectl-set")],
            "resources": [resource("mod")],
        },
        (Presence.ENABLED, State.ERROR, "manager", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            (
                "Action needed: Deployment kyma-system/mod-manager: 0 of 1 pods available for 60 minutes (R); "
                "field manager kubectl-set changed the Deployment after the installation"
            ),
            Actor.YOU,
        ),
        id="its manager is down since somebody changed it",
    ),
    pytest.param(
        {
            "kymas": [managed()],
            "workloads": [deployment("mod", "1.3.1", ready=False)],
            "resources": [resource("mod", "Error")],
        },
        (Presence.ENABLED, State.ERROR, "status.state", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            "Action needed: Mod kyma-system/default reports Error. Read the log of its manager (`kymatui logs mod`).",
            Actor.YOU,
        ),
        id="an error is not hidden behind a manager that is not ready",
    ),
    pytest.param(
        {"kymas": [managed()], "resources": [resource("mod")]},
        (Presence.ENABLED, State.ERROR, "manager", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            "Deployment kyma-system/mod-manager is missing, but lifecycle-manager reports the module as Ready",
            Actor.CLUSTER,
        ),
        id="the manager is missing",
    ),
    pytest.param(
        {"kymas": [managed(entry={"customResourcePolicy": "Ignore"})], "workloads": [deployment("mod", "1.3.1")]},
        (Presence.NOT_CONFIGURED, State.READY, "manager", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            "Installed, but not in use: it has no module CR. Create one of kind Mod to use the module "
            "(`kymatui edit mod`).",
            Actor.YOU,
        ),
        id="41 policy Ignore and no resource",
    ),
    pytest.param(
        {"kymas": [managed()], "workloads": [deployment("mod", "1.3.1")]},
        (Presence.NOT_CONFIGURED, State.READY, "manager", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            (
                "The module CR is missing; whether lifecycle-manager creates it again is unknown. Create it to use the "
                "module (`kymatui edit mod`)."
            ),
            Actor.YOU,
        ),
        id="42 the resource was deleted by a user",
    ),
    pytest.param(
        {"kymas": [kyma([{"name": "mod"}])]},
        (Presence.ENABLED, State.PROCESSING, "presence", "", "1.3.1", DriftKind.NONE),
        ("Requested in the Kyma; waiting for lifecycle-manager", Actor.KLM),
        id="just asked for",
    ),
    pytest.param(
        {"kymas": [managed(state="Unmanaged", entry={"managed": False})], **RUNNING},
        (Presence.UNMANAGED, State.UNMANAGED, "presence", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        ("Unmanaged: lifecycle-manager does not update or repair it; it reports Ready", Actor.NOBODY),
        id="unmanaged",
    ),
    pytest.param(
        {"kymas": [managed(state="Processing", entry={"managed": False})], **RUNNING},
        (Presence.UNMANAGED, State.UNMANAGED, "presence", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            (
                "lifecycle-manager has not released the module yet. Keep its entry in the Kyma until "
                "its state is Unmanaged."
            ),
            Actor.KLM,
        ),
        id="54 not unmanaged yet",
    ),
    pytest.param(
        {
            "kymas": [kyma(status=[report("mod", "1.3.1", "Deleting")])],
            "workloads": [deployment("mod", "1.3.1")],
            "resources": [resource("mod", "Ready", deletionTimestamp=stamp(60), finalizers=["mod/finalizer"])],
        },
        (Presence.DELETING, State.DELETING, "presence", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            "Deleting Mod kyma-system/default: waiting for the module's manager to remove finalizer mod/finalizer",
            Actor.MANAGER,
        ),
        id="50 deleting behind a finalizer",
    ),
    pytest.param(
        {
            "kymas": [kyma(status=[report("mod", "1.3.1", "Deleting")])],
            "workloads": [deployment("mod", "1.3.1")],
            "resources": [
                resource("mod", "Ready", deletionTimestamp=stamp(60), finalizers=["mod/finalizer"])
                | {"status": {"state": "Warning", "message": "2 APIRules are left"}}
            ],
        },
        (Presence.DELETING, State.DELETING, "presence", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            (
                "Action needed: deletion of Mod kyma-system/default is blocked: 2 APIRules are left. Delete what "
                "blocks it; the module's manager then removes finalizer mod/finalizer (`kymatui delete mod --cascade`)."
            ),
            Actor.YOU,
        ),
        id="50 deleting, and the manager says what it waits for",
    ),
    pytest.param(
        {"resources": [resource("mod", "Ready", deletionTimestamp=stamp(60), finalizers=["mod/finalizer"])]},
        (Presence.DELETING, State.DELETING, "presence", "", "1.3.1", DriftKind.NONE),
        (
            (
                "Action needed: deletion of Mod kyma-system/default is blocked by finalizer mod/finalizer; the "
                "module's manager, which should remove it, does not exist. Remove the finalizer "
                "(`kymatui finalizers mod --object Mod:kyma-system/default --remove mod/finalizer`)."
            ),
            Actor.YOU,
        ),
        id="50 deleting, and the manager is dead",
    ),
    pytest.param(
        {
            "kymas": [kyma(status=[report("mod", "1.3.1", "Deleting")])],
            "manifests": [
                {
                    **manifest("mod", "1.3.1"),
                    "status": {"state": "Deleting", "lastOperation": {"operation": "waiting for module crs deletion"}},
                }
            ],
            "workloads": [deployment("mod", "1.3.1")],
            "resources": [resource("mod", "Ready", deletionTimestamp=stamp(60), finalizers=["foregroundDeletion"])],
        },
        (Presence.DELETING, State.DELETING, "presence", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        ("lifecycle-manager is deleting the module: waiting for module crs deletion", Actor.KLM),
        id="51 its resources are on their way out",
    ),
    pytest.param(
        {
            "kymas": [kyma(status=[report("mod", "1.3.1", "Deleting")])],
            "workloads": [deployment("mod", "1.3.1")],
            "resources": [resource("mod", "Ready", name="other", namespace="shop")],
        },
        (Presence.DELETING, State.DELETING, "presence", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            "Action needed: deletion blocked by Mod shop/other. Delete it to continue "
            "(`kymatui delete mod --cascade`).",
            Actor.YOU,
        ),
        id="51 another resource blocks",
    ),
    pytest.param(
        {"resources": [resource("mod")]},
        (Presence.ORPHAN, State.WARNING, "presence", "", "1.3.1", DriftKind.NONE),
        (
            (
                "Action needed: Mod kyma-system/default exists, but the module's manager does not. Install "
                "the module or delete the module CR (`kymatui enable mod`)."
            ),
            Actor.YOU,
        ),
        id="a resource without its manager",
    ),
    pytest.param(
        {},
        (Presence.NOT_INSTALLED, State.NOT_INSTALLED, "presence", "", "1.3.1", DriftKind.NONE),
        ("Not installed (1.3.1 available)", Actor.NOBODY),
        id="not installed",
    ),
    pytest.param(
        {"kymas": [kyma([{"name": "mod", "channel": "experimental"}])]},
        (Presence.ENABLED, State.ERROR, "kyma", "", "", DriftKind.NONE),
        (
            "Action needed: channel experimental has no version of the module (available in: regular, fast). "
            "Change the channel (`kymatui channel mod regular`).",
            Actor.YOU,
        ),
        id="04 a channel that is not offered",
    ),
    pytest.param(
        {
            "kymas": [managed()],
            "workloads": [deployment("mod", "1.3.1", managedFields=[{"manager": "kymatui"}])],
            "resources": [resource("mod")],
        },
        (Presence.CONFLICT, State.WARNING, "presence", "1.3.1", "1.3.1", DriftKind.UP_TO_DATE),
        (
            (
                "Action needed: installed twice, by lifecycle-manager and directly. Keep the direct installation and "
                "end the other one (`kymatui unmanage mod`)."
            ),
            Actor.YOU,
        ),
        id="managed and direct",
    ),
]


@pytest.mark.parametrize(("objects", "shown", "why"), SITUATIONS)
def test_situations(objects: dict[str, Any], shown: tuple[object, ...], why: tuple[str, Actor]) -> None:
    found = row(**objects)
    drawn = (found.presence, found.state, found.state_source.value, found.installed, found.desired, found.drift.kind)
    assert drawn == shown
    assert (found.reason.text, found.actor) == why


@pytest.mark.parametrize(("paused", "actor"), [(False, Actor.NOBODY), (True, Actor.CLUSTER)])
@pytest.mark.parametrize("module_state", ["Ready", "Processing"])
def test_a_rollout_on_its_way_needs_action_only_where_it_is_paused(
    module_state: str, paused: bool, actor: Actor
) -> None:
    manager = deployment("mod", "1.3.1")
    manager["spec"]["paused"] = paused
    manager["status"]["updatedReplicas"] = 0
    found = row(kymas=[managed()], workloads=[manager], resources=[resource("mod", module_state)])
    assert (found.drift.kind, found.state) == (DriftKind.ROLLING_OUT, State.PROCESSING)
    assert module_state == "Processing" or found.state_source is StateSource.MANAGER
    assert found.actor is actor, found.reason


@pytest.mark.parametrize("state", ["Ready", "Processing"])
@pytest.mark.parametrize(
    ("feed", "words"),
    [
        (FeedState.FORBIDDEN, "forbidden (you may not list deployments.apps)"),
        (FeedState.SYNCING, "loading (deployments.apps)"),
        (FeedState.FAILED, "unknown (could not list deployments.apps)"),
    ],
)
def test_no_drift_is_claimed_of_a_manager_that_may_not_be_read(state: str, feed: FeedState, words: str) -> None:
    hidden = {"deployments.apps": Feed(feed)}
    found = row(kymas=[managed(state=state)], feeds=hidden, resources=[resource("mod")])
    assert (found.installed, found.drift.kind) == ("1.3.1", DriftKind.UNKNOWN)
    assert str(found.unknown[RowFact.DRIFT]) == words


def test_the_newest_is_a_release_while_there_is_one() -> None:
    assert row().newest == "1.3.1"
    assert row(templates=[CATALOG[2]]).newest == "1.4.0-rc1"


def policy() -> WindowPolicy:
    weekly = '{"days": ["Sun"], "begin": "14:00:00+00:00", "end": "17:00:00+00:00"}'
    found = read_policy(f'{{"rules": [], "default": {weekly}}}')
    assert isinstance(found, WindowPolicy)
    return found


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (
            True,
            (
                "Awaiting maintenance window for the upgrade 1.2.0 → 1.3.1: the next window is Sun "
                "2026-11-22 14:00 to Sun 17:00 UTC"
            ),
        ),
        (False, "Awaiting maintenance window for the upgrade 1.2.0 → 1.3.1: the next window is unknown"),
    ],
)
def test_56_waiting_for_a_maintenance_window(known: bool, words: str) -> None:
    found = row(
        CatalogOptions(rules=ControllerSettings(windows=policy() if known else None)),
        templates=[template("mod", "1.3.1", requiresDowntime=True)],
        kymas=[managed("1.2.0", maintenance=True)],
        **OLD,
    )
    assert (found.drift.kind, found.desired, found.state) == (DriftKind.AWAITING_WINDOW, "1.3.1", State.READY)
    assert (found.reason.text, found.actor) == (words, Actor.KLM)
    assert (found.drift.window is not None) is known


def test_several_resources_the_worst_first_and_all_kept() -> None:
    several = [
        resource("mod", "Ready", name="a"),
        resource("mod", "Error", name="b"),
        resource("mod", "Warning", name="c", namespace="shop"),
    ]
    found = row(kymas=[managed()], workloads=[deployment("mod", "1.3.1")], resources=several)
    assert [(item.resource.name, item.klm.state.value) for item in found.checked] == [
        ("b", "Error"),
        ("c", "Warning"),
        ("a", "Ready"),
    ]
    assert found.state is State.ERROR
    assert "(worst of 3)" in found.reason.text


def test_an_object_served_in_two_versions_counts_once() -> None:
    one = resource("mod", "Ready", uid="u-1")
    kinds = {gvk("mod"): (one,), GroupVersionKind(gvk("mod").group, "v1", gvk("mod").kind): (one,)}
    found = build_catalog(snapshot(templates=CATALOG, release_metas=[META], module_resources=kinds), NOW).row("mod")
    assert found is not None
    assert len(found.checked) == 1


RULED = [
    {"jsonPath": "status.a", "value": "1", "mappedState": "Ready"},
    {"jsonPath": "status.b", "value": "2", "mappedState": "Ready"},
    {"jsonPath": "status.a", "value": "x", "mappedState": "Error"},
]


def test_rules_decide_and_differing_modes_are_a_problem() -> None:
    half = {**resource("mod", None), "status": {"a": "1"}}
    objects: dict[str, Any] = {
        "templates": [template("mod", "1.3.1", customStateCheck=RULED)],
        "workloads": [deployment("mod", "1.3.1")],
        "resources": [half],
    }
    found = row(**objects)
    assert (found.state, found.state_source) == (State.READY, StateSource.RULES)
    assert [item.klm.state.value for item in found.checked] == ["Ready"]
    assert [item.strict.state.value for item in found.checked] == ["Processing"]
    assert any(
        "says Ready, by the documentation of customStateCheck it is Processing" in problem.message
        for problem in found.problems
    )


def test_the_gate_holds_the_rules_back() -> None:
    red = {**resource("mod", None), "status": {"a": "x"}}
    manager = deployment("mod", "1.3.1", ready=False)
    manager["status"]["conditions"][0]["lastTransitionTime"] = stamp(10)
    found = row(templates=[template("mod", "1.3.1", customStateCheck=RULED)], workloads=[manager], resources=[red])
    assert found.evaluation is not None
    assert found.evaluation.message == "module operator deployment is not ready"
    assert found.state is State.PROCESSING


MANIFEST_RULES = [("status.z", "Ready"), ("y", "Error")]


def test_the_rules_of_the_manifest_come_before_those_of_the_template() -> None:
    text = (
        '[{"jsonPath":"status.z","value":"q","mappedState":"Ready"},{"jsonPath":"y","value":"q","mappedState":"Error"}]'
    )
    annotated = manifest("mod", "1.3.1", annotations={"operator.kyma-project.io/custom-state-check": text})
    ready = {**resource("mod", None), "status": {"z": "q"}}
    found = row(kymas=[managed()], manifests=[annotated], workloads=[deployment("mod", "1.3.1")], resources=[ready])
    assert (found.state, found.state_source) == (State.READY, StateSource.RULES)


def test_who_disagrees_is_said() -> None:
    seen = see(
        kymas=[managed()],
        manifests=[manifest("mod", "1.3.1", "Processing")],
        workloads=[deployment("mod", "1.3.1")],
        resources=[resource("mod", "Warning")],
    )
    found = seen.row("mod")
    assert found is not None
    assert (found.reports.kyma, found.reports.manifest, found.reports.resource) == ("Ready", "Processing", "Warning")
    assert found.reports.disagree
    said = (
        "the Kyma says Ready, the Manifest says Processing, the module CR says Warning. "
        "Warning is displayed: the worst state counts"
    )
    assert said in [problem.message for problem in seen.problems]


def test_an_error_that_does_not_count_yet_is_not_called_the_worst() -> None:
    starting = deployment("mod", "1.3.1", age=5) | {"status": {}}
    module = row(
        kymas=[managed()],
        manifests=[manifest("mod", "1.3.1", "Error")],
        workloads=[starting],
        resources=[resource("mod", "Processing")],
    )
    assert module.disagreement.endswith(
        "Processing is displayed: an Error of lifecycle-manager counts once the manager has started"
    )


@pytest.mark.parametrize(
    ("feed", "state", "presence"),
    [
        ("deployments.apps", FeedState.FORBIDDEN, Presence.UNKNOWN),
        ("deployments.apps", FeedState.SYNCING, Presence.UNKNOWN),
        ("deployments.apps", FeedState.FAILED, Presence.UNKNOWN),
        ("deployments.apps", FeedState.LIVE, Presence.NOT_INSTALLED),
        ("deployments.apps", FeedState.STALE, Presence.NOT_INSTALLED),
        ("mods.operator.kyma-project.io", FeedState.FORBIDDEN, Presence.UNKNOWN),
        ("mods.operator.kyma-project.io", FeedState.ABSENT, Presence.NOT_INSTALLED),
        ("customresourcedefinitions.apiextensions.k8s.io", FeedState.FORBIDDEN, Presence.UNKNOWN),
    ],
)
def test_49_what_may_not_be_read_is_unknown_and_not_absent(feed: str, state: FeedState, presence: Presence) -> None:
    seen = build_catalog(snapshot(templates=CATALOG, release_metas=[META], feeds={feed: Feed(state)}), NOW)
    found = seen.row("mod")
    assert found is not None
    assert found.presence is presence
    said = [problem.object for problem in seen.problems]
    assert (feed in said) is (state in (FeedState.FORBIDDEN, FeedState.FAILED, FeedState.STALE))


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        (
            [{"type": "ModuleCR", "status": "True"}],
            "Action needed: the module CR is missing; lifecycle-manager does not create it again. Create it to use the "
            "module (`kymatui edit mod`).",
        ),
        (
            [{"type": "ModuleCR", "status": "False"}],
            "The module CR is missing: lifecycle-manager has not created it yet",
        ),
        (
            [],
            "The module CR is missing; lifecycle-manager creates it with the next version. Create it to use the module "
            "(`kymatui edit mod`).",
        ),
    ],
)
def test_42_whether_a_deleted_resource_comes_back(conditions: list[Json], words: str) -> None:
    applied = manifest("mod", "1.3.1")
    applied["status"]["conditions"] = conditions
    found = row(kymas=[managed()], manifests=[applied], workloads=[deployment("mod", "1.3.1")])
    assert found.reason.text == words


REMOVE_LABEL = "`kymatui unpause mod`"


def test_55_a_skipped_manifest_keeps_a_disabled_module() -> None:
    skipped = manifest("mod", "1.3.1")
    skipped["metadata"]["labels"].update(labels(skip_reconciliation="true"))
    gone = kyma(status=[report("mod", "1.3.1", "Deleting")])
    found = row(kymas=[gone], manifests=[skipped], workloads=[deployment("mod", "1.3.1")], resources=[resource("mod")])
    assert (found.reason.text, found.actor) == (
        (
            "Action needed: Manifest kyma-system/default-mod-1 is paused by the label skip-reconciliation; "
            f"lifecycle-manager does not uninstall the module. Remove the label to resume ({REMOVE_LABEL})."
        ),
        Actor.YOU,
    )


def test_55_a_skipped_manifest_keeps_a_module_behind() -> None:
    skipped = manifest("mod", "1.3.1")
    skipped["metadata"]["labels"].update(labels(skip_reconciliation="true"))
    found = row(kymas=[managed()], manifests=[skipped], **OLD)
    assert found.drift.kind is DriftKind.BEHIND
    assert (found.reason.text, found.actor) == (
        (
            "Action needed: Manifest kyma-system/default-mod-1 is paused by the label skip-reconciliation; running "
            f"1.2.0, expected 1.3.1. Remove the label to resume ({REMOVE_LABEL})."
        ),
        Actor.YOU,
    )


def test_a_kyma_whose_state_does_not_add_up_is_said() -> None:
    seen = see(kymas=[managed(state="Warning")], **RUNNING)
    assert seen.kyma is not None
    assert (seen.kyma.state, seen.kyma.expected) == ("Ready", State.WARNING)
    said = "Kyma kyma-system/default reports Ready, but its modules and conditions imply Warning"
    assert said in [problem.message for problem in seen.problems]


def test_a_mandatory_module_is_shown_and_managed() -> None:
    found = row(
        release_metas=[meta("mod", mandatory={"version": "1.3.1"})],
        kymas=[kyma()],
        manifests=[manifest("mod", "1.3.1")],
        **RUNNING,
    )
    assert (found.mandatory, found.managed, found.channel, found.presence) == (True, True, "", Presence.ENABLED)
    assert (found.desired, found.drift.kind, found.state) == ("1.3.1", DriftKind.UP_TO_DATE, State.READY)


def test_a_mandatory_module_that_is_not_there_waits_for_lifecycle_manager() -> None:
    found = row(release_metas=[meta("mod", mandatory={"version": "1.3.1"})], kymas=[kyma()])
    assert (found.presence, found.desired) == (Presence.NOT_INSTALLED, "1.3.1")
    assert (found.reason.text, found.actor) == ("Mandatory, but lifecycle-manager has not installed it yet", Actor.KLM)


@pytest.mark.parametrize(
    ("tag", "words"),
    [
        ("latest", "latest installed, which cannot be compared with 1.3.1"),
        ("", "Installed version: unknown (no image or report names it)"),
    ],
)
def test_58_a_version_that_nobody_names(tag: str, words: str) -> None:
    unnamed = deployment("mod", tag, image=f"reg:5000/x/mgr{':' + tag if tag else ''}")
    found = row(workloads=[unnamed], resources=[resource("mod")])
    assert (found.installed, found.drift.kind, found.reason.text) == (tag, DriftKind.UNKNOWN, words)


def test_a_direct_installation_outside_the_channel_is_compared_with_the_newest() -> None:
    found = row(release_metas=[meta("mod", {"fast": "1.3.1"})], **OLD)
    assert (found.desired, found.drift.kind) == ("1.3.1", DriftKind.BEHIND)
    absent = row(release_metas=[meta("mod", {"fast": "1.3.1"})])
    assert (absent.desired, absent.reason.text) == (
        "",
        "Not installed, not available: channel regular has no version of the module (available in: fast)",
    )


def test_beta_and_internal_are_shown() -> None:
    found = row(templates=[template("mod", "1.3.1", labelled=labels(beta="True", internal="true"))])
    assert (found.beta, found.internal) == (True, True)


def test_a_community_module_has_no_channel_and_wants_its_newest() -> None:
    offered = [community_template("mod", version) for version in ("0.11.0", "0.14.0", "0.15.0-rc1")]
    found = row(
        templates=offered, release_metas=[], workloads=[deployment("mod", "0.11.0")], resources=[resource("mod")]
    )
    assert (found.origin, found.channel, dict(found.channels)) == (CatalogOrigin.COMMUNITY, "", {})
    assert (found.installed, found.desired, found.newest, str(found.drift.distance)) == (
        "0.11.0",
        "0.14.0",
        "0.14.0",
        "3 minors",
    )
    assert (found.refusal, found.resolution.refusal is None) == (None, False), "nobody looks for it in the Kyma's way"
    marks = {offer.version: found.offer_marks(offer) for offer in found.offers}
    assert marks == {"0.11.0": (OfferMark.INSTALLED,), "0.14.0": (OfferMark.DESIRED,), "0.15.0-rc1": ()}


def test_a_module_is_shown_once_though_both_catalogs_have_it() -> None:
    seen = see(templates=[*CATALOG, community_template("mod", "1.5.0")], kymas=[managed()], **RUNNING)
    assert [found.name for found in seen.rows] == ["mod"]
    (found,) = seen.rows
    assert (found.origin, found.newest, found.desired) == (CatalogOrigin.KYMA, "1.5.0", "1.3.1")
    assert [offer.version for offer in found.offers if offer.origin is CatalogOrigin.COMMUNITY] == ["1.5.0"]


def test_two_managers_of_one_module_are_a_conflict() -> None:
    elsewhere = community_template("mod", "0.9.0")
    elsewhere["spec"]["manager"]["namespace"] = "mod-system"
    managers = [deployment("mod", "1.3.1"), deployment("mod", "0.9.0", namespace="mod-system")]
    found = row(templates=[*CATALOG, elsewhere], kymas=[managed()], workloads=managers, resources=[resource("mod")])
    assert (found.presence, found.installed) == (Presence.CONFLICT, "1.3.1")
    assert "Deployment mod-system/mod-manager" in found.reason.text


def test_a_manager_that_was_renamed_between_versions_is_no_conflict() -> None:
    renamed = template("mod", "1.2.0")
    renamed["spec"]["manager"]["name"] = "old-manager"
    managers = [deployment("mod", "1.3.1"), deployment("mod", "1.2.0", name="old-manager")]
    found = row(templates=[renamed, CATALOG[1]], kymas=[managed()], workloads=managers, resources=[resource("mod")])
    assert (found.presence, found.installed) == (Presence.ENABLED, "1.3.1")
    only_old = row(templates=[renamed, CATALOG[1]], kymas=[managed()], workloads=managers[1:])
    assert (only_old.installed, only_old.drift.kind) == ("1.2.0", DriftKind.BEHIND)


def test_a_module_that_was_handed_over_is_no_conflict() -> None:
    writers = [{"manager": "kymatui"}, {"manager": "declarative.kyma-project.io/applier"}]
    workloads = [deployment("mod", "1.3.1", managedFields=writers)]
    assert row(kymas=[managed()], workloads=workloads, resources=[resource("mod")]).presence is Presence.ENABLED


def test_in_a_control_plane_the_workloads_are_elsewhere() -> None:
    owner = managed()
    owner["metadata"].update(namespace="kcp-system", name="runtime-1")
    objects = [
        {**raw, "metadata": {**raw["metadata"], "namespace": "kcp-system", "labels": {}}} for raw in (CATALOG[1], META)
    ]
    applied = manifest("mod", "1.3.1", owner="runtime-1", namespace="kcp-system")
    foreign = manifest("mod", "0.0.1", "Error", owner="runtime-2", namespace="kcp-system")
    found = row(templates=objects[:1], release_metas=objects[1:], kymas=[owner], manifests=[foreign, applied])
    assert (found.origin, found.installed, found.drift.kind) == (CatalogOrigin.KYMA, "1.3.1", DriftKind.UP_TO_DATE)
    assert (found.state, found.manifest is not None) == (State.READY, True)


def test_the_kyma_is_chosen() -> None:
    other = kyma(name="other", namespace="kyma-system", state="Error")
    seen = see(kymas=[other, kyma()])
    assert seen.kyma is not None
    assert seen.kyma.ref.name == "default"


@pytest.mark.parametrize(("value", "skipped"), [("true", True), ("True", True), ("false", False)])
def test_55_a_skipped_kyma_is_said(value: str, skipped: bool) -> None:
    seen = see(kymas=[kyma(labelled=labels(skip_reconciliation=value))])
    assert seen.kyma is not None
    assert seen.kyma.skipped is skipped
    assert any("skip label" in problem.message for problem in seen.problems) is skipped


def test_03_a_kyma_in_the_channel_none() -> None:
    seen = see(kymas=[kyma([{"name": "mod"}], channel="None")])
    assert seen.problems[0].text.endswith(
        "spec.channel is none, which is not a channel. Set a channel (`kymatui edit --kyma`)."
    )
    assert seen.rows[0].state is State.ERROR
    assert seen.problems[0].severity is Severity.ERROR


def test_age_and_problem_flags() -> None:
    found = row(
        kymas=[managed()], workloads=[deployment("mod", "1.3.1", age=3600 * 24 * 41)], resources=[resource("mod")]
    )
    assert found.age(NOW) == 3600 * 24 * 41
    assert found.reason.severity is Severity.INFO
    assert see(**OLD).problem_modules == frozenset()
    assert see(**OLD).update_count == 1
    assert row().age(NOW) is None


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        pytest.param({"jsonPath": "c", "value": "d", "mappedState": "Processing"}, False, id="a rule without effect"),
        pytest.param(
            {"jsonPath": "$.c", "value": "d", "mappedState": "Ready"}, True, id="a path that is read otherwise"
        ),
    ],
)
def test_a_doubt_about_rules_is_a_problem_unless_it_is_harmless(extra: Json, problem: bool) -> None:
    doubtful = template("mod", "1.3.1", customStateCheck=[*RULED, extra])
    done = {**resource("mod", None), "status": {"a": "1", "b": "2"}, "c": "d"}
    found = row(templates=[doubtful], workloads=[deployment("mod", "1.3.1")], resources=[done])
    assert found.state is State.READY
    assert len(found.problems) >= 1
    seen = see(templates=[doubtful], workloads=[deployment("mod", "1.3.1")], resources=[done])
    assert ("mod" in seen.problem_modules) is problem


def test_an_unsettled_tag_shows_itself() -> None:
    commit = "49b1192071ec05bfdd18c1f667544ac34aa927a1"
    found = row(workloads=[deployment("mod", commit)], resources=[resource("mod")])
    assert (found.installed, found.drift.kind) == (commit, DriftKind.UNKNOWN)
    shipped = {("mod", "1.3.1"): [deployment("mod", commit)]}
    named = row(
        CatalogOptions(raw_manifests=shipped), workloads=[deployment("mod", commit)], resources=[resource("mod")]
    )
    assert (named.installed, named.drift.kind) == ("1.3.1", DriftKind.UP_TO_DATE)


def test_a_kyma_that_may_not_be_read_leaves_its_modules_unknown() -> None:
    hidden = {"kymas.operator.kyma-project.io": Feed(FeedState.FORBIDDEN)}
    absent, there = row(feeds=hidden), row(feeds=hidden, **OLD)
    assert absent.presence is Presence.UNKNOWN
    assert there.reason.text == (
        "1.2.0 installed; managed by: forbidden (you may not list kymas.operator.kyma-project.io)"
    )


def test_a_catalog_that_may_not_be_read_refuses_nothing() -> None:
    hidden = {"modulereleasemetas.operator.kyma-project.io": Feed(FeedState.FORBIDDEN)}
    found = row(templates=[], release_metas=[], kymas=[kyma([{"name": "mod"}])], feeds=hidden)
    assert found.state is State.UNKNOWN
    assert found.reason.text.startswith(
        "Expected version unknown: catalog forbidden (you may not list modulereleasemetas"
    )
    assert found.reason.severity is not Severity.ERROR
    assert found.reason.actor is Actor.CLUSTER, "the catalog may be right"
    loading = {"modulereleasemetas.operator.kyma-project.io": Feed(FeedState.SYNCING)}
    late = row(templates=[], release_metas=[], kymas=[kyma([{"name": "mod"}])], feeds=loading)
    assert late.reason.actor is Actor.NOBODY


def test_70_a_manifest_that_no_kyma_asks_for_is_orphaned() -> None:
    seen = see(kymas=[kyma()], manifests=[manifest("mod", "1.3.1")])
    said = (
        "Manifest kyma-system/default-mod-1 is orphaned: the Kyma neither requests nor reports the module. "
        "Enable the module, or delete the Manifest (`kymatui enable mod`)."
    )
    assert [problem.text for problem in seen.problems].count(said) == 1


def test_a_kyma_that_is_being_deleted_is_said() -> None:
    owner = kyma()
    owner["metadata"].update(deletionTimestamp=stamp(60), finalizers=["operator.kyma-project.io/Kyma"])
    seen = see(kymas=[owner])
    assert seen.kyma is not None
    assert seen.kyma.deleting
    assert "(finalizers: operator.kyma-project.io/Kyma)" in seen.problems[0].message


def test_12_a_module_that_is_not_allowed_any_more_is_announced_as_leaving() -> None:
    found = row(templates=[template("mod", "1.3.1", labelled=labels(beta="true"))], kymas=[managed()], **RUNNING)
    assert found.reason.text == (
        "Action needed: lifecycle-manager uninstalls the module, because this Kyma may not use it: it is a beta "
        "module, and the Kyma is not labelled beta. Allow beta modules, or disable the module "
        "(`kymatui label beta=true`)."
    )
    assert found.reason.severity is Severity.ERROR


HIDDEN_KYMA = {"kymas.operator.kyma-project.io": Feed(FeedState.FORBIDDEN)}


def test_where_the_kyma_may_not_be_read_no_channel_is_guessed() -> None:
    found = row(feeds=HIDDEN_KYMA, **OLD)
    assert (found.channel, found.desired, found.installed, found.drift.kind) == ("", "", "1.2.0", DriftKind.UNKNOWN)
    assert dict(found.channels) == {"regular": "1.3.1", "fast": "1.3.1"}, "what may be read is shown"


def test_where_the_kyma_may_not_be_read_its_manifest_names_the_channel() -> None:
    applied = manifest("mod", "1.2.0", labels=labels(kyma_name="default", module_name="mod", channel="fast"))
    found = row(feeds=HIDDEN_KYMA, manifests=[applied], **OLD)
    assert (found.channel, found.desired, found.managed) == ("fast", "1.3.1", True)
    assert found.drift.kind is DriftKind.BEHIND


def test_community_modules_need_no_kyma_to_be_compared() -> None:
    found = see(feeds=HIDDEN_KYMA, templates=[community_template("free", "2.0.0")], release_metas=[]).row("free")
    assert found is not None
    assert (found.origin, found.desired) == (CatalogOrigin.COMMUNITY, "2.0.0")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (FeedState.FORBIDDEN, "forbidden (you may not list deployments.apps)"),
        (FeedState.SYNCING, "loading (deployments.apps)"),
        (FeedState.FAILED, "unknown (could not list deployments.apps)"),
    ],
)
def test_what_is_not_seen_stands_beside_what_is_well(state: FeedState, words: str) -> None:
    hidden = {"deployments.apps": Feed(state)}
    found = row(kymas=[managed()], feeds=hidden, resources=[resource("mod")])
    assert found.reason.text == f"1.3.1 reported; running version: {words}"


def test_a_catalog_of_one_module_has_the_row_that_the_whole_has() -> None:
    objects = [kyma([{"name": "keda"}], status=[report("keda", "1.0.0")])]
    templates = [template("keda", "1.0.0"), template("istio", "1.0.0")]
    metas = [meta(name, {"regular": "1.0.0"}) for name in ("keda", "istio")]
    seen = snapshot(kymas=objects, templates=templates, release_metas=metas)
    whole = build_catalog(seen, NOW)
    for name in ("keda", "istio"):
        one = build_catalog(seen, NOW, only=name)
        assert one.rows == (whole.row(name),)
        assert (one.kyma, one.choice_refusal) == (whole.kyma, whole.choice_refusal)
    assert build_catalog(seen, NOW, only="other").rows == ()
