"""The way from a runtime's changes to the control plane: whole, or broken at a link that is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kymatui.domain.remote.watcher_chains import (
    ControlPlaneObjects,
    LinkHealth,
    RuntimeObjects,
    WatcherChain,
    build_chains,
)
from tests.domain.builders import API, Json

LABEL = {"operator.kyma-project.io/watched-by": "kyma"}
GATE = {"operator.kyma-project.io/watcher-gateway": "default"}


class Parts:
    """A whole chain; tests spoil one part."""

    def __init__(self) -> None:
        self.watcher: Json = {
            "apiVersion": API,
            "kind": "Watcher",
            "metadata": {"name": "kyma-watcher", "namespace": "kcp-system"},
            "spec": {
                "manager": "lifecycle-manager",
                "labelsToWatch": LABEL,
                "resourceToWatch": {"group": "operator.kyma-project.io", "version": "*", "resource": "kymas"},
                "field": "spec",
                "serviceInfo": {"name": "klm-events", "port": 8082, "namespace": "kcp-system"},
                "gateway": {"selector": {"matchLabels": GATE}},
            },
            "status": {"state": "Ready", "conditions": [{"type": "VirtualService", "status": "True"}]},
        }
        self.gateways: list[Json] | None = [
            {
                "kind": "Gateway",
                "metadata": {"name": "klm-watcher", "namespace": "kcp-system", "labels": GATE},
                "spec": {"servers": [{"hosts": ["listener.kyma.cloud.sap"], "port": {"number": 443}}]},
            },
            {"kind": "Gateway", "metadata": {"name": "other", "namespace": "kcp-system"}},
        ]
        self.virtual: list[Json] = [
            {
                "kind": "VirtualService",
                "metadata": {
                    "name": "kyma-watcher",
                    "namespace": "kcp-system",
                    "ownerReferences": [{"kind": "Watcher", "name": "kyma-watcher"}],
                },
                "spec": {
                    "gateways": ["kcp-system/klm-watcher"],
                    "hosts": ["listener.kyma.cloud.sap"],
                    "http": [
                        {
                            "match": [{"uri": {"prefix": "/v2/lifecycle-manager/event"}}],
                            "route": [
                                {
                                    "destination": {
                                        "host": "klm-events.kcp-system.svc.cluster.local",
                                        "port": {"number": 8082},
                                    }
                                }
                            ],
                        }
                    ],
                },
            }
        ]
        self.service: Json = {
            "kind": "Service",
            "metadata": {"name": "klm-events", "namespace": "kcp-system"},
            "spec": {"ports": [{"port": 8082}]},
        }
        self.hook: Json = {
            "name": "kcp-system.kyma-watcher.operator.kyma-project.io",
            "objectSelector": {"matchLabels": LABEL},
            "clientConfig": {
                "caBundle": "Zm9v",
                "service": {"name": "skr-webhook", "namespace": "kyma-system", "path": "/validate/lifecycle-manager"},
            },
            "rules": [
                {
                    "apiGroups": ["operator.kyma-project.io"],
                    "apiVersions": ["*"],
                    "resources": ["kymas"],
                    "operations": ["CREATE", "UPDATE", "DELETE"],
                }
            ],
            "failurePolicy": "Ignore",
        }
        self.hooks = [self.hook]
        self.configuration = True
        self.deployment: Json | None = {"spec": {"replicas": 1}, "status": {"availableReplicas": 1}}
        self.secret = True
        self.why: dict[str, str] = {}

    def chains(self) -> tuple[WatcherChain, ...]:
        control = ControlPlaneObjects(
            [self.watcher], self.gateways, self.virtual, [self.service], {"Gateway": "forbidden"}
        )
        configuration: Json = {"webhooks": self.hooks}
        runtime = RuntimeObjects(configuration if self.configuration else None, self.deployment, self.secret, self.why)
        return build_chains(control, runtime)

    def broken(self) -> list[tuple[str, LinkHealth, str]]:
        return [
            (link.what, link.health, link.why)
            for chain in self.chains()
            for link in chain.links
            if link.health is not LinkHealth.HEALTHY
        ]


def test_a_whole_chain() -> None:
    assert Parts().broken() == []


def put(value: Any, *path: str | int) -> Callable[[Parts], None]:
    def act(parts: Parts) -> None:
        first, *keys = path
        if not keys:
            setattr(parts, str(first), value)
            return
        at: Any = getattr(parts, str(first))
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value

    return act


@pytest.mark.parametrize(
    ("spoil", "link", "why"),
    [
        (put("", "watcher", "spec", "manager"), "Watcher", "no manager is set"),
        (put(0, "watcher", "spec", "serviceInfo", "port"), "Watcher", "serviceInfo is incomplete"),
        (put("False", "watcher", "status", "conditions", 0, "status"), "Watcher", "condition VirtualService is False"),
        (put([], "gateways"), "Gateway", "no Gateway matches the Watcher's selector"),
        (put([], "gateways", 0, "spec", "servers"), "Gateway", "kcp-system/klm-watcher has no host"),
        (put([], "virtual"), "VirtualService", "not found; lifecycle-manager creates it"),
        (put(["a/b"], "virtual", 0, "spec", "gateways"), "VirtualService", "gateways are a/b"),
        (put(["x.y"], "virtual", 0, "spec", "hosts"), "VirtualService", "hosts are x.y"),
        (put([], "virtual", 0, "spec", "http"), "VirtualService", "no route for /v2/lifecycle-manager/event"),
        (put([], "virtual", 0, "spec", "http", 0, "route"), "VirtualService", "leads to none"),
        (
            put([], "virtual", 0, "metadata", "ownerReferences"),
            "VirtualService",
            "ownerReference to the Watcher is missing",
        ),
        (put([{"port": 1}], "service", "spec", "ports"), "Service", "no port 8082; ports: 1"),
        (put("other", "service", "metadata", "name"), "Service", "not found: events from runtimes are lost"),
        (put(False, "configuration"), "webhook", "ValidatingWebhookConfiguration skr-webhook not found"),
        (put([], "hooks"), "webhook", "not found in ValidatingWebhookConfiguration skr-webhook"),
        (put("/validate/x", "hook", "clientConfig", "service", "path"), "webhook", "calls kyma-system/skr-webhook"),
        (put("", "hook", "clientConfig", "caBundle"), "webhook", "caBundle is missing"),
        (put({}, "hook", "objectSelector", "matchLabels"), "webhook", "objectSelector is none"),
        (
            put(["kymas/status"], "hook", "rules", 0, "resources"),
            "webhook",
            "no rule for CREATE, UPDATE, DELETE of kymas",
        ),
        (put(["UPDATE"], "hook", "rules", 0, "operations"), "webhook", "no rule for CREATE, UPDATE, DELETE of kymas"),
        (put("Fail", "hook", "failurePolicy"), "webhook", "failurePolicy is Fail"),
        (put(None, "deployment"), "Deployment", "not found: changes are not forwarded"),
        (put(0, "deployment", "status", "availableReplicas"), "Deployment", "0 of 1 replicas"),
        (put(False, "secret"), "Secret", "no certificate"),
    ],
)
def test_each_broken_link_is_named(spoil: Callable[[Parts], None], link: str, why: str) -> None:
    parts = Parts()
    spoil(parts)
    assert [(what, why in said) for what, health, said in parts.broken() if what == link] == [(link, True)]


def test_a_watch_of_the_status_asks_for_the_subresource() -> None:
    parts = Parts()
    parts.watcher["spec"]["field"] = "status"
    assert [what for what, _, _ in parts.broken()] == ["webhook"]
    parts.hook["rules"][0]["resources"] = ["kymas/status"]
    assert parts.broken() == []


def test_what_may_not_be_read_is_unknown_and_not_broken() -> None:
    parts = Parts()
    parts.gateways = None
    parts.secret, parts.why = False, {"Secret": "forbidden"}
    assert parts.broken() == [("Gateway", LinkHealth.UNKNOWN, "forbidden"), ("Secret", LinkHealth.UNKNOWN, "forbidden")]


def test_a_webhook_that_is_left_of_a_watcher() -> None:
    parts = Parts()
    parts.hooks = [parts.hook, {"name": "kcp-system.gone.operator.kyma-project.io"}]
    assert [(what, "no Watcher for this webhook" in why) for what, _, why in parts.broken()] == [("webhook", True)]
