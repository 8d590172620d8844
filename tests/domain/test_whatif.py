"""A change tried on a fleet: the outcome of each module, and what holds for every fleet and change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kymatui.domain.fleet.manifest_summary import group_summaries, read_summary
from kymatui.domain.kyma.maintenance_windows import ControllerSettings, WindowPolicy, policy_document, read_policy
from kymatui.domain.whatif.fleet_objects import (
    FORMAT,
    CatalogChange,
    FleetObjects,
    FleetObjectsBuilder,
    apply_change,
    build_fleet_objects,
    fleet_document,
    manifest_choice,
    read_fleet_document,
)
from kymatui.domain.whatif.forecast import Forecast, ForecastMemory, ModuleForecast, foresee
from kymatui.domain.whatif.module_results import ResultKind, ResultReason
from kymatui.domain.whatif.summary import (
    count_kinds,
    forecast_notes,
    group_forecast,
    propose_canaries,
    reason_words,
    version_moves,
)
from kymatui.domain.whatif.version_lines import CellKind, version_lines
from tests.domain.builders import NOW, PREFIX, kyma, labels, manifest, meta, old_template, report, template

Json = dict[str, Any]
SPACE = "kcp-system"
POLICY = '{"rules": [], "default": {"days": ["Sun"], "begin": "04:00:00+00:00", "end": "08:00:00+00:00"}}'
BETA = labels(beta="true")


def a_meta(module: str, channels: Mapping[str, str] | None = None, **spec: Any) -> Json:
    return meta(module, channels, namespace=SPACE, **spec)


def a_template(module: str, version: str, **more: Any) -> Json:
    return template(module, version, namespace=SPACE, **more)


def runtime(name: str, *status: Json, labelled: Mapping[str, str] | None = None, active: str = "regular") -> Json:
    """A Kyma as a control plane has it: no modules in its spec, and the runtime's in its status."""
    found = kyma((), name=name, namespace=SPACE, status=status, labelled=labelled)
    found["status"]["activeChannel"] = active
    return found


def fleet(
    *objects: Json, windows: WindowPolicy | None = None, restricted: frozenset[str] = frozenset()
) -> FleetObjects:
    kymas = [raw for raw in objects if raw["kind"] == "Kyma"]
    catalog = [raw for raw in objects if raw["kind"] != "Kyma"]
    return build_fleet_objects("kcp", kymas, catalog, {SPACE: ControllerSettings(windows)}, NOW)


def policy() -> WindowPolicy:
    found = read_policy(POLICY)
    assert isinstance(found, WindowPolicy)
    return found


def only(found: Forecast) -> ModuleForecast:
    (entry,) = found.changed
    return entry


def keda(**channels: str) -> Json:
    return a_meta("keda", channels)


BASE = (
    keda(regular="1.0.0", fast="1.1.0"),
    *(a_template("keda", version) for version in ("1.0.0", "1.1.0")),
    runtime("a", report("keda", "1.0.0")),
)


def test_a_newer_version_in_the_channel_is_an_upgrade() -> None:
    entry = only(foresee(fleet(*BASE), CatalogChange((keda(regular="1.1.0"),)), NOW))
    assert (entry.kind, entry.installed, entry.then.version) == (ResultKind.UPGRADE, "1.0.0", "1.1.0")
    assert (entry.today.kind, entry.today.version) == (ResultKind.KEEP, "1.0.0")


