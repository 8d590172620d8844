"""Who may only read, and not everything: what may be read is shown as everybody sees it, what may not is said.

No column ever holds another answer than that of a user who may read all: it is the same, or it is not known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import asdict

from kymatui.cli.main import main
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.snapshot.cluster_index import RELEASE_MAP_FEED
from kymatui.errors import ReadOnlyError
from kymatui.sessions.cluster.catalog_session import open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.feeds.feeds import WATCHED_KINDS
from tests import kube_writes
from tests.integration.embedded import (
    GROUP,
    KYMAS,
    MANIFESTS,
    METAS,
    NAMESPACE,
    STRICT,
    TEMPLATES,
    Embedded,
    eventually,
    template,
)
from tests.sandboxes.starting import ReadySandbox

Json = dict[str, Any]
ALPHAS = f"alphas.{GROUP}"
EVERYTHING = (*(fixed.feed for fixed in WATCHED_KINDS if fixed.feed != RELEASE_MAP_FEED), ALPHAS)
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
KLM = {"manager": "declarative.kyma-project.io/applier", "force": True}
NOT_KNOWN: dict[str, tuple[object, ...]] = {
    "channel": (None,),
    "desired": (None,),
    "installed": (None,),
    "newest": (None,),
    "drift": ("unknown",),
    "state": ("Unknown", "Processing"),
    "channels": (None,),
    "managed": (None,),
    "mandatory": (None,),
    "checks": (None,),
    "installedBy": (None,),
}
FREE = {
    "reason",
    "cause",
    "effect",
    "advice",
    "adviceKind",
    "command",
    "actor",
    "stateSource",
    "channelSource",
    "installedSource",
    "presence",
    "unknown",
}  # these say themselves what is known


def manager() -> Json:
    labels = {"app": "alpha"}
    spec = {"containers": [{"name": "manager", "image": "registry.example.org/alpha:1.0.0"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "alpha-manager", "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }


@pytest.fixture(scope="module")
def with_manager(sandbox: ReadySandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """It is rolled out once, and stays while everything else comes and goes."""
    with Embedded.on(sandbox, STRICT, tmp_path_factory.mktemp("files")) as found:
        deployments = found.client.resource(DEPLOYMENT)
        kube_writes.apply(found.client, deployments, manager(), **KLM)
        eventually(
            lambda: is_available(found.client.get(deployments, "alpha-manager", NAMESPACE)), "its manager is there"
        )
        yield
        found.remove("deployments.apps", "alpha-manager")


@pytest.fixture
def cluster(with_manager: None, strict: Embedded) -> Embedded:
    """One module with everything that a module has."""
    strict.add_module("alpha")
    strict.add_kyma("alpha")
    own = template("alpha", "1.0.0")
    own["spec"]["manager"] = {**asdict(DEPLOYMENT), "name": "alpha-manager", "namespace": NAMESPACE}
    strict.put(own)
    labels = {f"{GROUP}/kyma-name": "default", f"{GROUP}/module-name": "alpha"}
    strict.put(
        {
            "apiVersion": f"{GROUP}/v1beta2",
            "kind": "Manifest",
            "metadata": {"name": "default-alpha", "namespace": NAMESPACE, "labels": labels},
            "spec": {"version": "1.0.0", "remote": True, "install": {"name": "alpha", "source": {}}},
            "status": {"state": "Ready"},
        }
    )
    return strict


def is_available(item: Any) -> bool:
    conditions = (item.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)


def listing(cluster: Embedded, capsys: pytest.CaptureFixture[str], *, viewer: bool) -> Json:
    path = cluster.kubeconfig_of_viewer() if viewer else cluster.kubeconfig
    words = ["--read-only", "--kubeconfig", str(path), "--context", cluster.name, "catalog", "-o", "json"]
    assert main(words) == 0
    found: Json = json.loads(capsys.readouterr().out)
    return found


def said(found: Json, feed: str) -> bool:
    return any(problem["message"].startswith(f"you may not list {feed}") for problem in found["problems"])


def test_who_may_read_all_sees_all_without_the_right_to_write(
    cluster: Embedded, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.grant("test-view", *EVERYTHING)
    assert listing(cluster, capsys, viewer=True) == listing(cluster, capsys, viewer=False)


@pytest.mark.parametrize("hidden", EVERYTHING)
def test_one_kind_that_may_not_be_read(cluster: Embedded, hidden: str, capsys: pytest.CaptureFixture[str]) -> None:
    check(cluster, (hidden,), capsys)


@pytest.mark.parametrize("other", [TEMPLATES, METAS, MANIFESTS, "deployments.apps"])
def test_the_kyma_and_another_kind_that_may_not_be_read(
    cluster: Embedded, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check(cluster, (KYMAS, other), capsys)


@pytest.mark.parametrize("seen", [KYMAS, TEMPLATES, METAS, MANIFESTS])
def test_one_kind_of_kyma_alone_that_may_be_read(
    cluster: Embedded, seen: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check(cluster, tuple(name for name in EVERYTHING if name != seen), capsys)


def check(cluster: Embedded, hidden: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    whole = listing(cluster, capsys, viewer=False)
    cluster.grant("test-view", *(name for name in EVERYTHING if name not in hidden))
    found = listing(cluster, capsys, viewer=True)
    # a kind that only templates name is not looked for without them
    assert [name for name in hidden if not said(found, name)] in ([], [ALPHAS])
    assert len(found["modules"]) == 1
    assert (whole["unknown"], whole["counts"]["modules"]) == ({}, 1)
    assert ("modules" in found["unknown"], found["counts"]["modules"]) == (
        (True, None) if {*hidden} & {KYMAS, TEMPLATES, METAS, MANIFESTS} else (False, 1)
    )
    wanted, module = whole["modules"][0], found["modules"][0]
    for column, value in module.items():
        if column not in FREE and value != wanted[column]:
            assert value in NOT_KNOWN.get(column, ()), column
            assert value == "Processing" or module["unknown"][column]["state"] == "forbidden", column
    for why in (*found["unknown"].values(), *module["unknown"].values()):
        assert (why["state"], {*why["lists"]} <= {*hidden}) == ("forbidden", True), why
    for name in found["lists"]:
        assert found["lists"][name]["state"] == ("forbidden" if name in hidden else "listed"), name


def test_a_table_says_on_standard_error_what_may_not_be_read(
    cluster: Embedded, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.grant("test-view", KYMAS, TEMPLATES, METAS, ALPHAS)
    assert main(["--read-only", "--kubeconfig", str(cluster.kubeconfig_of_viewer()), "catalog"]) == 0
    found = capsys.readouterr()
    assert "alpha" in found.out
    (line,) = found.err.splitlines()
    assert "you may not list 7 kinds, so versions and states are partly unknown" in line
    assert "`--verbose` lists them, `kymatui rights` prints the Role." in line
    words = ["--read-only", "--kubeconfig", str(cluster.kubeconfig_of_viewer()), "catalog", "--verbose"]
    assert main(words) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len([line for line in lines if line.startswith("kymatui: you may not list ")]) == 7
    assert main(["--read-only", "--kubeconfig", str(cluster.kubeconfig_of_viewer()), "catalog", "-o", "json"]) == 0
    lists = json.loads(capsys.readouterr().out)["lists"]
    for name in (MANIFESTS, "deployments.apps"):
        assert lists[name]["state"] == "forbidden", name


@pytest.mark.parametrize(
    ("hidden", "text"),
    [
        ((), "1.0.0 installed and ready"),
        (("deployments.apps",), "1.0.0 reported; running version: forbidden (you may not list deployments.apps)"),
        ((ALPHAS,), f"1.0.0 installed and ready; forbidden (you may not list {ALPHAS})"),
        ((KYMAS,), f"1.0.0 installed; channel forbidden (you may not list {KYMAS})"),
        ((KYMAS, MANIFESTS), f"1.0.0 installed; managed by: forbidden (you may not list {KYMAS})"),
        ((METAS,), f"Expected version unknown: catalog forbidden (you may not list {METAS})"),
    ],
)
def test_the_reason_says_what_was_not_seen(
    cluster: Embedded, hidden: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.grant("test-view", *(name for name in EVERYTHING if name not in hidden))
    assert listing(cluster, capsys, viewer=True)["modules"][0]["reason"] == text


def test_nothing_that_writes_leaves_a_session_that_only_reads(cluster: Embedded) -> None:
    session = open_session(SessionOptions(str(cluster.kubeconfig), cluster.name, read_only=True))
    kymas = session.client.resource(GroupVersionKind(GROUP, "v1beta2", "Kyma"))
    with pytest.raises(ReadOnlyError):
        kube_writes.delete(session.client, kymas, "default", NAMESPACE)
    assert set(session.client.transport.counts) == {"GET"}
    session.close()
