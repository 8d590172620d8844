"""The watcher's agent on a runtime: what runs it, and its certificate on the control plane.

The agent receives the admission reviews of watched objects and posts events to the control plane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import LABEL_MANAGED_BY, OPERATOR
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Kyma
from kymatui.domain.kyma.watchers import Watcher
from kymatui.domain.remote.watcher_routes import OPERATIONS, TLS_SECRET, WEBHOOK, watched_resource, webhook_path

CERTIFICATE_NAMESPACE: Final = "istio-system"
CERT_MANAGER: Final = "cert-manager.io"
RUNTIME_ID: Final = "kyma-project.io/runtime-id"
DOMAIN: Final = "skr-domain"
RESTART: Final = f"{OPERATOR}/pod-restart-trigger"
"""The label of the agent's Pods with the version of the certificate: a renewed one restarts them."""
_CALL_SECONDS: Final = 15
_WEBHOOK_PORT, _METRICS_PORT = 8443, 2112  # as in lifecycle-manager's Deployment of the agent
_USER, _GROUP = 10001, 30001  # as in lifecycle-manager's Deployment of the agent
Object = dict[str, Any]


class AgentOptions(Struct, frozen=True):
    """The options.

    image      reference of the agent's image
    address    HOST:PORT of the control plane's gateway, to which agents post events
    namespace  the namespace of certificates and of the gateway's Secret
    issuer     the Issuer of the runtimes' certificates
    gateway    the Secret with the authority that gateway and runtimes share
    """

    image: str
    address: str
    namespace: str = CERTIFICATE_NAMESPACE
    issuer: str = "klm-watcher-selfsigned"
    gateway: str = "klm-istio-gateway"


class AgentCertificate(Struct, frozen=True):
    """Certificate, key and authority in base64, and the version of their Secret."""

    certificate: str
    key: str
    authority: str
    version: str


def certificate_name(kyma: str) -> str:
    """Return the name of a Kyma's Certificate and of its Secret."""
    return f"{kyma}-webhook-tls"


def certificate_request(kyma: Kyma, options: AgentOptions) -> Object | None:
    """Return the Certificate of a runtime, None without the annotation skr-domain or the label runtime-id."""
    domain, runtime = kyma.meta.annotations.get(DOMAIN, ""), kyma.meta.labels.get(RUNTIME_ID, "")
    if not domain or not runtime:
        return None
    name = certificate_name(kyma.meta.name)
    labels = {f"{OPERATOR}/purpose": "cert-manager", LABEL_MANAGED_BY: "lifecycle-manager"}
    service = f"{WEBHOOK}.{KYMA_NAMESPACE}"
    return {
        "apiVersion": f"{CERT_MANAGER}/v1",
        "kind": "Certificate",
        "metadata": {"name": name, "namespace": options.namespace},
        "spec": {
            "commonName": runtime,
            "dnsNames": [domain, f"{service}.svc.cluster.local", f"{service}.svc"],
            "secretName": name,
            "secretTemplate": {"labels": labels},
            "issuerRef": {"name": options.issuer, "kind": "Issuer"},
            "isCA": False,
            "usages": ["digital signature", "key encipherment"],
            "duration": "1440h",
            "renewBefore": "720h",
            "privateKey": {"rotationPolicy": "Always", "encoding": "PKCS1", "algorithm": "RSA", "size": 4096},
        },
    }


def agent_objects(watchers: Iterable[Watcher], tls: AgentCertificate, options: AgentOptions) -> list[Object]:
    """Return the objects of a runtime in the order in which they are applied; the webhooks come last."""
    return [
        _secret(tls),
        _priority(),
        *_services(),
        *_policies(options),
        _deployment(tls, options),
        _webhooks(watchers, tls.authority),
    ]


def _object(api_version: str, kind: str, name: str, body: Mapping[str, Any], *, namespaced: bool = True) -> Object:
    metadata: Object = {"name": name, "labels": {"app": WEBHOOK, LABEL_MANAGED_BY: "kyma"}}
    if namespaced:
        metadata["namespace"] = KYMA_NAMESPACE
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def _secret(tls: AgentCertificate) -> Object:
    data = {"tls.crt": tls.certificate, "tls.key": tls.key, "ca.crt": tls.authority}
    return _object("v1", "Secret", TLS_SECRET, {"data": data})


def _priority() -> Object:
    body = {"value": 1_000_000_000, "globalDefault": False, "description": "The agent of the runtime watcher"}
    return _object("scheduling.k8s.io/v1", "PriorityClass", f"{WEBHOOK}-priority", body, namespaced=False)


