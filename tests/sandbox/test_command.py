"""`kymatui sandbox`: what it prints, writes and refuses, and the faults of a running one."""

from __future__ import annotations

import gc
import http.client
import json
import ssl
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.cli.main import main
from kymatui.errors import UsageError
from kymatui.sandbox.apiserver.http.http_server import loopback
from kymatui.sandbox.door import FAULTS
from kymatui.sandbox.fault_client import WORDS
from kymatui.sandbox.sandbox_process import RunningSandbox, start_sandbox
from tests.sandboxes.starting import ReadySandbox


def ask(
    sandbox: RunningSandbox | ReadySandbox, path: str, token: str | None = None, context: int = 0
) -> tuple[int, Any]:
    """One GET; the token of the kubeconfig where none is given."""
    config = yaml.safe_load(sandbox.kubeconfig.read_text())
    host, port = config["clusters"][context]["cluster"]["server"].removeprefix("https://").split(":")
    token = config["users"][context]["user"]["token"] if token is None else token
    connection = http.client.HTTPSConnection(host, int(port), timeout=10, context=ssl._create_unverified_context())
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.fixture
def faulty(sandbox: ReadySandbox, capsys: pytest.CaptureFixture[str]) -> Iterator[list[str]]:
    """The options of the command for the running sandbox; its faults are cleared behind the test."""
    yield ["--kubeconfig", str(sandbox.kubeconfig)]
    assert main(["sandbox", "fault", "clear", "--kubeconfig", str(sandbox.kubeconfig)]) == 0
    capsys.readouterr()


def test_the_kubeconfig_is_private_and_names_the_registry(sandbox: ReadySandbox) -> None:
    assert stat.S_IMODE(sandbox.kubeconfig.stat().st_mode) == 0o600
    config = yaml.safe_load(sandbox.kubeconfig.read_text())
    assert config["clusters"][0]["cluster"]["server"].startswith("https://127.0.0.1:")
    assert sandbox.registry.startswith("127.0.0.1:")


def test_nobody_comes_in_without_a_token(sandbox: ReadySandbox) -> None:
    assert ask(sandbox, "/api/v1/pods", token="wrong")[0] == 401
    assert ask(sandbox, "/api/v1/pods", token="")[0] == 403
    assert ask(sandbox, "/api/v1/pods")[0] == 200


def test_two_clusters_have_two_contexts() -> None:
    with start_sandbox(clusters=("kcp", "skr"), empty=True) as running:
        config = yaml.safe_load(running.kubeconfig.read_text())
        assert [context["name"] for context in config["contexts"]] == ["kcp", "skr"]
        assert [ask(running, "/readyz", context=number)[0] for number in (0, 1)] == [200, 200]
    assert not running.kubeconfig.exists()
    assert running.process.returncode == 0, "it ends cleanly when it is asked to"


def test_a_port_that_is_taken_is_told(
    sandbox: ReadySandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = yaml.safe_load(sandbox.kubeconfig.read_text())
    port = config["clusters"][0]["cluster"]["server"].rsplit(":", 1)[1]
    monkeypatch.setattr(gc, "set_threshold", lambda *given: None)  # what serves has the process to itself
    assert main(["sandbox", "up", "--empty", "--port", port, "--kubeconfig", str(tmp_path / "x")]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"cannot use port {port} of 127.0.0.1" in printed.err
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("address", ["0.0.0.0", "192.168.0.1", "::", "example.com"])
def test_it_listens_on_loopback_alone(address: str) -> None:
    with pytest.raises(UsageError):
        loopback(address)


@pytest.mark.parametrize("words", [["up"], ["up", "--kubeconfig", "x", "--port", "99999"], ["fault", "nope"], []])
def test_words_that_make_no_sense(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox", *words]) == 64
    assert "kymatui:" in capsys.readouterr().err


def test_the_words_of_faults_are_those_of_the_sandbox() -> None:
    assert set(FAULTS) == set(WORDS)


@pytest.mark.parametrize(
    ("word", "status"), [("throttle", 429), ("error", 500), ("conflict", 409), ("unauthorized", 401)]
)
def test_a_fault_meets_as_many_requests_as_it_says(
    sandbox: ReadySandbox, faulty: list[str], word: str, status: int
) -> None:
    assert main(["sandbox", "fault", word, "--resource", "secrets", "--verb", "list", "--count", "1", *faulty]) == 0
    assert ask(sandbox, "/api/v1/configmaps")[0] == 200
    assert [ask(sandbox, "/api/v1/secrets")[0] for _ in range(2)] == [status, 200]


def test_a_connection_is_dropped(sandbox: ReadySandbox, faulty: list[str]) -> None:
    assert main(["sandbox", "fault", "drop", "--resource", "secrets", "--count", "1", *faulty]) == 0
    with pytest.raises((ConnectionError, http.client.HTTPException, ssl.SSLError)):
        ask(sandbox, "/api/v1/secrets")
    assert ask(sandbox, "/api/v1/secrets")[0] == 200


def test_faults_are_listed(faulty: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["sandbox", "fault", "latency", "--resource", "nodes", "--seconds", "0.1", *faulty])
    capsys.readouterr()
    assert main(["sandbox", "fault", "list", *faulty]) == 0
    assert [fault["kind"] for fault in json.loads(capsys.readouterr().out)["faults"]] == ["latency"]


def test_a_file_that_is_no_kubeconfig_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox", "fault", "list", "--kubeconfig", str(tmp_path / "none")]) == 1
    assert "is not a kubeconfig of a sandbox" in capsys.readouterr().err
