"""The real catalog in a cluster: every row and every column, expected from the files by a reader of this test's own.

A Kyma asks for most of the modules, and what it and its Manifests report is what lifecycle-manager would report. The
same modules keep running while the Kyma's channel is changed.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.cli.main import main
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.errors import InvalidError
from tests import kube_writes
from tests.integration.embedded import GROUP, NAMESPACE, Embedded, eventually
from tests.sandboxes.starting import ready_sandbox

pytestmark = pytest.mark.xdist_group("real-rows")

Json = dict[str, Any]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DEFINITION = "CustomResourceDefinition"

RUNNING = {
    "api-gateway": "2.6.0",  # which no channel has
    "application-connector": "1.1.5",
    "btp-operator": "1.1.17",
    "docker-registry": "0.0.0",  # a community module, by hand
    "eventing": "1.0.1",  # its image is tagged with a commit
    "istio": "1.8.3",
    "keda": "1.2.0",
    "nats": "1.2.1",
    "serverless": "1.5.1",
    "telemetry": "1.22.0",
}
STATES = {"serverless": "Warning", "nats": "Error", "keda": "Processing"}
ASKED = (*(name for name in RUNNING if name != "docker-registry"), "transparent-proxy")
OVERRIDDEN = {"application-connector": "experimental"}
UNMANAGED = "istio"
STATUS = {"served": "True", "activeBackend": "", "specHash": 1, "publisherService": ""}
"""What one or another of the real definitions wants in a status; the others drop it."""


@dataclass(frozen=True)
class Files:
    """The catalog as plain YAML."""

    folder: Path

    def read(self, part: str) -> list[Json]:
        texts = [path.read_text() for path in sorted((self.folder / part).glob("*.yaml"))]
        return [item for text in texts for item in yaml.load_all(text, LOADER) if item]

    @cached_property
    def templates(self) -> dict[tuple[str, str], Json]:
        return {(item["spec"]["moduleName"], item["spec"]["version"]): item for item in self.read("moduletemplates")}

    @cached_property
    def channels(self) -> dict[str, dict[str, str]]:
        return {
            item["spec"]["moduleName"]: {entry["channel"]: entry["version"] for entry in item["spec"]["channels"]}
            for item in self.read("modulereleasemetas")
        }

    def raw_manifest(self, module: str, version: str) -> list[Json]:
        text = (self.folder / "raw-manifests" / f"{module}-{version}.yaml").read_text()
        return [item for item in yaml.load_all(text, LOADER) if item]

    @cached_property
    def managers(self) -> dict[str, Json]:
        """The Deployment of each module that runs."""
        read = {name: self.raw_manifest(name, version) for name, version in RUNNING.items()}
        return {name: item for name, items in read.items() for item in items if item["kind"] == "Deployment"}

    def resource(self, module: str, version: str) -> str:
        data = self.templates[module, version]["spec"]["data"]
        return f"{data['kind']} {NAMESPACE}/{data['metadata']['name']}"


@pytest.fixture(scope="module")
def files(shared: Path) -> Files:
    return Files(shared / "kyma" / "catalog" / "derived")


@pytest.fixture(scope="module")
def cluster(files: Files, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    with ready_sandbox("real") as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        found = Embedded(running.kubeconfig, "real", tmp_path_factory.mktemp("files"))
        fill(found, files, shared)
        yield found
        found.client.transport.close()


def fill(cluster: Embedded, files: Files, shared: Path) -> None:
    """Kyma's definitions, the catalog, and what runs; every workload has come up when this ends."""
    for namespace in (NAMESPACE, "cap-operator-system"):
        cluster.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    own = Files(shared / "kyma" / "crds").read("klm-head")
    for definition in (item for item in own if item["kind"] == DEFINITION):
        cluster.define(definition)
    for item in [*files.read("moduletemplates"), *files.read("modulereleasemetas")]:
        with contextlib.suppress(InvalidError):  # cluster-ip: the schema of today refuses its name
            cluster.put(item)
    for module, version in RUNNING.items():
        objects = files.raw_manifest(module, version)
        for item in (item for item in objects if item["kind"] == DEFINITION):
            cluster.define(item)
        for item in (item for item in objects if item["kind"] != DEFINITION):
            apply(cluster, item)
        data = files.templates[module, version]["spec"]["data"]
        body = {**data, "metadata": {**data["metadata"], "namespace": NAMESPACE}}
        status = {"state": STATES.get(module, "Ready"), **STATUS}
        cluster.put({**body, "status": status})
    eventually(lambda: all_available(cluster), "all managers are available", 60)


def apply(cluster: Embedded, item: Json) -> None:
    resource = cluster.client.resource(GroupVersionKind.of(item["apiVersion"], item["kind"]))
    kube_writes.apply(cluster.client, resource, item, manager="declarative.kyma-project.io/applier", force=True)


