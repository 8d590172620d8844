"""The command line's words: where options may stand, what is refused, and with which status one leaves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from kymatui import errors
from kymatui.cli.command_table import COMMANDS, CommandEntry
from kymatui.cli.main import main


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KYMATUI_CONFIG", "KYMATUI_READ_ONLY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    "words",
    [
        ["catalog", "--kubeconfig", "gone"],
        ["--kubeconfig", "gone", "catalog"],
        ["--kubeconfig=gone", "catalog"],
        ["--theme", "light", "--ascii", "--kubeconfig", "gone", "catalog"],
        ["--context", "drift", "--kubeconfig", "gone", "-n", "module", "catalog"],
        ["--catalog", "demo", "--kubeconfig", "gone", "catalog"],
        ["-ncatalog", "--kubeconfig", "gone", "catalog"],
    ],
)
def test_options_stand_before_the_command_or_behind_it(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 1
    assert "gone is not there" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["--theme", "light", "nonsense"],
        ["--theme", "pink"],
        ["--kubeconfig"],
        ["--read-only=1"],
        ["catalog", "nonsense"],
        ["catalog", "--timeout", "soon"],
        ["catalog", "--timeout", "-1"],
        ["module"],
        ["checks", "x", "--mode", "odd"],
        ["config"],
        ["config", "nonsense"],
        ["helm"],
        ["helm", "nonsense"],
        ["sandbox"],
        ["sandbox", "up"],
        ["sandbox", "up", "--kubeconfig", "x", "--clusters", "a,a"],
        ["sandbox", "fault"],
        ["demo", "nonsense"],
    ],
    ids=" ".join,
)
def test_words_that_make_no_sense_leave_with_64(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 64
    found = capsys.readouterr()
    assert found.out == ""
    assert "kymatui: " in found.err
    assert "Traceback" not in found.err


@pytest.mark.parametrize("words", [[], *([command.name] for command in COMMANDS)], ids=lambda w: " ".join(w) or "none")
def test_help_and_version_are_answers(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*words, "--help"])
    assert left.value.code == 0
    assert f"usage: {' '.join(['kymatui', *words])}" in capsys.readouterr().out


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert [command.name for command in COMMANDS if f"\n  {command.name} " not in out] == []


STATUSES = {
    errors.KymatuiError("x"): 1,
    errors.ConfigurationError("x"): 1,
    errors.ForbiddenError("x"): 1,
    errors.RegistryError("x"): 1,
    errors.HelmError("x"): 1,
    errors.RefusedError("x"): 2,
    errors.PartlyDoneError("x"): 3,
    errors.ReadOnlyError("x"): 4,
    errors.UsageError("x"): 64,
    errors.CancelledError("x"): 130,
    KeyboardInterrupt(): 130,
    BrokenPipeError(): 141,
}


def running(monkeypatch: pytest.MonkeyPatch, run: Callable[..., int]) -> None:
    """Makes `run` what `kymatui catalog` does."""
    module = SimpleNamespace(configure=lambda parser: None, run=run)
    monkeypatch.setattr(CommandEntry, "load", lambda command: module)


@pytest.mark.parametrize("error", STATUSES, ids=lambda error: type(error).__name__)
def test_each_error_has_its_status(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def run(args: object) -> int:
        raise error

    running(monkeypatch, run)
    monkeypatch.setattr("os.dup2", lambda source, target: None)
    assert main(["catalog"]) == STATUSES[error]
    assert "Traceback" not in capfd.readouterr().err


def test_what_a_command_returns_is_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    running(monkeypatch, lambda args: 2)
    assert main(["catalog"]) == 2


def test_a_reader_of_standard_error_that_left_changes_no_status() -> None:
    command = [sys.executable, "-m", "kymatui", "--theme", "pink"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.close()
        assert process.wait(30) == 64
