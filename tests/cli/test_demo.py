"""`kymatui demo --check`: whole and settled, or an exit status that says that something is missing."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import kymatui
from kymatui.cli.main import main
from kymatui.errors import ConfigurationError, KymatuiError
from kymatui.ui.terminal import themes
from tests.cli.terminal import in_terminal
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

PACKAGE = Path(kymatui.__file__).parent


def run(*words: str, home: Path, package: Path = PACKAGE) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(package.parent)}
    command = [sys.executable, "-m", "kymatui", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, env=environment, cwd=home)


def test_the_table_shows_the_world_at_rest(tmp_path: Path) -> None:
    found = run("demo", "--check", home=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    rows = {line.split()[0]: line.split()[-1] for line in found.stdout.splitlines()[1:]}
    assert "Processing" not in rows.values()
    states = {
        name: rows[name] for name in ("keda", "eventing", "btp-operator", "api-gateway", "cloud-manager", "warden")
    }
    assert states == {
        "keda": "Ready",
        "eventing": "Error",
        "btp-operator": "Warning",
        "api-gateway": "Deleting",
        "cloud-manager": "Unmanaged",
        "warden": "Ready",
    }


def test_a_fleet_of_any_size_is_a_table_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[int | None] = []

    def start(
        *, clusters: Sequence[str], settled: bool, fleet: int | None
    ) -> contextlib.AbstractContextManager[ReadySandbox]:
        started.append(fleet)
        return ready_sandbox(*clusters, empty=False, settled=settled, fleet=fleet)

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("kymatui.cli.commands.program.demo.start_sandbox", start)
    assert main(["demo", "--remote", "--fleet", "15", "--ascii", "--check"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line]
    assert started == [15]
    assert rows[0][:2] == ["RUNTIME", "SHOOT"]
    assert rows[-1][:2] == ["15", "runtimes,"]
    assert "skr" in [row[0] for row in rows]


@pytest.mark.parametrize("seen", ["kymatui", "istio"], ids=["before it has started", "when it is there"])
def test_who_leaves_the_demo_leaves_nothing_behind(tmp_path: Path, seen: str) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = {"HOME": str(tmp_path), "TMPDIR": str(folder), "TERM": "xterm-256color", "KUBECONFIG": ""}
    found = in_terminal(seen, "q", [sys.executable, "-m", "kymatui", "demo"], environment)
    assert found.returncode == 0
    assert "Traceback" not in found.stdout
    assert list(folder.iterdir()) == []


def test_an_installation_without_stylesheets_fails_and_says_so(tmp_path: Path) -> None:
    package = tmp_path / "site" / "kymatui"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("styles", "__pycache__"))
    found = run("demo", "--check", home=tmp_path, package=package)
    assert (found.returncode, found.stdout) == (1, "")
    assert "no stylesheets in" in found.stderr
    assert "reinstall kymatui" in found.stderr
    assert "Traceback" not in found.stderr


def test_stylesheets_that_make_no_sense_are_said_with_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kymatui.cli.commands.program.screen_check import require_screen
    from kymatui.ui.application.kymatui_app import KymatuiApp
    from tests.ui.worlds import StillSession, world

    broken = tmp_path / "app.tcss"
    broken.write_text("Screen {\n  colour: red;\n}\n")
    require_screen(lambda: StillSession(world()))
    monkeypatch.setattr(KymatuiApp, "CSS_PATH", [broken])
    with pytest.raises(KymatuiError, match=f"{broken}, line 2"):
        require_screen(lambda: StillSession(world()))


def test_the_stylesheets_are_looked_for_in_the_package_and_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "kymatui" / "ui" / "terminal" / "stylesheets.py"
    monkeypatch.setattr(themes, "__file__", str(module))
    with pytest.raises(ConfigurationError, match="stylesheets"):
        themes.styles_dir()
    for folder in (tmp_path / "styles", tmp_path / "kymatui" / "styles"):
        folder.mkdir(parents=True)
        (folder / "app.tcss").touch()
        assert themes.styles_dir() == folder
