"""The log of `kymatui operator run` on the sandbox: what happened can be told from it alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.main import main
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.object_meta import LABEL_SKIP
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.jobs.lease import LEASE
from kymatui.operator.catalogs.runtime_catalog import RELEASE_META
from kymatui.operator.kymas.kyma_context import KYMA, MANIFEST
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.bundle.sources import workload, write_sources
from tests.integration.embedded import eventually
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

SPACE = "kyma-system"
REF = ObjectRef(KYMA, SPACE, "default")
LEADER = ObjectRef(LEASE, "kube-system", "kymatui.operator")
Json = dict[str, Any]


@dataclass
class Operated:
    """A cluster that is its own runtime, the operator's command, and its log as it grows."""

    cluster: KubeCluster
    registry: str
    folder: Path
    published: set[str] = field(default_factory=set)

    @property
    def log(self) -> Path:
        return self.folder / "operator.log"

    def entries(self) -> list[Json]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def reasons(self, kind: str = "") -> list[str]:
        return [one["reason"] for one in self.entries() if not kind or one.get("object", {}).get("kind") == kind]

    def wait_for(self, reason: str, text: str = "") -> Json:
        def matching() -> list[Json]:
            return [
                one for one in self.entries() if one["reason"] == reason and text in json.dumps(one, ensure_ascii=False)
            ]

        eventually(lambda: bool(matching()), f"{reason} {text} is not in {self.log.read_text()}")
        return matching()[-1]

    def publish(self, name: str, version: str, **config: Any) -> None:
        folder, out = self.folder / name / version, self.folder / f"{name}-{version}.yaml"
        manager = workload(f"registry.example.org/{name}:{version}", name=f"{name}-manager")
        manager["metadata"]["namespace"] = SPACE
        path = write_sources(folder, manager, name=f"kyma-project.io/module/{name}", version=version, **config)
        first = (
            ("--release-meta", str(self.folder / f"{name}.yaml")) if name in self.published else ("--first-release",)
        )
        plain = ("--registry", self.registry, "--insecure-registry", self.registry)
        assert main(["bundle", "create", "-c", str(path), "-o", str(out), "--channel", "regular", *first, *plain]) == 0
        if name not in self.published:
            (self.folder / f"{name}.yaml").write_text(out.read_text())
        self.published.add(name)
        for body in yaml.safe_load_all(out.read_text()):
            body["metadata"]["namespace"] = SPACE
            self.cluster.apply(body, manager="test", force=True)

    def request(self, *modules: Json) -> None:
        body = {"apiVersion": KYMA.api_version, "kind": "Kyma", "metadata": {"name": "default", "namespace": SPACE}}
        self.cluster.apply(body | {"spec": {"channel": "regular", "modules": modules}}, manager="test", force=True)

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        policy = self.folder / "policy.json"
        day = (datetime.now(UTC) + timedelta(days=3)).strftime("%a")
        window = {"days": [day], "begin": "04:00:00+00:00", "end": "08:00:00+00:00"}
        policy.write_text(json.dumps({"rules": [], "default": window}))
        options = ("--registry", f"http://{self.registry}", "--maintenance-policy", str(policy), "--interval", "1s")
        log = ("--log-format", "json", "--log-level-file", str(self.folder / "levels"))
        command = [sys.executable, "-m", "kymatui", "operator", "run", "--single-cluster", *options, *log]
        with self.log.open("ab") as stream, subprocess.Popen(command, env=dict(os.environ), stderr=stream) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ReadySandbox]:
    with ready_sandbox("one") as running:
        yield running


@pytest.fixture
def operated(sandbox: ReadySandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operated:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(sandbox.kubeconfig))
    cluster = open_cluster(SessionOptions(str(sandbox.kubeconfig)))
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    for body in read_crds():
        cluster.apply(body)

    def is_served() -> bool:
        cluster.forget_kinds()
        return cluster.kind(KYMA) is not None

    eventually(is_served, "Kymas are served")
    (tmp_path / "levels").write_text("info")
    return Operated(cluster, sandbox.registry, tmp_path)


