"""`:whatif FILE` on a control plane over HTTP: the numbers of the command, and live ones."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml
from textual.widgets import Static

from kymatui.cli.main import main
from kymatui.domain.whatif.fleet_objects import build_fleet_objects
from kymatui.errors import NotFoundError
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.remote_session import RemoteSession
from kymatui.settings.config_file import Settings
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.screens.fleet.whatif_screen import WhatIfScreen
from tests.domain import builders as b
from tests.integration.embedded import eventually
from tests.ui.driving import until
from tests.ui.test_fleet_screens import there


@pytest.fixture
def control(two_clusters: Path) -> SessionOptions:
    return SessionOptions(kubeconfig=str(two_clusters), context="kcp")


def test_kymas_and_catalog_are_followed_as_the_command_lists_them(control: SessionOptions, tmp_path: Path) -> None:
    exported = tmp_path / "fleet.json"
    assert main(["fleet", "export", str(exported), "--kubeconfig", control.kubeconfig, "--context", "kcp"]) == 0
    document = json.loads(exported.read_text())
    session = RemoteSession(RemoteOptions(control))
    followed = session.follow_objects(lambda: None)
    followed.start()
    try:
        eventually(lambda: followed.objects() is not None, "the lists are there")
        listed = followed.objects()
        assert listed is not None
        fleet = build_fleet_objects(followed.name, *listed, {}, time.time())
        assert {key[1] for key in fleet.kymas} == {one["metadata"]["name"] for one in document["kymas"]}
        found = {key[2] for key in fleet.catalog if key[1] in fleet.namespaces}
        assert found == {one["metadata"]["name"] for one in document["catalog"]}
    finally:
        followed.close()
        session.close()


def test_a_cluster_without_kymas_is_named(control: SessionOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    session: RemoteSession = RemoteSession(RemoteOptions(control))
    monkeypatch.setattr(session.home.client.discovery, "find_kind", lambda *_: None)
    followed = session.follow_objects(lambda: None)
    followed.start()
    with pytest.raises(NotFoundError, match="does not serve Kyma"):
        followed.objects()
    followed.close()
    session.close()


async def _numbers(control: SessionOptions, file: Path) -> str:
    app = FleetApp(lambda: RemoteSession(RemoteOptions(control)), settings=Settings())
    async with app.run_test(size=(200, 40)) as pilot:
        await there(pilot)
        app.screen.command_line.run(f"whatif {file}")  # type: ignore[attr-defined]
        await until(pilot, lambda: isinstance(app.screen, WhatIfScreen) and bool(app.screen.query("#counts")))
        counts = app.screen.query_one("#counts", Static)
        await until(pilot, lambda: bool(str(counts.render())))
        return str(counts.render()).splitlines()[0]


async def test_the_screen_has_the_numbers_of_the_command(
    control: SessionOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "keda.yaml"
    file.write_text(yaml.safe_dump(b.meta("keda", {"regular": "9.9.9", "fast": "9.9.9"}, namespace="kcp-system")))
    numbers = await _numbers(control, file)
    assert main(["whatif", "-f", str(file), "--kubeconfig", control.kubeconfig, "--context", "kcp"]) == 2
    assert numbers in capsys.readouterr().out.splitlines()
    assert "error in" in numbers