def test_an_older_version_in_the_channel_is_refused() -> None:
    change = CatalogChange((keda(regular="0.9.0"), a_template("keda", "0.9.0")))
    entry = only(foresee(fleet(*BASE), change, NOW))
    assert (entry.kind, entry.then.reason) == (ResultKind.HELD_BACK, ResultReason.DOWNGRADE)
    assert (entry.installed, entry.then.version) == ("1.0.0", "0.9.0")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (CatalogChange((keda(fast="1.1.0"),)), ResultReason.CHANNEL_MISSING),
        (CatalogChange((keda(regular="2.0.0"),)), ResultReason.TEMPLATE_MISSING),
        (CatalogChange((keda(),)), ResultReason.NO_CHANNELS),
        (CatalogChange(deleted=frozenset({("ModuleTemplate", SPACE, "keda-1.0.0")})), ResultReason.TEMPLATE_MISSING),
        (CatalogChange(deleted=frozenset({("ModuleReleaseMeta", SPACE, "keda")})), ResultReason.NO_RELEASE_META),
    ],
)
def test_what_cannot_be_resolved_becomes_an_error(change: CatalogChange, reason: ResultReason) -> None:
    entry = only(foresee(fleet(*BASE), change, NOW))
    assert (entry.kind, entry.then.reason) == (ResultKind.ERROR, reason)


def test_two_old_templates_of_a_channel_are_ambiguous() -> None:
    one = old_template("keda-regular", "keda", "regular", "1.0.0", namespace=SPACE)
    other = old_template("keda-other", "keda", "regular", "1.0.1", namespace=SPACE)
    entry = only(foresee(fleet(one, runtime("a", report("keda", "1.0.0"))), CatalogChange((other,)), NOW))
    assert (entry.kind, entry.then.reason) == (ResultKind.ERROR, ResultReason.AMBIGUOUS)


@pytest.mark.parametrize(("label", "reason"), [("beta", ResultReason.BETA), ("internal", ResultReason.INTERNAL)])
def test_a_label_on_the_template_uninstalls_where_the_kyma_lacks_it(label: str, reason: ResultReason) -> None:
    allowed = runtime("b", report("keda", "1.0.0"), labelled=labels(**{label: "true"}))
    change = CatalogChange((a_template("keda", "1.0.0", labelled=labels(**{label: "true"})),))
    entry = only(foresee(fleet(*BASE, allowed), change, NOW))
    assert (entry.runtime, entry.kind, entry.then.reason) == ((SPACE, "a"), ResultKind.UNINSTALL, reason)


def test_a_label_that_is_removed_from_the_kymas_uninstalls() -> None:
    beta = a_template("keda", "1.0.0", labelled=BETA)
    state = fleet(keda(regular="1.0.0"), beta, runtime("a", report("keda", "1.0.0"), labelled=BETA))
    entry = only(foresee(state, CatalogChange(labels={f"{PREFIX}beta": None}), NOW))
    assert (entry.kind, entry.then.reason) == (ResultKind.UNINSTALL, ResultReason.BETA)


def test_a_restricted_module_is_uninstalled_where_its_selector_does_not_match() -> None:
    chosen = a_meta("keda", {"regular": "1.0.0"}, kymaSelector={"matchLabels": {"team": "blue"}})
    state = fleet(*BASE, runtime("b", report("keda", "1.0.0"), labelled={"team": "blue"}))
    found = foresee(state, CatalogChange((chosen,), restricted=frozenset({"keda"})), NOW)
    assert [(one.runtime[1], one.kind, one.then.reason) for one in found.changed] == [
        ("a", ResultKind.UNINSTALL, ResultReason.SELECTOR)
    ]
    assert only(foresee(fleet(*BASE), CatalogChange((chosen,)), NOW)).then.reason is ResultReason.NOT_RESTRICTED


def test_an_upgrade_with_downtime_waits_for_the_window_of_the_policy() -> None:
    change = CatalogChange((keda(regular="1.1.0"), a_template("keda", "1.1.0", requiresDowntime=True)))
    entry = only(foresee(fleet(*BASE, windows=policy()), change, NOW))
    assert (entry.kind, entry.then.reason, entry.then.downtime) == (ResultKind.WAIT, ResultReason.WINDOW, True)
    assert entry.then.window is not None
    assert entry.then.window.begin > NOW
    unknown = only(foresee(fleet(*BASE), change, NOW))
    assert (unknown.kind, unknown.then.window) == (ResultKind.WAIT, None)
    with_policy = only(foresee(fleet(*BASE), replace(change, windows=policy()), NOW))
    assert with_policy.then.window == entry.then.window


