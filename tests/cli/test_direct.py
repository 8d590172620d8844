"""Direct installation without a terminal, on the sample world: install, upgrade, check, plan, delete, restore."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest
import yaml

from kymatui.actions.modules.install_choices import InstallAction
from kymatui.actions.modules.install_plan import Adoption
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.main import main
from kymatui.cli.options import direct_install
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.kubernetes.object_meta import field_managers, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.apply import applier
from kymatui.engine.bundles import yaml_objects
from kymatui.engine.cluster.kind_order import install_waves
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.plans.plan import Step
from kymatui.errors import ConflictError, NotFoundError, OutdatedError, PartlyDoneError
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sessions.cluster.catalog_session import open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.fetching import open_fetcher
from kymatui.sessions.install_port import SessionInstallPort
from kymatui.ui.flows.deletion import why_not_installed
from tests.engine import objects as make
from tests.engine.charts import chart_in, helm_installs
from tests.engine.places import Place, eventually
from tests.ocm.components import public_pem
from tests.sandboxes.starting import ready_sandbox

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
BACKUP = GroupVersionKind("backup.sandbox.local", "v1alpha1", "Backup")
TEMPLATE = GroupVersionKind("operator.kyma-project.io", "v1beta2", "ModuleTemplate")
SPACE = "backup-operator"

pytestmark = pytest.mark.xdist_group("direct")  # one sandbox for all of them


@pytest.fixture
def kubeconfig(installing: Path) -> Path:
    return installing


@pytest.fixture
def backup_operator(run: Any) -> Iterator[None]:
    """Installed directly, and taken away again."""
    assert run("install", "backup-operator", "--yes")[0] == 0
    yield
    run("delete", "backup-operator", "--yes", "--cascade", "--no-backup")


def actions(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for step in json.loads(text)["steps"]:
        found[step["action"]] = found.get(step["action"], 0) + 1
    return found


def module(run: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("module", name, "-o", "json")[1])
    return found


def test_what_is_written_below_the_home_is_the_users_whatever_the_umask(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Journals, backups, caches, what is remembered of a context; a plan and a chart where a person names them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "chart" / "templates").mkdir(parents=True)
    (tmp_path / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.0.0\n")
    (tmp_path / "chart" / "templates" / "a.yaml").write_text("kind: ConfigMap\nmetadata: {name: a}\n")
    before = os.umask(0)
    try:
        run("install", "backup-operator", "--yes")
        run("plan", "backup-operator", "--out", str(tmp_path / "new" / "plans" / "plan.json"))
        run("delete", "backup-operator", "--yes")
        run("restore", "backup-operator", "--dry-run")
        assert main(["helm", "template", "x", str(tmp_path / "chart"), "--output-dir", str(tmp_path / "out")]) == 0
    finally:
        os.umask(before)
    own = [*tmp_path.glob("state/**/*"), *tmp_path.glob("cache/**/*"), *tmp_path.glob("config/**/*")]
    names = {part for path in own for part in path.relative_to(tmp_path).parts}
    assert {"journals", "backups", "discovery", "templates"} <= names
    wide = [path for path in own if path.lstat().st_mode & 0o077]
    assert wide == []
    named = [*tmp_path.glob("new/**/*"), *tmp_path.glob("out/**/*"), tmp_path / "new", tmp_path / "out"]
    assert {"plan.json", "a.yaml"} <= {path.name for path in named}
    assert [path for path in named if path.lstat().st_mode & 0o022] == []


def test_44_a_community_module_is_installed_and_again_changes_nothing(run: Any) -> None:
    status, out, err = run("install", "backup-operator", "--yes")
    assert (status, out) == (0, "backup-operator 0.4.0: 9 applied\n")
    assert err.splitlines()[1] == "9 to create"
    assert "create   CustomResourceDefinition backups.backup.sandbox.local" in err
    assert "ClusterRole backup-operator-manager-role grants ServiceAccount" in err
    found = module(run, "backup-operator")
    assert (found["installed"], found["state"]) == ("0.4.0", "Ready")
    status, out, _ = run("install", "backup-operator", "--yes")
    assert (status, out) == (0, "backup-operator: no changes (8 unchanged)\n")
    status, out, _ = run("delete", "backup-operator", "--yes", "--no-backup")
    assert (status, out) == (0, "backup-operator: 9 objects deleted by kymatui\n")
    assert module(run, "backup-operator")["state"] == "NotInstalled"


def test_what_is_written_and_not_ready_is_waited_for_by_whoever_comes_again(run: Any, tmp_path: Path) -> None:
    spec: dict[str, Any] = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}}
    spec["template"]["spec"] = {"nodeSelector": {"no": "such"}, "containers": [{"name": "c", "image": "c:1"}]}
    metadata = {"name": "stuck", "namespace": "default"}
    file = tmp_path / "stuck.json"
    file.write_text(json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}))
    words = ["install", "stuck", "--file", str(file), "--yes"]
    assert run(*words, "--no-wait")[0] == 0
    status, out, err = run(*words, "--timeout", "0.1")
    assert (status, out) == (3, "")
    assert "no changes to apply; after 0 s Deployment default/stuck is not ready" in err
    assert run("delete", "stuck", "--yes", "--no-backup")[0] == 0


def test_a_dry_run_plans_and_writes_nothing(run: Any, cluster: KubeCluster) -> None:
    status, out, _ = run("install", "backup-operator", "--dry-run", "-o", "json")
    assert (status, actions(out)) == (0, {"create": 9})
    assert cluster.kind(BACKUP) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["install", "keda", "--yes"], "keda is managed by lifecycle-manager"),
        (["install", "warden", "--yes"], "warden is managed by lifecycle-manager"),
        (["install", "compass-manager", "--yes"], "enable it in the Kyma, or use --direct"),
        (["delete", "warden", "--yes"], "warden: mandatory: every runtime has this module"),
        (["upgrade", "backup-operator", "--yes"], "backup-operator is not installed"),
        (["install", "backup-operator"], "not a terminal"),
    ],
)
def test_43_what_speaks_against_it_is_said_and_nothing_is_written(words: list[str], said: str, run: Any) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(("fault", "said"), [("error", "kymas ("), ("hang", "kymas (not listed in time)")])
def test_what_nobody_knows_is_refused_unless_a_person_insists(
    fault: str, said: str, run: Any, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_install, "LISTED", 0.5 if fault == "hang" else 30.0)
    faults = FaultClient.for_kubeconfig(kubeconfig)
    faults.send(fault, {"resource": "kymas.operator.kyma-project.io"})
    try:
        status, out, err = run("install", "anything", "--file", "nowhere.yaml", "--yes")
        insisting = run("install", "anything", "--file", "nowhere.yaml", "--yes", "--direct")
    finally:
        faults.send("clear", {})
    assert (status, out) == (2, "")
    assert "it is unknown whether lifecycle-manager manages anything" in err
    assert said in err
    assert insisting[0] == 1
    assert "nowhere.yaml" in insisting[2]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (
            ["install", "backup-operator", "--version", "9.9.9", "--yes"],
            64,
            "no version 9.9.9 of backup-operator in the catalog; available: 0.4.0",
        ),
        (["install", "backup-operator", "--file", "/nowhere.yaml", "--yes"], 1, "/nowhere.yaml"),
        (["apply", "/nowhere.json"], 1, "/nowhere.json cannot be read"),
    ],
)
def test_61_what_is_not_there_is_named(words: list[str], status: int, said: str, run: Any) -> None:
    ended, _, err = run(*words)
    assert ended == status
    assert said in err


def test_a_file_with_nothing_or_nonsense_in_it_is_not_installed(run: Any, tmp_path: Path) -> None:
    """Nothing over something that is there would be a deletion."""
    path = tmp_path / "empty.yaml"
    path.write_text("# nothing\n")
    status, out, err = run("install", "anything", "--file", str(path), "--yes")
    assert (status, out) == (1, "")
    assert f"{path} has no objects" in err
    path.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd, namespace: default}\nspec: {}\n")
    status, _, err = run("install", "anything", "--file", str(path), "--yes")
    assert status == 2
    assert f"anything from {path} cannot be installed: ConfigMap default/odd: failed to create typed patch" in err


def test_who_may_read_nothing_is_told_of_the_file_and_its_first_object(
    run: Any, kubeconfig: Path, tmp_path: Path
) -> None:
    path, viewer = tmp_path / "m.yaml", tmp_path / "viewer"
    path.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n")
    document = yaml.safe_load(kubeconfig.read_text())
    for user in document["users"]:
        user["user"] = {"token": "viewer"}
    viewer.write_text(yaml.safe_dump(document))
    status, _, err = run("--kubeconfig", str(viewer), "install", "anything", "--file", str(path), "--yes", "--direct")
    assert status == 1
    assert f"{path}, ConfigMap good: " in err


def test_46_an_upgrade_leaves_the_default_resource_as_its_owner_has_it(run: Any, cluster: KubeCluster) -> None:
    assert run("install", "registry-proxy", "--version", "0.14.0", "--yes")[0] == 0
    proxy = GroupVersionKind("registry-proxy.kyma-project.io", "v1alpha1", "RegistryProxy")
    cluster.forget_kinds()
    ref = ObjectRef(proxy, "registry-proxy", "default")
    cluster.patch(ref, {"metadata": {"labels": {"mine": "yes"}}}, PatchKind.MERGE, manager="somebody")
    status, out, _ = run("upgrade", "registry-proxy", "--yes")
    assert (status, out.split(":")[0]) == (0, "registry-proxy 0.15.0")
    live = cluster.get(ref)
    assert live is not None
    assert live["metadata"]["labels"]["mine"] == "yes"
    assert module(run, "registry-proxy")["installed"] == "0.15.0"
    status, _, err = run("upgrade", "registry-proxy", "--version", "0.14.0", "--yes")
    assert status == 2
    assert "registry-proxy 0.15.0 is installed; 0.14.0 would be a downgrade" in err
    assert run("upgrade", "registry-proxy", "--version", "0.14.0", "--allow-downgrade", "--yes")[0] == 0
    assert module(run, "registry-proxy")["installed"] == "0.14.0"
    assert run("delete", "registry-proxy", "--yes", "--no-backup")[0] == 0


def manifest_of(cluster: KubeCluster, version: str) -> list[dict[str, Any]]:
    """The objects of registry-proxy's manifest."""
    link = next(one["link"] for one in _template(cluster, f"registry-proxy-{version}")["spec"]["resources"])
    return [*yaml_objects.from_url(link, open_fetcher(), name="registry-proxy", namespace="registry-proxy").objects]


