"""Words, cells and tones of every screen, without an app."""

from __future__ import annotations

import errno
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from kymatui.actions.modules.version_content import compare_templates
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.change_history import ModuleChange
from kymatui.domain.catalog.object_tree import build_tree
from kymatui.domain.catalog.rows import ModuleRow as Module
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.modules.state_checks import CheckMode, evaluate_path
from kymatui.domain.snapshot.object_index import index_objects
from kymatui.domain.snapshot.snapshots import Feed, FeedState, ReadCache, Snapshot, namespaced_feed
from kymatui.errors import UnreachableError
from kymatui.lists.columns import Cell, Column, natural_key
from kymatui.moments import format_duration, next_text
from kymatui.ui.connection.connection_status import connection_banner, describe_connection
from kymatui.ui.navigation.key_help import KeyHelp, group_keys, group_of, join_keys, key_name, keymap_problems
from kymatui.ui.panes import checks_pane, module_panes
from kymatui.ui.presenters.catalog import change_rows, problem_rows
from kymatui.ui.presenters.catalog.table_notices import table_notice
from kymatui.ui.presenters.module import module_facts, version_rows
from kymatui.ui.presenters.module.object_tree import foldable_keys, tree_branches, tree_rows
from kymatui.ui.screens import channel_matrix_screen
from kymatui.ui.terminal.file_saving import as_file_name, save_file, save_new_file
from kymatui.ui.terminal.text_filters import ascii_only
from kymatui.ui.viewmodels.row_filter import parse_filter
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder, arrange_rows
from kymatui.ui.viewmodels.table_export import export_table
from tests.domain import builders as b
from tests.ui.worlds import LIVE, world

WORLD = world()
CATALOG = build_catalog(WORLD, b.NOW)


def row(name: str) -> Module:
    found = CATALOG.row(name)
    assert found is not None
    return found


def texts(rows: list[Row], *columns: str) -> list[tuple[str, ...]]:
    return [tuple(one.cells[column].text for column in columns) for one in rows]


# one module


def facts(found: Any) -> Mapping[str, str]:
    return {fact.label: fact.text for fact in found}


def test_declared_observed_and_reported_stand_side_by_side() -> None:
    warning = row("btp-operator")
    assert facts(module_facts.declared(warning, CATALOG))["channel"] == "regular (the Kyma's channel)"
    assert facts(module_facts.observed(warning, b.NOW))["drift"] == "1 minor behind"
    reported = facts(module_facts.reported(warning))
    assert (reported["Kyma"], reported["Manifest"], reported["manager"]) == ("▲ Warning", "–", "● Ready")


def test_the_conditions_of_the_manifest_stand_beside_those_of_the_resource() -> None:
    condition = {"type": "Installation", "status": "False", "reason": "Ready", "message": "no manager runs"}
    manifest = b.manifest("btp-operator", "1.2.0", "Error", namespace="kcp-system")
    manifest["status"]["conditions"] = [{**condition, "lastTransitionTime": b.stamp(600)}]
    ref = read_ref(manifest)
    found = replace(world(), manifests=(manifest,))
    warning = replace(row("btp-operator"), manifest=ref)
    (said,) = module_facts.manifest_conditions(warning, found, b.NOW)
    assert (said.label, said.text, said.tone) == ("Installation", "False  Ready  10m  no manager runs", "warning")
    assert facts(module_facts.resource_conditions(warning, found, b.NOW)) == {
        "Ready": "False  MissingSecret  Secret sap-btp-manager not found"
    }
    assert list(module_facts.manifest_conditions(row("btp-operator"), found, b.NOW)) == []


def test_who_disagrees_is_said() -> None:
    assert facts(module_facts.reported(row("cloud-logging")))[""] == "conflicting states"


def test_a_resource_that_is_being_deleted_says_what_holds_it() -> None:
    (text,) = facts(module_facts.resources(row("keda"))).values()
    assert text.startswith("◌ Deleting, being deleted (finalizers: keda.kyma-project.io/wait)")


# checks


