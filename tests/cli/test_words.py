"""The command line's words: where options may stand, what is refused, and with which status one leaves."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kymatui import errors
from kymatui.cli.command_table import COMMANDS, CommandEntry
from kymatui.cli.main import main
from kymatui.cli.parser import _Parser
from tests.cli.test_help import PARSERS


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
        ["--color", "never", "--audit", "--kubeconfig", "gone", "catalog"],
        ["--context", "drift", "--kubeconfig", "gone", "-n", "module", "catalog"],
        ["--catalog", "demo", "--kubeconfig", "gone", "catalog"],
        ["-ncatalog", "--kubeconfig", "gone", "catalog"],
    ],
)
def test_options_stand_before_the_command_or_behind_it(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 1
    assert "gone not found" in capsys.readouterr().err


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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("catlog", 'no command "catlog"; did you mean catalog'),
        ("problems", 'no command "problems"; did you mean audit?'),
        ("Fleet", 'no command "Fleet"; did you mean fleet?'),
        ("--theme light catlog", 'no command "catlog"; did you mean catalog'),
        ("--pln", 'no option "--pln"; did you mean --plan (option of fleet, matrix, '),
        ("--contxt x catalog", 'no option "--contxt"; did you mean --context'),
        ("fleet --pln azure", 'no option "--pln"; did you mean --plan?'),
        ("sandbox up --kubeconfig x --setled", 'no option "--setled"; did you mean --settled?'),
        ("helm lint . --strickt", 'no option "--strickt"; did you mean --strict?'),
        ("fleet --group regoin", 'invalid value "regoin" for --group; did you mean region'),
        ("--theme drak", 'invalid value "drak" for --theme; did you mean dark?'),
        ("catalog -o jsno", 'invalid value "jsno" for --output; did you mean json?'),
        ("policy keda ignroe", 'no policy "ignroe" of `kymatui policy`; did you mean Ignore?'),
        ("catalog -o JSNO", 'invalid value "JSNO" for --output; did you mean json?'),
        ("config shw", 'no subcommand "shw" of `kymatui config`; did you mean show?'),
        ("config show themee", 'no option "themee"; did you mean theme?'),
        ("config show colums", 'no option "colums"; did you mean columns?'),
        ("audit rulse", 'no subcommand "rulse" of `kymatui audit`; did you mean rules?'),
        ("audit explain image.tga", 'no rule "image.tga"; did you mean image.tag'),
        ("audit --bogus error", 'no option "--bogus"'),
        ("audit --modle keda", 'no option "--modle"; did you mean --module?'),
        ("audit drift.fields", "drift.fields is a rule, not a subcommand"),
        ("audit --rule drift.filds", 'no rule "drift.filds"; did you mean drift.fields'),
        ("fleet --heving keda", 'no option "--heving"'),
        ("rollback keda", 'no command "rollback"; did you mean upgrade, channel?'),
        ("help downgrade", 'no command or topic "downgrade"; did you mean upgrade, channel?'),
        ("upgrade keda 1.5.0", '"1.5.0" is a version, not a module'),
        ("adopt keda v1.5", '"v1.5" is a version, not a module'),
        ("enable 1.5.0-rc1", '"1.5.0-rc1" is a version, not a module'),
        ("help delte", 'no command or topic "delte"; did you mean delete?'),
        ("label bta=true", 'no label "bta"; did you mean beta?'),
        ("completion bsh", 'no shell "bsh" of `kymatui completion`; did you mean '),
        ("helm tempalte", 'no subcommand "tempalte" of `kymatui helm`; did you mean template?'),
        ("bundle whree", 'no subcommand "whree" of `kymatui bundle`; did you mean where?'),
        ("sandbox fualt", 'no subcommand "fualt" of `kymatui sandbox`; did you mean fault?'),
        ("sandbox fault holdd --kubeconfig x", 'no fault "holdd" of `kymatui sandbox fault`; did you mean hold?'),
        ("sandbox situation cr-stay --kubeconfig x", "did you mean cr-stays?"),
    ],
)
def test_an_unknown_name_gets_what_is_near(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 64
    found = capsys.readouterr()
    assert found.out == ""
    assert message in found.err.splitlines()[0]
    assert found.err.startswith("kymatui: ")
    assert found.err.splitlines()[1].startswith("  hint: ")


def choices() -> Iterator[tuple[str, argparse.Action, str]]:
    for name, parser in PARSERS.items():
        for action in parser._actions:
            if action.choices is not None and not isinstance(action, argparse._SubParsersAction):
                yield from ((name, action, str(choice)) for choice in action.choices)


@pytest.mark.parametrize("change", [str.upper, str.lower, str.title])
@pytest.mark.parametrize(
    ("name", "action", "choice"), [pytest.param(*one, id=f"{one[0]} {one[1].dest} {one[2]}") for one in choices()]
)
def test_values_of_a_list_are_read_in_upper_and_lower_case(
    name: str, action: argparse.Action, choice: str, change: Callable[[str], str]
) -> None:
    parser = PARSERS[name]
    assert isinstance(parser, _Parser)
    assert parser._get_values(action, [change(choice)]) == choice


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("delete", "the following arguments are required: NAME"),
        ("catalog nonsense", 'unexpected argument "nonsense"'),
        ("catalog --timeout soon", '--timeout must be a duration, not "soon"'),
        ("operator --workers 1.5", '--workers must be an integer, not "1.5"'),
        ("--kubeconfig", "argument --kubeconfig: expected one argument"),
        ("config path nonsense", 'unexpected argument "nonsense"'),
    ],
)
def test_a_usage_error_is_one_line_with_one_hint(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 64
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"kymatui: {message}"
    assert second.startswith("  hint: ")
    assert len(second) < 100


def test_the_hint_of_a_usage_error_has_the_usage_and_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox", "up"]) == 64
    usage = "kymatui sandbox up --kubeconfig FILE [OPTIONS]"
    assert f"  hint: usage: {usage}; run `kymatui sandbox up --help`" in capsys.readouterr().err


def test_only_one_function_searches_near_names() -> None:
    package = Path(errors.__file__).parent
    found = [path.name for path in package.rglob("*.py") if "get_close_matches" in path.read_text("utf-8")]
    assert found == ["errors.py"]


def test_one_option_of_the_configuration_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "theme"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == 'theme = "dark"'
    assert main(["config", "show", "keys"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "[keys]"


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