def test_what_kyma_cli_upgraded_is_the_installed_version_and_adopted_without_force(
    run: Any, cluster: KubeCluster
) -> None:
    assert run("install", "registry-proxy", "--version", "0.14.0", "--yes")[0] == 0
    for body in manifest_of(cluster, "0.15.0"):
        cluster.apply(body, manager="cli", force=True)
    eventually(lambda: module(run, "registry-proxy")["installed"] == "0.15.0")
    plans = json.loads(run("upgrade", "--all", "--dry-run", "-o", "json")[1])["plans"]
    assert "registry-proxy" not in {one["name"] for one in plans}, "as the catalog, which finds it up to date"
    status, out, _ = run("check", "registry-proxy")
    words = "cli changed registry-proxy from 0.14.0 to 0.15.0; `kymatui adopt registry-proxy` adopts that version"
    assert (status, words in out) == (2, True), out
    assert "`kymatui install registry-proxy --version 0.14.0 --force` repairs it" in out
    document = json.loads(run("check", "registry-proxy", "-o", "json")[1])
    assert document["otherVersion"] == {"recorded": "0.14.0", "running": "0.15.0", "managers": ["cli"]}
    status, out, err = run("adopt", "registry-proxy", "--yes")
    assert status == 0, err
    assert "owner: cli → kymatui" in err
    status, out, _ = run("check", "registry-proxy")
    assert (status, "matches its source" in out) == (0, True), out
    status, out, err = run("upgrade", "registry-proxy", "--version", "0.14.0", "--allow-downgrade", "--yes")
    assert status == 0, f"no field is another's any more: {err}"
    assert run("delete", "registry-proxy", "--yes", "--no-backup")[0] == 0