def test_rules_show_what_was_found_and_which_group_decides() -> None:
    found = row("cloud-logging")
    lines = checks_pane.rule_lines(found, found.checked[0], CheckMode.KLM)
    assert texts(lines, "want", "got", "result", "group") == [
        ("green", "yellow", "no match", "false"),
        ("done", "done", "match", "false"),
        ("red", "yellow", "no match", "false"),
        ("yellow", "yellow", "match", "true ← decides"),
    ]
    assert facts(checks_pane.headline(found, found.checked[0], CheckMode.KLM))["Result"] == "Warning"
    assert "order" in facts(checks_pane.order_facts(found, found.checked[0], CheckMode.KLM))


def test_the_path_of_a_rule_is_the_templates_and_not_the_cell() -> None:
    module = row("cloud-logging")
    first = module.checked[0]
    outcome = first.klm.rules[0]
    odd = replace(outcome, rule=replace(outcome.rule, path="status.\x1b[1m *"), klm_reads=False)
    checked = replace(first, klm=replace(first.klm, rules=(odd, *first.klm.rules[1:])))
    lines = checks_pane.rule_lines(module, checked, CheckMode.KLM)
    assert lines[0].cells["path"].text != odd.rule.path
    paths = [checks_pane.rule_path(line.key, module, checked, CheckMode.KLM) for line in lines]
    assert paths == [odd.rule.path, *(one.rule.path for one in first.klm.rules[1:])]
    assert checks_pane.rule_path("99", module, checked, CheckMode.KLM) == ""


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("status.health", "yellow"),
        ("status.none", "not found: status has no such field"),
        ("status.list", "a list"),
        ("status.empty", '""  (empty)'),
        ("status..x", "(not a path)"),
        ("status.list[0]", "one   * paths are split at dots, so this path is read differently"),
    ],
)
def test_missing_empty_and_no_string_are_different_answers(path: str, words: str) -> None:
    body = {"status": {"health": "yellow", "list": ["one"], "empty": ""}}
    assert words in checks_pane.format_trial(evaluate_path(path, body)).text


def test_without_a_resource_there_is_nothing_to_check() -> None:
    assert facts(checks_pane.headline(row("serverless"), None, CheckMode.KLM)) == {
        "Result": "nothing to check: the module has no CR"
    }


# versions


def test_versions_come_newest_first_with_what_they_are_here() -> None:
    found = row("btp-operator")
    assert version_rows.base_key(found) == "kyma-system/btp-operator-1.2.0"
    lines = version_rows.offer_lines(found, version_rows.base_key(found))
    assert texts(lines, "version", "channels", "here") == [
        ("1.3.1", "regular, fast", "desired"),
        ("1.2.0", "–", "installed, base"),
    ]


def test_what_changes_between_two_versions_is_told_field_by_field() -> None:
    before = b.a_template(b.template("keda", "1.6.0"))
    after = b.a_template(
        b.template("keda", "1.8.2", associatedResources=[{"kind": "K", "group": "g", "version": "v1"}])
    )
    found = version_rows.change_facts(compare_templates(before, after))
    assert [(fact.label, fact.text) for fact in found] == [
        ("from", "1.6.0 to 1.8.2 (2 minors)"),
        ("template", "1 difference"),
        ("added", 'associatedResources: [{"kind": "K", "group": "g", "version": "v1"}]'),
    ]
    assert "a downgrade" in version_rows.change_facts(compare_templates(after, before))[1].text


# events


def lines_of(*found: b.Json) -> list[Row]:
    world = replace(WORLD, events=found)
    return module_panes.event_lines(row("keda"), world, b.NOW, index_objects(world, ReadCache()))


def event(**more: Any) -> b.Json:
    about = {"kind": "Keda", "namespace": "kyma-system", "name": "default"}
    return {
        "metadata": {"uid": "e"},
        "involvedObject": about,
        "type": "Normal",
        "reason": "Done",
        "message": "m",
        **more,
    }


@pytest.mark.parametrize(
    ("more", "age", "count"),
    [
        ({"lastTimestamp": b.stamp(120), "count": 3}, "2m", "3"),
        ({"eventTime": b.stamp(30), "series": {"count": 7, "lastObservedTime": b.stamp(10)}}, "10s", "7"),
        ({"firstTimestamp": b.stamp(7200)}, "2h", ""),
        ({"lastTimestamp": "yesterday", "count": "many"}, "", ""),
    ],
)
def test_events_of_every_generation_have_an_age_and_a_count(more: Mapping[str, Any], age: str, count: str) -> None:
    (line,) = lines_of(event(**more))
    assert (line.cells["age"].text, line.cells["count"].text) == (age, count)


