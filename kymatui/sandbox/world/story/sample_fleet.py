"""A control plane with N runtimes in bulk: Kymas, Manifests and access Secrets.

They are written straight to the store, since 30,000 requests would take too long; tests send the same objects through
the API to check their shape.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from kymatui.domain.kyma.manifests import manifest_name
from kymatui.domain.kyma.states import kyma_state
from kymatui.domain.modules.risks import NO_ACCESS
from kymatui.sandbox.apimachinery.clock import timestamp
from kymatui.sandbox.apimachinery.object_store import ObjectStore
from kymatui.sandbox.controllers.framework.store_reader import Obj
from kymatui.sandbox.world.modules.module_announcement import API_VERSION, KYMAS, MANIFESTS, PREFIX
from kymatui.sandbox.world.modules.module_manifest import default_resource
from kymatui.sandbox.world.modules.module_packages import BASE
from kymatui.sandbox.world.modules.sample_module import SampleModule
from kymatui.sandbox.world.modules.sample_modules import module_named

CONTROL = "kcp-system"
CHOSEN = ("serverless", "istio", "keda", "telemetry", "btp-operator", "api-gateway", "nats", "eventing")
PER_KYMA = 5
REGIONS = (
    ("aws", "eu-central-1", "cf-eu10"),
    ("azure", "westeurope", "cf-eu20"),
    ("gcp", "europe-west3", "cf-eu30"),
    ("aws", "us-east-1", "cf-us10"),
    ("azure", "southeastasia", "cf-ap21"),
    ("free", "eu-central-1", "cf-eu10"),
)
CHANNELS = ("regular", "regular", "regular", "fast")


class Draw(Struct, frozen=True, dict=True):
    """Reproducible choices: the n-th is a hash of its name."""

    seed: str

    def number(self, *what: object) -> int:
        text = "/".join(str(part) for part in (self.seed, *what))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

    def one_of(self, choices: Sequence[Any], *what: object) -> Any:
        return choices[self.number(*what) % len(choices)]

    def percent(self, *what: object) -> int:
        return self.number(*what) % 100

    def uuid(self, *what: object) -> str:
        digits = hashlib.sha256("/".join(str(p) for p in (self.seed, *what)).encode()).hexdigest()
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}"


def runtimes(count: int, seed: str = "fleet") -> Iterator[str]:
    """Yield the names (runtime ids) of a fleet."""
    draw = Draw(seed)
    for number in range(count):
        yield draw.uuid("runtime", number)


def fill(
    store: ObjectStore,
    count: int,
    *,
    now: float,
    seed: str = "fleet",
    registry: str = "registry.sandbox.local",
    access_errors: Mapping[str, str] = MappingProxyType({}),
) -> int:
    """Store `count` Kymas with five Manifests each, 2 of 25 with six; return the number of objects.

    5,000 Kymas have 25,400 Manifests. `access_errors` has, by Kyma, what lifecycle-manager says in the Manifests of a
    runtime that it cannot reach.
    """
    draw = Draw(seed)
    written = 0
    for number, name in enumerate(runtimes(count, seed)):
        kyma, manifests = runtime(draw, name, now, registry, PER_KYMA + (number % 25 >= 23))
        if name in access_errors:
            _lose_access(kyma, manifests, access_errors[name])
        store.put(KYMAS, kyma)
        for manifest in manifests:
            store.put(MANIFESTS, manifest)
        written += 1 + len(manifests)
    return written


def runtime(draw: Draw, name: str, now: float, registry: str, many: int = PER_KYMA) -> tuple[Obj, list[Obj]]:
    """Return a Kyma and its Manifests with status, as the store holds them."""
    plan, region, platform = draw.one_of(REGIONS, name, "region")
    channel = draw.one_of(CHANNELS, name, "channel")
    age = draw.number(name, "age") % (400 * 86400)
    created = timestamp(now - age)
    start = draw.number(name, "modules")
    names = [CHOSEN[(start + i) % len(CHOSEN)] for i in range(many)]
    kyma_uid = draw.uuid("kyma", name)
    manifests = [_manifest(draw, name, kyma_uid, module_named(m), channel, created, registry) for m in names]
    modules = [_module_status(module_named(m), manifest) for m, manifest in zip(names, manifests, strict=True)]
    state = kyma_state([m["state"] for m in modules], []).value
    labels = {
        f"{PREFIX}/managed-by": "lifecycle-manager",
        "kyma-project.io/runtime-id": name,
        "kyma-project.io/global-account-id": draw.uuid("account", draw.number(name, "account") % 97),
        "kyma-project.io/subaccount-id": draw.uuid("subaccount", name),
        "kyma-project.io/instance-id": draw.uuid("instance", name),
        "kyma-project.io/shoot-name": f"c-{draw.uuid('shoot', name)[:7]}",
        "kyma-project.io/broker-plan-name": plan,
        "kyma-project.io/region": region,
        "kyma-project.io/platform-region": platform,
    }
    ready = state == "Ready"
    words = "all modules are in ready state" if ready else "not all modules are in ready state"
    conditions = [
        _condition("Modules", created, words, true=ready),
        _condition("ModuleCatalog", created, "module templates are synchronized"),
        _condition("SKRWebhook", created, "skrwebhook is synchronized"),
    ]
    operation = "kyma is ready" if ready else "waiting for all modules to become ready"
    kyma = {
        "metadata": {
            "name": name,
            "namespace": CONTROL,
            "uid": kyma_uid,
            "generation": 1,
            "creationTimestamp": created,
            "labels": labels,
            "finalizers": [f"{PREFIX}/Kyma"],
        },
        "spec": {
            "channel": channel,
            "modules": [{"name": m, "customResourcePolicy": "CreateAndDelete", "managed": True} for m in names],
        },
        "status": {
            "state": state,
            "activeChannel": channel,
            "conditions": conditions,
            "modules": modules,
            "lastOperation": {"operation": operation, "lastUpdateTime": created},
        },
    }
    return kyma, manifests


def _lose_access(kyma: Obj, manifests: Sequence[Obj], operation: str) -> None:
    """Write the states that a real lifecycle-manager was seen to write: only the Manifests say what is wrong."""
    status = kyma["status"]
    status["state"], status["lastOperation"]["operation"] = "Error", NO_ACCESS
    for condition in status["conditions"]:
        condition["status"] = "Unknown"
    for module in status["modules"]:
        module.update(state="Error", message=NO_ACCESS)
    for manifest in manifests:
        manifest["status"]["state"], manifest["status"]["lastOperation"]["operation"] = "Error", operation


def _state(draw: Draw, *what: object) -> str:
    """Return a state, Ready for most."""
    drawn = draw.percent(*what)
    steps = ((94, "Ready"), (96, "Processing"), (98, "Warning"), (99, "Error"))
    return next((state for limit, state in steps if drawn < limit), "Deleting")


def _manifest(
    draw: Draw, kyma: str, kyma_uid: str, module: SampleModule, channel: str, created: str, registry: str
) -> Obj:
    version = module.channels[channel]
    older = draw.percent(kyma, module.name, "older") < 7
    version = module.versions[0] if older else version
    state = _state(draw, kyma, module.name, "state")
    name = manifest_name(kyma, module.component, module.name)
    data = default_resource(module)
    ready = state == "Ready"
    return {
        "metadata": {
            "name": name,
            "namespace": CONTROL,
            "uid": draw.uuid("manifest", name),
            "generation": 1,
            "creationTimestamp": created,
            "labels": {
                f"{PREFIX}/kyma-name": kyma,
                f"{PREFIX}/module-name": module.name,
                f"{PREFIX}/channel": channel,
                f"{PREFIX}/managed-by": "lifecycle-manager",
            },
            "annotations": {f"{PREFIX}/fqdn": module.component, f"{PREFIX}/ocm-component-name": module.component},
            "finalizers": ["declarative.kyma-project.io/finalizer", "label-removal-finalizer"],
            "ownerReferences": [
                {
                    "apiVersion": API_VERSION,
                    "kind": "Kyma",
                    "name": kyma,
                    "uid": kyma_uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "remote": True,
            "version": version,
            "customResourcePolicy": "CreateAndDelete",
            "install": {
                "name": "raw-manifest",
                "source": {
                    "repo": f"{registry}/{BASE}",
                    "name": module.component,
                    "ref": "sha256:" + hashlib.sha256(f"{module.name}:{version}".encode()).hexdigest(),
                    "type": "oci-ref",
                },
            },
            "resource": data,
        },
        "status": {
            "state": state,
            "conditions": [
                _condition("Resources", created, "resources are parsed and ready for use", "ResourcesAvailable"),
                _condition("Installation", created, "installation is ready and resources can be used", true=ready),
            ],
            "lastOperation": {
                "operation": "installation is ready and resources can be used" if ready else f"state is {state}",
                "lastUpdateTime": created,
            },
            "synced": _synced(module),
        },
    }


def _synced(module: SampleModule) -> list[dict[str, str]]:
    name, namespace = module.manager_name, module.namespace
    own = module.resource
    return [
        {
            "group": "apiextensions.k8s.io",
            "version": "v1",
            "kind": "CustomResourceDefinition",
            "name": own.resource,
            "namespace": "",
        },
        {"group": "", "version": "v1", "kind": "ServiceAccount", "name": name, "namespace": namespace},
        {"group": "apps", "version": "v1", "kind": module.manager_kind, "name": name, "namespace": namespace},
    ]


def _module_status(module: SampleModule, manifest: Obj) -> Obj:
    metadata = {k: manifest["metadata"][k] for k in ("name", "namespace", "generation")}
    version = manifest["spec"]["version"]
    template = {"name": f"{module.name}-{version}", "namespace": CONTROL, "generation": 1}
    return {
        "name": module.name,
        "state": manifest["status"]["state"],
        "channel": manifest["metadata"]["labels"][f"{PREFIX}/channel"],
        "version": version,
        "fqdn": module.component,
        "ocmComponentName": module.component,
        "maintenance": False,
        "manifest": {"apiVersion": API_VERSION, "kind": "Manifest", "metadata": metadata},
        "template": {"apiVersion": API_VERSION, "kind": "ModuleTemplate", "metadata": template},
    }


def _condition(kind: str, when: str, message: str, reason: str = "Ready", *, true: bool = True) -> Obj:
    status = "True" if true else "False"
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": when}


# -- access Secrets

WRONG = ("missing", "doubled", "no config", "no kubeconfig", "expired", "plugin", "file", "another's", "unreachable")
NOTICED = {
    "doubled": "failed to get access secret by kyma: could not safely identify the rest config source: "
    "more than one secret found",
    "no config": "failed to create rest config from kubeconfig: invalid configuration: no configuration has been "
    "provided, try setting KUBERNETES_MASTER environment variable",
}
"""What lifecycle-manager says of those that it has tried to use since its start; others go unnoticed until then."""


def access_secret(kyma: str, kubeconfig: str, *, name: str = "", key: str = "config") -> Obj:
    """Return an access Secret that lifecycle-manager finds by label, with the kubeconfig under `config`."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name or f"kubeconfig-{kyma}",
            "namespace": CONTROL,
            "labels": {f"{PREFIX}/kyma-name": kyma, f"{PREFIX}/managed-by": "lifecycle-manager"},
        },
        "type": "Opaque",
        "data": {key: base64.b64encode(kubeconfig.encode()).decode()},
    }