def test_what_another_tool_deleted_is_not_installed_and_installed_anew(
    run: Any, cluster: KubeCluster, kubeconfig: Path
) -> None:
    assert run("install", "registry-proxy", "--version", "0.14.0", "--yes")[0] == 0
    proxies = GroupVersionKind("registry-proxy.kyma-project.io", "v1alpha1", "RegistryProxy")
    default = ObjectRef(proxies, "registry-proxy", "default")
    gone = [read_ref(body) for body in manifest_of(cluster, "0.15.0") if body["kind"] != "Namespace"]

    def delete_as_kyma_cli() -> None:
        for ref in (default, *reversed(gone)):
            cluster.delete(ref)
            eventually(lambda ref=ref: cluster.get(ref) is None)  # type: ignore[misc]
        cluster.forget_kinds()

    delete_as_kyma_cli()
    eventually(lambda: module(run, "registry-proxy")["presence"] == "not installed")
    row = module(run, "registry-proxy")
    assert (row["state"], row["installed"], row["actor"]) == ("NotInstalled", None, "you")
    assert row["installation"]["objects"] == {"planned": 9, "existing": 2}
    assert "another tool deleted it" in run("check", "registry-proxy")[1]
    findings = json.loads(run("audit", "--module", "registry-proxy", "-o", "json")[1])["findings"]
    assert [one["rule"] for one in findings if one["rule"].startswith(("install", "drift"))] == ["install.deleted"]
    with closing(open_session(SessionOptions(str(kubeconfig)))) as session:
        session.start(lambda: None)
        assert session.wait_complete(20.0)
        offered, app = InstallAction(SessionInstallPort(session)), Mock(catalog=build_catalog(session.snapshot(), 0.0))
        assert offered.standing("registry-proxy").known is None, "the screen installs it"
        assert offered.upgrades(["registry-proxy"]).left_out == ("registry-proxy is not installed",)
        assert why_not_installed(app, ["registry-proxy"]) == "", "and deletes the record"
        assert why_not_installed(app, ["backup-operator"]) == "not installed"
    status, _, err = run("upgrade", "registry-proxy", "--yes")
    assert (status, "registry-proxy is not installed\n  hint: run `kymatui install registry-proxy`" in err) == (2, True)
    plans = json.loads(run("upgrade", "--all", "--dry-run", "-o", "json")[1])["plans"]
    assert "registry-proxy" not in {one["name"] for one in plans}
    status, _, err = run("install", "registry-proxy", "--version", "0.14.0", "--yes")
    assert status == 0, err
    assert cluster.get(default) is not None, "a first installation creates the default CR"
    delete_as_kyma_cli()
    status, _, err = run("delete", "registry-proxy", "--yes", "--no-backup")
    assert status == 0, err
    assert "kymatui.registry-proxy" not in {one["metadata"]["name"] for one in cluster.list(CONFIG_MAP)}
    assert run("check", "registry-proxy")[1].startswith("registry-proxy is not installed by kymatui")


def test_the_template_of_a_catalog_outside_is_left_for_other_tools(
    run: Any, cluster: KubeCluster, tmp_path: Path
) -> None:
    outside = ("registry-proxy", *_outside(cluster, tmp_path, "0.14.0-outside", "0.15.0-outside"))
    for words, reason in (
        (("install", *outside, "--template", "kyma-system"), "lifecycle-manager deletes ModuleTemplates of others"),
        (("install", "web", "--chart", str(tmp_path), "--template", "default"), "needs a module of the catalog"),
    ):
        status, _, err = run(*words)
        assert (status, reason in err) == (64, True), err
    first = ("install", *outside, "--version", "0.14.0-outside", "--template", "default", "--yes", "--no-wait")
    assert run(*first)[0] == 0

    def templates() -> set[tuple[str, str]]:
        metas = [one["metadata"] for one in cluster.list(TEMPLATE) if one["metadata"]["name"].endswith("-outside")]
        return {(meta["namespace"], meta["name"]) for meta in metas}

    assert templates() == {("default", "registry-proxy-0.14.0-outside")}
    out = run("check", "registry-proxy")[1]
    assert "registry-proxy matches its source" in out, out
    assert "changed registry-proxy from" not in out, "an image's tag is no change"
    status, _, err = run("upgrade", *outside, "--version", "0.15.0-outside", "--yes", "--no-wait")
    assert (status, "ModuleTemplate default/registry-proxy-0.14.0-outside" in err) == (0, True), err
    assert templates() == {("default", "registry-proxy-0.15.0-outside")}, "it follows the installed version"
    status, out, err = run("delete", "registry-proxy", "--yes", "--no-backup")
    assert (status, templates()) == (0, set()), err
    assert "ModuleTemplate" not in run("install", "registry-proxy", "--template", "default", "--dry-run")[1]