def all_available(cluster: Embedded) -> bool:
    kind = cluster.client.resource(GroupVersionKind("apps", "v1", "Deployment"))
    found = [item.get("status") or {} for item in cluster.client.list(kind).items]
    return len(found) == len(RUNNING) and all(
        any(one["type"] == "Available" and one["status"] == "True" for one in status.get("conditions") or ())
        for status in found
    )


def report(module: str, channel: str, files: Files) -> Json | None:
    """What lifecycle-manager writes into the Kyma's status of a module; nothing yet of one that it has not seen."""
    version, offered = RUNNING.get(module), files.channels[module].get(channel)
    if module == UNMANAGED:
        return {"name": module, "channel": channel, "version": version, "state": "Unmanaged"}
    if offered is None:
        said = f"no versions found for channel: {channel} in module {module}"
        return {"name": module, "channel": channel, "state": "Error", "message": said}
    if version is None:
        return None
    template = {"apiVersion": f"{GROUP}/v1beta2", "kind": "ModuleTemplate"}
    named = {**template, "metadata": {"name": f"{module}-{version}", "namespace": NAMESPACE, "generation": 1}}
    found = {"name": module, "channel": channel, "version": version, "template": named}
    if core(offered) < core(version):
        return {**found, "state": "Warning", "message": "module template update not allowed"}
    return {**found, "state": "Ready"}


def ask(cluster: Embedded, channel: str, files: Files) -> None:
    """The Kyma in a channel, and the Manifests of what it manages."""
    reports = [entry for name in ASKED if (entry := report(name, OVERRIDDEN.get(name, channel), files))]
    entries = [
        {"name": name, "managed": name != UNMANAGED} | ({"channel": OVERRIDDEN[name]} if name in OVERRIDDEN else {})
        for name in ASKED
    ]
    states = {entry["state"] for entry in reports}
    cluster.put(
        {
            "apiVersion": f"{GROUP}/v1beta2",
            "kind": "Kyma",
            "metadata": {"name": "default", "namespace": NAMESPACE},
            "spec": {"channel": channel, "modules": entries},
            "status": {"state": "Error" if "Error" in states else "Warning", "modules": reports},
        }
    )
    for name in ASKED:
        if name in RUNNING and name != UNMANAGED:
            labels = {f"{GROUP}/kyma-name": "default", f"{GROUP}/module-name": name}
            cluster.put(
                {
                    "apiVersion": f"{GROUP}/v1beta2",
                    "kind": "Manifest",
                    "metadata": {"name": f"default-{name}", "namespace": NAMESPACE, "labels": labels},
                    "spec": {"version": RUNNING[name], "remote": True, "install": {"name": name, "source": {}}},
                    "status": {"state": "Ready"},
                }
            )


# what is expected, without a line of the domain


def core(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("-")[0].split("."))


def rank(version: str) -> tuple[tuple[int, ...], bool]:
    return core(version), "-" not in version


def apart(one: str, other: str) -> str:
    """How far two versions lie apart, in the first part that differs."""
    for word, a, b in zip(("major", "minor", "patch"), core(one), core(other), strict=True):
        if a != b:
            count = abs(a - b)
            return f"{count} {word if count == 1 else 'patches' if word == 'patch' else word + 's'}"
    return "pre-release"


def tag_of(image: str) -> str:
    return image.rpartition(":")[2]


def installed(module: str, files: Files) -> str | None:
    """The tag of the manager's image; where that is a commit, what the Manifest says."""
    if module not in RUNNING:
        return None
    (container,) = files.managers[module]["spec"]["template"]["spec"]["containers"]
    tag = tag_of(container["image"])
    return tag if "." in tag else RUNNING[module]


def drift_of(have: str | None, want: str | None) -> str:
    if have is None:
        return "none"
    if want is None:
        return "unknown"
    if rank(have) == rank(want):
        return "up-to-date"
    return "behind" if rank(have) < rank(want) else "ahead"


def expected(module: str, kyma_channel: str, files: Files) -> Json:
    """One row of the documented JSON."""
    versions = [version for name, version in files.templates if name == module]
    channels = files.channels.get(module, {})
    channel = OVERRIDDEN.get(module, kyma_channel) if channels else None
    newest = max((version for version in versions if "-" not in version), key=core)
    desired = channels.get(channel or "") if channels else newest
    have = installed(module, files)
    drift = drift_of(have, desired)
    if module in ASKED and module != UNMANAGED and have and desired and core(desired) < core(have):
        drift = "newer-than-channel"
    if module == UNMANAGED and drift != "up-to-date":
        drift = "none"  # an unmanaged module follows no channel
    state, source = state_of(module, channel, drift, files)
    return {
        "name": module,
        "origin": "kyma" if channels else "community",
        "channels": channels,
        "channel": channel,
        "desired": desired,
        "installed": have,
        "newest": newest,
        "drift": drift,
        "state": state,
        "stateSource": source,
        "presence": presence(module),
        "managed": module in ASKED and module != UNMANAGED,
        "mandatory": False,
        "beta": False,
        "internal": False,
        "checks": [],
        "blockedBy": [],
        "reason": reason(module, channel, desired, have, newest, drift, files),
        "installedBy": "lifecycle-manager" if module in ASKED and module != UNMANAGED else None,
        "installation": None,
        "unknown": {},
    }


