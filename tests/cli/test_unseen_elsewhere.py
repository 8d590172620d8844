"""The same as `test_unseen` where Manifests are written for kymatui's operator, and with `--remote`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import unseen_manifests
from tests.cli.intruding import Stage
from tests.cli.unseen import Walk, walk, walks
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

pytestmark = pytest.mark.xdist_group("unseen-elsewhere")  # two sandboxes for all of them

REMOTE = [
    pytest.param(flow, sort, id=f"{flow.name}-{sort}")
    for flow, sort in walks()
    if flow.name != "adopt"  # the runtime has nothing that is to be adopted
]
MANIFESTS = [pytest.param(flow, sort, id=f"{flow.name}-{sort}") for flow, sort in unseen_manifests.walks()]


@pytest.fixture(scope="module")
def pair() -> Iterator[ReadySandbox]:
    with ready_sandbox("kcp", "skr", empty=False, settled=True) as running:
        yield running


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ReadySandbox, Stage]]:
    with ready_sandbox("own") as running:
        folder = tmp_path_factory.mktemp("manifests")
        yield running, unseen_manifests.new_stage(running.kubeconfig, folder, running.registry)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)


@pytest.mark.parametrize(("flow", "sort"), REMOTE)
def test_what_an_intruder_does_in_a_runtime_is_left_as_it_is(
    flow: Walk,
    sort: str,
    pair: ReadySandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(pair.kubeconfig))
    stage = Stage(pair.kubeconfig, tmp_path, "skr")
    stage.number = abs(hash(request.node.name)) % 10**9
    came = walk(flow, sort, stage)
    assert came.wrong == "", came.asked


@pytest.mark.parametrize(("flow", "sort"), MANIFESTS)
def test_what_an_intruder_does_to_a_manifest_is_left_as_it_is(
    flow: Walk, sort: str, bare: tuple[ReadySandbox, Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    running, stage = bare
    monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
    came = walk(flow, sort, stage)
    assert came.wrong == "", came.asked
    if flow.name.startswith("delete"):
        assert "delete Manifest modules/cache" in came.asked.shown
