"""What `bundle` makes is installed by the real lifecycle-manager, and what modulectl and ocm make by the operator.

Both on the sandbox's clusters, if the programs are on the PATH. The tests play the module's manager, which sets the
state of the default CR.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.cli.main import main
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from tests.bundle.sources import crd, workload, write_sources
from tests.bundle.test_image_signatures import push
from tests.engine.places import eventually
from tests.integration.operators import HOME, ControlPlane
from tests.integration.real_lifecycle_manager import RealManager, made
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

PATIENCE = 60.0
MODULE, RUNTIME = "sample", "runtime-a"
IMAGE = "registry.example.com/prod/sample-manager"
NAME = f"kyma-project.io/module/{MODULE}"
CR = {
    "apiVersion": "things.example.com/v1alpha1",
    "kind": "Thing",
    "metadata": {"name": "default", "namespace": "kyma-system"},
    "spec": {"size": 1},
}
Json = dict[str, Any]

pytestmark = pytest.mark.xdist_group("real-lifecycle-manager")
needs_manager = pytest.mark.skipif(
    shutil.which("lifecycle-manager") is None, reason="lifecycle-manager is not on the PATH"
)
needs_authors = pytest.mark.skipif(
    not all(map(shutil.which, ("modulectl", "ocm"))), reason="modulectl and ocm are not on the PATH"
)


def ref(api_version: str, kind: str, namespace: str, name: str) -> ObjectRef:
    group, _, version = api_version.rpartition("/")
    return ObjectRef(GroupVersionKind(group, version, kind), namespace, name)


KYMA = ref("operator.kyma-project.io/v1beta2", "Kyma", HOME, RUNTIME)
MANAGER = ref("apps/v1", "Deployment", "sample-system", "sample-manager")
THING = ref("things.example.com/v1alpha1", "Thing", "kyma-system", "default")


class Pair:
    """A control plane with a Kyma for `sample`, and its runtime."""

    def __init__(self, sandbox: ReadySandbox, folder: Path) -> None:
        self.plane, self.registry, self.folder = ControlPlane(sandbox.kubeconfig), sandbox.registry, folder
        config = yaml.safe_load(sandbox.kubeconfig.read_text())
        self.kubeconfig = folder / "kcp.yaml"
        self.kubeconfig.write_text(yaml.safe_dump({**config, "current-context": "kcp"}))
        self.log = folder / "log"
        self.plane.access(RUNTIME)

    def request_module(self) -> None:
        kyma = made(KYMA.kind.api_version, "Kyma", RUNTIME, HOME)
        kyma["metadata"]["annotations"] = {"skr-domain": "skr.example.org"}
        kyma["metadata"]["labels"] = {"kyma-project.io/runtime-id": RUNTIME}
        spec = {"channel": "regular", "modules": [{"name": MODULE}]}
        self.plane.kcp.apply({**kyma, "spec": spec}, force=True)

    @contextlib.contextmanager
    def running(self, words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        """Run a manager on the control plane until the end of the block, which it must not end itself."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)}
        with self.log.open("wb") as log, subprocess.Popen(words, stdout=log, stderr=log, env=environment) as process:
            try:
                yield process
                assert process.poll() is None, self.log.read_text()[-2000:]
            finally:
                process.terminate()
                process.wait(30)

    def wait_ready(self, process: subprocess.Popen[bytes], version: str, image: str = IMAGE) -> None:
        eventually(
            lambda: process.poll() is not None or self._is_ready(version, image), f"{version} is ready", PATIENCE
        )

    def _is_ready(self, version: str, image: str) -> bool:
        """Play the module's manager; return whether the module is ready in a version, with its objects."""
        self.plane.skr.forget_kinds()  # the CRD comes with the module
        thing = self.plane.skr.get(THING)
        if thing is not None and not thing.get("status"):
            self.plane.skr.patch(THING, {"status": {"state": "Ready"}}, PatchKind.MERGE, subresource="status")
        status = self.plane.status(RUNTIME)
        module: Json = next(iter(status.get("modules") or []), {})
        states = status.get("state"), module.get("state"), module.get("version")
        return states == ("Ready", "Ready", version) and self._objects() == expected_objects(version, image)

    def _objects(self) -> Json:
        """Return what of the module counts on the runtime."""
        settings = self.plane.skr.get(ref("v1", "ConfigMap", MANAGER.namespace, "settings")) or {}
        deployed = self.plane.skr.get(MANAGER) or {}
        containers = deployed["spec"]["template"]["spec"]["containers"] if deployed else []
        return {
            "settings": (settings.get("data") or {}).get("version"),
            "images": [one["image"] for one in containers],
            "spec": (self.plane.skr.get(THING) or {}).get("spec"),
        }


