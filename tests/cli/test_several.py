"""Several modules as one plan without a terminal: installed, upgraded from where they came from, deleted."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from kymatui.actions.modules.install_choices import InstallAction
from kymatui.actions.modules.module_sources import ModuleSource
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.commands.modules import upgrade
from kymatui.cli.options import batch_renderers
from kymatui.cli.options.direct_install import CommandContext
from kymatui.domain.kubernetes.refs import SECRET, GroupVersionKind, ObjectRef
from kymatui.engine.apply import applier
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.jobs.wait import NotReadyError
from kymatui.errors import ForbiddenError
from kymatui.sessions.cluster.catalog_session import open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.install_port import SessionInstallPort
from tests.adapters.chart_sites import Site, chart_site, offers, packed
from tests.sandboxes.starting import told_sandbox

pytestmark = pytest.mark.xdist_group("several")  # one sandbox for all of them

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
BACKUP = GroupVersionKind("backup.sandbox.local", "v1alpha1", "Backup")


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    """A sandbox of these tests alone: what they leave installed is no other file's."""
    with told_sandbox() as running:
        yield running.kubeconfig


@pytest.fixture
def site() -> Iterator[Site]:
    with chart_site() as found:
        yield found


def data(cluster: KubeCluster, namespace: str, name: str) -> dict[str, str]:
    found: dict[str, str] = (cluster.get(ObjectRef(CONFIG_MAP, namespace, name)) or {})["data"]
    return found


def test_a_chart_is_upgraded_from_where_it_came_from_and_keeps_its_values(
    run: Any, cluster: KubeCluster, site: Site, tmp_path: Path
) -> None:
    offers(site, "1.0.0")
    with_password = site.url.replace("http://", "http://ann:s3cret@")
    words = ["--chart", "web", "--repo", with_password, "--yes"]
    assert run("install", "shop", *words, "-n", "webs", "--set", "g=bonjour")[0] == 0
    assert run("install", "shop", *words, "-n", "others")[0] == 0
    (tmp_path / "web-1.0.0.tgz").write_bytes(packed("1.0.0"))
    assert run("install", "local", "--chart", str(tmp_path / "web-1.0.0.tgz"), "-n", "webs", "--yes")[0] == 0
    (secret,) = cluster.list(SECRET, "webs", labels="owner=helm,name=shop")
    assert "s3cret" not in json.dumps(secret), "credentials are never written down"

    assert run("upgrade", "docker-registry", "--yes")[0] == 0, "kubectl installed that one"
    status, out, err = run("upgrade", "--all", "--yes")
    assert status == 0
    assert out.startswith("no directly installed module is outdated (")
    assert f"skipped: local 1.0.0 in webs: it came from {tmp_path}/web-1.0.0.tgz, a path on the machine" in err
    assert "`kymatui upgrade local --chart … -n webs`" in err

    offers(site, "1.0.0", "1.1.0", "2.0.0-rc.1")
    status, out, _ = run("upgrade", "--all", "--dry-run", "-o", "json")
    found = json.loads(out)
    planned = [(one["name"], one["namespace"], one["version"]) for one in found["plans"]]
    assert planned == [("shop", "others", "1.1.0"), ("shop", "webs", "1.1.0")]
    assert "local" in [one["name"] for one in found["leftOut"]]
    assert json.loads(run("plan", "shop", "-n", "webs", "-o", "json")[1])["version"] == "1.1.0"
    assert run("upgrade", "--all", "--yes")[:2] == (0, "2 upgraded: others/shop, webs/shop\n")
    assert data(cluster, "webs", "shop") == {"g": "bonjour", "v": "1.1.0"}
    assert data(cluster, "others", "shop") == {"g": "hello", "v": "1.1.0"}

    assert run("check", "shop", "-n", "webs")[:2] == (0, "shop matches its source\n")
    assert run("upgrade", "shop", "-n", "webs", "--devel", "--set", "other=1", "--yes")[0] == 0
    assert data(cluster, "webs", "shop") == {"g": "bonjour", "v": "2.0.0-rc.1"}
    assert run("upgrade", "shop", "-n", "webs", "--reset-values", "--yes")[0] == 0
    assert data(cluster, "webs", "shop") == {"g": "hello", "v": "2.0.0-rc.1"}

    site.pages.clear()
    status, _, err = run("upgrade", "--all", "--yes")
    assert status == 0
    assert "skipped: shop 1.1.0 in others: " in err
    assert "index.yaml: HTTP 404" in err


