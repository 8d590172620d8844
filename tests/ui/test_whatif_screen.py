"""`:whatif FILE` above a fleet: a matrix of today and then, live, and the runtimes behind each number."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.errors import ForbiddenError
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from kymatui.ui.screens.fleet.whatif_screen import WhatIfScreen
from kymatui.ui.terminal.file_saving import manifest_paths
from kymatui.ui.widgets.live_table import LiveTable
from tests.domain import builders as b
from tests.ui.driving import text as text_of
from tests.ui.driving import until
from tests.ui.fleets import CHANGED, CONTROL, KYMAS, StillFleet, changed_catalog, fleet_app, runtime
from tests.ui.test_fleet_screens import there

WARNING, WELL, ERROR, WINDOW, GOING, SKIPPED = (raw["metadata"]["name"] for raw in KYMAS)
SIZE = (160, 40)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "catalog" / "new.yaml"
    found.parent.mkdir()
    found.write_text(CHANGED)
    return found


def lines(app: FleetApp, *columns: str) -> list[tuple[str, ...]]:
    shown = app.screen.main_widget()  # type: ignore[attr-defined]
    assert isinstance(shown, LiveTable)
    return [tuple(row.cells[name].text for name in columns) for row in shown.rows]


def text(app: FleetApp, selector: str) -> str:
    """What a part of the screen says; "" before it is composed."""
    return text_of(app, selector) if app.screen.query(selector) else ""


def run(app: FleetApp, line: str) -> None:
    app.screen.command_line.run(line)  # type: ignore[attr-defined]


async def opened(pilot: Pilot[Any], file: Path | str) -> FleetApp:
    app = await there(pilot)
    run(app, f"whatif {file}")
    await until(pilot, lambda: isinstance(app.screen, WhatIfScreen) and bool(text(app, "#counts")))
    return app


def is_matrix(app: FleetApp) -> bool:
    return bool(app.screen.query_one("#versions").display)


async def test_the_matrix_has_versions_today_and_then_and_what_moves(file: Path) -> None:
    async with fleet_app(StillFleet()).run_test(size=SIZE) as pilot:
        app = await opened(pilot, file)
        assert lines(app, "module", "version", "today", "then", "moves", "outcomes") == [
            ("btp-operator", "1.3.1", "1", "–", "[-1]", "uninstall in 1"),
            ("btp-operator", "not installed", "–", "1", "+1", "uninstall in 1"),
            ("istio", "1.21.0", "1", "1", "~1", "error in 1"),
            ("istio", "1.20.3", "3", "2", "-1 ~2", "downgrade refused in 2, upgrade in 1"),
            ("istio", "1.20.0", "–", "1", "+1", "upgrade in 1"),
            ("keda", "1.8.2", "1", "1", "~1", "recover in 1"),
            ("keda", "1.6.0", "4", "4", "~2", "await window in 2"),
        ]
        counts = text(app, "#counts")
        assert counts.startswith("kcp-prod: 6 runtimes: uninstall in 1, error in 1, downgrade refused in 2, await")
        assert f"{file}, read 12:00:00 UTC" in counts
        assert "maintenance window policy: ConfigMap kcp-system/policy" in counts
        await pilot.press("ctrl+z")
        assert ("istio", "1.19.0", "–", "–", "–", "") not in lines(app, "module", "version")


async def test_a_number_opens_its_runtimes_with_the_reason_of_each(file: Path) -> None:
    async with fleet_app(StillFleet()).run_test(size=SIZE) as pilot:
        app = await opened(pilot, file)
        await pilot.press("j", "j", "j", "left")
        assert "enter lists 2 runtimes: istio 1.20.3 then" in text(app, "#reason")
        assert lines(app, "then")[3] == ("[2]",)
        await pilot.press("enter")
        await until(pilot, lambda: len(lines(app, "runtime")) == 2)
        assert lines(app, "runtime", "outcome", "today", "then") == [
            (name, "downgrade refused", "keep 1.20.3", "downgrade refused 1.20.0") for name in (WARNING, WINDOW)
        ]
        assert "istio 1.20.3 then" in text(app, "#counts")
        why = {row[0] for row in lines(app, "why")}
        assert len(why) == 1
        assert "1.20.0" in why.pop()
        await pilot.press("slash", *WINDOW[:4], "enter")
        await until(pilot, lambda: len(lines(app, "runtime")) == 1)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CatalogScreen) and app.runtime_key == (CONTROL, WINDOW))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, WhatIfScreen) and len(lines(app, "runtime")) == 1)
        await pilot.press("escape")
        await until(pilot, lambda: len(lines(app, "runtime")) == 2)
        await pilot.press("escape")
        await until(pilot, lambda: is_matrix(app) and lines(app, "then")[3] == ("[2]",))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))


async def test_the_numbers_follow_the_fleet(file: Path) -> None:
    source = StillFleet()
    async with fleet_app(source).run_test(size=SIZE) as pilot:
        app = await opened(pilot, file)
        source.change(runtime("new", "aws", "eu10", b.report("istio", "1.20.3")), gone=[(CONTROL, WARNING)])
        wanted = ("istio", "1.20.3", "3", "2")
        await until(pilot, lambda: wanted in lines(app, "module", "version", "today", "then"))
        await until(pilot, lambda: "btp-operator" not in {one for (one,) in lines(app, "module")})
        follower = source.followers[0]
        await pilot.press("escape")
        await until(pilot, lambda: follower.closed)


async def test_a_file_that_changes_is_read_again_and_a_broken_one_keeps_the_numbers(file: Path) -> None:
    async with fleet_app(StillFleet()).run_test(size=SIZE) as pilot:
        app = await opened(pilot, file.parent)
        before = lines(app, "module", "version", "then")
        file.write_text("kind: [")
        await until(pilot, lambda: "▲" in text(app, "#counts"), partial(text, app, "#counts"))
        assert f"{file}" in text(app, "#counts")
        assert f"displayed: {file.parent}, read 12:00:00 UTC" in text(app, "#counts")
        assert lines(app, "module", "version", "then") == before
        file.write_text(changed_catalog(keda={"regular": "1.6.0", "fast": "1.6.0"}))
        await until(pilot, lambda: "changed, read again 12:00:00 UTC" in text(app, "#counts"))
        assert "istio" not in {one for (one,) in lines(app, "module")}
        shutil.rmtree(file.parent)
        await until(pilot, lambda: "▲" in text(app, "#counts"))


async def test_a_key_reads_a_file_again_whose_time_and_size_are_the_same(file: Path) -> None:
    async with fleet_app(StillFleet()).run_test(size=SIZE) as pilot:
        app = await opened(pilot, file)
        about = file.stat()
        file.write_text(CHANGED.replace("1.20.0", "1.19.9"))
        os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: ("1.19.9",) in lines(app, "version"), partial(lines, app, "version"))


BAD = [
    ("missing.yaml", "cannot read missing.yaml: No such file or directory"),
    ("empty", "empty has no ModuleReleaseMeta, ModuleTemplate or Kyma"),
    ("/dev/null", "/dev/null is neither a file nor a folder"),
]


@pytest.mark.parametrize(("path", "problem"), BAD)
async def test_a_bad_file_gives_the_error_of_the_command(
    path: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    async with fleet_app(StillFleet()).run_test(size=SIZE) as pilot:
        app = await there(pilot)
        run(app, f"whatif {path}")
        await until(pilot, lambda: isinstance(app.screen, WhatIfScreen) and problem in text(app, "#nothing"))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))


async def test_lists_that_are_forbidden_are_named_and_later_lists_are_used(file: Path) -> None:
    source = StillFleet()
    source.unlistable = ForbiddenError("you may not list ModuleTemplates")
    async with fleet_app(source).run_test(size=SIZE) as pilot:
        app = await there(pilot)
        run(app, f"whatif {file}")
        await until(
            pilot,
            lambda: isinstance(app.screen, WhatIfScreen) and "you may not list ModuleTem" in text(app, "#nothing"),
        )
        source.unlistable = None
        source.objects_changed()
        await until(pilot, lambda: bool(lines(app, "module")))


@pytest.mark.parametrize("words", ["", " -"])
async def test_a_command_without_a_file_says_how(words: str) -> None:
    async with fleet_app(StillFleet()).run_test(size=SIZE) as pilot:
        app = await there(pilot)
        problems: list[str] = []
        app.problem = problems.append  # type: ignore[method-assign, assignment]
        run(app, f"whatif{words}")
        assert isinstance(app.screen, FleetScreen)
        assert "type `:whatif FILE|FOLDER`" in problems[0]


async def test_audit_mode_has_it_too(file: Path) -> None:
    app = FleetApp(StillFleet, clock=lambda: b.NOW, audit=True)
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, file)
        assert lines(app, "module")


async def test_the_table_is_saved(file: Path, tmp_path: Path) -> None:
    async with fleet_app(StillFleet()).run_test(size=SIZE) as pilot:
        app = await opened(pilot, file)
        run(app, f"save {tmp_path / 'out.csv'}")
        saved = (tmp_path / "out.csv").read_text().splitlines()
        assert saved[0].lower() == "module,version,today,then,moves,outcomes"
        assert len(saved) == 8


def test_files_and_folders_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("catalog/keda.yaml", "catalog/deep/no.yaml", "new kyma.yml", "note.txt", ".hidden/a.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert manifest_paths() == ["catalog/", "'new kyma.yml'", "catalog/deep/", "catalog/keda.yaml"]
    assert manifest_paths("missing") == []
