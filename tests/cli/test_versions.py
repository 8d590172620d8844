"""`kymatui versions`: the versions of a module, and what differs between two, read from a registry that is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_fleet import run

pytestmark = pytest.mark.xdist_group("fleet")

ON_RUNTIME = ("--context", "skr")


@pytest.fixture(autouse=True)
def environment(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(two_clusters))


def test_versions_are_listed_newest_first_with_what_they_are_here(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "versions", "telemetry", *ON_RUNTIME, "-o", "json")
    found = json.loads(out)["versions"]
    assert (status, [one["version"] for one in found]) == (0, ["1.24.0", "1.23.0"])
    assert [(one["installed"], one["desired"]) for one in found] == [(True, False), (False, True)]
    lines = run(capsys, "versions", "telemetry", *ON_RUNTIME)[1].splitlines()
    assert lines[0].split() == ["VERSION", "CHANNELS", "SOURCE", "TEMPLATE", "HERE"]
    assert lines[1].split()[-1] == "installed"
    assert run(capsys, "versions", "telemetry", *ON_RUNTIME, "-o", "name")[1] == "1.24.0\n1.23.0\n"


def test_one_version_is_compared_with_the_installed_one(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, told = run(capsys, "versions", "telemetry", "1.23.0", *ON_RUNTIME, "-o", "json")
    found = json.loads(out)
    assert (status, told, found["from"]["version"], found["downgrade"]) == (0, "", "1.24.0", True)
    (image,) = found["differences"]["images"]
    assert image["path"] == "Deployment/kyma-system/telemetry-manager manager"
    assert [one["path"] for one in found["differences"]["objects"] if one["change"] == "added"] == [
        "ConfigMap/kyma-system/telemetry-manager-migration"
    ]
    assert (found["affected"], found["unread"]) == ([], [])
    table = run(capsys, "versions", "telemetry", "1.23.0", *ON_RUNTIME)[1]
    assert table.splitlines()[0].split() == ["SECTION", "CHANGE", "WHAT", "VALUE"]
    assert "1.24.0 → 1.23.0 (1 minor)\n\na downgrade, which is refused where the Kyma requests the module\n" in table


def test_two_versions_are_compared_by_every_way_to_the_runtime(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("versions", "telemetry", "1.23.0", "1.24.0", "-o", "md")
    direct, remote = run(capsys, *words, *ON_RUNTIME), run(capsys, *words, "--remote", "skr")
    assert direct[0] == remote[0] == 0
    assert "| images | changed | Deployment/kyma-system/telemetry-manager manager |" in direct[1]
    assert "| objects | removed | ConfigMap/kyma-system/telemetry-manager-migration |" in remote[1]


def test_an_installed_version_without_a_template_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, told = run(capsys, "versions", "keda", "1.6.0-experimental", *ON_RUNTIME)
    assert (status, told) == (0, "kymatui: no template of the installed version 1.4.0; compared with 1.5.0\n")


def test_a_version_that_does_not_exist_is_a_wrong_name(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, told = run(capsys, "versions", "telemetry", "1.24.1", *ON_RUNTIME)
    assert status == 64
    assert told.startswith('kymatui: no version "1.24.1" of telemetry; did you mean 1.24.0')
    assert told.endswith("  hint: `kymatui versions telemetry` lists them\n")


def test_what_cannot_be_fetched_is_said_with_a_status_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kymatui.errors import RegistryError
    from kymatui.sessions.fetching import LazyFetcher

    def refuse(self: LazyFetcher, address: str) -> bytes:
        raise RegistryError(f"{address.partition('/v2')[0]} refused the connection")

    monkeypatch.setattr(LazyFetcher, "url", refuse)
    words = ("versions", "telemetry", "1.23.0", *ON_RUNTIME)
    status, out, told = run(capsys, *words)
    assert status == 3
    assert "links" in out, "the templates are compared"
    assert told.count("refused the connection") == 2
    assert told.startswith("kymatui: not read: 1.24.0: http://127.0.0.1:")
    status, out, told = run(capsys, *words, "-o", "json")
    found = json.loads(out)
    assert (status, told, found["from"]["manifest"], len(found["unread"])) == (3, "", None, 2)