def test_an_incident_can_be_told_from_the_log_alone(operated: Operated) -> None:
    cluster, alpha, bravo = operated.cluster, {"name": "alpha"}, {"name": "bravo"}
    existing = workload(name="alpha-manager")
    existing["metadata"]["namespace"] = SPACE
    cluster.apply(existing, manager="kubectl")
    time.sleep(1.1)  # the times of creation have whole seconds
    for name in ("alpha", "bravo"):
        operated.publish(name, "1.0.0")
    operated.request(alpha, bravo)
    with operated.running() as process:
        operated.wait_for("LeaseTaken", "kube-system/kymatui.operator")
        install = operated.wait_for("ModuleInstall", "modules alpha 1.0.0, bravo 1.0.0")
        assert install["object"] == {"kind": "Kyma", "namespace": SPACE, "name": "default"}
        operated.wait_for("ObjectsAdopted", "1 object that existed before: Deployment kyma-system/alpha-manager")
        wrote = [one for one in operated.entries() if one.get("reconcileID") == install["reconcileID"]][-1]
        assert (wrote["reason"], wrote["seconds"] > 0) == ("Reconciled", True)
        assert [word.split("-")[0] for word in wrote["wrote"]] == [
            "apply Manifest kyma", "apply Manifest kyma", "patch Kyma kyma",
        ]  # fmt: skip
        operated.wait_for("Ready", "kyma is ready")
        operated.publish("alpha", "1.1.0")
        operated.wait_for("ModuleUpgrade", "module alpha 1.0.0 → 1.1.0")
        operated.publish("alpha", "1.2.0", requiresDowntime=True)
        operated.wait_for("ModuleAwaitsMaintenanceWindow", "the upgrade 1.1.0 → 1.2.0")
        operated.request(alpha, {**bravo, "channel": "fast"})
        operated.wait_for("ModuleError", "channel fast has no version of the module")
        operated.request(alpha, {"name": "bravo"})
        fail_registry(operated)
        operated.wait_for("ModuleError", "bravo")
        operated.request(alpha)
        operated.wait_for("ModuleDeleted", "module bravo 1.0.0 is deleted")
        (manifest,) = cluster.list(MANIFEST, SPACE)
        name = manifest["metadata"]["name"]
        cluster.patch(ObjectRef(MANIFEST, SPACE, name), {"metadata": {"labels": {LABEL_SKIP: "true"}}}, PatchKind.MERGE)
        operated.wait_for("Skipped", name)
        (operated.folder / "levels").write_text("info,kyma=debug")
        process.send_signal(signal.SIGHUP)
        operated.wait_for("LogLevels", "info,kyma=debug")
        operated.wait_for("Reconciled", '"level": "debug"')
        cluster.patch(LEADER, {"spec": {"holderIdentity": "another"}}, PatchKind.MERGE)
        assert process.wait(60) == 2
        operated.wait_for("LeaseLost", "another operator has taken the Lease")
    cluster.delete(LEADER)
    with operated.running() as process:
        eventually(lambda: operated.reasons().count("LeaseTaken") == 2, "it is taken again")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert operated.wait_for("Stopping", "SIGTERM")
    assert operated.reasons()[-1] == "Stopped"
    told = operated.reasons("Kyma")
    for reason in ("ModuleInstall", "ModuleUpgrade", "ModuleAwaitsMaintenanceWindow", "ModuleDeleted"):
        assert told.count(reason) == 1, reason


def fail_registry(operated: Operated) -> None:
    """Offer a version of bravo that no registry has."""
    body = next(yaml.safe_load_all((operated.folder / "bravo-1.0.0.yaml").read_text()))
    body["metadata"] = {"name": "bravo-1.9.0", "namespace": SPACE}
    operated.cluster.apply(body | {"spec": {**body["spec"], "version": "1.9.0"}}, manager="test", force=True)
    meta = ObjectRef(RELEASE_META, SPACE, "bravo")
    channels = {"spec": {"channels": [{"channel": "regular", "version": "1.9.0"}]}}
    operated.cluster.patch(meta, channels, PatchKind.MERGE)