def test_only_the_events_of_the_modules_objects_are_shown() -> None:
    other = {**event(), "involvedObject": {"kind": "Pod", "namespace": "x", "name": "y"}}
    assert [line.key for line in lines_of(other, {}, event())] == ["e"]


@pytest.mark.parametrize(
    ("name", "state", "words"),
    [
        ("serverless", FeedState.LIVE, "no objects that could have events"),
        ("keda", FeedState.FORBIDDEN, "may not list events"),
        ("keda", FeedState.SYNCING, "Loading"),
        ("keda", FeedState.LIVE, "No events"),
    ],
)
def test_why_there_are_no_events_is_said(name: str, state: FeedState, words: str) -> None:
    found = replace(WORLD, feeds={**LIVE, namespaced_feed("events", "kyma-system"): Feed(state)})
    assert words in module_panes.why_no_events(row(name), found)


# tree and history


def test_the_tree_is_drawn_grouped_and_folded() -> None:
    roots = tree_branches(build_tree(row("istio"), index_objects(WORLD, ReadCache()), b.NOW))
    whole = tree_rows(roots, (), b.NOW)
    assert [line.cells["object"].text for line in whole[:8]] == [
        "▾ Manifest default-istio-1",
        "├─ ClusterRole istio-manager",
        "├─ ▾ ConfigMap × 2",
        "│  ├─ istio-config",
        "│  └─ istio-dashboards",
        "├─ ▾ Deployment × 2",
        "│  ├─ istio-cni",
        "│  └─ ▾ istio-manager",
    ]
    assert texts(whole[5:7], "state", "ready") == [("✖ Error", ""), ("✖ missing", "expected, but does not exist")]
    folded = tree_rows(roots, set(foldable_keys(roots)), b.NOW)
    assert [line.cells["object"].text for line in folded] == ["▸ Manifest default-istio-1", "Istio default"]


def test_a_filter_keeps_what_leads_to_an_object() -> None:
    rows = tree_rows(tree_branches(build_tree(row("istio"), index_objects(WORLD, ReadCache()), b.NOW)), (), b.NOW)
    assert [line.cells["object"].text.strip("│├└─▾ ") for line in arrange_rows(rows, parse_filter("x2x"), None)] == [
        "Manifest default-istio-1",
        "Deployment × 2",
        "istio-manager",
        "ReplicaSet istio-manager-7d4b",
        "Pod istio-manager-7d4b-x2x",
    ]


def test_changes_are_told_with_both_values_and_the_clusters_own_time() -> None:
    one = ModuleChange(b.NOW, "keda", "condition Ready", "True", "False (Lost)", "Keda x/default", b.NOW - 60)
    (line,) = change_rows.change_rows([one], b.NOW)
    assert change_rows.format_change(line) == (
        "condition Ready  of Keda x/default: True → False (Lost)  60s ago by the cluster's clock"
    )
    assert change_rows.format_change(None) == ""


# problems, channels, connection


def test_problems_come_worst_first_and_each_once() -> None:
    feeds = {**LIVE, "pods": Feed(FeedState.FORBIDDEN, message="no")}
    seen = build_catalog(replace(WORLD, feeds=feeds), b.NOW)
    found = problem_rows.problem_rows(seen)
    severities = [line.cells["severity"].text for line in found]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert len({line.key for line in found}) == len(found)
    assert ("pods", "you may not list pods: no") in texts(found, "object", "message")


def test_channels_are_compared_with_the_kymas_own() -> None:
    found, lines = channel_matrix_screen.channel_rows(CATALOG)
    assert [column.title for column in channel_matrix_screen.channel_columns(found)][1] == "REGULAR (yours)"
    assert texts([line for line in lines if line.key == "keda"], "channel:fast", "agrees") == [
        ("1.8.2  +2 minors", "differ")
    ]


