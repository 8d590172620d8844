"""Sandboxes that tests of several files share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.main import main
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.cli.intruding import Stage
from tests.engine.places import eventually
from tests.sandboxes.starting import ready_sandbox, told_sandbox

_GROUP = "operator.kyma-project.io"
_KYMA = GroupVersionKind(_GROUP, "v1beta2", "Kyma")
_MANIFEST = GroupVersionKind(_GROUP, "v1beta2", "Manifest")
_KYMAS = {"kcp": ObjectRef(_KYMA, "kcp-system", "skr"), "skr": ObjectRef(_KYMA, "kyma-system", "default")}


@pytest.fixture(scope="session")
def two_clusters() -> Iterator[Path]:
    """The kubeconfig of a control plane with a small fleet, and of the runtime that is really there."""
    with ready_sandbox("kcp", "skr", empty=False, settled=True) as running:
        yield running.kubeconfig


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    """The kubeconfig of a file's own sample world, on one cluster."""
    with told_sandbox() as running:
        yield running.kubeconfig


@pytest.fixture
def current_kubeconfig(kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`kubeconfig`, which commands find in the environment, with a home of the test's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)
    return kubeconfig


@pytest.fixture
def cluster(current_kubeconfig: Path) -> KubeCluster:
    return open_cluster(SessionOptions(str(current_kubeconfig)))


@pytest.fixture
def stage(current_kubeconfig: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Stage:
    """Modules of the test's own on `kubeconfig`."""
    stage = Stage(current_kubeconfig, tmp_path)
    stage.number = abs(hash(request.node.name)) % 10**9
    return stage


@pytest.fixture
def run(cluster: KubeCluster, capsys: pytest.CaptureFixture[str]) -> Any:
    """A function that runs a command line on the cluster; returns status, output and errors."""

    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(words)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture(autouse=True)
def _kymas_restored(request: pytest.FixtureRequest) -> Iterator[None]:
    """Restore both Kymas of the shared runtime, so that no test depends on how another one ended."""
    if "two_clusters" not in request.fixturenames:
        yield
        return
    kubeconfig = str(request.getfixturevalue("two_clusters"))
    sides = {name: KubeCluster(Client(Transport(connect(kubeconfig, name)))) for name in _KYMAS}
    before = {name: _requested(cluster, _KYMAS[name]) for name, cluster in sides.items()}
    states = {name: _state(cluster, _KYMAS[name]) for name, cluster in sides.items()}
    manifests = _manifests(sides["kcp"])
    yield
    changed = False
    for name, cluster in sides.items():
        patch = _back(before[name], _requested(cluster, _KYMAS[name]))
        if patch:
            cluster.patch(_KYMAS[name], patch, PatchKind.MERGE)
            changed = True
    if changed:
        eventually(lambda: _is_as_before(manifests, _manifests(sides["kcp"])), "the runtime has the modules it had")
        for name, cluster in sides.items():
            ref, before_it = _KYMAS[name], {name: states[name]}
            eventually(
                lambda: _is_as_before(before_it, {name: _state(cluster, ref)}),  # noqa: B023 (called at once)
                f"{ref} is {states[name]} again",
            )
    for cluster in sides.values():
        cluster.client.transport.close()


def _requested(cluster: Cluster, ref: ObjectRef) -> dict[str, dict[str, Any]]:
    kyma = cluster.get(ref)
    assert kyma is not None
    return {"spec": dict(kyma["spec"]), "labels": dict(kyma["metadata"].get("labels") or {})}


def _manifests(control: Cluster) -> dict[str, str]:
    """Return the states of the runtime's Manifests by module."""
    found = control.list(_MANIFEST, "kcp-system", labels=f"{LABEL_KYMA_NAME}=skr")
    module = f"{_GROUP}/module-name"
    return {raw["metadata"]["labels"].get(module, raw["metadata"]["name"]): _state_of(raw) for raw in found}


def _state(cluster: Cluster, ref: ObjectRef) -> str:
    return _state_of(cluster.get(ref) or {})


def _state_of(raw: Mapping[str, Any]) -> str:
    return str((raw.get("status") or {}).get("state", ""))


def _is_as_before(before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether the same are there in their former states; a state on the way to another may have come to it."""
    return before.keys() == now.keys() and all(
        state in ("", "Processing", "Deleting") or now[name] == state for name, state in before.items()
    )


def _back(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the merge patch that restores the fields; empty where nothing differs."""
    differing = {
        part: {name: was.get(name) for name in {*was, *after[part]} if was.get(name) != after[part].get(name)}
        for part, was in before.items()
    }
    patch: dict[str, Any] = {"spec": differing["spec"]} if differing["spec"] else {}
    return {**patch, "metadata": {"labels": differing["labels"]}} if differing["labels"] else patch


@pytest.fixture(scope="session")
def installing() -> Iterator[Path]:
    """The kubeconfig of a sample world in which modules are installed, upgraded and deleted directly."""
    with told_sandbox() as running:
        yield running.kubeconfig
