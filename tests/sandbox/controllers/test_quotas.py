"""ResourceQuotas and volumes: what their controllers say of them."""

from __future__ import annotations

from tests.sandbox.living import Living


def test_a_quota_says_what_is_used_and_follows_it() -> None:
    living = Living()
    hard = {"count/roles.rbac.authorization.k8s.io": "1", "secrets": "5"}
    living.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    living.advance(1)
    assert living.status("resourcequotas", "q") == {
        "hard": hard,
        "used": {"count/roles.rbac.authorization.k8s.io": "0", "secrets": "0"},
    }
    living.create("secrets", {"metadata": {"name": "s"}})
    living.create("roles.rbac.authorization.k8s.io", {"metadata": {"name": "r"}, "rules": []})
    living.advance(6)
    assert living.status("resourcequotas", "q")["used"] == {
        "count/roles.rbac.authorization.k8s.io": "1",
        "secrets": "1",
    }


def test_a_replica_set_says_why_a_quota_keeps_its_pods_back() -> None:
    living = Living()
    living.create("resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "registry.example/a:1"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    living.create("replicasets.apps", {"metadata": {"name": "a"}, "spec": spec})
    living.advance(5)
    status = living.status("replicasets.apps", "a")
    assert status["replicas"] == 1
    (condition,) = [c for c in status["conditions"] if c["type"] == "ReplicaFailure"]
    assert condition["reason"] == "FailedCreate"
    assert "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1" in condition["message"]


def test_a_volume_that_nobody_claims_is_available() -> None:
    living = Living()
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}
    living.create("persistentvolumes", {"metadata": {"name": "v"}, "spec": spec})
    living.advance(1)
    assert living.status("persistentvolumes", "v")["phase"] == "Available"