def expected_objects(version: str, image: str) -> Json:
    return {"settings": version, "images": [f"{image}:{version}"], "spec": CR["spec"]}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with ready_sandbox("kcp", "skr") as sandbox:
        yield Pair(sandbox, tmp_path)


def write_module(folder: Path, version: str, image: str = IMAGE) -> Path:
    """Write the sources of a module with a CRD, a manager, settings and a default CR; return the path of the config."""
    definition = crd(properties={"size": {"type": "integer"}})
    served = definition["spec"]["versions"][0]
    served["subresources"] = {"status": {}}
    status = {"type": "object", "properties": {"state": {"type": "string"}}}
    served["schema"]["openAPIV3Schema"]["properties"]["status"] = status
    objects = [
        made("v1", "Namespace", MANAGER.namespace),
        definition,
        made("v1", "ConfigMap", "settings", MANAGER.namespace, data={"version": version}),
        workload(f"{image}:{version}"),
    ]
    manager = {"name": MANAGER.name, "namespace": MANAGER.namespace, "group": "apps", "version": "v1"}
    about: Json = {"name": NAME, "version": version, "manager": {**manager, "kind": "Deployment"}}
    return write_sources(folder, *objects, default_cr=CR, **about)


def release(pair: Pair, template: Path) -> None:
    """Apply what a template's file has to the control plane."""
    for body in yaml.safe_load_all(template.read_text()):
        pair.plane.kcp.apply({**body, "metadata": {**body["metadata"], "namespace": HOME}}, force=True)


def create(pair: Pair, version: str, image: str = IMAGE) -> Path:
    config = write_module(pair.folder / version, version, image)
    template = config.with_name("template.yaml")
    words = [
        "-c",
        str(config),
        "-o",
        str(template),
        "--sources",
        str(config.parent),
        "--channel",
        "regular",
        "--first-release",
    ]
    place = ["--registry", pair.registry, "--insecure-registry", pair.registry]
    assert main(["bundle", "create", *words, *place]) == 0
    return template


@needs_manager
def test_lifecycle_manager_installs_and_upgrades_what_create_made(pair: Pair) -> None:
    manager = RealManager(pair.plane.kcp, pair.registry, pair.folder, [RUNTIME])
    release(pair, create(pair, "1.0.0"))
    pair.request_module()
    with pair.running(manager.command(requeue="1s")) as process:
        pair.wait_ready(process, "1.0.0")
        release(pair, create(pair, "1.1.0"))
        pair.wait_ready(process, "1.1.0")


@needs_manager
def test_lifecycle_manager_takes_the_images_of_a_recursive_copy_from_the_mirror(pair: Pair) -> None:
    manager, host = RealManager(pair.plane.kcp, pair.registry, pair.folder, [RUNTIME]), pair.registry
    push(host, repository="prod/sample-manager", tag="1.0.0")
    release(pair, create(pair, "1.0.0", f"{host}/prod/sample-manager"))
    words = ["copy", f"{host}//{NAME}:1.0.0", f"{host}/mirror", "--recursive", "--insecure-registry", host]
    assert main(["bundle", *words]) == 0
    pair.request_module()
    with pair.running(manager.command("mirror", "1s")) as process:
        pair.wait_ready(process, "1.0.0", f"{host}/mirror/prod/sample-manager")


@needs_authors
def test_the_operator_installs_what_modulectl_and_ocm_made(pair: Pair) -> None:
    config = write_module(pair.folder / "m", "1.0.0")
    template, constructor, archive = (config.with_name(name) for name in ("t.yaml", "constructor.yaml", "ctf"))
    modulectl = ["modulectl", "create", "-c", config, "-o", template, "--output-constructor-file", constructor]
    run(pair, *modulectl, "--module-sources-git-directory", config.parent)
    place = json.dumps({"type": "OCIRegistry", "baseUrl": f"http://{pair.registry}"})
    run(pair, "ocm", "add", "componentversions", "--create", "--skip-digest-generation", "--file", archive, constructor)
    run(pair, "ocm", "transfer", "ctf", archive, place)
    release(pair, template)
    spec = {"moduleName": MODULE, "ocmComponentName": NAME, "channels": [{"channel": "regular", "version": "1.0.0"}]}
    pair.plane.kcp.apply(
        made("operator.kyma-project.io/v1beta2", "ModuleReleaseMeta", MODULE, HOME, spec=spec), force=True
    )
    pair.request_module()
    words = ["operator", "run", "--registry", f"http://{pair.registry}", "--interval", "300ms"]
    with pair.running([sys.executable, "-m", "kymatui", *words]) as process:
        pair.wait_ready(process, "1.0.0")


def run(pair: Pair, *words: object) -> None:
    environment = {**os.environ, "HOME": str(pair.folder)}
    found = subprocess.run(list(map(str, words)), capture_output=True, text=True, env=environment, timeout=PATIENCE)
    assert found.returncode == 0, f"{words}: {found.stdout}{found.stderr}"