def test_a_mandatory_module_is_installed_upgraded_and_deleted_everywhere() -> None:
    warden = {
        version: (a_meta("warden", None, mandatory={"version": version}), a_template("warden", version))
        for version in ("1.0.0", "1.1.0")
    }
    installed = only(foresee(fleet(*BASE), CatalogChange(warden["1.0.0"]), NOW))
    assert (installed.module, installed.kind, installed.then.version) == ("warden", ResultKind.INSTALL, "1.0.0")
    state = fleet(*BASE, *warden["1.0.0"])
    upgraded = only(foresee(state, CatalogChange(warden["1.1.0"]), NOW))
    assert (upgraded.kind, upgraded.installed, upgraded.then.version) == (ResultKind.UPGRADE, "1.0.0", "1.1.0")
    gone = CatalogChange(deleted=frozenset({("ModuleReleaseMeta", SPACE, "warden")}))
    deleted = only(foresee(state, gone, NOW))
    assert (deleted.kind, deleted.then.reason) == (ResultKind.UNINSTALL, ResultReason.MANDATORY_DELETED)


def test_a_missing_template_of_a_mandatory_module_blocks_the_others() -> None:
    state = fleet(
        *BASE,
        a_meta("warden", None, mandatory={"version": "1.0.0"}),
        a_template("warden", "1.0.0"),
        a_template("warden", "1.1.0"),
    )
    change = CatalogChange(
        (a_meta("warden", None, mandatory={"version": "1.1.0"}), a_meta("guard", None, mandatory={"version": "9.9.9"}))
    )
    found = {one.module: (one.kind, one.then.reason) for one in foresee(state, change, NOW).changed}
    assert found == {
        "guard": (ResultKind.ERROR, ResultReason.TEMPLATE_MISSING),
        "warden": (ResultKind.ERROR, ResultReason.MANDATORY_BLOCKED),
    }


def test_a_kyma_moves_to_another_channel_and_keeps_its_modules() -> None:
    document = {"kind": "Kyma", "metadata": {"name": "a", "namespace": SPACE}, "spec": {"channel": "fast"}}
    entry = only(foresee(fleet(*BASE), CatalogChange((document,)), NOW))
    assert (entry.kind, entry.then.version, entry.then.channel) == (ResultKind.UPGRADE, "1.1.0", "fast")


def test_a_module_that_a_kyma_no_longer_requests_is_uninstalled() -> None:
    document = {"kind": "Kyma", "metadata": {"name": "a", "namespace": SPACE}, "spec": {"modules": []}}
    entry = only(foresee(fleet(*BASE), CatalogChange((document,)), NOW))
    assert (entry.kind, entry.then.reason) == (ResultKind.UNINSTALL, ResultReason.NOT_REQUESTED)


def test_a_kyma_that_only_the_change_has_gets_its_modules_installed() -> None:
    new = kyma([{"name": "keda"}], name="new", namespace=SPACE)
    found = foresee(fleet(*BASE), CatalogChange((new,)), NOW)
    assert found.added == ((SPACE, "new"),)
    assert (only(found).kind, only(found).then.version) == (ResultKind.INSTALL, "1.0.0")


def test_a_module_in_error_today_recovers() -> None:
    state = fleet(keda(fast="1.1.0"), a_template("keda", "1.0.0"), runtime("a", report("keda", "1.0.0")))
    assert only(foresee(state, CatalogChange((keda(regular="1.0.0"),)), NOW)).kind is ResultKind.RECOVER