@pytest.mark.parametrize(
    ("states", "word"),
    [
        ((), "connecting"),
        ((FeedState.LIVE, FeedState.SYNCING), "loading 1/2"),
        ((FeedState.LIVE, FeedState.STALE), "stale 42s"),
        ((FeedState.FAILED, FeedState.FAILED), "offline"),
        ((FeedState.LIVE, FeedState.FAILED), "partly live"),
        ((FeedState.LIVE, FeedState.FORBIDDEN, FeedState.ABSENT), "live"),
    ],
)
def test_the_connection_is_one_word(states: tuple[FeedState, ...], word: str) -> None:
    feeds = {str(number): Feed(state, b.NOW - 42) for number, state in enumerate(states)}
    assert describe_connection(feeds, b.NOW).word == word


def test_what_is_not_current_is_said_above_everything() -> None:
    stale = describe_connection({"x": Feed(FeedState.STALE, b.NOW - 42)}, b.NOW)
    assert "42s old: the server does not answer" in connection_banner(stale, None)
    refused = describe_connection({"x": Feed(FeedState.STALE, b.NOW - 42, "the token is not valid any more")}, b.NOW)
    assert "42s old: the token is not valid any more" in connection_banner(refused, None)
    broken = UnreachableError("gone")
    assert "the data is out of date: gone" in connection_banner(describe_connection({}, b.NOW, broken), broken)
    assert connection_banner(describe_connection(LIVE, b.NOW), None) == ""


@pytest.mark.parametrize(
    ("state", "title"),
    [
        (FeedState.SYNCING, "Loading …"),
        (FeedState.LIVE, "No modules"),
        (FeedState.FORBIDDEN, "Not allowed to list modules"),
        (FeedState.ABSENT, "No Kyma on this cluster"),
        (FeedState.FAILED, "The cluster does not answer"),
    ],
)
def test_an_empty_table_says_which_kind_of_empty_it_is(state: FeedState, title: str) -> None:
    found = Snapshot("test", feeds={name: Feed(state) for name in LIVE})
    said = table_notice(found, build_catalog(found, b.NOW), None, shown=0, filtered=False)
    assert said is not None
    assert said.title == title


def test_a_filter_that_hides_everything_is_told_from_nothing() -> None:
    said = table_notice(WORLD, CATALOG, None, shown=0, filtered=True)
    assert said is not None
    assert (said.title, said.hint) == ("Nothing matches", "esc clears the filter")


@pytest.mark.parametrize(
    ("seconds", "words"), [(-5, "0s"), (119, "119s"), (120, "2m"), (3600, "1h"), (86400, "1d"), (86400 * 400, "400d")]
)
def test_spans_are_short(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


@given(st.integers(1, 40 * 86400))
def test_the_text_of_a_remaining_time_stays_until_the_next_and_changes_then(seconds: int) -> None:
    left = seconds + 0.5
    until = next_text(left)
    assert format_duration(left - until + 0.01) == format_duration(left)
    assert format_duration(left - until - 1) != format_duration(left)


# any table


ROWS = [Row(name, {"name": Cell(name), "size": Cell(size, order=order)}) for name, size, order in (
    ("b-10", "2 MB", 2_000_000), ("a", "900 kB", 900_000), ("b-9", "2 MB", 2_000_000))]  # fmt: skip


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (None, ["b-10", "a", "b-9"]),
        (SortOrder("name"), ["a", "b-9", "b-10"]),
        (SortOrder("size"), ["a", "b-10", "b-9"]),
        (SortOrder("size", descending=True), ["b-10", "b-9", "a"]),
        (SortOrder("nothing"), ["b-10", "a", "b-9"]),
    ],
)
def test_rows_are_ordered_by_meaning_and_equals_stay_as_they_came(sort: SortOrder | None, order: list[str]) -> None:
    assert [one.key for one in arrange_rows(ROWS, parse_filter(""), sort)] == order


@given(st.lists(st.text(max_size=12), max_size=8))
def test_any_texts_can_be_ordered(words: list[str]) -> None:
    assert len(sorted(words, key=natural_key)) == len(words)


COLUMNS = (Column("name", "NAME", 5), Column("size", "SIZE", 5))


