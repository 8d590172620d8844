"""`--catalog` and the configuration's `catalogs`: modules from outside of the cluster, for every reading command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kymatui.cli.main import main
from tests.adapters.clusters import Cluster, serving, write_kubeconfig
from tests.sessions.test_catalogs import community
from tests.sessions.worlds import kyma_cluster


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KYMATUI_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[str]:
    cluster: Cluster = kyma_cluster(1)
    with serving(cluster.respond) as address:
        yield str(write_kubeconfig(tmp_path, address))
        cluster.close()


def source(folder: Path, name: str) -> str:
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(community(name)))
    return str(file)


def origins(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    return {module["name"]: module["origin"] for module in json.loads(capsys.readouterr().out)["modules"]}


def test_sources_before_and_behind_the_command_add_up(
    kubeconfig: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two, three = (source(tmp_path, name) for name in ("alpha", "bravo", "charly"))
    words = ["--kubeconfig", kubeconfig, "--catalog", one, "catalog", "--catalog", two, "--catalog", three]
    assert main([*words, "-o", "json"]) == 0
    assert origins(capsys) == {"alpha": "community", "bravo": "community", "charly": "community", "moduleaa": "kyma"}


def test_the_configuration_names_sources_relative_to_itself(
    kubeconfig: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    source(folder, "alpha")
    (folder / "config.toml").write_text('catalogs = ["alpha.yaml"]')
    monkeypatch.setenv("KYMATUI_CONFIG", str(folder / "config.toml"))
    more = source(tmp_path, "bravo")
    assert main(["catalog", "--kubeconfig", kubeconfig, "--catalog", more, "-o", "json"]) == 0
    assert set(origins(capsys)) == {"alpha", "bravo", "moduleaa"}


def test_wide_and_module_say_where_a_module_is_from(
    kubeconfig: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = source(tmp_path, "alpha")
    options = ["--kubeconfig", kubeconfig, "--catalog", given]
    for words in (["catalog", "-o", "wide"], ["module", "alpha"], ["module", "alpha", "-o", "json"]):
        assert main([*words, *options]) == 0
        assert given in capsys.readouterr().out


@pytest.mark.parametrize("words", [["checks", "alpha"], ["drift"]])
def test_every_reading_command_takes_them(
    kubeconfig: str, tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--kubeconfig", kubeconfig, "--catalog", source(tmp_path, "alpha")]) == 0
    assert capsys.readouterr().out


def test_a_source_that_cannot_be_read_is_said_beside_the_rows(
    kubeconfig: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalog", "--kubeconfig", kubeconfig, "--catalog", str(tmp_path / "gone")]) == 0
    said = capsys.readouterr()
    assert "moduleaa" in said.out
    assert "cannot be read" in said.err
    assert str(tmp_path / "gone") in said.err
