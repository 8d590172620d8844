"""`kubectl kymatui`: its own name in help and hints, kubectl's options, and its completion."""

from __future__ import annotations

import contextlib
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.auth.kubeconfig import AccessOverrides
from kymatui.adapters.kube.transport.transport import Request, Transport
from kymatui.cli import kubectl_plugin
from kymatui.cli.command_help import TOP_EXAMPLES
from kymatui.cli.main import main
from kymatui.cli.output.printing import PROGRAM
from kymatui.errors import UnreachableError
from tests.sandboxes.starting import told_sandbox

SCRIPTS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["scripts"]


def test_kubectl_finds_the_plugin_and_its_completion_by_their_names() -> None:
    assert {"kubectl-kymatui", "kubectl_complete-kymatui"} < set(SCRIPTS)
    for target in SCRIPTS.values():
        module, _, function = target.partition(":")
        assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize("words", ["--help", "help", "catalog --help", "help delete", "sandbox up --help"])
def test_help_has_the_words_that_started_it(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        kubectl_plugin.main(words.split())
    out = capsys.readouterr().out
    assert out.startswith("usage: kubectl kymatui ")
    assert [line for line in out.splitlines() if line.lstrip().startswith("kymatui ")] == []
    assert "`kymatui " not in out
    assert "kubectl kubectl" not in out


def test_help_has_the_examples_of_the_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        kubectl_plugin.main(["--help"])
    out = capsys.readouterr().out
    assert all(f"  kubectl {line}" in out for line in TOP_EXAMPLES)


def test_hints_have_the_words_that_started_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert kubectl_plugin.main(["audit", "explain"]) == 64
    assert "run `kubectl kymatui audit explain RULE`; `kubectl kymatui audit rules`" in capsys.readouterr().err
    assert main(["audit", "explain"]) == 64
    assert "run `kymatui audit explain RULE`; `kymatui audit rules`" in capsys.readouterr().err
    assert PROGRAM.name == "kymatui"


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["cata"], ["catalog", ":4"]),
        (["catalog", "--kubec"], ["--kubeconfig", ":4"]),
        (["catalog", "--kubeconfig", ""], [":0"]),
        (["catalog", "-o", "jsonp"], ["jsonpath=", ":6"]),
        (["--color", "a"], ["auto", "always", ":4"]),
        (["nonsense", "x"], [":4"]),
    ],
    ids=str,
)
def test_completion_speaks_the_protocol_of_kubectl(
    words: list[str], answer: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert kubectl_plugin.print_completion(words) == 0
    assert capsys.readouterr().out.splitlines() == answer


@pytest.mark.parametrize("alias", ["list", "status"])
def test_the_words_that_people_type_first_list_the_modules(
    alias: str, installing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("-o", "name", "--kubeconfig", str(installing))
    assert main([alias, *at]) == main(["catalog", *at]) == 0
    lines = capsys.readouterr().out.splitlines()
    half = len(lines) // 2
    assert lines[:half] == lines[half:]
    assert "keda" in lines
    assert main(["help", alias]) == 0
    assert "List modules" in capsys.readouterr().out


def test_a_user_is_impersonated(installing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--kubeconfig", str(installing))
    assert main(["enable", "nats", "--as", "jane", "--yes", *at]) == 1
    assert 'User "jane" cannot' in capsys.readouterr().err
    assert main(["catalog", "--as", "jane", "--as-group", "system:masters", *at]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("--as-group admins", "kymatui: --as-group and --as-uid need --as"),
        ("--user nobody", 'kymatui: no user "nobody" in '),
        ("--cluster other", "kymatui: kymatui reads --cluster from the kubeconfig only"),
        ("--token abc", "kymatui: kymatui reads --token from the kubeconfig only"),
        ("--request-timeout soon", 'kymatui: --request-timeout must be a duration, not "soon"'),
    ],
)
def test_options_of_kubectl_that_make_no_sense(
    words: str, first: str, installing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["catalog", *words.split(), "--kubeconfig", str(installing)]) == 64
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.splitlines()[0].startswith(first)
    assert found.err.splitlines()[1].startswith("  hint: ")


def test_a_request_may_be_given_less_time() -> None:
    with told_sandbox() as sandbox:
        at = ("--kubeconfig", str(sandbox.kubeconfig))
        transport = Transport(connect(str(sandbox.kubeconfig), overrides=AccessOverrides(request_timeout=8.0)))
        Client(transport).version()
        assert main(["sandbox", "fault", "latency", "--resource", "nodes", "--seconds", "20s", *at]) == 0
        with pytest.raises(UnreachableError):
            transport.send(Request("GET", "/api/v1/nodes"))
        assert main(["sandbox", "fault", "clear", *at]) == 0
        transport.close()


def test_the_plugin_reads_its_arguments_from_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/kubectl-kymatui", "catalgo"])
    assert kubectl_plugin.main() == 64
    assert 'no command "catalgo"' in capsys.readouterr().err
