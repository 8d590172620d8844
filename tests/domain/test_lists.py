"""What a missing list leaves unknown: no row, count or document states a fact that the list would have to tell."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import catalog_json_schema, catalog_to_json
from kymatui.domain.catalog.object_tree import ObjectVisibility, build_tree
from kymatui.domain.catalog.rows import NAMING_LISTS, ModuleRow
from kymatui.domain.kyma_edit.label_edit import propose_labels
from kymatui.domain.kyma_edit.label_effects import preview_label_effects
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit, propose_edit
from kymatui.domain.modules.presence import Presence
from kymatui.domain.remote.catalog_sync import SyncStatus, plan_pair_sync
from kymatui.domain.remote.differences import LineArea, LineVerdict
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.remote.side_by_side import compare_sides
from kymatui.domain.snapshot.missing_lists import (
    ListGap,
    RowFact,
    UnknownFact,
    are_settled,
    explain_gaps,
    explain_missing,
    gap_of,
)
from kymatui.domain.snapshot.object_index import index_objects
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, Feed, FeedState, ReadCache, Snapshot
from kymatui.domain.versions.drift import DriftKind
from kymatui.errors import RefusedError
from tests.domain import builders as b

KYMAS, TEMPLATES, METAS, MANIFESTS = NAMING_LISTS
DEPLOYMENTS, OWN = "deployments.apps", "mods.operator.kyma-project.io"
EVERY = (KYMAS, TEMPLATES, METAS, MANIFESTS, DEPLOYMENTS, "statefulsets.apps", "daemonsets.apps", OWN)
MISSING = {
    FeedState.SYNCING: ListGap.LOADING,
    FeedState.FORBIDDEN: ListGap.FORBIDDEN,
    FeedState.FAILED: ListGap.UNKNOWN,
}
REASONS = {
    FeedState.SYNCING: "still loading",
    FeedState.FORBIDDEN: "you may not list",
    FeedState.FAILED: "could not list",
}


@pytest.mark.parametrize("state", FeedState)
def test_only_a_list_that_came_says_that_something_is_not_there(state: FeedState) -> None:
    assert gap_of(Feed(state)) is MISSING.get(state)
    assert gap_of(None) is None


NOW = 100.0
LIVE, LOADING, FORBIDDEN, ABSENT = (
    Feed(state) for state in (FeedState.LIVE, FeedState.SYNCING, FeedState.FORBIDDEN, FeedState.ABSENT)
)
FAILED, RETRIED = Feed(FeedState.FAILED, 0.0, "503"), Feed(FeedState.FAILED, 0.0, "503", NOW + 1)


@pytest.mark.parametrize(
    ("settled", "feeds"),
    [
        (True, (LIVE, FORBIDDEN, ABSENT, Feed(FeedState.STALE))),
        (False, (LIVE, LOADING)),
        (False, (FAILED, LOADING)),
        (True, (LIVE, FAILED)),
        (False, (LIVE, RETRIED)),
        (False, (FORBIDDEN, RETRIED)),
        (True, (LIVE, Feed(FeedState.FAILED, 0.0, "503", NOW))),
        (True, (RETRIED, RETRIED, ABSENT)),  # a server that fails as a whole is reported at once
        (False, (RETRIED, LOADING)),
        (True, ()),
    ],
)
def test_a_list_that_is_requested_again_is_awaited_unless_the_whole_server_fails(
    settled: bool, feeds: tuple[Feed, ...]
) -> None:
    assert are_settled({str(number): feed for number, feed in enumerate(feeds)}, NOW) is settled


def test_a_reason_after_the_word_unknown_does_not_repeat_it() -> None:
    assert UnknownFact(ListGap.UNKNOWN).reason == "the server did not return the list"
    assert UnknownFact(ListGap.FORBIDDEN).reason == "you may not list it"
    assert UnknownFact(ListGap.LOADING, ("kymas",)).reason == "kymas still loading"
    assert UnknownFact(ListGap.UNKNOWN, ("kymas",), "503").reason == "could not list kymas: 503"


@pytest.mark.parametrize(
    ("unknown", "words"),
    [
        (UnknownFact(ListGap.LOADING), "loading"),
        (UnknownFact(ListGap.LOADING, ("a", "b")), "loading (a, b)"),
        (UnknownFact(ListGap.FORBIDDEN, ("a",), "no right"), "forbidden (you may not list a)"),
        (UnknownFact(ListGap.UNKNOWN, ("a",), "502"), "unknown (could not list a: 502)"),
        (UnknownFact(ListGap.UNKNOWN, (), "no route"), "unknown (no route)"),
        (UnknownFact(ListGap.UNKNOWN), "unknown"),
    ],
)
def test_the_three_states_have_words_of_their_own(unknown: UnknownFact, words: str) -> None:
    assert str(unknown) == words


def test_what_passes_by_itself_comes_first() -> None:
    feeds = {"a": Feed(FeedState.FAILED, 0, "502"), "b": Feed(FeedState.FORBIDDEN), "c": Feed(FeedState.SYNCING)}
    assert [one.gap for one in explain_gaps(feeds, "abcd")] == [ListGap.LOADING, ListGap.FORBIDDEN, ListGap.UNKNOWN]
    assert explain_missing(feeds, "ab") == UnknownFact(ListGap.FORBIDDEN, ("b",))
    assert explain_missing(feeds, "a") == UnknownFact(ListGap.UNKNOWN, ("a",), "502")
    assert explain_missing(feeds, "d") is None


def hidden(state: FeedState, *names: str) -> Snapshot:
    """A cluster with one managed module, where these lists are missing, so that their objects are not seen."""
    seen: dict[str, dict[str, Any]] = {
        KYMAS: {"kymas": (b.kyma([{"name": "mod"}], status=[b.report("mod", "1.0.0")]),)},
        TEMPLATES: {"templates": (b.template("mod", "1.0.0"), b.template("mod", "2.0.0"))},
        METAS: {"release_metas": (b.meta("mod", {"regular": "1.0.0"}),)},
        MANIFESTS: {"manifests": (b.manifest("mod", "1.0.0"),)},
        DEPLOYMENTS: {"workloads": (b.deployment("mod", "1.0.0"),)},
        OWN: {"module_resources": {b.gvk("mod"): (b.resource("mod"),)}},
    }
    parts = {key: value for name, part in seen.items() if name not in names for key, value in part.items()}
    feeds = {name: Feed(state if name in names else FeedState.LIVE, b.NOW) for name in EVERY}
    return Snapshot("test", feeds=feeds, taken_at=b.NOW, **parts)


def row_of(snapshot: Snapshot) -> ModuleRow | None:
    return build_catalog(snapshot, b.NOW).row("mod")


@pytest.mark.parametrize("state", MISSING)
@pytest.mark.parametrize("count", range(1, 4))
def test_no_fact_is_stated_that_a_missing_list_would_tell(state: FeedState, count: int) -> None:
    whole = row_of(hidden(state))
    assert whole is not None
    assert not whole.unknown
    for names in itertools.combinations((KYMAS, TEMPLATES, METAS, MANIFESTS, DEPLOYMENTS, OWN), count):
        snapshot = hidden(state, *names)
        seen = build_catalog(snapshot, b.NOW)
        document = catalog_to_json(seen)
        assert list(Draft202012Validator(catalog_json_schema()).iter_errors(document)) == [], names
        for name in names:
            assert document["lists"][name]["state"] == MISSING[state].value
        assert (seen.modules_unknown is not None) == bool({*names} & {*NAMING_LISTS}), names
        assert (seen.kyma_unknown is not None) == (KYMAS in names), names
        row = seen.row("mod")
        if row is None:  # nothing that is listed names it
            assert {KYMAS, TEMPLATES, METAS, MANIFESTS} & {*names}
            continue
        assert row.presence is not Presence.NOT_INSTALLED, names
        assert row.presence not in (Presence.ORPHAN, Presence.NOT_CONFIGURED, Presence.DELETING), (names, row.presence)
        stated = {
            RowFact.MANAGED: row.managed,
            RowFact.CHANNEL: row.channel == "regular",
            RowFact.DESIRED: row.desired == "1.0.0",
            RowFact.INSTALLED: row.installed == "1.0.0",
            RowFact.NEWEST: row.newest == "2.0.0",
            RowFact.DRIFT: row.drift.kind is DriftKind.UP_TO_DATE,
            RowFact.STATE: row.presence is Presence.ENABLED,
            RowFact.CHECKS: bool(row.checked),
            RowFact.MANIFEST: row.reports.manifest == "Ready",
        }
        for fact, is_true in stated.items():
            assert is_true or fact in row.unknown, (names, fact, row.reason.text)
        for why in row.unknown.values():
            assert why.gap is MISSING[state], (names, why)


@pytest.mark.parametrize("state", MISSING)
def test_a_node_of_a_missing_list_is_not_missing(state: FeedState) -> None:
    snapshot = hidden(state, DEPLOYMENTS)
    raw = {**b.manifest("mod", "1.0.0")}
    entry = {"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "kyma-system", "name": "mod-manager"}
    raw["status"] = {"state": "Ready", "synced": [entry]}
    made = Snapshot(
        "t", kymas=snapshot.kymas, templates=snapshot.templates, manifests=(raw,), feeds=snapshot.feeds, taken_at=b.NOW
    )
    row = row_of(made)
    assert row is not None
    grown = build_tree(row, index_objects(made, ReadCache()), b.NOW, feeds=made.feeds)
    (node,) = (one for root in grown.roots for one in root.walk() if one.ref.name == "mod-manager")
    assert (node.visibility, str(MISSING[state]) in node.message) == (ObjectVisibility.UNLISTED, True)


@pytest.mark.parametrize("state", MISSING)
def test_an_edit_is_refused_for_a_kyma_that_is_not_listed(state: FeedState) -> None:
    found = propose_edit(hidden(state, KYMAS), ModuleEdit(EditVerb.ENABLE, "mod"), b.NOW)
    assert found.is_refused
    assert "which Kyma to edit is unknown: " in found.refusals[0]
    assert REASONS[state] in found.refusals[0]


@pytest.mark.parametrize("state", MISSING)
@pytest.mark.parametrize("name", [TEMPLATES, METAS])
@pytest.mark.parametrize("verb", [EditVerb.ENABLE, EditVerb.CHANNEL])
def test_an_edit_is_refused_for_a_catalog_that_is_not_listed(state: FeedState, name: str, verb: EditVerb) -> None:
    found = propose_edit(hidden(state, name), ModuleEdit(verb, "mod", "fast"), b.NOW)
    assert found.refusals
    assert all(REASONS[state] in refusal for refusal in found.refusals)
    assert REASONS[state] in propose_labels(hidden(state, name), {"a": "b"}, b.NOW).refusal


def test_an_installation_that_is_not_seen_is_not_taken_for_none() -> None:
    snapshot = replace(hidden(FeedState.FORBIDDEN, DEPLOYMENTS), kymas=(b.kyma(),), manifests=(), module_resources={})
    found = propose_edit(snapshot, ModuleEdit(EditVerb.ENABLE, "mod"), b.NOW)
    assert any("installed directly is unknown: you may not list" in refusal for refusal in found.refusals)


# a runtime and its control plane


def pair(runtime: Snapshot | None, *names: str, state: FeedState = FeedState.FORBIDDEN) -> RuntimePair:
    """A control plane whose Kyma names no module itself; these lists of it are missing."""
    kyma = b.kyma([], status=[b.report("mod", "1.0.0")], name="r1", namespace="kcp-system")
    seen: dict[str, dict[str, Any]] = {
        KYMAS: {"kymas": (kyma,)},
        TEMPLATES: {"templates": (b.template("mod", "1.0.0", namespace="kcp-system"),)},
        METAS: {"release_metas": (b.meta("mod", {"regular": "1.0.0"}, namespace="kcp-system"),)},
        MANIFESTS: {"manifests": ()},
    }
    parts = {key: value for name, part in seen.items() if name not in names for key, value in part.items()}
    feeds = {name: Feed(state if name in names else FeedState.LIVE, b.NOW) for name in NAMING_LISTS}
    return RuntimePair("r1", Snapshot("kcp", feeds=feeds, **parts), runtime, "" if runtime else "no route")


@pytest.mark.parametrize("state", [None, *MISSING])
def test_a_runtime_that_is_not_seen_deletes_nothing(state: FeedState | None) -> None:
    """A control plane's Kyma names no modules: its status mirrors what the runtime asks for."""
    runtime = None if state is None else Snapshot("skr", feeds={name: Feed(state) for name in EVERY})
    row = row_of(join_snapshots(pair(runtime)))
    assert row is not None
    assert (row.presence, row.managed, row.channel) == (Presence.ENABLED, True, "regular")
    assert row.unknown[RowFact.POLICY].gap is (ListGap.UNKNOWN if state is None else MISSING[state])


