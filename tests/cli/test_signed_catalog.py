"""`kymatui catalog --signed`: whether components are signed; unknown is never "unsigned"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kymatui.cli.main import main
from kymatui.domain.catalog.catalog_json import catalog_json_schema
from tests.adapters.clusters import serving, write_kubeconfig
from tests.bundle.components import document, key_files, put
from tests.ocm.components import signed
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)
from tests.sessions.worlds import kyma_cluster


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    cluster = kyma_cluster(2)
    with serving(cluster.respond) as address:
        yield str(write_kubeconfig(tmp_path, address))
        cluster.close()


@pytest.fixture
def host(serve: Serve) -> str:  # noqa: F811
    found = serve().registry.address
    put(found, signed(document("kyma-project.io/module/moduleaa", "1.0.0")))
    return found


def signatures(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    found = json.loads(capsys.readouterr().out)
    Draft202012Validator(catalog_json_schema()).validate(found)
    return {one["name"]: one["signature"] for one in found["modules"]}


def test_components_are_read_from_the_registry(
    kubeconfig: str, host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["catalog", "--kubeconfig", kubeconfig, "--signed", "--registry", f"http://{host}/p"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert [line.split()[-1] for line in out.splitlines()] == ["SIGNED", "signed", "unknown"]
    assert "signature of moduleab unknown: " in err
    assert "kyma-project.io/module/moduleab:1.0.0 does not exist" in err

    put(host, document("kyma-project.io/module/moduleab", "1.0.0"))
    _, given = key_files(tmp_path)
    assert main([*words, "-o", "json", "--public-key", given]) == 0
    found = signatures(capsys)
    assert found["moduleaa"] == {
        "status": "valid",
        "names": ["acme"],
        "component": f"{host}/p//kyma-project.io/module/moduleaa:1.0.0",
        "reason": None,
    }
    assert (found["moduleab"]["status"], found["moduleab"]["names"]) == ("unsigned", [])
    _, other = key_files(tmp_path, 1)
    assert main([*words, "-o", "json", "--public-key", other]) == 0
    found = signatures(capsys)
    assert found["moduleaa"]["status"] == "invalid"
    assert "was not made with this key" in str(found["moduleaa"]["reason"])


def test_an_unknown_registry_is_named_once(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "--kubeconfig", kubeconfig, "--signed", "-o", "json"]) == 0
    assert {one["status"] for one in signatures(capsys).values()} == {"unknown"}
    assert main(["catalog", "--kubeconfig", kubeconfig, "--signed", "--registry", "http://127.0.0.1:1/p"]) == 0
    err = capsys.readouterr().err
    assert err.count("cannot reach 127.0.0.1:1") == 1


def test_without_the_option_nothing_is_asked(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "--kubeconfig", kubeconfig, "-o", "json"]) == 0
    assert all("signature" not in one for one in json.loads(capsys.readouterr().out)["modules"])
    assert main(["catalog", "--kubeconfig", kubeconfig, "--signed", "--remote", "x"]) == 64
    assert "--signed reads one cluster" in capsys.readouterr().err
    assert main(["catalog", "--kubeconfig", kubeconfig, "--signed", "--public-key", "/no/key"]) == 1
    assert "--public-key: /no/key cannot be read" in capsys.readouterr().err