@pytest.mark.parametrize("name", ["skip-reconciliation", "deleting"])
def test_a_kyma_that_is_not_reconciled_keeps_everything(name: str) -> None:
    raw = runtime("a", report("keda", "1.0.0"), labelled={f"{PREFIX}skip-reconciliation": "true"})
    if name == "deleting":
        raw = runtime("a", report("keda", "1.0.0"))
        raw["metadata"]["deletionTimestamp"] = "2026-11-21T10:00:00Z"
    assert foresee(fleet(*BASE[:-1], raw), CatalogChange((keda(regular="1.1.0"),)), NOW).changed == ()


def test_an_unmanaged_module_is_kept() -> None:
    raw = runtime("a", report("keda", "1.0.0", "Unmanaged", template=None))
    assert foresee(fleet(*BASE[:-1], raw), CatalogChange((keda(regular="1.1.0"),)), NOW).changed == ()


def test_the_kyma_of_a_single_cluster_has_its_own_requests() -> None:
    catalog = (meta("keda", {"regular": "1.0.0"}), template("keda", "1.0.0"), template("keda", "1.1.0"))
    single = kyma([{"name": "keda"}], status=[report("keda", "1.0.0"), report("nats", "1.0.0")])
    single["status"]["activeChannel"] = "regular"
    found = foresee(fleet(*catalog, single), CatalogChange((meta("keda", {"regular": "1.1.0"}),)), NOW)
    assert [(one.module, one.kind) for one in found.changed] == [("keda", ResultKind.UPGRADE)]


def test_groups_count_runtimes_by_what_they_are() -> None:
    plans = {f"r{number}": {"kyma-project.io/broker-plan-name": plan} for number, plan in enumerate("xxy")}
    kymas = [runtime(name, report("keda", "1.0.0"), labelled=labelled) for name, labelled in plans.items()]
    found = foresee(fleet(*BASE[:-1], *kymas), CatalogChange((keda(regular="1.1.0"),)), NOW)
    assert [(one.group, len(one.runtimes)) for one in group_forecast(found, "plan")] == [("x", 2), ("y", 1)]
    (whole,) = group_forecast(found)
    assert (whole.group, len(whole.runtimes), whole.kind) == ("", 3, ResultKind.UPGRADE)
    assert count_kinds(found.changed) == {ResultKind.UPGRADE: 3}


def test_runtimes_in_different_channels_are_in_different_groups_because_the_reason_names_the_channel() -> None:
    kymas = [
        runtime("a", report("keda", "1.0.0")),
        runtime("b", report("keda", "1.0.0", channel="fast"), active="fast"),
    ]
    state = fleet(keda(regular="1.0.0", fast="1.0.0"), *BASE[1:-1], *kymas)
    groups = group_forecast(foresee(state, CatalogChange((keda(regular="1.1.0", fast="1.1.0"),)), NOW))
    assert [reason_words(one.example) for one in groups] == ["channel regular", "channel fast"]


def test_runtimes_whose_reasons_read_alike_are_one_group_in_whatever_channel() -> None:
    kymas = [
        runtime("a", report("keda", "1.0.0")),
        runtime("b", report("keda", "1.0.0", channel="fast"), active="fast"),
    ]
    state = fleet(keda(regular="1.0.0", fast="1.0.0"), *BASE[1:-1], *kymas)
    (group,) = group_forecast(foresee(state, CatalogChange(restricted=frozenset({"keda"})), NOW))
    assert (group.reason, len(group.runtimes)) == (ResultReason.SELECTOR_MISSING, 2)


def test_moves_have_the_template_of_today_and_the_one_of_the_change() -> None:
    change = CatalogChange((keda(regular="1.1.0"), a_template("keda", "1.0.0", labelled={"new": "x"})))
    state = fleet(*BASE)
    (move,) = version_moves(state, change, foresee(state, change, NOW))
    assert (move.module, move.installed, move.version, move.runtimes) == ("keda", "1.0.0", "1.1.0", 1)
    assert move.before is not None
    assert move.after is not None
    assert "new" not in move.before.meta.labels
    assert move.after.version == "1.1.0"
    assert version_moves(state, CatalogChange(), foresee(state, CatalogChange(), NOW)) == ()


