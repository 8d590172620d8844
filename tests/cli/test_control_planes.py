"""Commands in the context of a control plane with one runtime, without `--remote`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kymatui.cli.main import main
from tests.sandboxes.starting import ready_sandbox

VERBS = (
    "enable connectivity-proxy",
    "disable keda",
    "channel keda fast",
    "policy keda Ignore",
    "manage cloud-manager",
    "unmanage keda",
    "delete keda",
)


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with ready_sandbox("kcp", "a1", empty=False, settled=True, fleet=1) as running:
        yield running.kubeconfig


@pytest.fixture(autouse=True)
def environment(kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    output = capsys.readouterr()
    return status, output.out, output.err


def modules(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    _, out, _ = printed(capsys, "catalog", "-o", "json", "--context", "kcp", *words)
    return {module["name"]: module for module in json.loads(out)["modules"]}


def test_modules_of_the_runtime_are_as_enabled_as_through_the_runtime(capsys: pytest.CaptureFixture[str]) -> None:
    alone, through = modules(capsys), modules(capsys, "--remote", "a1")
    reported = [name for name, module in alone.items() if module["installed"]]
    assert len(reported) > 10
    assert {name: alone[name]["managed"] for name in reported} == {name: through[name]["managed"] for name in reported}
    deleting = [name for name, module in alone.items() if module["presence"] == "deleting"]
    assert deleting == [name for name, module in through.items() if module["presence"] == "deleting"] == ["api-gateway"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_change_without_effect_names_the_command_that_has_one(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = printed(capsys, *verb.split(), "--yes", "--context", "kcp")
    assert (status, f"`kymatui {verb} --remote a1`" in err, "no changes made" in err) == (2, True, True), err
    status, out, err = printed(capsys, *verb.split(), "--dry-run", "--context", "kcp", "--remote", "a1")
    assert "run in another cluster" not in out + err
    assert "to change" in out + err or verb.startswith("delete"), out + err


def test_finalizers_are_not_denied_where_the_runtime_is_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = printed(capsys, "finalizers", "api-gateway", "--context", "kcp")
    assert (status, out, "`kymatui finalizers api-gateway --remote a1`" in err) == (2, "", True)
    status, out, _ = printed(capsys, "finalizers", "api-gateway", "--context", "kcp", "--remote", "a1")
    assert (status, "deletion-hook" in out) == (0, True)


def test_an_audit_misses_no_object_of_the_runtime(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = printed(capsys, "audit", "-o", "json", "--context", "kcp")
    rules = {finding["rule"] for finding in json.loads(out)["findings"]}
    assert "drift.unseen" in rules
    assert not {"drift.missing", "drift.fields"} & rules
