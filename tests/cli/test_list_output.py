"""Lists of every reading command: formats, headers, order and colours are the same everywhere."""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from itertools import islice
from pathlib import Path

import pytest

from kymatui.cli.command_table import COMMANDS
from kymatui.cli.main import main
from kymatui.cli.options.listing import read_again
from kymatui.cli.output.listing import ListPrinter
from kymatui.cli.output.printing import table
from kymatui.cli.output.terminal import COLUMNS, STATE_COLOURS, choose_colours
from kymatui.domain.kyma.problems import Severity
from kymatui.domain.kyma.states import State, parse_state, state_rank
from kymatui.domain.modules.presence import Presence
from kymatui.domain.remote.catalog_sync import SyncStatus
from kymatui.domain.remote.differences import LineVerdict
from kymatui.domain.remote.watcher_chains import LinkHealth
from tests.cli.test_help import PARSERS

pytestmark = pytest.mark.xdist_group("fleet")  # one sandbox for all tests of this group

LISTS = {
    "catalog": ("catalog", "NAME"),
    "module": ("module keda", "FACT"),
    "checks": ("checks keda", "PATH"),
    "events": ("events keda", "REASON"),
    "drift": ("drift", "NAME"),
    "audit": ("audit", "SEVERITY"),
    "fleet": ("fleet --context kcp", "RUNTIME"),
    "matrix": ("matrix --context kcp", "MODULE"),
    "waits": ("waits --context kcp", "RUNTIME"),
    "compare": ("compare skr --context kcp --all", "VERDICT"),
    "sync": ("sync skr --context kcp", "STATUS"),
    "windows": ("windows --context kcp", "RUNTIME"),
    "whatif": ("whatif --context kcp --delete ModuleReleaseMeta/keda --each --fail-on never", "RUNTIME"),
    "watchers": ("watchers --context kcp", "WATCHER"),
    "finalizers": ("finalizers keda", "OBJECT"),
    "versions": ("versions keda", "VERSION"),
}
ONCE = {"whatif"}
"""A forecast is of one moment: it is not watched."""
MORE = {
    "catalog of a runtime": ("catalog --remote skr --context kcp", "NAME"),
    "groups": ("fleet --group region --context kcp", "REGION"),
    "audit rules": ("audit rules", "RULE"),
}
EVERY = [pytest.param(*words, id=name) for name, words in {**LISTS, **MORE}.items()]


