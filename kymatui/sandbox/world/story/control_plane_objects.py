"""More objects of a control plane: lifecycle-manager with maintenance windows, Watchers with routes.

One Watcher's route from the runtime to the control plane is complete; the events of the other are lost, since its
operator's Service is missing. lifecycle-manager itself runs in the sandbox's process (see the folder `lifecycle`): its
Deployment only shows its options.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from kymatui.sandbox.apimachinery.local_client import LocalClient
from kymatui.sandbox.controllers.framework.store_reader import Obj, StoreReader
from kymatui.sandbox.world.lifecycle.kind_index import DEFINITIONS
from kymatui.sandbox.world.lifecycle.lifecycle_manager import MAINTENANCE_POLICY
from kymatui.sandbox.world.modules.module_announcement import API_VERSION, PREFIX
from kymatui.sandbox.world.modules.module_manifest import ANYTHING, definition, version_of
from kymatui.sandbox.world.story.world_population import SYSTEM, create, is_established

WATCHERS = "watchers.operator.kyma-project.io"
ISTIO = "networking.istio.io"
HOST = "listener.kcp.sandbox.local"
WEBHOOK = "skr-webhook"
_GATE = {f"{PREFIX}/watcher-gateway": "default"}
_WATCHERS = (
    ("kyma-watcher", "lifecycle-manager", "kymas", {f"{PREFIX}/watched-by": "kyma"}, "klm-events"),
    ("btp-watcher", "btp-manager", "btpoperators", {"app.kubernetes.io/managed-by": "btp-manager"}, "btp-events"),
)
"""Name, manager, the plural of what is watched, the labels that it has, and the Service that takes the events."""


def add_control_plane_objects(control: LocalClient, namespace: str, runtimes: Iterable[LocalClient]) -> None:
    """Create all objects in a control plane and their counterparts in its runtimes."""
    for kind, plural in (("Gateway", "gateways"), ("VirtualService", "virtualservices")):
        create(control, DEFINITIONS, definition(ISTIO, kind, plural, [version_of("v1", ANYTHING, None)]))
    text = json.dumps(MAINTENANCE_POLICY, indent=2)
    policy = {"metadata": {"name": "klm-maintenance-config"}, "data": {"policy.json": text}}
    create(control, "configmaps", policy, namespace)
    create(control, "deployments.apps", _lifecycle_manager(), namespace)
    service = {"metadata": {"name": "klm-events"}, "spec": {"ports": [{"port": 8082}], "selector": _APP}}
    create(control, "services", service, namespace)
    for name, manager, resource, labels, target in _WATCHERS:
        served = {"name": target, "namespace": namespace, "port": 8082}
        create(control, WATCHERS, _watcher(name, manager, resource, labels, served), namespace)
        live = control.get(WATCHERS, name, namespace=namespace)
        done = {"type": "VirtualService", "status": "True", "reason": "Ready", "message": "it is configured"}
        done["lastTransitionTime"] = live["metadata"]["creationTimestamp"]
        control.update_status(WATCHERS, {**live, "status": {"state": "Ready", "conditions": [done]}})
    for runtime in runtimes:
        _webhooks(runtime, namespace)


def is_routed(observer: StoreReader) -> bool:
    """Return whether Gateways and VirtualServices are served."""
    return all(is_established(observer, f"{plural}.{ISTIO}") for plural in ("gateways", "virtualservices"))


def route(control: LocalClient, namespace: str) -> None:
    """Create Gateways and VirtualServices, once their CRDs are served."""
    gateway = {
        "apiVersion": f"{ISTIO}/v1",
        "kind": "Gateway",
        "metadata": {"name": "klm-watcher", "labels": _GATE},
        "spec": {"selector": {"istio": "ingressgateway"}, "servers": [{"hosts": [HOST], "port": _PORT}]},
    }
    create(control, f"gateways.{ISTIO}", gateway, namespace)
    for name, manager, _, _, target in _WATCHERS:
        owner = control.get(WATCHERS, name, namespace=namespace)
        create(control, f"virtualservices.{ISTIO}", _virtual_service(owner, manager, target, namespace), namespace)


_APP = {"app.kubernetes.io/name": "lifecycle-manager"}
_PORT = {"number": 443, "name": "https", "protocol": "HTTPS"}


def _lifecycle_manager() -> Obj:
    container = {
        "name": "manager",
        "image": "registry.sandbox.local/lifecycle-manager:1.9.0",
        "args": ["--enable-webhooks=false", "--min-maintenance-window-size=20m", "--in-kcp-mode"],
        "volumeMounts": [{"name": "policy", "mountPath": "/etc/maintenance-policy"}],
    }
    volume = {"name": "policy", "configMap": {"name": "klm-maintenance-config"}}
    pod = {"metadata": {"labels": _APP}, "spec": {"containers": [container], "volumes": [volume]}}
    spec = {"replicas": 1, "selector": {"matchLabels": _APP}, "template": pod}
    metadata = {"name": "klm-controller-manager", "labels": _APP}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _watcher(name: str, manager: str, resource: str, labels: dict[str, str], service: Obj) -> Obj:
    spec = {
        "manager": manager,
        "labelsToWatch": labels,
        "resourceToWatch": {"group": PREFIX, "version": "*", "resource": resource},
        "field": "spec",
        "serviceInfo": service,
        "gateway": {"selector": {"matchLabels": _GATE}},
    }
    return {"apiVersion": API_VERSION, "kind": "Watcher", "metadata": {"name": name}, "spec": spec}


def _virtual_service(owner: Obj, manager: str, target: str, namespace: str) -> Obj:
    metadata = owner["metadata"]
    reference = {"apiVersion": API_VERSION, "kind": "Watcher", "name": metadata["name"], "uid": metadata["uid"]}
    destination = {"host": f"{target}.{namespace}.svc.cluster.local", "port": {"number": 8082}}
    http = {"match": [{"uri": {"prefix": f"/v2/{manager}/event"}}], "route": [{"destination": destination}]}
    return {
        "apiVersion": f"{ISTIO}/v1",
        "kind": "VirtualService",
        "metadata": {"name": metadata["name"], "ownerReferences": [reference]},
        "spec": {"gateways": [f"{namespace}/klm-watcher"], "hosts": [HOST], "http": [http]},
    }


def _webhooks(runtime: LocalClient, namespace: str) -> None:
    """Create the webhook with which lifecycle-manager learns of changes in a runtime."""
    app = {"app": WEBHOOK}
    pod = {"containers": [{"name": "server", "image": "registry.sandbox.local/runtime-watcher:2.0.0"}]}
    deployment = {
        "metadata": {"name": WEBHOOK, "labels": app},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": app},
            "template": {"metadata": {"labels": app}, "spec": pod},
        },
    }
    create(runtime, "deployments.apps", deployment, SYSTEM)
    service = {"metadata": {"name": WEBHOOK}, "spec": {"ports": [{"port": 443, "targetPort": 8443}], "selector": app}}
    create(runtime, "services", service, SYSTEM)
    create(runtime, "secrets", {"metadata": {"name": f"{WEBHOOK}-tls"}, "stringData": {"ca.crt": "sandbox"}}, SYSTEM)
    hooks = [_webhook(namespace, *watcher[:4]) for watcher in _WATCHERS]
    configuration = {"metadata": {"name": WEBHOOK}, "webhooks": hooks}
    create(runtime, "validatingwebhookconfigurations.admissionregistration.k8s.io", configuration)


def _webhook(namespace: str, name: str, manager: str, resource: str, labels: dict[str, str]) -> Obj:
    rule = {
        "apiGroups": [PREFIX],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE", "DELETE"],
        "resources": [resource],
    }
    return {
        "name": f"{namespace}.{name}.{PREFIX}",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "caBundle": "c2FuZGJveA==",
            "service": {"name": WEBHOOK, "namespace": SYSTEM, "path": f"/validate/{manager}", "port": 443},
        },
        "failurePolicy": "Ignore",
        "objectSelector": {"matchLabels": labels},
        "rules": [rule],
        "sideEffects": "None",
        "timeoutSeconds": 15,
    }
