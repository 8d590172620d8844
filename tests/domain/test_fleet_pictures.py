"""A fleet kept up to date by what changed: no row made anew, every change told, and who waits for whom."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, FleetTracker, recent_changes, runtime_changes
from kymatui.domain.fleet.manifest_summary import ManifestSummary, read_summary
from kymatui.domain.fleet.pending_actions import pending_actions, runtime_pending_actions, runtime_reason
from kymatui.domain.fleet.runtimes import Runtime, build_fleet, metas_by_module, with_release_metas
from kymatui.domain.kubernetes.object_meta import MalformedObject
from kymatui.domain.kyma.problems import with_advice
from kymatui.domain.kyma.states import State, parse_state
from kymatui.domain.modules.presence import Presence
from kymatui.domain.modules.risks import NO_ACCESS, kyma_error_advice, kyma_error_words
from kymatui.ui.presenters.fleet.fleet_reports import problem_rows
from kymatui.ui.presenters.fleet.runtime_rows import count_runtimes
from tests.domain.builders import NOW, Json, kyma, manifest, meta, report, stamp

CONTROL = "kcp-system"
KEY = (CONTROL, "one")
NO_ACCESS_WORDS = with_advice(kyma_error_words("Error", NO_ACCESS, ()), kyma_error_advice(NO_ACCESS, "one"))
METAS = metas_by_module([meta("keda", {"regular": "1.5.0"}, namespace=CONTROL)])


def one(*reports: Json, name: str = "one", **more: object) -> Runtime:
    (found,) = build_fleet([kyma((), name=name, namespace=CONTROL, status=reports, **more)]).runtimes  # type: ignore[arg-type]
    return found


def sight(module: str, state: str, operation: str = "", ago: float = 60, **more: object) -> ManifestSummary:
    raw = manifest(module, "1.0.0", state, owner="one", namespace=CONTROL)
    condition = {"type": "Installation", "status": "True", "lastTransitionTime": stamp(ago)}
    raw["status"] |= {"conditions": [condition], "lastOperation": {"operation": operation}}
    found = read_summary(raw)
    assert found is not None
    return replace(found, **more)


def painted(painter: FleetTracker) -> FleetSnapshot:
    return painter.picture("kcp", {}, NOW)


def test_only_what_changed_becomes_another_object() -> None:
    painter = FleetTracker()
    painter.metas(METAS)
    painter.kymas({KEY: one(report("keda", "1.5.0")), (CONTROL, "two"): one(name="two")}, NOW, notice=False)
    first = painted(painter)
    assert painted(painter).runtimes is first.runtimes
    painter.kymas({KEY: one(report("keda", "1.4.0"))}, NOW, notice=True)
    second = painted(painter)
    assert second.runtimes[CONTROL, "two"] is first.runtimes[CONTROL, "two"]
    assert [module.name for module in second.runtimes[KEY].drifting] == ["keda"]
    assert [(change.what, change.before, change.after) for change in second.changes] == [("version", "1.5.0", "1.4.0")]


@pytest.mark.parametrize("manifests_first", [True, False])
@pytest.mark.parametrize("state", ["Error", "Warning"])
def test_a_module_whose_deletion_failed_is_not_counted_as_requested(state: str, manifests_first: bool) -> None:
    """Its Kyma reports the state alone; its Manifest that it is being deleted."""
    tracker = FleetTracker()
    tracker.metas(METAS)
    failed = sight("keda", state, "manager is gone", deleting=True)
    key = (failed.namespace, failed.name)
    going = {key: failed}

    def report_kyma() -> None:
        tracker.kymas({KEY: one(report("keda", "1.4.0", state), report("nats", "1.0.0"))}, NOW, notice=False)

    if manifests_first:
        tracker.manifests(going)
    report_kyma()
    if not manifests_first:
        tracker.manifests(going)
    runtime = painted(tracker).runtimes[KEY]
    assert [module.name for module in runtime.drifting] == []
    assert [module.presence for module in runtime.modules] == [Presence.DELETING, Presence.ENABLED]
    (action,) = pending_actions(painted(tracker))
    assert action.reason.startswith("lifecycle-manager cannot delete the module: ") is (state == "Error")
    tracker.manifests({key: sight("keda", state)})
    assert [module.name for module in painted(tracker).runtimes[KEY].drifting] == ["keda"]


def test_channels_are_those_of_the_catalog_and_of_what_runs() -> None:
    """A fleet whose Kymas are all in one channel can be moved to another one."""
    tracker = FleetTracker()
    metas = [meta("keda", {"regular": "1.5.0", "fast": "1.6.0"}, namespace=CONTROL)]
    tracker.metas(metas_by_module(metas))
    tracker.kymas({KEY: one(report("keda", "1.5.0", channel="old"))}, NOW, notice=False)
    assert painted(tracker).channels == {"regular", "fast", "old"}


def test_other_release_metas_touch_only_the_runtimes_that_they_are_about() -> None:
    painter = FleetTracker()
    with_keda, without = one(report("keda", "1.5.0")), one(report("istio", "1.0.0"), name="two")
    painter.kymas({KEY: with_keda, (CONTROL, "two"): without}, NOW, notice=False)
    painter.metas(METAS)
    found = painted(painter).runtimes
    assert found[KEY].modules[0].desired == "1.5.0"
    assert found[CONTROL, "two"] is without
    assert with_release_metas(found[KEY], METAS) is found[KEY]


@pytest.mark.parametrize("entry", [{"state": "Unmanaged"}, {"state": "Deleting"}])
def test_what_is_let_go_or_going_drifts_from_nothing(entry: Json) -> None:
    (found,) = build_fleet([kyma((), namespace=CONTROL, status=[report("keda", "1.4.0", **entry)])], []).runtimes
    assert with_release_metas(found, METAS).drifting == ()


def test_what_cannot_be_read_is_told_and_comes_back() -> None:
    painter = FleetTracker()
    bad = MalformedObject(one().ref, "its spec is no object", {})
    painter.kymas({KEY: one()}, NOW, notice=False)
    painter.kymas({KEY: bad}, NOW, notice=True)
    assert (dict(painted(painter).runtimes), painted(painter).malformed) == ({}, (bad,))
    painter.kymas({KEY: one()}, NOW, notice=True)
    assert (set(painted(painter).runtimes), painted(painter).malformed) == ({KEY}, ())


def test_manifests_are_kept_by_the_kyma_that_they_belong_to() -> None:
    painter = FleetTracker()
    keda, istio = sight("keda", "Ready"), sight("istio", "Ready")
    names = [(item.namespace, item.name) for item in (keda, istio)]
    painter.manifests(dict(zip(names, (keda, istio), strict=True)))
    assert painted(painter).manifests[KEY] == (keda, istio)
    moved = replace(istio, kyma="two")
    painter.manifests({names[1]: moved})
    assert painted(painter).manifests == {KEY: (keda,), (CONTROL, "two"): (moved,)}
    painter.manifests({names[0]: None})
    assert painted(painter).manifests[KEY] == ()


CHANGES = [
    (None, one(), [("runtime", "", "present")]),
    (one(), None, [("runtime", "present", "")]),
    (one(), one(state="Error"), [("state", "Ready", "Error")]),
    (one(), one(channel="fast"), [("channel", "regular", "fast")]),
    (one(), replace(one(), deleting=True), [("deletion", "", "requested")]),
    (one(), one(report("keda", "1.5.0")), [("module", "", "1.5.0")]),
    (one(report("keda", "1.5.0")), one(), [("module", "1.5.0", "")]),
    (one(report("keda", "1.5.0")), one(report("keda", "1.5.0", "Error")), [("state", "Ready", "Error")]),
    (one(report("keda", "1.5.0")), one(report("keda", "1.5.0")), []),
    (None, None, []),
]


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES)
def test_differences(before: Runtime | None, after: Runtime | None, expected: list[tuple[str, str, str]]) -> None:
    found = [(change.what, change.before, change.after) for change in runtime_changes(KEY, before, after, NOW)]
    assert found == expected


def test_the_last_hour_is_what_was_seen_and_before_that_what_manifests_say() -> None:
    painter = FleetTracker()
    sights = [sight("keda", "Ready", ago=120), sight("istio", "Error", ago=1800), sight("nats", "Ready", ago=7200)]
    painter.manifests({(item.namespace, item.name): item for item in sights})
    painter.kymas({KEY: one()}, NOW, notice=False)
    painter.kymas({KEY: one(state="Warning")}, NOW - 600, notice=True)
    found = [(change.module, change.what) for change in recent_changes(painted(painter), NOW)]
    assert found == [("", "state"), ("istio", "manifest")]  # keda's is of the time that was watched


def test_few_changes_are_kept() -> None:
    painter = FleetTracker(kept=2)
    for number in range(4):
        painter.kymas({KEY: one(state=f"s{number}")}, NOW + number, notice=True)
    assert [change.after for change in painted(painter).changes] == ["s3", "s2"]


KEDA = ". Read why (`kymatui module keda --remote one`)."
WAITS = [
    (one(), (), []),
    (one(report("keda", "1", "Unmanaged")), (), []),
    (one(report("keda", "1", "Warning", message="no Secret")), (), [("keda", "unknown", "no Secret")]),
    (one(report("keda", "1", "Error")), (sight("keda", "Error", "not ready"),), [("keda", "unknown", "not ready")]),
    (one(report("keda", "1", "Processing")), (), [("keda", "lifecycle-manager", f"Processing{KEDA}")]),
    (one(report("keda", "1", "Warning")), (), [("keda", "unknown", f"Warning{KEDA}")]),
    (one(report("keda", "1", "Deleting")), (sight("keda", "Deleting", "pruning"),), [("keda", "unknown", "pruning")]),
    (
        one(report("keda", "1", "Deleting")),
        (sight("keda", "Deleting", "waiting for module crs deletion"),),
        [("keda", "unknown", "lifecycle-manager waits until the CRs of keda are deleted")],
    ),
    (one(report("keda", "1", maintenance=True, message="later")), (), [("keda", "lifecycle-manager", "later")]),
    (
        replace(one(), deleting=True),
        (sight("keda", "Deleting"),),
        [("", "lifecycle-manager", "the runtime is being deleted; 1 Manifest left")],
    ),
    (one(state="Error", operation=NO_ACCESS), (), [("", "you", f"Action needed: {NO_ACCESS_WORDS}")]),
    (
        one(report("keda", "1", "Error", message=NO_ACCESS), state="Error", operation=NO_ACCESS),
        (sight("keda", "Error", "more than one secret found"),),
        [("", "you", f"Action needed: {NO_ACCESS_WORDS}")],
    ),
    (
        one(report("keda", "1", maintenance=True), state="Error"),
        (),
        [
            ("", "you", "Action needed: the Kyma itself is in Error: lifecycle-manager gives no reason"),
            ("keda", "lifecycle-manager", "Awaiting maintenance window: the upgrade needs downtime"),
        ],
    ),
    (
        one(report("keda", "1"), state="Error", operation="catalog sync failed"),
        (),
        [("", "you", "Action needed: the Kyma itself is in Error: catalog sync failed")],
    ),
]


@pytest.mark.parametrize(("runtime", "sights", "expected"), WAITS)
def test_who_waits_for_whom(
    runtime: Runtime, sights: tuple[ManifestSummary, ...], expected: list[tuple[str, str, str]]
) -> None:
    assert [(wait.module, wait.actor, wait.reason) for wait in runtime_pending_actions(runtime, sights)] == expected
    found = pending_actions(FleetSnapshot(runtimes={KEY: runtime}, manifests={KEY: sights}))
    assert [(wait.module, wait.actor, wait.reason) for wait in found] == expected


def test_a_mandatory_module_waits_though_no_kyma_names_it() -> None:
    mandatory = sight("warden", "Processing", "installing", mandatory=True)
    (found,) = pending_actions(
        FleetSnapshot(runtimes={KEY: one()}, manifests={KEY: (mandatory,)}, mandatory=frozenset({KEY}))
    )
    assert (found.module, found.actor, found.reason) == ("warden", "lifecycle-manager", "mandatory: installing")
    (found,) = pending_actions(
        FleetSnapshot(
            runtimes={KEY: one()}, manifests={KEY: (replace(mandatory, operation=""),)}, mandatory=frozenset({KEY})
        )
    )
    assert found.reason == "mandatory: Processing. Read why (`kymatui module warden --remote one`)."


@pytest.mark.parametrize("state", ["Warning", "Error", "Processing", "Deleting", "unheard of"])
def test_the_reason_of_a_runtime_has_words_after_its_module(state: str) -> None:
    found = runtime_reason(one(report("keda", "1", state), state=state))
    known = f"keda: {parse_state(state) or State.UNKNOWN}{KEDA}"
    assert found.text == known
    manifest = sight("keda", state)
    assert runtime_reason(one(report("keda", "1", state), state=state), [manifest]).text == known


def test_problems_are_those_of_kymas_of_mandatory_modules_and_kymas_that_cannot_be_read() -> None:
    painter, bad = FleetTracker(), MalformedObject(one(name="bad").ref, "its spec is no object", {})
    painter.kymas({KEY: one(), (CONTROL, "two"): one(name="two"), (CONTROL, "bad"): bad}, NOW, notice=False)
    mandatory = sight("warden", "Error", "no image", mandatory=True)
    where = (CONTROL, mandatory.name)
    painter.manifests({where: mandatory})
    found = painted(painter)
    assert (found.problem_count, found.has_problem(KEY), found.has_problem((CONTROL, "two"))) == (1, True, False)
    assert "with problems 1  malformed 1  " in count_runtimes(found, ())
    rows = [[cell.text for cell in row.cells.values()] for row in problem_rows(found)]
    malformed = (
        "Action needed: the Kyma is malformed: its spec is no object. Correct it "
        "(`kubectl edit kyma bad -n kcp-system`)."
    )
    assert [(row[0], row[2]) for row in rows] == [("one", "warden: mandatory: no image"), ("bad", malformed)]
    assert [wait.reason for wait in pending_actions(found)] == ["mandatory: no image", malformed]
    for state in ("Processing", "Ready"):
        painter.manifests({where: replace(mandatory, state=state)})
        assert painted(painter).problem_count == 0, "a rollout on its way is none"
    painter.manifests({where: mandatory})
    painter.manifests({where: None})
    painter.kymas({(CONTROL, "bad"): None}, NOW, notice=False)
    assert (painted(painter).problem_count, problem_rows(painted(painter))) == (0, [])


@pytest.mark.parametrize(
    ("name", "found"),
    [("one", KEY), ("kcp-system/one", KEY), ("c-1", KEY), ("id-1", KEY), ("twice", None), ("nobody", None), ("", None)],
)
def test_a_runtime_goes_by_its_name_its_shoot_and_its_id(name: str, found: tuple[str, str] | None) -> None:
    first = replace(one(), shoot="c-1", labels={"kyma-project.io/runtime-id": "id-1"})
    others = {(CONTROL, other): replace(one(name=other), shoot="twice") for other in ("two", "three")}
    runtime = FleetSnapshot(runtimes={KEY: first, **others}).named(name)
    assert (runtime and (runtime.ref.namespace, runtime.name)) == found
