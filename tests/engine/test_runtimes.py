"""From a Manifest to the cluster that it is for: each way in which an access Secret can be wrong has its own words."""

from __future__ import annotations

import base64
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import yaml

from kymatui.adapters.kube.auth.connection import Connection
from kymatui.adapters.kube.auth.secret_kubeconfig import connect_from_secret
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.errors import ConfigurationError, UnauthorizedError
from kymatui.sessions.control_plane import runtime_clients
from kymatui.sessions.control_plane.runtime_clients import SecretRuntimes
from kymatui.sessions.control_plane.runtime_guards import RuntimeGuards
from tests.engine.places import Json, Place

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
LABEL = "operator.kyma-project.io/kyma-name"


def manifest(place: Place, *, remote: bool = True, kyma: str = "one") -> Manifest:
    found = read_manifest(
        {
            "apiVersion": "operator.kyma-project.io/v1beta2",
            "kind": "Manifest",
            "metadata": {"name": "m", "namespace": place.namespace, "labels": {LABEL: kyma} if kyma else {}},
            "spec": {"remote": remote},
        }
    )
    assert isinstance(found, Manifest)
    return found


@pytest.fixture
def runtimes(place: Place) -> SecretRuntimes:
    place.raw.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}}, manager="test")
    return SecretRuntimes(place.cluster)


def secret(place: Place, name: str, data: Any, kyma: str = "one") -> Json:
    metadata = {"name": name, "namespace": place.namespace, "labels": {LABEL: kyma}}
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    return place.raw.apply(
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded}, manager="test"
    )


def own(place: Place, token: str = "") -> bytes:
    """The kubeconfig of the very cluster, perhaps with another token."""
    document = yaml.safe_load(place.kubeconfig.read_text())
    if token:
        for user in document["users"]:
            user["user"] = {"token": token}
    return yaml.safe_dump(document).encode()


def test_a_manifest_that_is_not_remote_is_for_its_own_cluster(place: Place, runtimes: SecretRuntimes) -> None:
    assert runtimes.of(manifest(place, remote=False), threading.Event()) is place.cluster


def test_a_runtime_is_reached_through_its_secret(place: Place, runtimes: SecretRuntimes) -> None:
    secret(place, "access", {"config": own(place)})
    found = runtimes.of(manifest(place), threading.Event())
    assert found is not None
    assert found.name == f"Secret {place.namespace}/access"
    assert found.kind(CONFIG_MAP) is not None
    assert runtimes.of(manifest(place), threading.Event()) is found, "a client is kept"


def test_a_changed_secret_makes_a_new_client(place: Place, runtimes: SecretRuntimes) -> None:
    secret(place, "access", {"config": own(place)})
    first = runtimes.of(manifest(place), threading.Event())
    secret(place, "access", {"config": own(place, "expired")})
    with pytest.raises(UnauthorizedError):  # whose cluster it is, is asked with what the Secret says now
        runtimes.of(manifest(place), threading.Event())
    secret(place, "access", {"config": own(place)})
    second = runtimes.of(manifest(place), threading.Event())
    assert second is not None
    assert second is not first


def test_no_more_clients_are_kept_than_asked_for(place: Place) -> None:
    place.raw.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}}, manager="test")
    few = SecretRuntimes(place.cluster, most=1)
    secret(place, "access-one", {"config": own(place)})
    secret(place, "access-two", {"config": own(place)}, kyma="two")
    first = few.of(manifest(place), threading.Event())
    few.of(manifest(place, kyma="two"), threading.Event())
    assert few.of(manifest(place), threading.Event()) is not first


def test_of_too_many_clients_a_watched_one_stays(place: Place) -> None:
    place.raw.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}}, manager="test")
    few = SecretRuntimes(place.cluster, most=2)
    names = ("one", "two", "three")
    for name in names:
        secret(place, f"access-{name}", {"config": own(place)}, kyma=name)
    first = few.of(manifest(place), threading.Event())
    few.is_watched = lambda cluster: cluster is first
    second = few.of(manifest(place, kyma="two"), threading.Event())
    few.of(manifest(place, kyma="three"), threading.Event())
    assert few.of(manifest(place), threading.Event()) is first
    assert few.of(manifest(place, kyma="two"), threading.Event()) is not second