def _services() -> list[Object]:
    def service(name: str, port: int, target: str, title: str) -> Object:
        ports = [{"name": title, "port": port, "targetPort": target}]
        return _object("v1", "Service", name, {"spec": {"selector": {"app": WEBHOOK}, "ports": ports}})

    return [
        service(WEBHOOK, 443, "watcher-port", "webhook"),
        service(f"{WEBHOOK}-metrics", _METRICS_PORT, "metrics-port", "http-metrics"),
    ]


def _policies(options: AgentOptions) -> list[Object]:
    """Return what the agent's network needs: calls of the API server, scrapes, DNS and the control plane."""

    def policy(name: str, **spec: Any) -> Object:
        kinds = [key.capitalize() for key in spec]
        body = {"spec": {"podSelector": {"matchLabels": {"app": WEBHOOK}}, "policyTypes": kinds, **spec}}
        return _object("networking.k8s.io/v1", "NetworkPolicy", f"kyma-project.io--{name}", body)

    seed = {
        "namespaceSelector": {"matchLabels": {"gardener.cloud/purpose": "kube-system"}},
        "podSelector": {"matchLabels": {"app": "vpn-shoot"}},
    }
    dns = [{"protocol": protocol, "port": port} for port in (53, 8053) for protocol in ("UDP", "TCP")]
    port = int(options.address.rpartition(":")[2])
    return [
        policy("seed-to-watcher", ingress=[{"from": [seed]}]),
        policy("metrics-to-watcher", ingress=[{"ports": [{"protocol": "TCP", "port": _METRICS_PORT}]}]),
        policy("watcher-to-dns", egress=[{"ports": dns}]),
        policy("watcher-to-apiserver", egress=[{"ports": [{"protocol": "TCP", "port": port}]}]),
    ]


def _deployment(tls: AgentCertificate, options: AgentOptions) -> Object:
    labels = {"app": WEBHOOK, RESTART: tls.version, "sidecar.istio.io/inject": "false"}
    files = {name: f"/app/etc/ssl/{name}" for name in ("tls.key", "tls.crt", "ca.crt")}
    values = {
        "WEBHOOK_PORT": str(_WEBHOOK_PORT),
        "METRICS_PORT": str(_METRICS_PORT),
        "TLS_KEY": files["tls.key"],
        "TLS_CERT": files["tls.crt"],
        "CA_CERT": files["ca.crt"],
        "TLS_CALLBACK": "true",
        "KCP_CONTRACT": "v2",
        "KCP_ADDR": options.address,
    }
    container = {
        "name": "server",
        "image": options.image,
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            *({"name": name, "value": value} for name, value in values.items()),
        ],
        "ports": [
            {"name": "watcher-port", "containerPort": _WEBHOOK_PORT},
            {"name": "metrics-port", "containerPort": _METRICS_PORT},
        ],
        "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}, "limits": {"cpu": "100m", "memory": "200Mi"}},
        "securityContext": {
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "ssl", "mountPath": "/app/etc/ssl"}],
    }
    pod = {
        "containers": [container],
        "volumes": [{"name": "ssl", "secret": {"secretName": TLS_SECRET}}],
        "priorityClassName": f"{WEBHOOK}-priority",
        "securityContext": {
            "runAsUser": _USER,
            "runAsGroup": _GROUP,
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": WEBHOOK}}, "template": template}
    return _object("apps/v1", "Deployment", WEBHOOK, {"spec": spec})


def _webhooks(watchers: Iterable[Watcher], authority: str) -> Object:
    body = {"webhooks": [_webhook(watcher, authority) for watcher in watchers]}
    api_version = "admissionregistration.k8s.io/v1"
    return _object(api_version, "ValidatingWebhookConfiguration", WEBHOOK, body, namespaced=False)


def _webhook(watcher: Watcher, authority: str) -> Object:
    rule = {
        "apiGroups": [watcher.group],
        "apiVersions": [watcher.version],
        "resources": [watched_resource(watcher)],
        "operations": list(OPERATIONS),
    }
    service = {"namespace": KYMA_NAMESPACE, "name": WEBHOOK, "path": webhook_path(watcher.manager)}
    return {
        "name": watcher.webhook,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"caBundle": authority, "service": service},
        "objectSelector": {"matchLabels": dict(watcher.labels_to_watch)},
        "rules": [rule],
        "failurePolicy": "Ignore",  # an agent that is down must not block the runtime's users
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": _CALL_SECONDS,
    }