def test_tables_are_exported() -> None:
    rows = [Row("x", {"name": Cell("a|b"), "size": Cell("1,5")})]
    assert export_table(COLUMNS, rows, "csv") == 'NAME,SIZE\na|b,"1,5"\n'
    assert export_table(COLUMNS, rows, "tsv") == "NAME\tSIZE\na|b\t1,5\n"
    assert export_table(COLUMNS, rows, "md") == "| NAME | SIZE |\n| --- | --- |\n| a\\|b | 1,5 |\n"
    assert json.loads(export_table(COLUMNS, rows, "json")) == [{"name": "a|b", "size": "1,5"}]


def test_nothing_is_overwritten_and_nothing_half_written(tmp_path: Path) -> None:
    def broken() -> str:
        raise ValueError("no picture")

    target = tmp_path / "a.csv"
    assert save_file(str(target), {"csv": lambda: "x"}) == str(target)
    assert save_file(str(tmp_path / "a.MarkDown"), {"md": lambda: "x"}).endswith("a.MarkDown")
    for name, words in (
        ("a.csv", "already exists; not overwritten"),
        ("a.doc", "needs one of these endings"),
        ("b.svg", "no picture"),
    ):
        with pytest.raises(ValueError, match=words):
            save_file(str(tmp_path / name), {"csv": lambda: "y", "svg": broken})
    with pytest.raises(ValueError, match="cannot write"):
        save_file(str(tmp_path / "no" / "b.csv"), {"csv": lambda: "y"})
    assert [path.read_text() for path in tmp_path.iterdir()] == ["x", "x"]


def test_a_file_that_does_not_fit_is_not_left_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.FileIO):
        def write(self, content: object) -> int:
            super().write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("kymatui.own_files.open", Full, raising=False)
    with pytest.raises(ValueError, match="No space left on device"):
        save_file(str(tmp_path / "a.csv"), {"csv": lambda: "whole"})
    with pytest.raises(ValueError, match="No space left on device"):
        save_new_file(str(tmp_path / "b"), b"whole")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("modules", "modules"),
        ("enable-../../.ssh/config.json", "enable-..-..-.ssh-config.json"),
        ("../../etc", "etc"),
        ("logs a b", "logs-a-b"),
        ("-rf", "rf"),
        ("/", "kymatui"),
    ],
)
def test_a_name_of_a_cluster_chooses_no_folder_for_a_file(text: str, name: str) -> None:
    assert as_file_name(text) == name
    assert Path(as_file_name(text)).name == as_file_name(text)


# keys and signs


def test_keys_are_written_as_people_write_them() -> None:
    assert [key_name(key) for key in ("ctrl+s", "question_mark", "G", "ctrl+@")] == ["ctrl-s", "?", "G", "ctrl-space"]
    assert join_keys(["j", "down"]) == "j, down"
    assert join_keys([str(n) for n in range(10)]) == "0 … 9"


def test_the_keys_of_the_screen_come_first_in_the_help() -> None:
    ids = ("app.quit", "table.down", "module.act", "table.copy", "app.filter", "catalog.sort-age", "catalog.explain")
    keys = [KeyHelp(group_of(one, "Deletion"), "x", "y") for one in (*ids, "delete.backup", "app.jobs", "fleet.waits")]
    assert [group for group, _ in group_keys(keys)] == [
        "Deletion",
        "Move",
        "Find",
        "Inspect a module",
        "Change modules",
        "Fleet",
        "Open another screen",
        "View",
        "Mark, copy and save",
        "Leave",
    ]


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"a.one": "f1"}, []),
        ({"a.one": "2", "a.two": "1"}, []),
        ({"a.one": "2"}, ["keys: 2 is assigned to both a.one and a.two; only one of them works"]),
        ({"a.onne": "f1"}, ['keys: no binding "a.onne"; did you mean a.one?']),
        ({"zzz": "f1"}, ['keys: no binding "zzz"; press i in the help (?) to see the ids']),
    ],
)
def test_configured_keys_are_checked(keys: Mapping[str, str], problem: list[str]) -> None:
    assert list(keymap_problems(keys, [{"a.one": ("1",), "a.two": ("2",)}])) == problem


@given(st.text(max_size=30))
def test_ascii_is_ascii_and_as_wide(text: str) -> None:
    shown = ascii_only(text)
    assert shown.isascii()
    if text.isprintable():
        assert cell_len(shown) == cell_len(text)