def _outside(cluster: KubeCluster, folder: Path, *versions: str, **spec: Any) -> tuple[str, str]:
    """Write a catalog with versions of registry-proxy that the cluster has not; return its option."""
    for version in versions:
        body = _template(cluster, "registry-proxy-0.14.0")
        body["spec"] |= {"version": version, **spec}
        metadata = {"name": f"registry-proxy-{version}", "namespace": "elsewhere", "labels": {"a": "b"}}
        (folder / f"{version}.yaml").write_text(yaml.safe_dump({**body, "metadata": metadata}))
    return ("--catalog", str(folder))


@pytest.fixture
def pulled(cluster: KubeCluster) -> Iterator[ObjectRef]:
    ref = ObjectRef(TEMPLATE, "default", "registry-proxy-0.15.0-outside")
    yield ref
    with contextlib.suppress(NotFoundError):
        cluster.delete(ref)


def test_pull_creates_the_template_as_kyma_cli_does_and_install_uses_it(
    run: Any, cluster: KubeCluster, tmp_path: Path, pulled: ObjectRef
) -> None:
    versions = ("0.14.0-outside", "0.15.0-outside", "0.13.9")
    outside = _outside(cluster, tmp_path, *versions)
    for words, status, reason in (
        (("registry-proxy", "-n", "kyma-system"), 64, "lifecycle-manager deletes ModuleTemplates of others"),
        (("registry-prox",), 64, 'no module "registry-prox" in kcp; did you mean registry-proxy?'),
        (("keda",), 64, "keda is not in a catalog outside of the cluster"),
        (("registry-proxy", "--version", "9.9.9"), 64, "no version 9.9.9 of registry-proxy in the catalog"),
        ((), 64, "use either module names or --all"),
        (("a", "b", "--version", "1.0.0"), 64, "--version works with one module only"),
        (("registry-proxy", "-n", "nowhere"), 64, 'no namespace "nowhere"'),
        (("registry-proxy", "--read-only"), 4, "pull is refused: kymatui runs read-only"),
        (("registry-proxy",), 2, "not a terminal"),
    ):
        found, out, err = run("pull", *words, *outside)
        assert (found, reason in err) == (status, True), (out, err)
    assert run("pull", "registry-proxy")[0] == 64
    assert "no catalog outside of the cluster\n  hint: name one with --catalog SOURCE" in run("pull", "--all")[2]
    assert "0.13.9" in run("pull", "registry-proxy", *outside, "--dry-run")[1], "the newest that is no pre-release"
    pull = ("pull", "registry-proxy", *outside, "--version", "0.15.0-outside", "-o", "json")
    planned = json.loads(run(*pull, "--dry-run")[1])
    assert (planned["outcome"], planned["version"], planned["name"]) == ("planned", "0.15.0-outside", "registry-proxy")
    assert (planned["object"]["namespace"], cluster.get(pulled)) == ("default", None)
    status, out, _ = run("rights", "pull", "registry-proxy", *outside, "--as", "jane", "-o", "json")
    lacking = {(one["verb"], one["namespace"]) for one in json.loads(out)["missing"]}
    assert (status, lacking) == (2, {("get", "default"), ("create", "default")})
    status, out, err = run(*pull, "--yes")
    assert (status, json.loads(out)["outcome"]) == (0, "done"), err
    assert "run `kymatui install registry-proxy --version 0.15.0-outside` to install it" in err
    (live,) = (one for one in cluster.list(TEMPLATE, with_managed_fields=True) if read_ref(one) == pulled)
    assert (field_managers(live), live["metadata"]["labels"]) == ({"kymatui"}, {"a": "b"})
    assert json.loads(run(*pull, "--yes")[1])["outcome"] == "unchanged"
    install = ("install", "registry-proxy", "--version", "0.15.0-outside", "--dry-run", "-o", "json")
    status, out, err = run(*install)
    assert (status, json.loads(out)["version"]) == (0, "0.15.0-outside"), err
    assert run("install", "registry-proxy", *outside, *install[2:], "--template", "default")[0] == 0


def test_pull_into_a_cluster_without_its_crd_says_what_prints_it(
    run: Any, cluster: KubeCluster, tmp_path: Path
) -> None:
    outside = _outside(cluster, tmp_path, "0.15.0-outside")
    with ready_sandbox(empty=True) as running:
        status, _, err = run("pull", "--all", *outside, "--yes", "--kubeconfig", str(running.kubeconfig))
    assert (status, "does not serve ModuleTemplate" in err, "`kymatui operator crds`" in err) == (2, True, True), err


