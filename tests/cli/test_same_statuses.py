"""One failure, one exit status and one sentence, in every command that can meet it.

A command that opens a cluster and is in none of the tables fails the first test.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kymatui.cli.command_table import COMMANDS
from kymatui.cli.main import main
from tests.cli.test_help import PARSERS

pytestmark = pytest.mark.xdist_group("fleet")  # one sandbox for all tests of this group

MODULE_COMMANDS = {
    **{
        name: f"{name} NAME"
        for name in (
            *("module", "checks", "versions", "events", "logs", "enable", "disable", "manage", "unmanage"),
            *("install", "upgrade", "pull"),
            *("plan", "check", "adopt", "manifest", "delete", "finalizers", "diagnose", "edit", "restart", "unpause"),
        )
    },
    "channel": "channel NAME fast",
    "policy": "policy NAME Ignore",
}
WHOLE_CLUSTER = {"catalog": "catalog", "drift": "drift", "audit": "audit", "label": "label beta=true"}
FLEET = {
    "fleet": "fleet",
    "matrix": "matrix",
    "waits": "waits",
    "windows": "windows",
    "whatif": "whatif --label beta=true",
    "watchers": "watchers",
    "compare": "compare skr",
    "sync": "sync skr",
}
OPERATORS = {"reconcile": "reconcile manifest keda", "operator": "operator"}

UNKNOWN_RUNTIME: Mapping[str, str] = {
    **{name: f"{words} --remote NOPE" for name, words in {**MODULE_COMMANDS, **WHOLE_CLUSTER}.items()},
    "restore": "restore keda --remote NOPE",
    "apply": "apply PLAN --remote NOPE",
    **{name: f"{name} NOPE" for name in ("windows", "watchers", "compare", "sync")},
}
UNKNOWN_CONTEXT: Mapping[str, str] = {
    **MODULE_COMMANDS,
    **WHOLE_CLUSTER,
    **FLEET,
    **OPERATORS,
    "restore": "restore keda",
    "apply": "apply PLAN",
}
CREATING = {"install", "plan", "manifest", "restore", "apply"}
"""They create the namespace."""
UNKNOWN_NAMESPACE = {name: words for name, words in UNKNOWN_CONTEXT.items() if name not in CREATING}


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where `diagnose` leaves its archive
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())


def commands_with(option: str) -> set[str]:
    return {one.name for one in COMMANDS if option in PARSERS[one.name]._option_string_actions}


def test_the_tables_have_every_command_that_opens_a_cluster() -> None:
    of_a_job = {"resume", "rights"}  # what a job names; the command after `rights`, which `test_rights` asks
    assert commands_with("--context") - of_a_job == set(UNKNOWN_CONTEXT)
    named = {one.name for one in COMMANDS if any(two.metavar == "RUNTIME" for two in PARSERS[one.name]._actions)}
    assert named - of_a_job == set(UNKNOWN_RUNTIME)
    modules = {one.name for one in COMMANDS if any(two.dest in ("name", "names") for two in PARSERS[one.name]._actions)}
    assert modules & commands_with("--remote") == set(MODULE_COMMANDS)


def failure(words: str, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    status = main([*words.split(), *more])
    found = capsys.readouterr()
    assert found.out == "", "a failure is no answer"
    first, second = found.err.splitlines()
    assert second.startswith("  hint: ")
    return status, first


@pytest.mark.parametrize("words", MODULE_COMMANDS.values())
def test_a_module_that_does_not_exist(words: str, installing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = words.replace("NAME", "kedda")
    assert failure(words, capsys, "--kubeconfig", str(installing)) == (
        64,
        'kymatui: no module "kedda" in kcp; did you mean keda?',
    )


@pytest.mark.parametrize("words", UNKNOWN_RUNTIME.values())
def test_a_runtime_that_does_not_exist(words: str, two_clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = words.replace("NAME", "keda")
    at = ("--kubeconfig", str(two_clusters), "--context", "kcp")
    status, first = failure(words, capsys, *at)
    assert (status, first.partition(";")[0]) == (64, 'kymatui: no runtime "NOPE" in the control plane kcp')


@pytest.mark.parametrize("words", UNKNOWN_CONTEXT.values())
def test_a_context_that_does_not_exist(words: str, two_clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = words.replace("NAME", "keda")
    status, first = failure(words, capsys, "--kubeconfig", str(two_clusters), "--context", "kpc")
    assert (status, first) == (64, f'kymatui: no context "kpc" in {two_clusters}; did you mean kcp?')


@pytest.mark.parametrize("words", UNKNOWN_NAMESPACE.values())
def test_a_namespace_that_does_not_exist(words: str, two_clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = words.replace("NAME", "keda")
    at = ("--kubeconfig", str(two_clusters), "--context", "kcp", "-n", "kcp-sytem")
    status, first = failure(words, capsys, *at)
    assert (status, first.partition(";")[0]) == (64, 'kymatui: no namespace "kcp-sytem" in kcp')
    assert "kcp-system" in first.partition(";")[2]


@pytest.mark.parametrize("words", UNKNOWN_CONTEXT.values())
def test_a_kubeconfig_that_does_not_exist(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = words.replace("NAME", "keda")
    assert failure(words, capsys, "--kubeconfig", "/gone") == (1, "kymatui: kubeconfig /gone not found")


@pytest.mark.parametrize("words", ["audit --remote", "enable keda --fleet", "catalog --remote skr"])
def test_a_namespace_that_a_fleet_does_not_have(
    words: str, two_clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--kubeconfig", str(two_clusters), "--context", "kcp", "-n", "nowhere")
    assert failure(words, capsys, *at) == (64, 'kymatui: no namespace "nowhere" in kcp')
