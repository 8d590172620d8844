"""The same as `test_unseen` where Manifests are written for kymatui's operator, and with `--remote`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.sandbox.world.modules.module_manifest import manifest_objects
from kymatui.sandbox.world.modules.sample_modules import module_named
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.cli import unseen_manifests
from tests.cli.intruding import Stage
from tests.cli.unseen import Walk, walk, walks
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

pytestmark = pytest.mark.xdist_group("unseen-elsewhere")  # two sandboxes for all of them

TEMPLATE = GroupVersionKind("operator.kyma-project.io", "v1beta2", "ModuleTemplate")
KEPT = ("name", "namespace", "labels", "annotations")
REMOTE = [pytest.param(flow, sort, id=f"{flow.name}-{sort}") for flow, sort in walks()]
MANIFESTS = [pytest.param(flow, sort, id=f"{flow.name}-{sort}") for flow, sort in unseen_manifests.walks()]


@pytest.fixture(scope="module")
def pair() -> Iterator[ReadySandbox]:
    with ready_sandbox("kcp", "skr", empty=False, settled=True) as running:
        install_by_hand(running.kubeconfig)
        yield running


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ReadySandbox, Stage]]:
    with ready_sandbox("own") as running:
        folder = tmp_path_factory.mktemp("manifests")
        yield running, unseen_manifests.new_stage(running.kubeconfig, folder, running.registry)


def install_by_hand(kubeconfig: Path) -> None:
    """Put docker-registry and its templates on the runtime, as kubectl does."""
    control, runtime = (open_cluster(SessionOptions(str(kubeconfig), side)) for side in ("kcp", "skr"))
    module = module_named("docker-registry")
    templates = [template for template in control.list(TEMPLATE, "default") if module.name in read_ref(template).name]
    for body in [*templates, *manifest_objects(module, module.versions[0])]:
        body["metadata"] = {key: body["metadata"][key] for key in KEPT if key in body["metadata"]}
        runtime.apply(body, manager="kubectl")
        runtime.forget_kinds()


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
