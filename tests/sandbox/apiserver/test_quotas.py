"""Resource quotas: what fits, what is refused, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.sandbox.apimachinery.object_store import ObjectStore
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.apiserver.writes.quota_check import check_quotas, format_usage, object_usage
from kymatui.schemas.values.quantity import amount

Obj = dict[str, Any]


def named(name: str, **fields: Any) -> Obj:
    return {"metadata": {"name": name, "namespace": "ns", "uid": name}, **fields}


def store(hard: dict[str, str], **spec: Any) -> ObjectStore:
    found = ObjectStore()
    found.put("resourcequotas", named("q", spec={"hard": hard, **spec}))
    return found


def pod(name: str = "p", cpu: str = "", **spec: Any) -> Obj:
    container: Obj = {"name": "c"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return named(name, spec={"containers": [container], **spec})


REFUSED: list[tuple[dict[str, str], str, Obj, str]] = [
    (
        {"count/configmaps": "0"},
        "configmaps",
        named("a"),
        'configmaps "a" is forbidden: exceeded quota: q, '
        "requested: count/configmaps=1, used: count/configmaps=0, limited: count/configmaps=0",
    ),
    (
        {"services": "1", "services.nodeports": "0"},
        "services",
        named("a", spec={"type": "NodePort", "ports": [{"port": 80}]}),
        'services "a" is forbidden: exceeded quota: q, '
        "requested: services.nodeports=1, used: services.nodeports=0, limited: services.nodeports=0",
    ),
    ({"requests.cpu": "1"}, "pods", pod(), 'pods "p" is forbidden: failed quota: q: must specify requests.cpu for: c'),
    (
        {"requests.cpu": "1"},
        "pods",
        pod(cpu="2"),
        'pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=2, used: requests.cpu=0, '
        "limited: requests.cpu=1",
    ),
]


@pytest.mark.parametrize(("hard", "resource", "obj", "words"), REFUSED)
def test_what_is_too_much_is_refused(hard: dict[str, str], resource: str, obj: Obj, words: str) -> None:
    with pytest.raises(StatusError) as raised:
        check_quotas(store(hard), resource, obj)
    assert (raised.value.code, str(raised.value)) == (403, words)


def test_what_is_there_counts() -> None:
    found = store({"pods": "2"})
    for name in ("a", "b"):
        check_quotas(found, "pods", pod(name))
        found.put("pods", pod(name))
    with pytest.raises(StatusError, match=r"requested: pods=1, used: pods=2, limited: pods=2"):
        check_quotas(found, "pods", pod("c"))


def test_pods_that_ended_take_nothing() -> None:
    found = store({"pods": "1"})
    found.put("pods", {**pod("done"), "status": {"phase": "Succeeded"}})
    check_quotas(found, "pods", pod("next"))


def test_other_namespaces_are_not_concerned() -> None:
    check_quotas(store({"pods": "0"}), "pods", {**pod(), "metadata": {"name": "p", "namespace": "other"}})


@pytest.mark.parametrize(
    ("scope", "concerned"),
    [("BestEffort", True), ("NotBestEffort", False), ("Terminating", False), ("NotTerminating", True)],
)
def test_scopes_choose_pods(scope: str, concerned: bool) -> None:
    found = store({"pods": "0"}, scopes=[scope])
    if not concerned:
        check_quotas(found, "pods", pod())
        return
    with pytest.raises(StatusError):
        check_quotas(found, "pods", pod())


def test_use_is_shown_as_quantities() -> None:
    found = store({"requests.cpu": "2", "requests.storage": "1Ti", "pods": "9"})
    found.put("pods", pod("a", cpu="250m"))
    found.put("pods", pod("b", cpu="1"))
    found.put("persistentvolumeclaims", named("c", spec={"resources": {"requests": {"storage": "10Gi"}}}))
    quota = next(iter(found.walk("resourcequotas"))).body()
    used = object_usage(found, quota, quota["spec"]["hard"])
    assert {name: format_usage(name, value) for name, value in used.items()} == {
        "requests.cpu": "1250m",
        "requests.storage": "10Gi",
        "pods": "2",
    }
    assert amount("1250m") == used["requests.cpu"]


def test_a_change_counts_by_what_it_adds() -> None:
    found = store({"services": "1", "services.nodeports": "0"})
    before = named("s", spec={"type": "ClusterIP", "ports": [{"port": 80}]})
    found.put("services", before)
    check_quotas(found, "services", {**before, "spec": {"type": "ClusterIP", "ports": [{"port": 81}]}}, before)
    with pytest.raises(StatusError, match=r"requested: services\.nodeports=1"):
        check_quotas(found, "services", {**before, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}, before)