@pytest.mark.parametrize("state", MISSING)
@pytest.mark.parametrize("name", [TEMPLATES, METAS])
def test_the_sync_asserts_nothing_of_a_catalog_that_is_not_listed(state: FeedState, name: str) -> None:
    copies = (b.template("mod", "0.9.0"),)
    runtime = replace(hidden(FeedState.LIVE), templates=copies)
    found = pair(runtime, name, state=state)
    plan = plan_pair_sync(found)
    assert plan is not None
    assert plan.entries
    assert {entry.standing for entry in plan.entries} == {SyncStatus.UNKNOWN}
    assert plan.unknown is not None
    assert plan.unknown.gap is MISSING[state]
    compared = compare_sides(found, b.NOW)
    about = [line for line in compared.lines if line.area in (LineArea.TEMPLATE, LineArea.RELEASE)]
    assert {line.verdict for line in about} == {LineVerdict.UNKNOWN}
    with pytest.raises(RefusedError, match=REASONS[state]):
        preview_label_effects(found, {"a": "b"}, b.NOW)


@pytest.mark.parametrize("state", MISSING)
def test_a_manifest_that_is_not_listed_is_not_missing(state: FeedState) -> None:
    runtime = replace(hidden(FeedState.LIVE), kymas=(b.kyma([{"name": "mod"}]),))
    compared = compare_sides(pair(runtime, MANIFESTS, state=state), b.NOW)
    (line,) = (line for line in compared.lines if line.area is LineArea.MODULE and line.field == "Manifest")
    assert (line.verdict, str(MISSING[state]) in line.why) == (LineVerdict.UNKNOWN, True)


# one server that is lost


@pytest.mark.parametrize("state", [FeedState.STALE, FeedState.FAILED])
@pytest.mark.parametrize("lists", [1, 2, 7])
def test_a_server_that_does_not_answer_is_one_problem(state: FeedState, lists: int) -> None:
    others = [f"{number}.example.org" for number in range(7)]
    feeds = {name: Feed(FeedState.LIVE) for name in EVERY} | {
        name: Feed(state, 0, "refused") for name in others[:lists]
    }
    (problem,) = build_catalog(Snapshot("t", feeds=feeds), b.NOW).problems
    about = others[0] if lists == 1 else f"{lists} lists"
    assert problem.message == f"the server does not return {about}: refused"
    runtime = {**feeds, RUNTIME_FEED: Feed(FeedState.FAILED, 0, "no route")}
    (problem,) = build_catalog(Snapshot("t", feeds=runtime), b.NOW).problems
    assert problem.message == f"the runtime does not return {about}: no route"