def test_pull_shows_what_it_changes_of_a_template_and_keeps_the_labels_of_others(
    run: Any, cluster: KubeCluster, tmp_path: Path, pulled: ObjectRef
) -> None:
    outside = _outside(cluster, tmp_path, "0.15.0-outside")
    pull = ("pull", "registry-proxy", *outside)
    assert run(*pull, "--yes")[0] == 0
    cluster.patch(pulled, {"metadata": {"annotations": {"source": "https://example.com"}}}, PatchKind.MERGE)
    _outside(cluster, tmp_path, "0.15.0-outside", requiresDowntime=True)
    status, out, _ = run(*pull, "--dry-run")
    assert (status, "1 to change" in out, "spec.requiresDowntime" in out) == (0, True, True)
    status, out, err = run("pull", "--all", *outside, "--yes", "-o", "json")
    assert (status, [one["outcome"] for one in json.loads(out)["templates"]]) == (0, ["done"]), err
    live = cluster.get(pulled)
    assert live is not None
    assert (live["spec"]["requiresDowntime"], live["metadata"]["annotations"]) == (
        True,
        {"source": "https://example.com"},
    )
    label = {"kustomize.toolkit.fluxcd.io/name": "modules", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    cluster.patch(pulled, {"metadata": {"labels": label}}, PatchKind.MERGE)
    _outside(cluster, tmp_path, "0.15.0-outside", requiresDowntime=False)
    status, out, err = run(*pull, "--yes")
    assert (status, "Flux Kustomization flux-system/modules applies" in err) == (2, True), err
    assert run(*pull, "--yes", "--override-gitops")[0] == 0


@pytest.mark.parametrize("by_flux", [False, True])
def test_the_check_of_a_release_names_helm_or_the_flux_object_that_installed_it(
    run: Any, cluster: KubeCluster, by_flux: bool
) -> None:
    group, space = "helm.toolkit.fluxcd.io", f"flux-{int(by_flux)}"
    web = chart_in(space, make.config_map("a", x="1"))
    helm_installs(cast(Place, SimpleNamespace(raw=cluster)), web)
    labels = {f"{group}/name": "web", f"{group}/namespace": "flux-system"} if by_flux else {}
    ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), space, "a")
    cluster.patch(ref, {"metadata": {"labels": labels}}, PatchKind.MERGE, manager="helm-controller")
    tool = "Flux HelmRelease flux-system/web" if by_flux else "helm"
    status, out, err = run("check", "web", "-n", space)
    assert (status, f"{tool} installed the last revision; kymatui would write a new one" in out) == (0, True), out + err
    status, out, err = run("upgrade", "web", "-n", space)
    assert (status, f"{tool} has its source; make the upgrade in Git" in err) == (2, by_flux), err
    assert f"upgrade web --chart … -n {space}{' --override-gitops' if by_flux else ''}`" in err
    assert run("delete", "web", "-n", space, "--yes", "--override-gitops")[0] == 0


@pytest.fixture
def by_kubectl(run: Any, cluster: KubeCluster) -> Iterator[list[ObjectRef]]:
    """registry-proxy 0.14.0 as kubectl applies its manifest."""
    assert run("install", "registry-proxy", "--version", "0.14.0", "--no-wait", "--dry-run")[0] == 0
    bodies = manifest_of(cluster, "0.14.0")
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "registry-proxy"}}
    refs = []
    for body in [body for wave in install_waves((space, *bodies)) for body in wave]:
        with contextlib.suppress(ConflictError):
            cluster.create(body, manager="kubectl-client-side-apply")
        cluster.forget_kinds()
        refs.append(read_ref(body))
    eventually(lambda: module(run, "registry-proxy")["installed"] == "0.14.0")
    yield refs
    run("delete", "registry-proxy", "--yes", "--cascade", "--no-backup")
    for ref in refs:
        with contextlib.suppress(NotFoundError):
            cluster.delete(ref)
    eventually(lambda: all(cluster.get(ref) is None for ref in refs))


@pytest.mark.parametrize("words", [["registry-proxy"], ["--all"], ["registry-proxy", "backup-operator"]])
def test_what_kubectl_installed_is_adopted_and_upgraded_by_one_plan(
    words: list[str], run: Any, cluster: KubeCluster, by_kubectl: list[ObjectRef], backup_operator: None
) -> None:
    status, out, err = run("upgrade", *words, "--dry-run")
    assert status == 0, err
    assert "kymatui adopts registry-proxy and upgrades it 0.14.0 → 0.15.0: kymatui becomes the owner" in out
    assert "owner: kubectl-client-side-apply → kymatui" in out
    assert "default resource" not in out
    if words == ["--all"]:
        return  # it would adopt what other tests need as it is
    status, out, err = run("upgrade", *words, "--yes")
    assert status == 0, err
    assert module(run, "registry-proxy")["installed"] == "0.15.0"
    for ref in by_kubectl:
        live = cluster.get(ref)
        if live is not None and ref.kind.kind not in ("Namespace", "CustomResourceDefinition"):
            assert "kubectl-client-side-apply" not in field_managers(live), ref
    assert run("check", "registry-proxy")[0] == 0
    assert run("upgrade", "registry-proxy", "--yes")[1].startswith("registry-proxy: no changes")


def test_a_kept_plan_adopts_and_upgrades_what_kubectl_installed(
    run: Any, cluster: KubeCluster, by_kubectl: list[ObjectRef], tmp_path: Path
) -> None:
    kept = tmp_path / "plan.json"
    status, out, err = run("plan", "registry-proxy", "--out", str(kept))
    assert (status, "upgrades it 0.14.0 → 0.15.0: kymatui becomes the owner" in out) == (0, True), err
    status, out, err = run("apply", str(kept), "--dry-run", "-o", "json")
    assert (status, json.loads(out)["adopt"], json.loads(out)["adoptedVersion"]) == (0, True, "0.14.0"), err
    status, out, err = run("apply", str(kept), "--yes")
    assert status == 0, err
    assert "upgrades it 0.14.0 → 0.15.0: kymatui becomes the owner" in err
    assert "only the owner changes.\nThe old owner is the tool that applied the object" in err
    assert "metadata.labels.applyset.kubernetes.io" not in err, "the same label on every object is said once"
    assert "\n  adopt and upgrade registry-proxy\n" in err
    assert re.search(r"\n  \[1 of \d+ objects\] ", err), "a number has its unit"
    *_, (done, total) = re.findall(r"\[(\d+) of (\d+) objects\] ", err)
    assert done == total, "what is deleted is not counted among what is written"
    assert module(run, "registry-proxy")["installed"] == "0.15.0"
    for ref in by_kubectl:
        live = cluster.get(ref)
        if live is not None and ref.kind.kind not in ("Namespace", "CustomResourceDefinition"):
            assert "kubectl-client-side-apply" not in field_managers(live), ref
    assert run("check", "registry-proxy")[0] == 0