def test_a_canary_stands_for_the_runtimes_like_it_and_is_the_smallest_of_them() -> None:
    kymas = [
        runtime("big", report("keda", "1.0.0"), report("nats", "1.0.0")),
        runtime("small", report("keda", "1.0.0")),
        runtime("other", report("keda", "1.0.0"), labelled={"kyma-project.io/region": "eu"}),
    ]
    found = foresee(fleet(*BASE[:-1], *kymas), CatalogChange((keda(regular="1.1.0"),)), NOW)
    assert [(one.runtime.name, one.alike) for one in propose_canaries(found)] == [("other", 1), ("small", 2)]


# for every fleet and change

MODULES = ("keda", "nats")
VERSIONS = ("1.0.0", "1.1.0", "2.0.0")
versions = st.sampled_from(VERSIONS)
flags = st.booleans()


@st.composite
def metas(draw: st.DrawFn) -> Json:
    module = draw(st.sampled_from(MODULES))
    if draw(st.integers(0, 4)) == 0:
        return a_meta(module, None, mandatory={"version": draw(versions)})
    return a_meta(module, draw(st.dictionaries(st.sampled_from(("regular", "fast")), versions)))


@st.composite
def templates(draw: st.DrawFn) -> Json:
    labelled = BETA if draw(st.integers(0, 3)) == 0 else {}
    module, version = draw(st.sampled_from(MODULES)), draw(versions)
    return a_template(module, version, labelled=labelled, requiresDowntime=draw(flags))


@st.composite
def kymas(draw: st.DrawFn) -> Json:
    reports = [report(name, draw(versions)) for name in MODULES if draw(flags)]
    name, labelled = draw(st.sampled_from("abc")), BETA if draw(flags) else {}
    return runtime(name, *reports, labelled=labelled, active=draw(st.sampled_from(("regular", "fast"))))


catalogs = st.lists(metas() | templates(), max_size=8)
COMPLETE = [
    a_template(
        module,
        version,
        requiresDowntime=version == "2.0.0",
        labelled=BETA if (module, version) == ("nats", "1.1.0") else {},
    )
    for module in MODULES
    for version in VERSIONS
]
"""The templates of every version, without which most modules would be in error."""
fleets = st.builds(
    lambda complete, objects, people, windows: fleet(
        *(COMPLETE if complete else ()), *objects, *people, windows=policy() if windows else None
    ),
    flags,
    catalogs,
    st.lists(kymas(), min_size=1, max_size=3),
    flags,
)


@st.composite
def changes(draw: st.DrawFn) -> CatalogChange:
    documents = draw(catalogs)
    if draw(flags):
        spec = {"channel": draw(st.sampled_from(("regular", "fast")))}
        documents.append({"kind": "Kyma", "metadata": {"name": "a", "namespace": SPACE}, "spec": spec})
    deleted = {("ModuleReleaseMeta", SPACE, name) for name in MODULES if draw(st.integers(0, 4)) == 0}
    labelled: dict[str, str | None] = draw(st.sampled_from(({}, {f"{PREFIX}beta": None}, {f"{PREFIX}beta": "true"})))
    return CatalogChange(tuple(documents), frozenset(deleted), labelled, policy() if draw(flags) else None)


@settings(max_examples=50, deadline=None)
@given(fleets)
def test_nothing_changes_for_an_empty_change(state: FleetObjects) -> None:
    found = foresee(state, CatalogChange(), NOW)
    assert found.changed == ()
    assert all(one.today == one.then for one in found.entries)


