"""The watcher's agent on a runtime: two real servers, the control plane `old` and the runtime `new`."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kymatui.domain.kubernetes.refs import DEPLOYMENT, SECRET, GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.remote.watcher_agent import AgentOptions
from kymatui.domain.remote.watcher_chains import ControlPlaneObjects, LinkHealth, RuntimeObjects, build_chains
from kymatui.errors import ConfigurationError, NotFoundError
from kymatui.operator.installation.deployment import AGENT_PERMISSIONS, PermissionScope
from kymatui.operator.watchers.runtime_webhook import CERTIFICATE, RuntimeWebhook
from kymatui.operator.watchers.watcher_controller import WATCHER
from kymatui.sandbox.fault_client import FaultClient
from tests.controllers.test_runtime_catalogs import CANCEL, Pair
from tests.domain import builders
from tests.engine.objects import definition
from tests.engine.places import Json, eventually
from tests.integration.used_permissions import UsedPermission, used_permissions
from tests.sandboxes.starting import ReadySandbox

CONFIGURATION = GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")
AGENT = ObjectRef(DEPLOYMENT, "kyma-system", "skr-webhook")
WEBHOOKS = ObjectRef(CONFIGURATION, "", "skr-webhook")
OPTIONS = AgentOptions("registry.example/agent:1.0.0", "listener.example.org:443")
KYMA = builders.kyma(name="one", namespace="kcp-system", labelled={"kyma-project.io/runtime-id": "runtime-1"})


def kyma(**annotations: str) -> Kyma:
    metadata = {**KYMA["metadata"], "annotations": annotations or {"skr-domain": "one.example.org"}}
    from kymatui.domain.kyma.kymas import read_kyma

    found = read_kyma({**KYMA, "metadata": metadata})
    assert isinstance(found, Kyma)
    return found


def secret(name: str, **data: str) -> Json:
    content = {key.replace("_", "."): base64.b64encode(value.encode()).decode() for key, value in data.items()}
    metadata = {"name": name, "namespace": "istio-system"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": content}


def watcher(name: str, resource: str, field: str = "spec") -> Json:
    return {
        "apiVersion": WATCHER.api_version,
        "kind": "Watcher",
        "metadata": {"name": name, "namespace": "kcp-system"},
        "spec": {
            "field": field,
            "gateway": {"selector": {"matchLabels": {"a": "b"}}},
            "labelsToWatch": {"operator.kyma-project.io/watched-by": "kyma"},
            "manager": "lifecycle-manager",
            "resourceToWatch": {"group": "operator.kyma-project.io", "version": "*", "resource": resource},
            "serviceInfo": {"name": "events", "namespace": "kcp-system", "port": 8082},
        },
    }


class WebhookPair(Pair):
    """A pair whose control plane has Certificates and one Watcher."""

    def __init__(self, sandbox: ReadySandbox, folder: Path) -> None:
        super().__init__(sandbox, folder)
        self.home.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "istio-system"}}, manager="t")
        self.home.apply(definition(CERTIFICATE.group, CERTIFICATE.kind), manager="t", force=True)
        eventually(self._has_certificates, "Certificates are served")
        self.home.apply(watcher("events", "kymas"), manager="t", force=True)
        self.webhook = RuntimeWebhook(self.home, OPTIONS)

    def _has_certificates(self) -> bool:
        self.home.forget_kinds()
        return self.home.kind(CERTIFICATE) is not None

    def turn(self) -> bool:
        return self.webhook.sync_webhook(kyma(), self.counted, CANCEL)

    def issue(self, text: str = "certificate") -> None:
        """Play cert-manager."""
        self.home.apply(secret("klm-istio-gateway", ca_crt="authority"), manager="t", force=True)
        self.home.apply(secret("one-webhook-tls", tls_crt=text, tls_key="key"), manager="t", force=True)

    def close(self) -> None:
        self.webhook.remove_webhook(kyma(), self.runtime, CANCEL)
        for raw in self.home.list(WATCHER):
            self.home.delete(ObjectRef(WATCHER, "kcp-system", raw["metadata"]["name"]))
        with contextlib.suppress(NotFoundError):
            self.home.delete(ObjectRef(SECRET, "istio-system", "klm-istio-gateway"))
        super().close()


@pytest.fixture
def pair(engine_sandbox: ReadySandbox, tmp_path: Path) -> Iterator[WebhookPair]:
    found = WebhookPair(engine_sandbox, tmp_path)
    try:
        yield found
    finally:
        found.close()


def test_the_agent_needs_what_is_granted_for_it_and_not_more(pair: WebhookPair, engine_sandbox: ReadySandbox) -> None:
    faults = FaultClient.for_kubeconfig(engine_sandbox.kubeconfig, "old")
    used: set[UsedPermission] = set()

    def needed(act: Callable[[], object]) -> None:
        faults.requests(forget=True)
        act()
        used.update(used_permissions(faults.requests()))

    needed(pair.turn)
    pair.issue()
    needed(pair.turn)
    needed(lambda: pair.webhook.remove_webhook(kyma(), pair.runtime, CANCEL))
    places = {PermissionScope.CERTIFICATES: "istio-system", PermissionScope.HOME: "kcp-system"}
    granted = {
        UsedPermission(places[one.scope], one.group, resource, verb)
        for one in AGENT_PERMISSIONS
        for resource in one.resources
        for verb in one.verbs
    }
    assert used == granted


def test_the_agent_comes_once_its_certificate_is_issued(pair: WebhookPair) -> None:
    assert pair.turn() is False
    request = pair.home.get(ObjectRef(CERTIFICATE, "istio-system", "one-webhook-tls")) or {}
    assert request["spec"]["commonName"] == "runtime-1"
    assert request["spec"]["dnsNames"][0] == "one.example.org"
    assert pair.runtime.get(AGENT) is None
    pair.issue()
    pair.turn()
    eventually(pair.turn, "the agent is ready")
    pair.counted.applied.clear()
    pair.turn()
    assert pair.counted.applied == []


def test_the_links_of_the_runtime_are_whole(pair: WebhookPair) -> None:
    pair.home.apply(watcher("state", "manifests", "status"), manager="t", force=True)
    pair.issue()
    eventually(pair.turn, "the agent is ready")
    control = ControlPlaneObjects(pair.home.list(WATCHER), [], [], [], {})
    runtime = RuntimeObjects(pair.runtime.get(WEBHOOKS), pair.runtime.get(AGENT), True, {})
    chains = build_chains(control, runtime)
    links = [link for chain in chains for link in chain.links if link.what in ("webhook", "Deployment", "Secret")]
    assert len(links) == 6
    assert {link.health for link in links} == {LinkHealth.HEALTHY}


def test_a_renewed_certificate_restarts_the_agent_and_a_removed_watcher_takes_its_webhook_along(
    pair: WebhookPair,
) -> None:
    pair.issue()
    pair.turn()
    before = (pair.runtime.get(AGENT) or {})["metadata"]["generation"]
    pair.issue("renewed")
    pair.home.delete(ObjectRef(WATCHER, "kcp-system", "events"))
    pair.turn()
    assert (pair.runtime.get(AGENT) or {})["metadata"]["generation"] > before
    assert not (pair.runtime.get(WEBHOOKS) or {}).get("webhooks")


def test_everything_goes_and_a_second_removal_finds_nothing(pair: WebhookPair) -> None:
    pair.issue()
    pair.turn()
    assert pair.webhook.remove_webhook(kyma(), pair.runtime, CANCEL) is True
    assert pair.webhook.remove_webhook(kyma(), pair.runtime, CANCEL) is False
    assert pair.runtime.get(AGENT) is None
    assert pair.runtime.get(WEBHOOKS) is None
    assert pair.home.get(ObjectRef(SECRET, "istio-system", "one-webhook-tls")) is None
    assert pair.webhook.remove_webhook(kyma(), None, CANCEL) is False


def test_a_kyma_without_a_domain_is_named(pair: WebhookPair) -> None:
    with pytest.raises(ConfigurationError, match="has no annotation skr-domain"):
        pair.webhook.sync_webhook(kyma(other="x"), pair.runtime, CANCEL)
