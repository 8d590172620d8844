"""What is installed, whatever its origin, as another machine reads it: without the journals of the one that did it."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind

pytestmark = pytest.mark.xdist_group("installed")  # one sandbox for all of them

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
SECRET = GroupVersionKind("", "v1", "Secret")


def source(folder: Path, name: str, *, held: str = "") -> Path:
    """A file of eight ConfigMaps and a Deployment; one object has a finalizer that nobody removes."""
    bodies: list[dict[str, Any]] = []
    for number in range(8):
        metadata: dict[str, Any] = {"name": f"{name}-{number}", "namespace": "default"}
        if held == f"{name}-{number}":
            metadata["finalizers"] = ["example.org/held"]
        bodies.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    containers = [{"name": "web", "image": "registry.example.org/web:7.7.7"}]
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": pod}
    metadata = {"name": f"{name}-web", "namespace": "default"}
    bodies.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump_all(bodies))
    return file


def kill_at(text: str, *words: str) -> None:
    """Run a command in another process and kill it once it says this."""
    call = [sys.executable, "-m", "kymatui", *words]
    with subprocess.Popen(call, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        assert any(text in line for line in process.stderr), text
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A function: from now on commands run with the home of another person, who has no journals."""

    def move() -> None:
        monkeypatch.setenv("HOME", str(tmp_path / "other"))
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other" / "state"))

    return move


def existing(cluster: KubeCluster, name: str) -> int:
    own = f"applyset.kubernetes.io/part-of={part_of(cluster, name)}"
    return sum(len(cluster.list(GroupVersionKind(*kind), labels=own)) for kind in (("", "v1", "ConfigMap"), WORKLOAD))


WORKLOAD = ("apps", "v1", "Deployment")


def part_of(cluster: KubeCluster, name: str) -> str:
    found = cluster.get(ObjectRef(CONFIG_MAP, "default", f"kymatui.{name}"))
    assert found is not None
    return str(found["metadata"]["labels"]["applyset.kubernetes.io/id"])


def entry(run: Any, name: str, *words: str) -> dict[str, Any]:
    status, out, err = run("catalog", "-o", "json", *words)
    assert status == 0, err
    return next(one for one in json.loads(out)["modules"] if one["name"] == name)


def test_a_partial_installation_is_one_state_everywhere_and_its_advice_ends_it(
    run: Any, cluster: KubeCluster, tmp_path: Path, elsewhere: Any
) -> None:
    file = source(tmp_path, "part")
    kill_at("of 9 objects]", "install", "part", "--file", str(file), "-n", "default", "--yes", "--no-wait")
    elsewhere()
    count = existing(cluster, "part")
    assert count > 0
    row = entry(run, "part")
    assert (row["presence"], row["state"], row["drift"], row["actor"]) == (
        "partially installed",
        "Warning",
        "incomplete",
        "you",
    )
    assert (row["installedBy"], row["installation"]["source"], row["installation"]["state"]) == (
        "kymatui",
        "file",
        "partially installed",
    )
    assert row["installation"]["objects"] == {"planned": 9, "existing": count}
    words = f"Installation stopped after {count} of 9 objects"
    assert words in row["reason"]
    module = run("module", "part")[1]
    assert "partial" in module
    assert words in " ".join(module.split())
    status, out, _ = run("drift", "-o", "json")
    assert status == 2
    assert [one["kind"] for one in json.loads(out)["drift"] if one["name"] == "part"] == ["incomplete"]
    status, out, _ = run("audit", "-o", "json")
    findings = [one for one in json.loads(out)["findings"] if one["module"] == "part"]
    assert [one["rule"] for one in findings] == ["install.unfinished"]
    assert words in findings[0]["message"]
    assert words in run("versions", "part")[1]
    status, out, _ = run("check", "part", "--file", str(file), "-n", "default")
    assert status == 2
    assert words in " ".join(out.split())
    assert json.loads(run("versions", "part", "-o", "json")[1])["presence"] == "partially installed"

    status, _, err = run(*shlex.split(row["installation"]["install"])[1:], "--yes", "--no-wait")
    assert status == 0, err
    assert entry(run, "part")["presence"] == "enabled"
    status, _, err = run(*shlex.split(row["installation"]["delete"])[1:], "--yes")
    assert status == 0, err
    assert "part" not in run("catalog", "-o", "name")[1].split()