@settings(max_examples=50, deadline=None)
@given(fleets, changes())
def test_a_change_made_twice_is_the_change_made_once(state: FleetObjects, change: CatalogChange) -> None:
    once = apply_change(state, change)
    assert apply_change(once, change) == once
    assert foresee(once, change, NOW).changed == ()


@settings(max_examples=50, deadline=None)
@given(fleets, changes())
def test_a_kyma_in_one_namespace_does_not_feel_the_catalog_of_another(
    state: FleetObjects, change: CatalogChange
) -> None:
    apart = tuple(
        {**raw, "metadata": {**raw["metadata"], "namespace": "elsewhere"}}
        for raw in change.objects
        if raw["kind"] != "Kyma"
    )
    assert foresee(state, CatalogChange(apart), NOW).changed == ()


@settings(max_examples=50, deadline=None)
@given(fleets, changes(), st.sampled_from(MODULES))
def test_modules_that_no_document_names_keep_what_they_have(
    state: FleetObjects, change: CatalogChange, module: str
) -> None:
    own = tuple(raw for raw in change.objects if raw["kind"] != "Kyma" and raw["spec"]["moduleName"] == module)
    without_mandatory = [raw for raw in (*own, *state.catalog.values()) if "mandatory" in raw["spec"]]
    found = foresee(state, CatalogChange(own), NOW)
    if not without_mandatory:
        assert {one.module for one in found.changed} <= {module}


# while the fleet changes


@settings(max_examples=100, deadline=None)
@given(st.lists(fleets, min_size=2, max_size=3), st.lists(changes(), min_size=1, max_size=2))
def test_a_memory_changes_no_forecast(states: list[FleetObjects], made: list[CatalogChange]) -> None:
    memory, builder = ForecastMemory(), FleetObjectsBuilder()
    for state in (*states, *states[:1]):
        for change in made:
            raws, catalog = list(state.kymas.values()), list(state.catalog.values())
            fleet = builder.build("kcp", raws, catalog, state.settings, NOW)
            assert foresee(fleet, change, NOW, memory) == foresee(fleet, change, NOW)


def test_only_a_changed_kyma_is_computed_again() -> None:
    memory, builder = ForecastMemory(), FleetObjectsBuilder()
    kymas = [runtime(name, report("keda", "1.0.0")) for name in "ab"]
    settings, change = {SPACE: ControllerSettings()}, CatalogChange((keda(regular="1.1.0"),))
    first, second = (
        foresee(builder.build("kcp", raws, BASE[:-1], settings, NOW), change, NOW, memory).entries
        for raws in (kymas, [kymas[0], runtime("b", report("keda", "1.1.0"))])
    )
    assert second[0] is first[0]
    assert [one.kind for one in second] == [ResultKind.UPGRADE, ResultKind.RECOVER]


def test_a_window_that_opens_is_computed_again() -> None:
    memory, builder = ForecastMemory(), FleetObjectsBuilder()
    change = CatalogChange((keda(regular="1.1.0"), a_template("keda", "1.1.0", requiresDowntime=True)))
    fleet = builder.build("kcp", [BASE[-1]], BASE[:-1], {SPACE: ControllerSettings(policy())}, NOW)
    waiting = only(foresee(fleet, change, NOW, memory))
    assert waiting.then.window is not None
    open_at = waiting.then.window.begin + 60
    assert [only(foresee(fleet, change, at, memory)).kind for at in (NOW, open_at, NOW)] == [
        ResultKind.WAIT,
        ResultKind.UPGRADE,
        ResultKind.WAIT,
    ]


@settings(max_examples=50, deadline=None)
@given(fleets, changes())
def test_the_matrix_counts_each_module_of_each_runtime_once_today_and_once_then(
    state: FleetObjects, change: CatalogChange
) -> None:
    found = foresee(state, change, NOW)
    lines = version_lines(found)
    for kind in (CellKind.TODAY, CellKind.THEN):
        counted = sorted((one.runtime, one.module) for line in lines for one in line.entries(kind))
        assert counted == sorted((one.runtime, one.module) for one in found.entries)
    assert {(one.runtime, one.module) for line in lines for one in line.entries(CellKind.MOVES)} == {
        (one.runtime, one.module) for one in found.changed
    }
    assert all(len(line.then) - len(line.today) == line.arrivals - line.departures for line in lines)


