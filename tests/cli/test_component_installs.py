"""`install --component`: a module straight from its component, with plan, inventory, upgrade and deletion."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.actions.components.stored_components import require_component
from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.cli.main import main
from kymatui.crds import read_crds
from kymatui.domain.inventories import Origin
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.inventory.release_store import read_inventory
from kymatui.engine.jobs.run import SystemClock
from kymatui.ocm.component_location import ComponentLocation
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.bundle.components import edited, key_files
from tests.bundle.sources import CR, NAME, crd, workload, write_sources
from tests.engine.places import eventually
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

pytestmark = pytest.mark.xdist_group("component-installs")  # one sandbox for all of them

SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "sample-system"}}
SETTINGS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "namespace": "sample-system"},
    "data": {"level": "info"},
}
MANAGER = {
    "group": "apps",
    "version": "v1",
    "kind": "Deployment",
    "name": "sample-manager",
    "namespace": "sample-system",
}
USERS = [{"group": "things.example.com", "version": "v1alpha1", "kind": "Thing"}]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ReadySandbox]:
    with ready_sandbox(empty=True) as running:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kyma-system"}}
        open_cluster(SessionOptions(str(running.kubeconfig))).create(space)
        yield running


@pytest.fixture
def run(sandbox: ReadySandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KUBECONFIG", str(sandbox.kubeconfig))

    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(words)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


SIZED = crd(properties={"size": {"type": "integer"}})


def create(run: Any, folder: Path, *place: str, version: str = "1.0.0", images: bool = True, **more: Any) -> None:
    image = workload(f"registry.example.com/prod/sample-manager:{version}")
    objects = (SPACE, SIZED, SETTINGS, *([image] if images else []))
    config = write_sources(
        folder, *objects, default_cr=CR, version=version, manager=MANAGER, associatedResources=USERS, **more
    )
    words = ["bundle", "create", "-c", str(config), "-o", str(folder / "template.yaml"), "--sources", str(folder)]
    status, _, err = run(*words, *place)
    assert status == 0, err


def insecure(sandbox: ReadySandbox) -> list[str]:
    return ["--insecure-registry", sandbox.registry]


def reference(sandbox: ReadySandbox, base: str, version: str = "1.0.0") -> str:
    return f"{sandbox.registry}/{base}//{NAME}:{version}"


def test_a_component_is_installed_upgraded_from_its_registry_and_deleted(
    run: Any, sandbox: ReadySandbox, tmp_path: Path
) -> None:
    plain, place = insecure(sandbox), f"{sandbox.registry}/life"
    create(run, tmp_path / "1", "--registry", place, *plain)
    words = ["install", "--component", reference(sandbox, "life"), *plain]
    status, out, _ = run(*words, "--dry-run", "-o", "json")
    planned = json.loads(out)
    assert (status, planned["outcome"], planned["name"], planned["version"]) == (0, "planned", "sample", "1.0.0")
    assert planned["origin"] == reference(sandbox, "life")
    assert {step["action"] for step in planned["steps"]} == {"create"}
    status, out, err = run(*words, "--yes")
    assert (status, out) == (0, "sample 1.0.0: 5 applied\n"), err
    assert "create   Deployment sample-system/sample-manager" in err

    cluster = open_cluster(SessionOptions(str(sandbox.kubeconfig)))
    known = read_inventory(cluster, SystemClock(), "sample", "sample-system")
    assert known is not None
    store = RegistryArtifacts(insecure=[sandbox.registry])
    stored = require_component(store, ComponentLocation(place, NAME, "1.0.0"))
    assert known.origin == Origin("component", reference(sandbox, "life"), "1.0.0", stored.digest)
    assert known.associated == (GroupVersionKind("things.example.com", "v1alpha1", "Thing"),)
    thing = ObjectRef(known.associated[0], "kyma-system", "default")
    assert (cluster.get(thing) or {})["spec"] == CR["spec"]
    assert run(*words, "--yes")[:2] == (0, "sample: no changes (4 unchanged)\n")
    assert run("check", "sample", *plain)[:2] == (0, "sample matches its source\n")
    assert run("upgrade", "--all", "--yes", *plain)[:2] == (0, "no directly installed module is outdated\n")

    create(run, tmp_path / "2", "--registry", place, *plain, version="1.1.0")
    status, _, err = run("upgrade", "sample", "--version", "9.9.9", "--dry-run", *plain)
    assert (status, "sample:9.9.9 does not exist" in err) == (1, True), err
    status, out, _ = run("upgrade", "--all", "--dry-run", "-o", "json", *plain)
    assert (status, [one["version"] for one in json.loads(out)["plans"]]) == (0, ["1.1.0"])
    assert run("upgrade", "sample", "--yes", *plain)[:2] == (0, "sample 1.1.0: 1 applied, 3 unchanged\n")
    status, _, err = run(*words, "--yes")
    assert (status, "would be a downgrade" in err) == (2, True)
    assert run("delete", "sample", "--yes", "--no-backup")[:2] == (0, "sample: 5 objects deleted by kymatui\n")
    assert (
        cluster.get(ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "sample-system", "sample-manager")) is None
    )


def test_the_upgrade_of_everything_leaves_a_component_in_its_namespace(
    run: Any, sandbox: ReadySandbox, tmp_path: Path
) -> None:
    plain, place = insecure(sandbox), f"{sandbox.registry}/placed"
    create(run, tmp_path / "1", "--registry", place, *plain)
    words = ["install", "--component", reference(sandbox, "placed"), *plain, "-n", "elsewhere"]
    assert run(*words, "--yes")[0] == 0
    create(run, tmp_path / "2", "--registry", place, *plain, version="1.1.0")
    assert run("upgrade", "--all", "--yes", *plain)[:2] == (0, "1 upgraded: sample\n")
    cluster = open_cluster(SessionOptions(str(sandbox.kubeconfig)))
    known = read_inventory(cluster, SystemClock(), "sample", "elsewhere")
    assert known is not None
    assert known.version == "1.1.0"
    assert run("delete", "sample", "-n", "elsewhere", "--yes", "--no-backup", "--cascade")[0] == 0


def test_a_component_is_installed_from_a_layout(run: Any, tmp_path: Path) -> None:
    create(run, tmp_path / "1", "--layout", str(tmp_path / "layout"))
    component = f"layout:{tmp_path / 'layout'}//{NAME}:1.0.0"
    plan = str(tmp_path / "plan.json")
    status, _, err = run("plan", "sample", "--component", component, "--out", plan)
    assert status == 0, err
    status, out, err = run("apply", plan, "--yes")
    assert (status, out) == (0, "sample 1.0.0: 5 applied\n"), err
    status, out, err = run("upgrade", "--all", "--yes")
    assert (status, out) == (0, "no directly installed module is outdated (1 skipped)\n")
    assert "a folder on the machine where it was installed" in err
    assert "run `kymatui upgrade sample --component …" in err
    assert run("delete", "sample", "--yes", "--no-backup")[0] == 0


def test_what_cannot_be_installed_is_said_before_anything_is_written(
    run: Any, sandbox: ReadySandbox, tmp_path: Path
) -> None:
    plain = insecure(sandbox)
    create(run, tmp_path / "1", "--registry", f"{sandbox.registry}/wrong", *plain)
    found = reference(sandbox, "wrong")
    for words, status, expected in (
        (["install", "other", "--component", found], 64, "is module sample, not other"),
        (["install", "--component", found, "--version", "1.0.0"], 64, "has a version already"),
        (["install", "--component", found, "--set", "a=b"], 64, "values and --repo need a chart"),
        (["install", "--component", found, "--file", "a.yaml"], 1, "exactly one source is needed"),
        (["install", "a", "b", "--component", found], 64, "--component works with one module only"),
        (["install", "--component", "sample"], 64, "is not a component in a registry or layout"),
        (["install", "--component", f"{NAME}:1.0.0"], 64, "is not a component in a registry or layout"),
        (["install", "--component", f"tar:a.tar//{NAME}:1.0.0"], 64, "is an archive"),
        (["install", "--component", reference(sandbox, "wrong", "2.0.0")], 1, "does not exist"),
        (
            ["install", "--component", f"127.0.0.1:9/p//{NAME}:1.0.0", "--insecure-registry", "127.0.0.1:9"],
            1,
            "127.0.0.1:9",
        ),
        (["install", "--component", f"layout:{tmp_path}/none//{NAME}:1.0.0"], 1, "does not exist"),
        (["install"], 64, "no module or release given"),
    ):
        ended, out, err = run(*words, *plain, "--yes")
        assert (ended, out, expected in err) == (status, "", True), (words, ended, err)
    cluster = open_cluster(SessionOptions(str(sandbox.kubeconfig)))
    assert cluster.get(ObjectRef(GroupVersionKind("", "v1", "Namespace"), "", "sample-system")) is None


def test_a_signature_is_verified_before_anything_is_used(run: Any, sandbox: ReadySandbox, tmp_path: Path) -> None:
    plain = insecure(sandbox)
    create(run, tmp_path / "1", "--registry", f"{sandbox.registry}/p", *plain, images=False)
    private, public = key_files(tmp_path)
    found = reference(sandbox, "p")
    words = ["install", "--component", found, "--public-key", public, "--dry-run", *plain]
    status, _, err = run(*words)
    assert (status, "is not signed" in err) == (2, True), err
    assert run("install", "--component", found, "--verify", *plain)[0] == 64  # by whom?
    signed = run("bundle", "sign", found, "--signature", "acme", "--private-key", private, *plain)
    assert signed[0] == 0, signed
    status, _, err = run(*words)
    assert status == 0, err
    _, other = key_files(tmp_path, 1)
    assert run("install", "--component", found, "--public-key", other, "--dry-run", *plain)[0] == 2

    stored = require_component(
        RegistryArtifacts(insecure=[sandbox.registry]), ComponentLocation(f"{sandbox.registry}/p", NAME, "1.0.0")
    )
    at = next(at for at, one in enumerate(stored.document["component"]["resources"]) if one["name"] == "moduletemplate")
    changed = stored.document["component"]["resources"][at]["access"] | {"localReference": stored.layers[0]["digest"]}
    edited(sandbox.registry, "component", "resources", at, "access", value=changed, name=NAME, version="1.0.0")
    status, _, err = run(*words)
    assert (status, "moduletemplate has SHA-256" in err) == (2, True), err


def offer(sandbox: ReadySandbox, folder: Path) -> None:
    """Put the template and the release meta that `create` wrote into the catalog; they hold no descriptor."""
    cluster = open_cluster(SessionOptions(str(sandbox.kubeconfig)))
    for definition in read_crds():
        if definition["spec"]["names"]["kind"] in ("ModuleTemplate", "ModuleReleaseMeta"):
            cluster.apply(definition, manager="test", force=True)

    def is_served(kind: GroupVersionKind) -> bool:
        cluster.forget_kinds()
        return cluster.kind(kind) is not None

    for body in yaml.safe_load_all((folder / "template.yaml").read_text()):
        kind = GroupVersionKind("operator.kyma-project.io", "v1beta2", body["kind"])
        eventually(partial(is_served, kind), f"{kind} is served")
        body["metadata"]["namespace"] = "kyma-system"
        assert not body["spec"].get("descriptor"), "the descriptor has to come from the registry"
        cluster.apply(body, manager="test", force=True)


def test_a_template_without_descriptor_is_verified_by_the_component_in_its_registry(
    run: Any, sandbox: ReadySandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, place = insecure(sandbox), f"{sandbox.registry}/shelf"
    folder = tmp_path / "1"
    config = write_sources(folder, SPACE, SIZED, SETTINGS, default_cr=CR, version="1.0.0", manager=MANAGER)
    words = ["-c", str(config), "-o", str(folder / "template.yaml"), "--sources", str(folder)]
    words += ["--channel", "regular", "--first-release"]
    assert run("bundle", "create", *words, "--registry", place, *plain)[0] == 0
    offer(sandbox, folder)
    private, public = key_files(tmp_path)
    install = ["install", "sample", "--public-key", public, "--dry-run"]
    status, _, err = run(*install, *plain)
    assert (status, f"the registry of {NAME} is unknown" in err, "--registry HOST" in err) == (1, True, True), err
    status, _, err = run(*install, *plain, "--registry", f"{sandbox.registry}/other")
    assert (status, f"{NAME}:1.0.0 does not exist" in err) == (1, True), err
    status, _, err = run(*install, *plain, "--registry", place)
    assert (status, f"{NAME}:1.0.0 is not signed" in err) == (2, True), err
    found = reference(sandbox, "shelf")
    assert run("bundle", "sign", found, "--signature", "acme", "--private-key", private, *plain)[0] == 0
    status, out, err = run(*install, *plain, "--registry", place, "-o", "json")
    assert status == 0, err
    planned = json.loads(out)
    assert (planned["version"], planned["origin"].startswith(f"{place}/component-descriptors/{NAME}")) == (
        "1.0.0",
        True,
    )
    settings = tmp_path / "config.toml"
    settings.write_text(f'registry = "http://{place}"\npublic_key = "key0.pub"\n')
    (tmp_path / "key0.pub").write_bytes(Path(public).read_bytes())
    monkeypatch.setenv("KYMATUI_CONFIG", str(settings))
    status, out, err = run("install", "sample", "--verify", "--dry-run", "-o", "json")
    assert (status, json.loads(out or "{}")) == (0, planned), err
    _, other = key_files(tmp_path, 1)
    status, _, err = run("install", "sample", "--public-key", other, "--dry-run")
    assert (status, "was not made with this key" in err) == (2, True), err
