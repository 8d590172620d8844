"""What a missing list leaves unknown: no row, count or document states a fact that the list would have to tell."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kymatui.domain.catalog import catalog, to_json
from kymatui.domain.drift import DriftKind
from kymatui.domain.listing_schema import json_schema
from kymatui.domain.lists import Gap, RowFact, Unknown, gap_of, gaps, missing
from kymatui.domain.locating import locate
from kymatui.domain.presence import Presence
from kymatui.domain.remembering import Memory
from kymatui.domain.rows import NAMING, Row
from kymatui.domain.snapshots import Feed, FeedState, Snapshot
from kymatui.domain.toggling import Toggle, Verb, propose
from kymatui.domain.trees import Sight, tree
from tests.domain import builders as b

KYMAS, TEMPLATES, METAS, MANIFESTS = NAMING
DEPLOYMENTS, OWN = "deployments.apps", "mods.operator.kyma-project.io"
EVERY = (KYMAS, TEMPLATES, METAS, MANIFESTS, DEPLOYMENTS, "statefulsets.apps", "daemonsets.apps", OWN)
MISSING = {
    FeedState.SYNCING: Gap.LOADING,
    FeedState.FORBIDDEN: Gap.FORBIDDEN,
    FeedState.FAILED: Gap.UNKNOWN,
}


@pytest.mark.parametrize("state", FeedState)
def test_only_a_list_that_came_says_that_something_is_not_there(state: FeedState) -> None:
    assert gap_of(Feed(state)) is MISSING.get(state)
    assert gap_of(None) is None


@pytest.mark.parametrize(
    ("unknown", "words"),
    [
        (Unknown(Gap.LOADING), "loading"),
        (Unknown(Gap.LOADING, ("a", "b")), "loading (a, b)"),
        (Unknown(Gap.FORBIDDEN, ("a",), "no right"), "forbidden (you may not list a)"),
        (Unknown(Gap.UNKNOWN, ("a",), "502"), "unknown (no list of a: 502)"),
        (Unknown(Gap.UNKNOWN, (), "no route"), "unknown (no route)"),
        (Unknown(Gap.UNKNOWN), "unknown"),
    ],
)
def test_the_three_states_have_words_of_their_own(unknown: Unknown, words: str) -> None:
    assert str(unknown) == words


def test_what_passes_by_itself_comes_first() -> None:
    feeds = {"a": Feed(FeedState.FAILED, 0, "502"), "b": Feed(FeedState.FORBIDDEN), "c": Feed(FeedState.SYNCING)}
    assert [one.gap for one in gaps(feeds, "abcd")] == [Gap.LOADING, Gap.FORBIDDEN, Gap.UNKNOWN]
    assert missing(feeds, "ab") == Unknown(Gap.FORBIDDEN, ("b",))
    assert missing(feeds, "a") == Unknown(Gap.UNKNOWN, ("a",), "502")
    assert missing(feeds, "d") is None


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


def row_of(snapshot: Snapshot) -> Row | None:
    return catalog(snapshot, b.NOW).row("mod")


@pytest.mark.parametrize("state", MISSING)
@pytest.mark.parametrize("count", range(1, 4))
def test_no_fact_is_stated_that_a_missing_list_would_tell(state: FeedState, count: int) -> None:
    whole = row_of(hidden(state))
    assert whole is not None
    assert not whole.unknown
    for names in itertools.combinations((KYMAS, TEMPLATES, METAS, MANIFESTS, DEPLOYMENTS, OWN), count):
        snapshot = hidden(state, *names)
        seen = catalog(snapshot, b.NOW)
        document = to_json(seen)
        assert list(Draft202012Validator(json_schema()).iter_errors(document)) == [], names
        for name in names:
            assert document["lists"][name]["state"] == MISSING[state].value
        assert (seen.modules_unknown is not None) == bool({*names} & {*NAMING}), names
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
            RowFact.DRIFT: row.drift.kind is DriftKind.IN_SYNC,
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
    grown = tree(row, locate(made, Memory()), b.NOW, feeds=made.feeds)
    (node,) = (one for root in grown.roots for one in root.walk() if one.ref.name == "mod-manager")
    assert (node.sight, str(MISSING[state]) in node.words) == (Sight.UNLISTED, True)


@pytest.mark.parametrize("state", MISSING)
def test_an_edit_is_refused_for_a_kyma_that_is_not_listed(state: FeedState) -> None:
    found = propose(hidden(state, KYMAS), Toggle(Verb.ENABLE, "mod"), b.NOW)
    assert found.is_refused
    assert f"no Kyma to edit is known: {MISSING[state]}" in found.refusals[0]