def test_an_interrupted_deletion_is_one_state_everywhere_and_its_advice_ends_it(
    run: Any, cluster: KubeCluster, tmp_path: Path, elsewhere: Any
) -> None:
    file = source(tmp_path, "gone", held="gone-3")
    assert run("install", "gone", "--file", str(file), "-n", "default", "--yes", "--no-wait")[0] == 0
    kill_at("waiting for the deletion of ConfigMap default/gone-3", "delete", "gone", "-n", "default", "--yes")
    elsewhere()
    row = entry(run, "gone")
    assert (row["presence"], row["drift"], row["actor"]) == ("deletion interrupted", "incomplete", "you")
    left = existing(cluster, "gone")
    assert row["installation"]["objects"] == {"planned": 9, "existing": left} == {"planned": 9, "existing": 1}
    assert row["reason"].startswith("Deletion stopped; 1 object is left. ")
    assert "deletion interrupted" in run("catalog", "--no-headers")[1]
    assert run("drift")[0] == 2
    findings = json.loads(run("audit", "-o", "json")[1])["findings"]
    assert [one["rule"] for one in findings if one["module"] == "gone"] == ["install.unfinished"]

    held = ObjectRef(CONFIG_MAP, "default", "gone-3")
    cluster.patch(held, {"metadata": {"finalizers": None}}, PatchKind.MERGE, manager="user")
    status, _, err = run(*shlex.split(row["installation"]["delete"])[1:], "--yes")
    assert status == 0, err
    assert "gone" not in run("catalog", "-o", "name")[1].split()


def test_what_runs_on_another_machine_is_installing_and_not_partial(
    run: Any, cluster: KubeCluster, tmp_path: Path
) -> None:
    file = source(tmp_path, "busy")
    kill_at("of 9 objects]", "install", "busy", "--file", str(file), "-n", "default", "--yes", "--no-wait")
    ref = ObjectRef(GroupVersionKind("coordination.k8s.io", "v1", "Lease"), "default", "kymatui.busy")
    held = cluster.get(ref)
    assert held is not None
    holder = "bob@elsewhere pid 9 on 000000000000.abc"  # of another machine, whose processes nobody here can see
    cluster.patch(ref, {"spec": {"holderIdentity": holder}}, PatchKind.MERGE, manager="kymatui")
    row = entry(run, "busy")
    assert (row["presence"], row["state"], row["actor"]) == ("installing", "Processing", None)
    assert row["installation"]["holder"] == "bob@elsewhere pid 9"
    assert "busy" not in run("drift", "-o", "name")[1].split()
    cluster.delete(ref)
    assert entry(run, "busy")["presence"] == "partially installed"
    assert run("delete", "busy", "-n", "default", "--yes", "--no-backup")[0] == 0