# as a document


@settings(max_examples=50, deadline=None)
@given(fleets, changes())
def test_an_exported_fleet_gives_the_same_forecast(state: FleetObjects, change: CatalogChange) -> None:
    exported = read_fleet_document(json.loads(json.dumps(fleet_document(state))))
    assert foresee(exported, change, NOW).entries == foresee(state, change, NOW).entries


def test_an_exported_fleet_has_only_what_decides_about_modules() -> None:
    chosen = a_meta("keda", {"regular": "1.0.0"}, kymaSelector={"matchLabels": {"team": "blue"}})
    raw = runtime("a", report("keda", "1.0.0", message="jane@example.org"), labelled={"team": "x", "owner": "jane"})
    raw["metadata"] |= {"annotations": {"by": "jane"}, "managedFields": [{"manager": "jane"}]}
    raw["status"]["lastOperation"] = {"operation": "jane"}
    text = json.dumps(fleet_document(fleet(chosen, raw)))
    assert "jane" not in text
    assert '"team": "x"' in text


def test_ids_are_hashed_on_request_the_same_way_in_the_whole_document() -> None:
    ids = {"kyma-project.io/global-account-id": "acc-1", "kyma-project.io/shoot-name": "shoot-1"}
    state = fleet(*BASE[:-1], *(runtime(name, report("keda", "1.0.0"), labelled=ids) for name in ("aaa", "bbb")))
    document = fleet_document(state, b"key")
    text = json.dumps(document)
    assert not [one for one in ("acc-1", "shoot-1", "aaa", "bbb", '"cluster": "kcp"') if one in text]
    accounts = {one["metadata"]["labels"]["kyma-project.io/global-account-id"] for one in document["kymas"]}
    assert len(accounts) == 1
    assert len(read_fleet_document(document).kymas) == 2
    assert fleet_document(state, b"other") != document


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "document"),
        ({"format": "x"}, "format"),
        ({"format": FORMAT, "settings": {}, "takenAt": "x"}, "takenAt"),
        ({"format": FORMAT, "settings": [], "takenAt": 1}, "settings"),
        ({"format": FORMAT, "settings": {}, "takenAt": 1, "kymas": [1], "catalog": []}, r"kymas\[0\]"),
        ({"format": FORMAT, "settings": {"a": {"restricted": "x"}}, "takenAt": 1}, "restricted"),
        ({"format": FORMAT, "settings": {"a": {"policy": 7, "restricted": []}}, "takenAt": 1}, "policy"),
    ],
)
def test_a_document_that_is_no_fleet_is_refused(document: object, field: str) -> None:
    with pytest.raises(ValueError, match=field):
        read_fleet_document(document)


def test_a_policy_is_written_as_it_is_read() -> None:
    text = {
        "rules": [
            {
                "match": {"region": "^eu", "plan": "trial"},
                "windows": [{"days": ["Sat"], "begin": "21:00:00Z", "end": "00:30:00+02:00"}],
            }
        ],
        "default": {"days": [], "begin": "2026-01-01T00:00:00+00:00", "end": "2026-01-02T00:00:00+00:00"},
    }
    found = read_policy(json.dumps(text))
    assert isinstance(found, WindowPolicy)
    assert read_policy(json.dumps(policy_document(found))) == found


# what only Manifests tell


def held(module: str, version: str, owner: str = "a", **marks: str) -> Json:
    body = manifest(module, version, namespace=SPACE, owner=owner)
    body["metadata"]["labels"] |= labels(**marks)
    return body


