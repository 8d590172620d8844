"""The watcher's agent on runtimes: its certificate, its workload, and the webhooks that call it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Final

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import DEPLOYMENT, SECRET, GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE, Kyma
from kymatui.domain.kyma.watchers import Watcher, read_watcher
from kymatui.domain.remote.watcher_agent import (
    CERT_MANAGER,
    AgentCertificate,
    AgentOptions,
    agent_objects,
    certificate_name,
    certificate_request,
)
from kymatui.domain.remote.watcher_routes import WEBHOOK
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Cluster
from kymatui.errors import ConfigurationError, NotFoundError
from kymatui.operator.framework.applied_copies import AppliedCopies
from kymatui.operator.watchers.watcher_controller import WATCHER

CERTIFICATE: Final = GroupVersionKind(CERT_MANAGER, "v1", "Certificate")


class RuntimeWebhook:
    """Implements `RuntimeWebhookSync`; thread-safe for different Kymas."""

    def __init__(self, home: Cluster, options: AgentOptions) -> None:
        self._home = home
        self._options = options
        self._certificates = AppliedCopies()
        self._copies = AppliedCopies()

    def sync_webhook(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> bool:
        """Create or update the agent; return whether it is ready. Raise ConfigurationError without a domain."""
        request = certificate_request(kyma, self._options)
        if request is None:
            raise ConfigurationError(f"{kyma.ref} has no annotation skr-domain or no label runtime-id")
        live = self._home.get(read_ref(request), cancel=cancel)
        self._certificates.apply(self._home, request, live, OPERATOR_FIELD_MANAGER, cancel)
        tls = self._certificate(kyma, cancel)
        if tls is None:
            return False
        readings = [read_watcher(raw) for raw in self._home.list(WATCHER, kyma.meta.namespace, cancel=cancel)]
        watchers = sorted(
            (watcher for watcher in readings if isinstance(watcher, Watcher)), key=lambda watcher: watcher.webhook
        )
        for body in agent_objects([watcher for watcher in watchers if not watcher.meta.deleting], tls, self._options):
            live = runtime.get(read_ref(body), cancel=cancel)
            self._copies.apply(runtime, body, live, OPERATOR_FIELD_MANAGER, cancel)
        agent = runtime.get(ObjectRef(DEPLOYMENT, KYMA_NAMESPACE, WEBHOOK), cancel=cancel)
        return JsonReader(agent or {}).child("status").integer("readyReplicas") > 0

    def _certificate(self, kyma: Kyma, cancel: threading.Event) -> AgentCertificate | None:
        """Return the issued certificate, None before cert-manager has issued it or without the gateway's Secret."""
        own, gateway = (
            self._home.get(ObjectRef(SECRET, self._options.namespace, name), cancel=cancel)
            for name in (certificate_name(kyma.meta.name), self._options.gateway)
        )
        if own is None or gateway is None:
            return None
        data, authority = own.get("data") or {}, str((gateway.get("data") or {}).get("ca.crt") or "")
        certificate, key = str(data.get("tls.crt") or ""), str(data.get("tls.key") or "")
        if not certificate or not key or not authority:
            return None
        return AgentCertificate(certificate, key, authority, str(own["metadata"].get("resourceVersion") or ""))

    def remove_webhook(self, kyma: Kyma, runtime: Cluster | None, cancel: threading.Event) -> bool:
        """Delete the certificate, then the agent; return whether anything existed."""
        name = certificate_name(kyma.meta.name)
        certificate, secret = (ObjectRef(kind, self._options.namespace, name) for kind in (CERTIFICATE, SECRET))
        deletions = [_deleted(self._home, ref, cancel) for ref in (certificate, secret)]
        if runtime is not None:
            deletions += [_deleted(runtime, ref, cancel) for ref in self._agent()]
        return True in deletions

    def forget_webhook(self, kyma: str) -> None:
        self._certificates.forget(self._home, ObjectRef(CERTIFICATE, self._options.namespace, certificate_name(kyma)))

    def _agent(self) -> Iterator[ObjectRef]:
        """Yield the objects of a runtime, the webhooks first, so that none calls an agent that is gone."""
        bodies = agent_objects([], AgentCertificate("", "", "", ""), self._options)
        yield from (read_ref(body) for body in reversed(bodies))


def _deleted(cluster: Cluster, ref: ObjectRef, cancel: threading.Event) -> bool:
    live = cluster.get(ref, cancel=cancel)
    if live is None:
        return False
    with contextlib.suppress(NotFoundError):  # deleted since it was read
        cluster.delete(ref, uid=str(live["metadata"].get("uid") or ""), cancel=cancel)
    return True