def presence(module: str) -> str:
    if module == UNMANAGED:
        return "unmanaged"
    return "enabled" if module in RUNNING or module in ASKED else "not installed"


def state_of(module: str, channel: str | None, drift: str, files: Files) -> tuple[str, str]:
    """The worst of what the resource, the manager and the Kyma say; the nearest to the module where they agree."""
    if module == UNMANAGED:
        return "Unmanaged", "presence"
    said = (report(module, channel or "", files) or {}).get("state", "") if module in ASKED else ""
    if module not in RUNNING:
        return (said, "kyma") if said else ("Processing" if module in ASKED else "NotInstalled", "presence")
    own = STATES.get(module, "Ready")
    order = ("Error", "Warning", "Processing", "Ready", "")
    return (own, "status.state") if order.index(own) <= order.index(said) else (said, "kyma")


def reason(
    module: str, channel: str | None, desired: str | None, have: str | None, newest: str, drift: str, files: Files
) -> str:
    resource = files.resource(module, RUNNING.get(module, "")) if have else ""
    own = STATES.get(module, "Ready")
    if module in ASKED and desired is None:
        offered = ", ".join(files.channels[module])
        return (
            f"Action needed: channel {channel} has no version of the module (available in: {offered}). "
            f"Change the channel (`kymatui channel {module} {next(iter(files.channels[module]))}`)."
        )
    if module == UNMANAGED:
        return f"Unmanaged: lifecycle-manager does not update or repair it; it reports {own}"
    if own in ("Error", "Warning"):
        return f"Action needed: {resource} reports {own}. Read the log of its manager (`kymatui logs {module}`)."
    if drift == "newer-than-channel":
        text = f"Newer than channel {channel} ({have} > {desired}), and never downgraded automatically. "
        other = next((name for name, version in files.channels[module].items() if version == have), "")
        if other:
            move = f"move the module to channel {other}, which has {have} (`kymatui channel {module} {other}`)"
            return f"{text}Wait for the channel, or {move}."
        again = "to downgrade, disable the module and enable it again"
        return f"{text}Wait for the channel; {again} (`kymatui disable {module}`)."
    if module in ASKED and have is None:
        return "Requested in the Kyma; waiting for lifecycle-manager"
    if own == "Processing":
        return f"The module's manager is processing {resource}"
    if have is None and desired is None:
        offered = ", ".join(files.channels[module])
        return f"Not installed, not available: channel {channel} has no version of the module (available in: {offered})"
    if have is None or desired is None:
        return f"Not installed ({desired} available)"
    distance = apart(have, desired)
    if drift == "behind" and module in ASKED:
        return (
            f"Running {have}, expected {desired} ({distance} behind). lifecycle-manager has not finished the upgrade."
        )
    if drift == "behind":
        return f"{have} installed, {desired} available ({distance} behind). Upgrade it (`kymatui upgrade {module}`)."
    if drift == "ahead":
        return f"Running {have}, expected {desired} ({distance} ahead)"
    return f"{have} installed and ready" + (f" (newest {newest})" if newest != desired else "")


@pytest.mark.parametrize("channel", ["regular", "fast", "experimental"])
def test_every_row_is_right(channel: str, cluster: Embedded, files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    ask(cluster, channel, files)
    assert main(["catalog", "--kubeconfig", str(cluster.kubeconfig), "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    names = sorted({name for name, _ in files.templates} - {"cluster-ip"})
    assert [row["name"] for row in found["modules"]] == names
    for row in found["modules"]:
        assert (row.pop("installedSource") is None) == (row["installed"] is None)
        for key in ("actor", "cause", "effect", "advice", "adviceKind", "command"):
            row.pop(key)
        assert (row.pop("channelSource") is None) == (row["channel"] is None)
        assert row == expected(row["name"], channel, files)
    state = "Error" if channel == "experimental" else "Warning"
    assert found["kyma"] == {"name": "default", "namespace": NAMESPACE, "channel": channel, "state": state}


@pytest.mark.parametrize("channel", ["regular", "fast", "experimental"])
def test_drift_names_exactly_what_drifts(
    channel: str, cluster: Embedded, files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(cluster, channel, files)
    assert main(["drift", "--kubeconfig", str(cluster.kubeconfig), "-o", "json"]) == 2
    found = json.loads(capsys.readouterr().out)["drift"]
    rows = [expected(name, channel, files) for name in sorted({name for name, _ in files.templates} - {"cluster-ip"})]
    drifting = [row for row in rows if row["drift"] in ("behind", "ahead", "newer-than-channel")]
    assert [(one["name"], one["drift"], one["installed"], one["desired"]) for one in found] == [
        (row["name"], row["drift"], row["installed"], row["desired"]) for row in drifting
    ]