def with_manifests(state: FleetObjects, *bodies: Json) -> FleetObjects:
    return replace(state, manifests=group_summaries(filter(None, map(read_summary, bodies))))


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        pytest.param(CatalogChange((keda(regular="1.1.0"),)), ResultKind.UPGRADE, id="upgrade"),
        pytest.param(
            CatalogChange((a_template("keda", "1.0.0", labelled=BETA),)), ResultKind.UNINSTALL, id="uninstall"
        ),
    ],
)
def test_a_manifest_with_the_skip_label_keeps_its_module(change: CatalogChange, kind: ResultKind) -> None:
    plain, skipped = held("keda", "1.0.0"), held("keda", "1.0.0", skip_reconciliation="true")
    assert only(foresee(with_manifests(fleet(*BASE), plain), change, NOW)).kind is kind
    found = foresee(with_manifests(fleet(*BASE), skipped), change, NOW)
    assert found.changed == ()
    (entry,) = found.entries
    assert (entry.then.version, entry.then.reason) == ("1.0.0", ResultReason.MANIFEST_SKIPPED)
    (note,) = forecast_notes(found)
    assert note.startswith("keda does not change in a: its Manifest has the skip label")


def test_a_mandatory_module_with_the_skip_label_stays() -> None:
    state = fleet(a_meta("warden", mandatory={"version": "1.0.0"}), a_template("warden", "1.0.0"), runtime("a"))
    marks = {"skip_reconciliation": "true", "mandatory_module": "true"}
    state = with_manifests(state, held("warden", "1.0.0", **marks))
    change = CatalogChange((a_meta("warden", mandatory={"version": "0.9.0"}), a_template("warden", "0.9.0")))
    assert foresee(state, change, NOW).changed == ()


def test_a_template_that_goes_and_comes_back_downgrades_and_both_steps_are_foretold() -> None:
    """Without a template the Kyma reports no version, so that nothing refuses the older one that comes."""
    gone = CatalogChange(deleted=frozenset({("ModuleTemplate", SPACE, "keda-1.0.0")}))
    found = foresee(fleet(*BASE), gone, NOW)
    assert only(found).then.drops_version
    (note,) = forecast_notes(found)
    assert note.startswith("keda in a: the Kyma no longer reports the installed version")
    bare = report("keda", "", "Error")
    for key in ("version", "template", "manifest"):
        bare.pop(key, None)
    state = fleet(keda(regular="0.9.0"), runtime("a", bare))
    assert manifest_choice(state).modules == {"keda"}
    state = with_manifests(state, held("keda", "1.0.0"))
    entry = only(foresee(state, CatalogChange((a_template("keda", "0.9.0"),)), NOW))
    assert (entry.kind, entry.installed, entry.then.version) == (ResultKind.DOWNGRADE, "1.0.0", "0.9.0")


def test_an_exported_fleet_keeps_the_manifests_that_a_forecast_depends_on() -> None:
    state = with_manifests(fleet(*BASE), held("keda", "1.0.0", skip_reconciliation="true"))
    for key in (b"", b"key"):
        copy = read_fleet_document(json.loads(json.dumps(fleet_document(state, key))))
        (runtime_key,) = copy.kymas
        ((summary,),) = copy.manifests.values()
        assert (summary.module, summary.version, summary.skipped) == ("keda", "1.0.0", True)
        assert list(copy.manifests) == [runtime_key]
    assert read_fleet_document({**fleet_document(state), "manifests": []}).manifests == {}


def test_only_names_that_labels_may_have_are_selected() -> None:
    bare = [{**report(name, "", "Error")} for name in ("keda", "kcp-system/keda-1.0.0", "x" * 64)]
    choice = manifest_choice(fleet(keda(regular="1.0.0"), runtime("a", *bare)))
    assert choice.modules == {"keda"}
    assert choice.selectors[-1] == "operator.kyma-project.io/module-name in (keda)"
