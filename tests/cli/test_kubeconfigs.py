"""The kubeconfigs of the guide: each does what its table says; KUBECTL=PATH checks kubectl's column, too."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.adapters.kube.auth.credentials import Credential, CredentialSource
from kymatui.cli.main import main
from tests.kubeconfigs import CASES, Kubeconfigs, open_case, redacted, run_kubectl
from tests.sandboxes.starting import told_sandbox

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "kubeconfigs.md"


def rows() -> list[tuple[str, str, str]]:
    lines = [line.strip("| \n").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [(title, kubectl, kymatui) for title, kubectl, kymatui in lines[1:]]


def test_the_table_has_every_case_once() -> None:
    assert [title for title, _, _ in rows()] == list(CASES)
    assert len(CASES) >= 30


@pytest.fixture(scope="module")
def world() -> Iterator[Path]:
    with told_sandbox() as running:
        yield running.kubeconfig


@pytest.fixture
def given(world: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Kubeconfigs:
    case = open_case(tmp_path, world, "viewer")
    CASES[request.param](case)
    return case


@pytest.mark.parametrize(
    ("given", "expected"), [(title, kymatui) for title, _, kymatui in rows()], indirect=["given"], ids=list(CASES)
)
def test_kymatui_does_what_the_table_says(
    given: Kubeconfigs, expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(given.folder)
    monkeypatch.setenv("HOME", str(given.folder / "home"))
    for name in ("KUBERNETES_SERVICE_HOST", "KUBECONFIG", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.environment.items():
        monkeypatch.setenv(name, value)
    if given.pod:
        for name, file in (("TOKEN", "token"), ("CERT", "ca.crt")):
            constant = f"kubernetes.config.incluster_config.SERVICE_{name}_FILENAME"
            monkeypatch.setattr(constant, str(given.folder / "serviceaccount" / file))
    if given.rotation is not None:
        renewed, rotation = CredentialSource.renewed, given.rotation

        def rotated(source: CredentialSource, refused: Credential) -> Credential | None:
            rotation()
            return renewed(source, refused)

        monkeypatch.setattr(CredentialSource, "renewed", rotated)
    main(["rights", "-o", "json", *given.options])
    printed = capsys.readouterr()
    answer = json.loads(printed.out) if printed.out.startswith("{") else {}
    line = next((line for line in printed.err.splitlines() if line.startswith("kymatui: ")), "")
    actual = f"works as {answer['user']}" if "user" in answer else redacted(line.removeprefix("kymatui: "), given)
    assert actual == expected


@pytest.mark.skipif("KUBECTL" not in os.environ, reason="KUBECTL names the kubectl to compare with")
@pytest.mark.parametrize(
    ("given", "expected"), [(title, kubectl) for title, kubectl, _ in rows()], indirect=["given"], ids=list(CASES)
)
def test_kubectl_does_what_the_table_says(given: Kubeconfigs, expected: str) -> None:
    if given.pod:
        pytest.skip("kubectl reads the ServiceAccount of a Pod from a folder of the system")
    assert run_kubectl(os.environ["KUBECTL"], given) == expected