def test_a_client_has_the_guard_that_reports_its_circuit(place: Place) -> None:
    """Such as after a Kyma was deleted and created again with the same Secret."""
    place.make_namespace()
    guards = RuntimeGuards()
    guarded = SecretRuntimes(place.cluster, guards=guards)
    secret(place, "access", {"config": own(place)})
    first = guarded.of(manifest(place), threading.Event())
    assert guarded.of(manifest(place), threading.Event()) is first
    guards.drop(f"{place.namespace}/one")
    second = guarded.of(manifest(place), threading.Event())
    assert second is not None
    assert second is not first
    assert second.client.transport.guard is guards.of(f"{place.namespace}/one", own(place))


def test_without_a_secret_there_is_no_runtime(place: Place, runtimes: SecretRuntimes) -> None:
    assert runtimes.of(manifest(place), threading.Event()) is None


@pytest.mark.parametrize(
    ("secrets", "words"),
    [
        ([("a", {"config": b"x"}), ("b", {"config": b"x"})], "more than one secret found for one"),
        ([("a", {"kubeconfig": b"x"})], "data.config is missing"),
        ([("a", {"config": b"]["})], "is not valid YAML"),
        ([("a", {"config": b"clusters: []"})], "Secret .*/a"),
    ],
)
def test_each_wrong_access_has_its_own_words(
    secrets: list[tuple[str, Any]], words: str, place: Place, runtimes: SecretRuntimes
) -> None:
    for name, data in secrets:
        secret(place, name, data)
    with pytest.raises(ConfigurationError, match=words):
        runtimes.of(manifest(place), threading.Event())


def test_a_manifest_for_nobody_is_said_to_be_so(place: Place, runtimes: SecretRuntimes) -> None:
    with pytest.raises(ConfigurationError, match="has no label"):
        runtimes.of(manifest(place, kyma=""), threading.Event())


def test_the_runtime_of_another_kyma_is_never_worked_on(
    place: Place, runtimes: SecretRuntimes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its own Kyma says is asked once of each client, and again as long as it does not say."""
    said = iter(["", f"{place.namespace}/one", "never asked"])
    monkeypatch.setattr("kymatui.sessions.control_plane.runtime_clients.owner_kyma", lambda client, cancel: next(said))
    secret(place, "access", {"config": own(place)})
    for _ in range(3):
        assert runtimes.of(manifest(place), threading.Event()) is not None
    assert next(said) == "never asked"
    said = iter(["kcp-system/other"])
    secret(place, "access-two", {"config": own(place)}, kyma="two")
    with pytest.raises(ConfigurationError, match="access-two leads to the runtime of kcp-system/other, not of"):
        runtimes.of(manifest(place, kyma="two"), threading.Event())


def test_a_client_is_confirmed_while_it_is_open(place: Place, runtimes: SecretRuntimes) -> None:
    secret(place, "access", {"config": own(place)})
    found = runtimes.of(manifest(place), threading.Event())
    assert found is not None
    assert runtimes.confirm((place.namespace, "one"), found)
    runtimes.close()
    assert not runtimes.confirm((place.namespace, "one"), found)


def test_a_secret_that_takes_long_to_read_delays_no_other_runtime(
    place: Place, runtimes: SecretRuntimes, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, finish = threading.Event(), threading.Event()

    def read(content: bytes, where: str) -> Connection:
        if where.endswith("/access-slow"):
            reading.set()
            finish.wait()
        return connect_from_secret(content, where)

    monkeypatch.setattr(runtime_clients, "connect_from_secret", read)
    secret(place, "access-slow", {"config": own(place)}, kyma="slow")
    secret(place, "access", {"config": own(place)})
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(runtimes.of, manifest(place, kyma="slow"), threading.Event())
        assert reading.wait(60)
        try:
            assert pool.submit(runtimes.of, manifest(place), threading.Event()).result(60) is not None
            assert not slow.done()
        finally:
            finish.set()
        assert slow.result(60) is not None


def test_two_threads_that_open_one_secret_have_one_client(
    place: Place, runtimes: SecretRuntimes, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2)
    closed: list[KubeCluster] = []

    def read(content: bytes, where: str) -> Connection:
        both.wait(60)
        return connect_from_secret(content, where)

    monkeypatch.setattr(runtime_clients, "connect_from_secret", read)
    runtimes.closing = closed.append
    secret(place, "access", {"config": own(place)})
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(runtimes.of, manifest(place), threading.Event()) for _ in range(2)]
        one, other = (call.result(60) for call in calls)
    assert one is other
    assert len(closed) == 1
    assert closed[0] is not one