class Run:
    """Runs commands on the runtime, or on the control plane with `--context kcp`."""

    def __init__(self, kubeconfig: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._at, self._capsys = ("--kubeconfig", str(kubeconfig)), capsys

    def __call__(self, words: str, *more: str) -> tuple[int, str, str]:
        context = () if "--context" in words else ("--context", "skr")
        status = main([*words.split(), *more, *self._at, *context])
        found = self._capsys.readouterr()
        return status, found.out, found.err


@pytest.fixture
def run(two_clusters: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(two_clusters, capsys)


def test_every_command_with_a_list_is_tried() -> None:
    lists = {one.name for one in COMMANDS if "--sort-by" in PARSERS[one.name]._option_string_actions}
    assert lists == set(LISTS)
    for name in lists:
        options = set(PARSERS[name]._option_string_actions)
        assert {"-o", "--no-headers", "--sort-by", "--timeout"} <= options, name
        assert (name in ONCE) is not ({"--watch", "-w"} <= options), name


@pytest.mark.parametrize(("words", "title"), EVERY)
def test_a_table_has_titles_unless_they_are_not_wanted(words: str, title: str, run: Run) -> None:
    _, whole, _ = run(words)
    _, bare, _ = run(words, "--no-headers")
    if title not in whole:
        assert bare == "", "what is said instead of an empty table is no row"
        return
    assert title not in bare.split()
    assert bare.splitlines() != []
    assert "\n\n" not in bare, "no summary"


@pytest.mark.parametrize(("words", "title"), EVERY)
def test_wide_tables_have_all_columns(words: str, title: str, run: Run) -> None:
    del title
    _, short, _ = run(words)
    _, whole, _ = run(words, "-o", "WIDE")
    assert set(short.splitlines()[0].split()) <= set(whole.splitlines()[0].split())


@pytest.mark.parametrize(("words", "title"), EVERY)
def test_names_are_lines_without_titles(words: str, title: str, run: Run) -> None:
    _, out, _ = run(words, "-o", "name")
    lines = out.splitlines()
    assert title not in lines
    assert len(lines) == len(set(lines))
    assert all(line and " " not in line for line in lines)


@pytest.mark.parametrize(("words", "title"), EVERY)
def test_a_jsonpath_reads_the_json_of_the_command(words: str, title: str, run: Run) -> None:
    del title
    whole = json.loads(run(words, "-o", "json")[1])
    key = next(iter(whole))
    _, out, _ = run(words, "-o", f"jsonpath={{.{key}}}")
    text = out.removesuffix("\n")
    assert text == (whole[key] if isinstance(whole[key], str) else json.dumps(whole[key], separators=(",", ":")))


@pytest.mark.parametrize(("words", "title"), EVERY)
def test_mistakes_are_usage_errors(words: str, title: str, run: Run) -> None:
    del title
    status, out, err = run(words, "-o", "jsonpath={.a")
    assert (status, out) == (64, "")
    assert err.startswith("kymatui: invalid JSONPath: "), "before the cluster is asked"
    if words in ("checks keda", "finalizers keda"):
        return
    status, out, err = run(words, "--sort-by", "colour")
    assert (status, out) == (64, "")
    assert 'kymatui: no column "colour"' in err


def first_column(out: str) -> list[str]:
    return [line.split()[0] for line in out.splitlines()]


def test_rows_are_sorted_by_a_column_or_by_a_field(run: Run) -> None:
    by_name = first_column(run("catalog", "--no-headers", "--sort-by", "Name")[1])
    assert by_name == sorted(by_name)
    lines = run("catalog", "--no-headers", "--sort-by", "STATE")[1].splitlines()
    by_state = [re.split(r"\s{2,}", line.strip()) for line in lines]
    states = [words[-1] for words in by_state]
    ranks = [state_rank(parse_state(state) or State.UNKNOWN) for state in states if parse_state(state)]
    assert ranks == sorted(ranks), "the worst first, as on the screen"
    assert len(set(states)) > 1
    out = run("catalog", "--sort-by", "{.state}", "-o", "json")[1]
    fields = [one["state"] for one in json.loads(out)["modules"]]
    assert fields == sorted(fields)
    assert len(set(fields)) > 1
    assert run("catalog", "--sort-by", "state", "-o", "name")[1].split() == [words[0] for words in by_state]
    ages = first_column(run("events keda", "--no-headers", "--sort-by", "last seen")[1])
    assert ages != []


def test_numbers_are_sorted_by_size(run: Run) -> None:
    rows = [
        line.split() for line in run("matrix --context kcp", "--no-headers", "--sort-by", "runtimes")[1].splitlines()
    ]
    counts = [int(row[1]) for row in rows]
    assert counts == sorted(counts, reverse=True), "the greatest first, as on the screen"


def test_the_reason_stands_before_long_columns(run: Run) -> None:
    header = run("catalog", "-o", "wide")[1].splitlines()[0]
    assert header.index("REASON") < header.index("CHANNELS") < header.index("FROM")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "option", "terminal", "coloured"),
    [
        ({}, "auto", True, True),
        ({}, "auto", False, False),
        ({"NO_COLOR": "1"}, "auto", True, False),
        ({"NO_COLOR": "1"}, "always", False, True),
        ({"TERM": "dumb"}, "auto", True, False),
        ({}, "never", True, False),
        ({}, "always", False, True),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    variables: dict[str, str],
    option: str,
    terminal: bool,
    coloured: bool,
    two_clusters: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    words = ["catalog", f"--color={option}", "--kubeconfig", str(two_clusters), "--context", "skr"]
    assert main(words) == 0
    assert ("\x1b[" in out.getvalue()) is coloured


def test_no_two_states_of_an_installed_module_share_a_colour() -> None:
    installed = [STATE_COLOURS[state] for state in State if state not in (State.NOT_INSTALLED, State.UNMANAGED)]
    assert len(set(installed)) == len(installed)
    words = {Presence.NOT_CONFIGURED: "unconfigured", Presence.ORPHAN: "orphan", Presence.CONFLICT: "managed twice"}
    assert set(STATE_COLOURS) == {*({*State} - {State.NOT_INSTALLED}), "not installed", *words.values()}
    assert set(COLUMNS["SEVERITY"]) == {one.value for one in Severity}
    assert set(COLUMNS["VERDICT"]) <= {one.value for one in LineVerdict}
    assert set(COLUMNS["HEALTH"]) == {one.value for one in LinkHealth}
    assert set(COLUMNS["STATUS"]) <= {one.value for one in SyncStatus}


def test_a_url_is_never_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    url = "https://example.org/a-long/path/to/a/file/all-modules.yaml"
    for rows in ([("keda", "a word and more words", url)], [(url, "a word and more words", "keda")]):
        assert url in table(("NAME", "REASON", "FROM"), rows)


def test_colours_do_not_reach_a_file_beside_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plan is printed on standard error, which may be a file while standard output is a terminal."""
    from kymatui.cli.output.printing import print_text

    choose_colours("auto")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    drawn = table(("NAME", "STATE"), [("keda", "Error")])
    assert "\x1b" in drawn
    print_text(drawn, sys.stderr)
    assert "\x1b" not in capsys.readouterr().err


def test_watching_reads_again_and_prints_what_differs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kymatui.cli.options.listing._PAUSE", 0.0)
    monkeypatch.setattr("kymatui.cli.options.listing._SHARE", 0)
    args = argparse.Namespace(watch=True, timeout=30.0, output="name", sort_by="", no_headers=False)
    states = iter(["a", "a", "b", "b", "a"])
    printer = ListPrinter(args)
    for state in islice(read_again(args, lambda: next(states)), 5):
        printer.put(state)
        printer.note("one note")
    found = capsys.readouterr()
    assert found.out == "a\nb\na\n"
    assert found.err == "kymatui: one note\n"


@pytest.mark.parametrize("words", ["fleet --context kcp", "matrix --context kcp", "windows --context kcp"])
def test_a_list_that_takes_too_long_is_an_error(words: str, run: Run) -> None:
    status, out, err = run(words, "--timeout", "1ns")
    assert (status, out) == (1, "")
    assert err.splitlines()[0] == "kymatui: the cluster was not listed within 1e-09 s"
    assert "--timeout" in err.splitlines()[1]


def test_without_watch_it_reads_once() -> None:
    args = argparse.Namespace(watch=False, timeout=30.0)
    assert list(read_again(args, lambda: 1)) == [1]