def test_an_adoption_that_was_cut_off_is_finished_by_the_same_command(
    run: Any, cluster: KubeCluster, kubeconfig: Path, by_kubectl: list[ObjectRef], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(self: Any, steps: list[Step]) -> None:
        raise PartlyDoneError("cut off")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(applier._Application, "_apply_wave", cut_off)
        assert run("upgrade", "registry-proxy", "--yes")[0] == 3
    status, out, err = run("upgrade", "registry-proxy", "--dry-run")
    assert (status, "upgrades it 0.14.0 → 0.15.0: kymatui becomes the owner" in out) == (0, True), err
    status, out, err = run("upgrade", "--all", "--dry-run")
    assert "kymatui adopts registry-proxy and upgrades it 0.14.0 → 0.15.0: kymatui becomes the owner" in out, err
    session = open_session(SessionOptions(str(kubeconfig)))
    session.start(lambda: None)
    assert session.wait_complete(20.0)
    offered = InstallAction(SessionInstallPort(session))
    names = ["registry-proxy"]
    for found in (offered.upgrades(names), offered.adoptions(names), offered.all_upgrades()):
        (one,) = (one for one in found.requests if one.module in names)
        assert (one.source.version, one.adoption) == ("0.15.0", Adoption.UPGRADE), "the screen and its `resume`"
    session.close()
    status, _, err = run("upgrade", "registry-proxy", "--yes")
    assert status == 0, err
    assert module(run, "registry-proxy")["installed"] == "0.15.0"
    for ref in by_kubectl:
        live = cluster.get(ref)
        if live is not None and ref.kind.kind not in ("Namespace", "CustomResourceDefinition"):
            assert "kubectl-client-side-apply" not in field_managers(live), ref


def test_what_others_changed_meanwhile_is_planned_anew_and_answered_once(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def slower(*words: Any, **options: Any) -> applier.ApplyOutcome:
        tried.append(words)
        if len(tried) == 1:
            raise OutdatedError("somebody else was faster")
        return apply(*words, **options)

    apply = applier.apply
    monkeypatch.setattr(applier, "apply", slower)
    status, out, err = run("install", "registry-proxy", "--yes", "-o", "json")
    assert (status, json.loads(out)["outcome"], len(tried)) == (0, "done", 2), err
    assert "somebody else was faster; planning again" in err
    assert run("delete", "registry-proxy", "--yes", "--no-backup")[0] == 0


def test_47_an_upgrade_whose_manifest_is_not_there_leaves_the_old_version_and_its_template(
    run: Any, cluster: KubeCluster
) -> None:
    assert run("install", "registry-proxy", "--version", "0.14.0", "--yes")[0] == 0
    old, new = (_template(cluster, f"registry-proxy-{version}") for version in ("0.14.0", "0.15.0"))
    resources = new["spec"]["resources"]
    links = [{**link, "link": re.sub("sha256:.*", f"sha256:{'0' * 64}", link["link"])} for link in resources]
    ref = ObjectRef(TEMPLATE, new["metadata"]["namespace"], new["metadata"]["name"])
    cluster.patch(ref, {"spec": {"resources": links}}, PatchKind.MERGE)
    try:
        status, _, err = run("upgrade", "registry-proxy", "--yes")
        assert status != 0
        assert "HTTP 404" in err
        assert "0" * 64 in err
        assert module(run, "registry-proxy")["installed"] == "0.14.0"
        assert run("check", "registry-proxy")[0] == 0
        assert _template(cluster, old["metadata"]["name"])["spec"] == old["spec"]
        assert _template(cluster, ref.name)["spec"]["resources"] == links
    finally:
        cluster.patch(ref, {"spec": {"resources": resources}}, PatchKind.MERGE)
        assert run("delete", "registry-proxy", "--yes", "--no-backup")[0] == 0


def _template(cluster: KubeCluster, name: str) -> dict[str, Any]:
    return next(one for one in cluster.list(TEMPLATE) if one["metadata"]["name"] == name)


def test_everything_that_is_outdated_is_one_plan_and_what_fails_keeps_nothing_else_from_it(
    run: Any, cluster: KubeCluster
) -> None:
    assert run("upgrade", "docker-registry", "--yes")[0] == 0, "kubectl installed that one"
    assert run("upgrade", "--all", "--yes")[1] == "no directly installed module is outdated\n"
    assert run("upgrade", "--yes")[0] == 64
    for name, version in (("registry-proxy", "0.14.0"), ("cap-operator", "0.32.1")):
        assert run("install", name, "--version", version, "--yes")[0] == 0
    deployment = ObjectRef(DEPLOYMENT, "cap-operator-system", "cap-operator-manager")
    cluster.patch(deployment, _image("somebody/else:1"), PatchKind.MERGE, manager="somebody")
    status, out, _ = run("upgrade", "--all", "--dry-run", "-o", "json")
    found = json.loads(out)
    assert (status, [plan["name"] for plan in found["plans"]]) == (3, ["registry-proxy"]), "as the run ends"
    assert [one["name"] for one in found["failed"]] == ["cap-operator"]
    status, out, err = run("upgrade", "--all", "--yes")
    assert (status, out) == (3, "1 upgraded: registry-proxy\n")
    assert "1 of 2 modules not upgraded: cap-operator from " in err
    assert " cannot be installed: Deployment" in err
    assert (module(run, "registry-proxy")["installed"], module(run, "registry-proxy")["drift"]) != ("0.14.0", "")
    assert run("upgrade", "--all", "--yes", "--force")[:2] == (0, "1 upgraded: cap-operator\n")
    for name in ("registry-proxy", "cap-operator"):
        assert run("delete", name, "--yes", "--no-backup", "--cascade")[0] == 0


@pytest.mark.parametrize("cascade", [False, True])
def test_where_nobody_knows_what_is_managed_nothing_is_deleted(
    cascade: bool, run: Any, kubeconfig: Path, backup_operator: None
) -> None:
    faults = FaultClient.for_kubeconfig(kubeconfig)
    faults.send("error", {"resource": "kymas.operator.kyma-project.io"})
    try:
        words = ["--cascade"] if cascade else []
        status, _, err = run("delete", "backup-operator", "--yes", "--no-backup", *words)
    finally:
        faults.send("clear", {})
    assert status == 2
    assert "it is unknown whether backup-operator still manages objects of: kymas" in err


def _image(image: str) -> dict[str, Any]:
    container = {"name": "manager", "image": image}
    return {"spec": {"template": {"spec": {"containers": [container]}}}}


@pytest.mark.usefixtures("backup_operator")
def test_a_field_that_somebody_changed_is_found_with_its_writer(run: Any, cluster: KubeCluster) -> None:
    assert run("check", "backup-operator")[:2] == (0, "backup-operator matches its source\n")
    ref = ObjectRef(DEPLOYMENT, SPACE, "backup-operator-manager")
    cluster.patch(ref, {"spec": {"replicas": 2}}, PatchKind.MERGE, manager="kubectl-scale")
    status, out, _ = run("check", "backup-operator", "-o", "json")
    (drift,) = json.loads(out)["drift"]
    assert status == 2
    assert (drift["object"], drift["path"], drift["manager"]) == (str(ref), "spec.replicas", "kubectl-scale")
    assert (drift["want"], drift["is"], drift["since"][:2]) == (1, 2, "20")
    status, out, _ = run("install", "backup-operator", "--yes", "-o", "json")
    assert (status, actions(out)["conflict"]) == (2, 1)
    flux = {"kustomize.toolkit.fluxcd.io/name": "apps"}
    cluster.patch(ref, {"metadata": {"labels": flux}}, PatchKind.MERGE)
    status, out, _ = run("check", "backup-operator")
    assert "`kymatui install backup-operator --version 0.4.0 --force --override-gitops` repairs it" in out
    assert f"warning: Flux Kustomization apps applies {ref} and may revert this change: make it in Git" in out
    status, _, err = run("install", "backup-operator", "--yes", "--force")
    assert (status, "--override-gitops makes it here" in err) == (2, True), err
    cluster.patch(ref, {"metadata": {"labels": dict.fromkeys(flux)}}, PatchKind.MERGE)
    assert run("install", "backup-operator", "--yes", "--force")[0] == 0
    assert run("check", "backup-operator")[0] == 0


@pytest.mark.usefixtures("backup_operator")
def test_48_what_users_made_is_shown_and_holds_the_deletion_until_they_want_it_too(
    run: Any, cluster: KubeCluster, tmp_path: Path
) -> None:
    theirs = {
        "apiVersion": BACKUP.api_version,
        "kind": "Backup",
        "metadata": {"name": "theirs", "namespace": "default"},
    }
    cluster.forget_kinds()
    cluster.apply(theirs, manager="user")
    status, out, err = run("delete", "backup-operator", "--yes")
    assert (status, out) == (2, "")
    assert "Backup default/theirs" in err
    assert "still manages 1 object: Backup" in err
    kept = tmp_path / "kept.yaml"
    status, out, _ = run("delete", "backup-operator", "--yes", "--cascade", "--backup", str(kept))
    assert (status, out) == (0, "backup-operator: 10 objects deleted by kymatui\n")
    names = {(body["kind"], body["metadata"]["name"]) for body in yaml.safe_load_all(kept.read_text())}
    assert {("Backup", "theirs"), ("Deployment", "backup-operator-manager")} <= names
    assert kept.stat().st_mode & 0o077 == 0
    status, out, _ = run("restore", str(kept), "--yes")
    assert (status, out) == (0, "10 created\n")
    cluster.forget_kinds()
    assert cluster.get(ObjectRef(BACKUP, "default", "theirs")) is not None
    restored = [read_ref(body) for body in yaml.safe_load_all(kept.read_text())]
    for ref in sorted(restored, key=lambda ref: ref.kind != BACKUP):  # as long as their manager is there
        cluster.delete(ref)
        eventually(lambda gone=ref: gone.kind != BACKUP or cluster.get(gone) is None)  # type: ignore[misc]


@pytest.mark.parametrize(("name", "begin"), [("plan.json", "{"), ("plan.yaml", "plan:\n"), ("plan", "{")])
def test_a_plan_is_kept_carried_out_later_and_refused_when_the_cluster_has_moved_on(
    run: Any, cluster: KubeCluster, tmp_path: Path, name: str, begin: str
) -> None:
    source, kept, release = tmp_path / "module.yaml", tmp_path / name, f"of-{name.replace('.', '-')}"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": release}, "data": {"a": "1"}}
    source.write_text(yaml.safe_dump(body))
    words = ["plan", release, "--file", str(source), "-n", "plans", "--out", str(kept)]
    assert run(*words)[0] == 0
    assert kept.stat().st_mode & 0o077 == 0
    assert kept.read_text().startswith(begin)
    assert run("apply", str(kept), "--yes")[0] == 0
    ref = ObjectRef(CONFIG_MAP, "plans", release)
    assert (cluster.get(ref) or {})["data"] == {"a": "1"}
    source.write_text(yaml.safe_dump({**body, "data": {"a": "2"}}))
    assert run(*words)[0] == 0
    cluster.patch(ref, {"data": {"b": "3"}}, PatchKind.MERGE, manager="somebody")
    status, _, err = run("apply", str(kept), "--yes")
    assert status != 0
    assert release in err
    assert (cluster.get(ref) or {})["data"] == {"a": "1", "b": "3"}


PASSWORD = "hunter2-of-the-shop"
READS_A_SECRET = """
{{- $s := (lookup "v1" "Secret" "shops" "db").data.password | b64dec }}
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {sum: {{ sha256sum $s }}}}
data: {url: "postgres://u:{{ $s }}@db", greeting: hello}
---
apiVersion: v1
kind: Secret
metadata: {name: copy}
stringData: {password: {{ $s | quote }}}
"""


def test_what_a_chart_reads_of_a_secret_is_in_no_output(run: Any, cluster: KubeCluster, tmp_path: Path) -> None:
    chart = tmp_path / "shop"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.2.3\n")
    (chart / "templates" / "a.yaml").write_text(READS_A_SECRET)
    notes = '{{ (lookup "v1" "Secret" "shops" "db").data.password | b64dec }} is it\nEnjoy'
    (chart / "templates" / "NOTES.txt").write_text(notes)
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shops"}}, force=True)
    encoded = base64.b64encode(PASSWORD.encode()).decode()
    data = {"metadata": {"name": "db", "namespace": "shops"}, "data": {"password": encoded}}
    cluster.apply({"apiVersion": "v1", "kind": "Secret", **data}, force=True)
    digest = hashlib.sha256(PASSWORD.encode()).hexdigest()
    words = ["install", "shop", "--chart", str(chart), "-n", "shops"]
    printed = []
    for more in (["--dry-run"], ["--dry-run", "-o", "json"], ["--dry-run", "-o", "yaml"], ["--yes"]):
        status, out, err = run(*words, *more)
        assert status == 0, err
        printed.append(out + err)
    settings = cluster.get(ObjectRef(CONFIG_MAP, "shops", "settings"))
    assert settings is not None
    assert settings["data"]["url"] == f"postgres://u:{PASSWORD}@db"
    (chart / "templates" / "b.yaml").write_text('{{ fail (lookup "v1" "Secret" "shops" "db").data.password }}')
    status, out, err = run(*words, "--dry-run")
    assert (status, "chart shop fails at shop/templates/b.yaml:1:" in err) == (1, True)
    printed.append(out + err)
    run("delete", "shop", "-n", "shops", "--yes", "--no-backup")
    text = "\n".join(printed)
    assert not [form for form in (PASSWORD, encoded, digest) if form in text]
    assert "(hidden)" in text
    assert "Enjoy" in printed[3]
    assert "hello" in printed[1], "what does not depend on the Secret is displayed"


def test_a_chart_is_installed_as_a_release(run: Any, cluster: KubeCluster, tmp_path: Path) -> None:
    chart = tmp_path / "web"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.2.3\n")
    (chart / "values.yaml").write_text("greeting: hello\n")
    template = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {g: {{ .Values.greeting }}}\n"
    )
    (chart / "templates" / "cm.yaml").write_text(template)
    (chart / "templates" / "NOTES.txt").write_text("{{ .Values.greeting }} from {{ .Release.Namespace }}")
    words = ["--chart", str(chart), "-n", "webs", "--yes"]
    status, out, _ = run("install", "shop", *words, "--set", "greeting=bonjour")
    assert status == 0
    assert out.endswith("bonjour from webs\n")
    assert (cluster.get(ObjectRef(CONFIG_MAP, "webs", "shop")) or {})["data"] == {"g": "bonjour"}
    assert run("check", "shop", *words[:4], "--set", "greeting=bonjour") == (0, "shop matches its source\n", "")
    status, said, _ = run("check", "shop", *words[:4], "--set", "greeting=moin")
    assert status == 2
    assert "installed from another source, or with another chart, other values, hooks or notes" in said
    found = json.loads(run("upgrade", "--all", "--dry-run", "-o", "json")[1])["leftOut"]
    (left_out,) = [one for one in found if one["name"] == "shop"]
    assert (left_out["name"], left_out["version"]) == ("shop", "1.2.3")
    assert f"it came from {chart}, a path on the machine" in left_out["reason"]
    assert "; run `kymatui upgrade shop --chart" in left_out["reason"]
    labels = "owner=helm,name=shop,status=deployed"
    assert len(cluster.list(GroupVersionKind("", "v1", "Secret"), "webs", labels=labels)) == 1
    assert run("delete", "shop", "-n", "webs", "--yes", "--no-backup")[0] == 0
    assert cluster.get(ObjectRef(CONFIG_MAP, "webs", "shop")) is None


def test_what_is_not_signed_as_asked_is_refused_and_nothing_is_written(
    run: Any, cluster: KubeCluster, tmp_path: Path
) -> None:
    key = tmp_path / "key.pem"
    key.write_bytes(public_pem())
    for verb in ("install", "plan"):
        status, out, err = run(
            verb, "registry-proxy", "--public-key", str(key), *(["--yes"] if verb == "install" else [])
        )
        assert (status, out) == (2, ""), err
        assert "is not signed" in err
    status, out, err = run("install", "registry-proxy", "--verify", "--yes")
    assert (status, out) == (64, "")
    assert "--public-key FILE" in err
    manifest = tmp_path / "m.yaml"
    manifest.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unsigned, namespace: default}\n")
    assert run("install", "raw", "--file", str(manifest), "--verify", "--yes")[0] == 64
    assert cluster.get(ObjectRef(CONFIG_MAP, "default", "unsigned")) is None
    assert module(run, "registry-proxy")["state"] == "NotInstalled"


def test_read_only_plans_and_writes_nothing(run: Any, cluster: KubeCluster) -> None:
    for words in (["install", "backup-operator", "--yes"], ["upgrade", "mine", "--yes"], ["delete", "mine", "--yes"]):
        status, _, err = run("--read-only", *words)
        assert status == 4, words
        assert f"{words[0]} is refused: kymatui runs read-only (--read-only)" in err
    for words in (["plan", "registry-proxy"], ["install", "registry-proxy", "--dry-run"]):
        status, out, _ = run("--read-only", *words, "-o", "json")
        assert (status, set(actions(out))) == (0, {"create"})
    assert cluster.get(ObjectRef(GroupVersionKind("", "v1", "Namespace"), "", "registry-proxy")) is None