def test_every_verb_merges_values_into_those_of_the_release(run: Any, cluster: KubeCluster, tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: values\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("m: {x: 1}\n")
    (chart / "templates" / "a.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: merged}\ndata: {m: {{ .Values.m | toJson | quote }}}\n"
    )
    text = tmp_path / "text"
    text.write_text("file")
    words = ["merged", "--chart", str(chart), "-n", "webs"]

    def values() -> Any:
        return json.loads(data(cluster, "webs", "merged")["m"])

    assert run("install", *words, "--yes", "--set", "m.pw=s3")[0] == 0
    assert run("upgrade", *words, "--yes", "--set-json", 'm={"k":1}', "--set-file", f"m.f={text}")[0] == 0
    assert values() == {"x": 1, "pw": "s3", "k": 1, "f": "file"}
    assert run("install", *words, "--yes", "--set-literal", "m.f=a,b", "--set", "m.k=null")[0] == 0
    assert values() == {"x": 1, "pw": "s3", "f": "a,b"}
    saved = tmp_path / "plan.json"
    assert run("plan", *words, "--set-string", "m.k=2", "--out", str(saved))[0] == 0
    assert run("apply", str(saved), "--yes")[0] == 0
    assert values() == {"x": 1, "pw": "s3", "f": "a,b", "k": "2"}
    assert run("check", *words)[:2] == (0, "merged matches its source\n")
    assert run("install", *words, "--yes", "--reset-values", "--set", "m.k=3")[0] == 0
    assert values() == {"x": 1, "k": 3}


def interrupt_deletion(run: Any, cluster: KubeCluster, ref: ObjectRef, *words: str) -> None:
    cluster.patch(ref, {"metadata": {"finalizers": ["example.org/stuck"]}}, PatchKind.MERGE)
    status, _, err = run("delete", *words, "--yes", "--no-backup", "--cascade", "--timeout", "1s")
    assert status == 3, err
    cluster.patch(ref, {"metadata": {"finalizers": []}}, PatchKind.MERGE)


def test_an_interrupted_deletion_is_not_undone_by_the_upgrade_of_everything(
    run: Any, cluster: KubeCluster, site: Site, kubeconfig: Path
) -> None:
    offers(site, "1.0.0")
    assert run("install", "ending", "--chart", "web", "--repo", site.url, "-n", "endings", "--yes")[0] == 0
    interrupt_deletion(run, cluster, ObjectRef(CONFIG_MAP, "endings", "ending"), "ending", "-n", "endings")
    assert run("install", "cap-operator", "--version", "0.32.1", "--yes")[0] == 0
    deployment = GroupVersionKind("apps", "v1", "Deployment")
    manager = ObjectRef(deployment, "cap-operator-system", "cap-operator-manager")
    interrupt_deletion(run, cluster, manager, "cap-operator")
    offers(site, "1.0.0", "1.1.0")
    status, out, _ = run("upgrade", "--all", "--dry-run", "-o", "json")
    assert status == 0
    found = json.loads(out)
    assert {one["name"] for one in found["plans"]} & {"ending", "cap-operator"} == set()
    reasons = {one["name"]: one["reason"] for one in found["leftOut"]}
    assert reasons["ending"] == "its deletion was interrupted; run `kymatui delete ending -n endings`"
    assert reasons["cap-operator"].startswith("its deletion was interrupted; run `kymatui delete cap-operator -n ")
    ways = {("ending", "-n", "endings"): "ending --chart web --repo ", ("cap-operator",): "cap-operator --version "}
    for words, way in ways.items():
        status, _, err = run("upgrade", *words, "--dry-run")
        assert status == 2
        assert "its deletion was interrupted" in err
        assert f"`kymatui install {way}" in err
        out = run("check", *words)[1]
        assert "Deletion stopped; " in " ".join(out.split())
        assert f"`kymatui delete {words[0]} -n " in out
    session = open_session(SessionOptions(str(kubeconfig)))
    session.start(lambda: None)
    assert session.wait_complete(20.0)
    on_screen = InstallAction(SessionInstallPort(session)).upgrades(["cap-operator"])
    session.close()
    assert on_screen.requests == ()
    (reason,) = on_screen.left_out
    assert "its deletion was interrupted" in reason
    status, out, _ = run("install", "cap-operator", "--dry-run")
    assert status == 0
    assert "its deletion was interrupted; this plan installs it again" in out, "a person may change their mind"
    for words in (("ending", "-n", "endings"), ("cap-operator",)):
        assert run("delete", *words, "--yes", "--no-backup", "--cascade")[0] == 0


def test_a_release_of_an_older_kymatui_goes_on_working(run: Any, cluster: KubeCluster, site: Site) -> None:
    offers(site, "1.0.0", "1.1.0")
    words = ["old", "--chart", "web", "--repo", site.url, "-n", "olds", "--yes"]
    assert run("install", *words, "--version", "1.0.0")[0] == 0
    (secret,) = cluster.list(SECRET, "olds", labels="owner=helm,name=old")
    _forget(cluster, secret)
    status, _, err = run("upgrade", "--all", "--yes")
    assert status == 0
    assert "skipped: old 1.0.0 in olds: " in err
    assert "and the repository is not recorded" in err
    status, _, err = run("upgrade", "old", "--yes")
    assert status == 2
    assert "old: it came from" in err
    assert run("upgrade", *words, "--version", "1.0.0")[0] == 0, "nothing but the place is noted"
    assert run("upgrade", "--all", "--yes")[:2] == (0, "1 upgraded: old\n")


def _forget(cluster: KubeCluster, secret: dict[str, Any]) -> None:
    """As it was written before origins had a repository."""
    from base64 import b64decode, b64encode

    inventory = json.loads(b64decode(secret["data"]["inventory"]))
    del inventory["origin"]["repository"]
    body = b64encode(json.dumps(inventory).encode()).decode()
    ref = ObjectRef(SECRET, secret["metadata"]["namespace"], secret["metadata"]["name"])
    cluster.patch(ref, {"data": {"inventory": body}}, PatchKind.MERGE)


def backup(name: str) -> dict[str, Any]:
    """What a user makes of a module's kind."""
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": BACKUP.api_version, "kind": "Backup", "metadata": metadata}


def _not_ready(*_: object, **__: object) -> None:
    raise NotReadyError("after 1 s Deployment x is not ready", ())


def test_several_modules_are_installed_and_deleted_as_one_plan(
    run: Any, cluster: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = ["registry-proxy", "backup-operator"]
    status, out, _ = run("install", *both, "--dry-run", "-o", "json")
    found = json.loads(out)
    assert (status, found["outcome"], found["failed"]) == (0, "planned", [])
    assert [one["name"] for one in found["plans"]] == both
    assert run("install", *both, "istio", "--yes", "-o", "json")[0] == 2, "one that is refused refuses all"
    status, _, err = run("install", *both, "nonsense", "--yes")
    assert (status, err.splitlines()[0]) == (64, 'kymatui: no module "nonsense" in kcp')
    status, out, err = run("upgrade", both[0], "0.15.0", "--yes")
    assert (status, out) == (64, "")
    assert err.splitlines()[1:] == ["  hint: run `kymatui upgrade registry-proxy --version 0.15.0`"]
    assert run("install", both[0], "--version", "9.9.9", "--yes")[0] == 64, "a version that is not offered"
    assert run("install", *both, "--version", "1.0.0", "--yes")[0] == 64
    status, out, err = run("install", *both, "--yes")
    assert (status, out) == (0, "2 installed: registry-proxy, backup-operator\n")
    assert "backup-operator 0.4.0 9 to create" in " ".join(err.split())
    assert run("install", *both, "--yes")[:2] == (0, "no changes\n")
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(applier, "apply", _not_ready)
        status, out, err = run("install", *both, "--yes")
    assert (status, out) == (3, "no module installed\n"), "what is the same is waited for all the same"
    assert "2 of 2 modules not ready: registry-proxy: after 1 s Deployment x is not ready; backup-operator: " in err

    cluster.forget_kinds()
    cluster.apply(backup("theirs"), manager="user")
    status, out, err = run("delete", *both, "--yes")
    assert (status, out) == (2, "")
    assert "Backup default/theirs" in err
    assert "still manages 1 object: Backup" in err
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(batch_renderers, "confirm", lambda *_, **__: cluster.apply(backup("late"), manager="user"))
        status, out, err = run("delete", *both, "--cascade")
    assert (status, out.partition(":")[0]) == (3, "registry-proxy")
    assert "backup-operator: not deleted: Backup default/late, created after the plan was displayed" in err
    assert cluster.get(ObjectRef(BACKUP, "default", "late")) is not None, "nobody saw it in the plan"

    status, out, _ = run("delete", *both, "--cascade", "--dry-run", "-o", "json")
    found = json.loads(out)
    assert (status, [one["turn"] for one in found["modules"]]) == (0, ["gone", "clear"])
    status, out, err = run("delete", *both, "--cascade", "--yes")
    assert (status, out) == (0, "backup-operator: 11 objects deleted by kymatui\n")
    assert err.count("objects saved in ") == 1
    assert run("delete", *both, "--yes")[:2] == (0, "already deleted\n")


def test_who_may_not_list_secrets_upgrades_modules_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(place: CommandContext, name: str) -> None:
        raise ForbiddenError("you may not list Secrets", status=403)

    monkeypatch.setattr(upgrade, "find_installed_as", forbidden)
    place = cast(CommandContext, SimpleNamespace(source=ModuleSource(), namespace="", args=Namespace()))
    assert upgrade.recorded_source(place, "registry-proxy") == (ModuleSource(), "")


def test_the_dry_run_of_a_saved_plan_ends_as_its_run(run: Any, cluster: KubeCluster, tmp_path: Path) -> None:
    source, kept, foreign = (tmp_path / name for name in ("shop.yaml", "plan.json", "foreign.json"))
    source.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {a: '1'}}")
    assert run("plan", "kept", "--file", str(source), "-n", "default", "--out", str(kept))[0] == 0
    document = json.loads(kept.read_text())
    foreign.write_text(json.dumps({**document, "plan": {**document["plan"], "identity": "of-another"}}))
    for words in (["--dry-run"], ["--yes"]):
        status, _, err = run("apply", str(foreign), *words)
        assert (status, "another cluster that is also called" in err) == (2, True), err
    foreign.write_text(json.dumps({**document, "plan": {**document["plan"], "identity": ""}}))
    status, _, err = run("apply", str(foreign), "--dry-run")
    assert (status, "only the name of the context is compared" in err) == (0, True), err
    status, _, err = run("apply", str(kept), "--dry-run")
    assert (status, "only the name" in err) == (0, False), err
    cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "namespace": "default"}})
    for words in (["--dry-run"], ["--yes"]):
        status, _, err = run("apply", str(kept), *words)
        assert (status, "the cluster has changed since the plan: ConfigMap default/kept" in err) == (2, True), err
    cluster.delete(ObjectRef(CONFIG_MAP, "default", "kept"))


def test_a_file_and_a_chart_are_installed_in_the_namespace_of_the_context(
    run: Any, cluster: KubeCluster, kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Site
) -> None:
    document = yaml.safe_load(kubeconfig.read_text())
    for context in document["contexts"]:
        context["context"]["namespace"] = "of-context"
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(document))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    offers(site, "1.0.0")
    source = tmp_path / "shop.yaml"
    source.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: file}, data: {a: '1'}}")
    for name, words in (("file", ["--file", str(source)]), ("chart", ["--chart", "web", "--repo", site.url])):
        status, _, err = run("install", name, *words, "--yes")
        assert status == 0, err
        assert "namespace of-context" in err
        assert cluster.get(ObjectRef(CONFIG_MAP, "of-context", name)) is not None
        assert run("install", name, *words, "--yes")[1].startswith(f"{name}: no changes")
        assert run("check", name, *words)[0] == 0
        assert run("delete", name, "--yes", "--no-backup")[0] == 0
