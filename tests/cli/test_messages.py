"""What is said of files that cannot be used and of words that are missing: no numbers of errors, no server's answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kymatui.cli.main import main
from kymatui.domain.kubernetes.terminal_text import error_reason, format_count


def test_a_configuration_that_is_not_there_is_valid_unless_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KYMATUI_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["config", "validate"]) == 0
    assert "no such file; the defaults are valid" in capsys.readouterr().out
    assert main(["config", "validate", str(tmp_path / "gone.toml")]) == 1
    assert capsys.readouterr().err.splitlines()[0].endswith("gone.toml cannot be read: No such file or directory")


@pytest.mark.parametrize(
    "line",
    [
        "config validate {gone}",
        "config validate {folder}",
        "catalog --kubeconfig {folder}",
        "apply {gone} --kubeconfig {kubeconfig}",
        "catalog --kubeconfig {kubeconfig}",
        "audit --kubeconfig {kubeconfig} --config {gone}",
        "helm template r {gone}",
        "helm lint {gone}",
        "sandbox fault list --kubeconfig {gone}",
    ],
)
def test_no_message_has_the_number_of_an_error(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    kubeconfig = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c"}}
    kubeconfig.write_text(str({"clusters": [cluster], "contexts": [context], "current-context": "c"}))
    words = line.format(gone=tmp_path / "gone", folder=tmp_path, kubeconfig=kubeconfig).split()
    assert main(words) != 0
    printed = capsys.readouterr()
    assert printed.out + printed.err
    assert "[Errno" not in printed.out + printed.err


def test_only_one_place_formats_errors_of_the_system() -> None:
    """An OSError that is put into a text as it is brings `[Errno 2]` and the path once more."""
    assert error_reason(FileNotFoundError(2, "No such file or directory", "/x")) == "No such file or directory"
    assert error_reason(OSError("failed: [Errno 104] Connection reset")) == "failed: Connection reset"
    package = Path(__file__).parents[2] / "kymatui"
    caught = re.compile(r"except \(?[^\n]*OSError[^\n]* as error:\n(?:(?!\n    except|\n\n).)*?\{error\}", re.DOTALL)
    found = [str(path.relative_to(package)) for path in package.rglob("*.py") if caught.search(path.read_text())]
    assert found == []


def test_a_fault_that_needs_an_object_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox", "fault", "hold", "--kubeconfig", str(tmp_path / "gone")]) == 64
    assert "sandbox fault hold needs --resource, --name" in capsys.readouterr().err


def test_numbers_agree_with_nouns() -> None:
    assert [format_count(number, "runtime") for number in (0, 1, 2)] == ["0 runtimes", "1 runtime", "2 runtimes"]
    assert format_count(2, "Secret of it", "Secrets of it") == "2 Secrets of it"
    package = Path(__file__).parents[2] / "kymatui"
    by_hand = re.compile(r"""\{(?:'s'|"s"|''|"") if |"1 [a-z ]+" if """)
    found = [str(path.relative_to(package)) for path in package.rglob("*.py") if by_hand.search(path.read_text())]
    assert [path for path in found if not path.startswith("helm")] == []
