"""A session on the embedded API server, filled with the real catalog of the reference data."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.kube.api.client import Client
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.errors import InvalidError
from kymatui.sessions.cluster.catalog_session import CatalogSession, open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from tests import kube_writes
from tests.adapters.clusters import eventually
from tests.sessions.worlds import KYMAS, NAMESPACE, OPERATOR, TEMPLATES

pytestmark = pytest.mark.xdist_group("real-catalog")


def documents(folder: Path) -> list[dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files = sorted(folder.rglob("*.yaml"))
    return [item for file in files for item in yaml.load_all(file.read_text(), loader) if isinstance(item, dict)]


@pytest.fixture(scope="module")
def derived(shared: Path) -> Path:
    return shared / "kyma" / "catalog" / "derived"


@pytest.fixture(scope="module")
def definitions(shared: Path, derived: Path) -> dict[str, dict[str, Any]]:
    """Kyma's own, and those of the modules, by name."""
    items = documents(shared / "kyma" / "crds" / "klm-head") + documents(derived / "raw-manifests")
    return {item["metadata"]["name"]: item for item in items if item.get("kind") == "CustomResourceDefinition"}


@pytest.fixture(scope="module")
def session(
    definitions: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CatalogSession]:
    """Begun on the empty cluster: everything that comes is noticed."""
    from tests.sandboxes.starting import ready_sandbox

    with pytest.MonkeyPatch.context() as patch, ready_sandbox() as running:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        found = open_session(SessionOptions(str(running.kubeconfig)))
        found.start(lambda: None)
        assert found.wait_complete(20)
        yield found
        found.close()


def test_the_real_catalog_appears_in_a_session_that_began_before_it(
    session: CatalogSession, definitions: dict[str, dict[str, Any]], derived: Path
) -> None:
    assert session.feeds[KYMAS].state is FeedState.ABSENT
    client = session.client
    namespaces = client.resource(GroupVersionKind("", "v1", "Namespace"))
    kube_writes.create(client, namespaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    own = client.resource(GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
    for definition in definitions.values():
        kube_writes.apply(client, own, definition, force=True)
    eventually(lambda: session.feeds[TEMPLATES].state is FeedState.LIVE, 30)
    metas = documents(derived / "modulereleasemetas")
    applied = apply_all(client, documents(derived / "moduletemplates") + metas)
    eventually(lambda: len(session.snapshot().templates) + len(session.snapshot().release_metas) == applied, 30)

    rows = {row.name: row for row in build_catalog(session.snapshot(), time.time()).rows}
    for meta in metas:
        channels = {entry["channel"]: entry["version"] for entry in meta["spec"]["channels"]}
        assert dict(rows[meta["metadata"]["name"]].channels) == channels

    served = {name.split(".")[0] for name in definitions if name.endswith(f".{OPERATOR}")}
    eventually(lambda: "kedas" in watched_modules(session), 30)
    eventually(lambda: watched_modules(session) <= served and len(watched_modules(session)) >= 8, 30)


def watched_modules(session: CatalogSession) -> set[str]:
    """The plurals of Kyma's module kinds that are live."""
    live = {name for name, feed in session.feeds.items() if feed.state is FeedState.LIVE}
    return {name.split(".")[0] for name in live if name.endswith(f".{OPERATOR}")}


def apply_all(client: Client, items: list[dict[str, Any]]) -> int:
    """How many the server took; one template of the real catalog breaks the schema of today."""
    taken = 0
    for item in items:
        resource = client.discovery.find(GroupVersionKind.of(item["apiVersion"], item["kind"]))
        assert resource is not None
        item["metadata"]["namespace"] = NAMESPACE
        try:
            kube_writes.apply(client, resource, item, force=True)
            taken += 1
        except InvalidError:
            if item["spec"].get("moduleName") != "cluster-ip":
                raise
    return taken