def test_a_file_and_a_chart_have_rows_that_every_command_knows(run: Any, cluster: KubeCluster, tmp_path: Path) -> None:
    assert run("install", "filed", "--file", str(source(tmp_path, "filed")), "-n", "default", "--yes")[0] == 0
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: charted\nversion: 3.2.1\n")
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: charted}\ndata: {password: {{ .Values.word }}}\n"
    (chart / "templates" / "map.yaml").write_text(text)
    set_word = ("--set", "word=hunter2")
    assert run("install", "charted", "--chart", str(chart), "-n", "default", "--yes", *set_word)[0] == 0
    rows = {name: entry(run, name) for name in ("filed", "charted")}
    assert {name: (one["installation"]["source"], one["state"]) for name, one in rows.items()} == {
        "filed": ("file", "Ready"),
        "charted": ("chart", "Ready"),
    }
    assert rows["charted"]["installed"] == "3.2.1"
    assert "hunter2" not in run("catalog", "-o", "json")[1]
    assert run("drift")[0] == 2  # by modules of the sample world
    assert not {"filed", "charted"} & set(run("drift", "-o", "name")[1].split())
    for words in (("module", "filed"), ("logs", "filed"), ("events", "filed"), ("checks", "filed")):
        status, _, err = run(*words)
        assert status == 0, (words, err)
    status, out, _ = run("check", "filed", "-n", "default")
    assert (status, "matches its source" in out) == (0, True)
    status, out, _ = run("check", "charted", "-n", "default")
    assert (status, "charted matches its stored release" in out, "hunter2" in out) == (0, True, False), out
    status, _, err = run("check", "charted", "-n", "default", "--version", "3.2.2")
    assert (status, "run `kymatui check charted --chart … -n default`" in err) == (2, True), err
    status, out, _ = run("check", "charted", "-n", "default", "--chart", str(chart))
    assert (status, "matches its source" in out, "hunter2" in out) == (0, True, False)
    assert run("module", "charted")[0] == 0
    record = ObjectRef(SECRET, "default", "sh.helm.release.v1.charted.v1")
    for installer, manager in (("kymatui", "kymatui"), ("helm", "helm"), ("flux", "helm-controller")):
        release = cluster.get(record)
        assert release is not None
        metadata = {key: release["metadata"][key] for key in ("name", "namespace", "labels")}
        if installer != "kymatui":
            cluster.delete(record)
            cluster.create({**release, "metadata": metadata}, manager=manager)
        plan = json.loads(run("delete", "charted", "-n", "default", "--dry-run", "-o", "json")[1])
        assert (plan["installedBy"], plan["charge"]) == (installer, "direct")
        assert f": managed by {installer}" in run("delete", "charted", "-n", "default", "--dry-run")[1]
    for name in ("filed", "charted"):
        assert run("delete", name, "-n", "default", "--yes")[0] == 0
        status, _, err = run("restore", name, "--dry-run")
        assert status == 0, err


@pytest.mark.parametrize("kind", [SECRET, CONFIG_MAP], ids=["Secret", "ConfigMap"])  # as HELM_DRIVER chooses
def test_releases_of_helm_are_listed_on_demand_with_their_owner(
    run: Any, cluster: KubeCluster, kind: GroupVersionKind
) -> None:
    labels = {"name": "theirs", "owner": "helm", "status": "deployed", "version": "1"}
    metadata = {"name": "sh.helm.release.v1.theirs.v1", "namespace": "default", "labels": labels}
    body = {"apiVersion": "v1", "kind": kind.kind, "metadata": metadata, "data": {"release": "aHVudGVyMg=="}}
    cluster.create({**body, **({"type": "helm.sh/release.v1"} if kind == SECRET else {})}, manager="helm-controller")
    try:
        status, out, err = run("catalog")
        assert (status, "theirs" in out) == (0, False)
        assert "1 Helm release of other tools not listed; --installed-by all lists them" in err
        for words in (("--installed-by", "all"), ("--installed-by", "flux")):
            assert entry(run, "theirs", *words)["installedBy"] == "flux"
        names = run("catalog", "--installed-by", "kymatui", "-o", "name")[1].split()
        assert "theirs" not in names
        status, out, _ = run("module", "theirs", "-o", "json")
        assert (status, json.loads(out)["installation"]["helmStatus"]) == (0, "deployed")
        assert json.loads(out)["installation"]["record"].startswith(f"{kind.kind} ")
        assert "aHVudGVyMg" not in out
    finally:
        cluster.delete(ObjectRef(kind, "default", "sh.helm.release.v1.theirs.v1"))