def wrong_secrets(kyma: str, how: str, kubeconfig: str) -> list[Obj]:
    """Return the Secrets of a runtime with broken access; `how` is one of `WRONG`.

    `kubeconfig` belongs to another Kyma's runtime.
    """
    lines = kubeconfig.splitlines()
    secrets: Mapping[str, list[Obj]] = {
        "missing": [],
        "doubled": [access_secret(kyma, kubeconfig), access_secret(kyma, kubeconfig, name=f"kubeconfig-{kyma}-old")],
        "no config": [access_secret(kyma, kubeconfig, key="kubeconfig")],
        "no kubeconfig": [access_secret(kyma, "this is\n\tno kubeconfig")],
        "expired": [access_secret(kyma, _replaced(lines, "token", "expired"))],
        "plugin": [access_secret(kyma, _replaced(lines, "token", "", "exec: {apiVersion: v1, command: login}"))],
        "file": [access_secret(kyma, _replaced(lines, "token", "", "tokenFile: /var/run/token"))],
        "another's": [access_secret(kyma, kubeconfig)],
        "unreachable": [access_secret(kyma, _replaced(lines, "server", "https://127.0.0.1:9"))],
    }
    return list(secrets[how])


def _replaced(lines: Sequence[str], field: str, value: str, other: str = "") -> str:
    """Return the text with each `field: …` set to another value, or replaced by `other`."""
    parts = [
        line.partition(f"{field}:")[0] + (other or f"{field}: {value}") if f"{field}:" in line else line
        for line in lines
    ]
    return "\n".join(itertools.chain(parts, [""]))
