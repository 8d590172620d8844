"""APIServices say whether what they point at is there."""

from __future__ import annotations

from typing import Any

from tests.sandbox.living import Living

RESOURCE = "apiservices.apiregistration.k8s.io"


def metrics() -> dict[str, Any]:
    spec = {"group": "metrics.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100}
    service = {"name": "metrics", "namespace": "default"}
    return {"metadata": {"name": "v1.metrics.example.com"}, "spec": {**spec, "service": service}}


def available(living: Living) -> tuple[str, str]:
    conditions = living.get(RESOURCE, "v1.metrics.example.com", "")["status"]["conditions"]
    found = next(condition for condition in conditions if condition["type"] == "Available")
    return found["status"], found["reason"]


def test_an_api_is_there_once_its_service_has_endpoints() -> None:
    living = Living()
    living.create(RESOURCE, metrics(), "")
    living.advance(1)
    assert available(living) == ("False", "ServiceNotFound")
    spec = {"selector": {"app": "metrics"}, "ports": [{"port": 443}]}
    living.create("services", {"metadata": {"name": "metrics"}, "spec": spec})
    living.advance(1)
    assert available(living) == ("False", "MissingEndpoints")
    pod = {
        "metadata": {"name": "m", "labels": {"app": "metrics"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    living.create("pods", pod)
    living.advance(5)
    assert available(living) == ("True", "Passed")
    assert living.get(RESOURCE, "v1.metrics.example.com", "")["spec"]["service"]["port"] == 443
