"""Jobs that are stopped by Ctrl-C say what is done and left, are found by `resume`, continued and closed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import pytest
import yaml

from kymatui.adapters.files.job_journals import interrupted, job_records
from kymatui.adapters.files.journal_path import journals_folder
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.output.printing import print_line
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from tests.engine.places import eventually

pytestmark = pytest.mark.xdist_group("resume")  # one sandbox for all of them

FUNCTION = GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
TAX = ObjectRef(FUNCTION, "billing", "tax")


@pytest.fixture
def stop_at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function: from now on the first line of progress with a text is followed by Ctrl-C, as often as said."""

    def arrange(text: str, times: int = 1, place: str = "options.direct_install") -> None:
        left = [times]

        def interrupting(line: str, stream: TextIO | None = None, **more: Any) -> None:
            print_line(line, stream, **more)
            while text in line and left[0]:
                left[0] -= 1
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(f"kymatui.cli.{place}.print_line", interrupting)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield arrange
    signal.signal(signal.SIGINT, before)


def hold(cluster: KubeCluster, ref: ObjectRef, *, held: bool) -> None:
    finalizers = ["example.org/held"] if held else None
    cluster.patch(ref, {"metadata": {"finalizers": finalizers}}, PatchKind.MERGE, manager="user")


def is_gone(cluster: KubeCluster, ref: ObjectRef) -> bool:
    return cluster.get(ref) is None


def jobs() -> list[tuple[str, tuple[str, ...]]]:
    return [(one.heading.kind, one.heading.modules) for one in interrupted()]


def config_maps(folder: Path, name: str, *names: str, held: str = "") -> Path:
    """A source of ConfigMaps; one of them has a finalizer that nobody removes."""
    file = folder / f"{name}.yaml"
    bodies = []
    for one in names:
        metadata: dict[str, Any] = {"name": one, "namespace": "default"}
        bodies.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        if one == held:
            metadata["finalizers"] = ["example.org/held"]
    file.write_text(yaml.safe_dump_all(bodies))
    return file


def test_a_stopped_deletion_says_what_is_left_and_is_continued(run: Any, cluster: KubeCluster, stop_at: Any) -> None:
    hold(cluster, TAX, held=True)
    stop_at("waiting for the deletion of Function billing/tax")
    status, out, err = run("delete", "serverless", "--cascade", "--yes", "-o", "json")
    said = err.partition("Stopped. ")[2].replace("\n", " ")
    assert status == 130
    assert "Still deleting: Function billing/tax (finalizer example.org/held (set by user))" in said
    assert "Not deleted: Serverless kyma-system/default. Not edited: entry of serverless in the Kyma." in said
    assert "`kymatui resume` continues; `kymatui restore serverless` undoes." in said
    found = json.loads(out)
    assert found["outcome"] == "unfinished"
    assert found["stopped"]["ongoing"][0]["object"] == "Function billing/tax"
    assert "Serverless kyma-system/default" in found["stopped"]["left"]
    assert jobs() == [("delete", ("serverless",))]

    listed = json.loads(run("resume", "--list", "-o", "json")[1])["jobs"]
    assert [(one["kind"], one["modules"], one["state"], one["cluster"]) for one in listed] == [
        ("delete", ["serverless"], "stopped", "kcp")
    ]
    assert "delete Function billing/tax" in listed[0]["done"]
    command = f"`kymatui resume {listed[0]['job']}`"
    assert "deletion interrupted" in run("catalog", "--no-headers")[1]
    problems = json.loads(run("catalog", "-o", "json")[1])["problems"]
    assert [one["module"] for one in problems if one["command"] and one["command"] in command] == ["serverless"]
    assert command in run("module", "serverless")[1]
    status, out, err = run("resume", "--dry-run", "-o", "json")
    assert (status, [one["object"] for one in json.loads(out)["remaining"]]) == (
        0,
        ["Serverless kyma-system/default", "Function billing/tax"],
    ), err
    assert run("resume")[0] == 2, "nobody accepted the plan"
    for words in (("--read-only",), ("--audit",)):
        assert run(*words, "resume", "--yes")[0] in (4, 64), words
    assert run("resume", "--yes", "--read-only")[0] == 4
    assert run("resume", "--list", "--read-only")[0] == 0
    assert jobs() == [("delete", ("serverless",))]

    hold(cluster, TAX, held=False)
    status, out, err = run("resume", "serverless", "--yes")
    assert (status, out) == (0, "serverless is deleted\n"), err
    assert "resuming job " in err
    assert (jobs(), cluster.list(FUNCTION)) == ([], [])
    assert "interrupted" not in run("catalog", "-o", "json")[1]
    assert len(job_records()) == 1, "it is continued in its own journal"
    assert run("resume")[:2] == (0, "")


def test_a_killed_job_is_found_and_a_job_that_is_running_is_left_alone(run: Any, tmp_path: Path) -> None:
    file = config_maps(tmp_path, "killed", "k1", "k2", held="k2")
    assert run("install", "killed", "--file", str(file), "--yes", "-n", "default")[0] == 0
    words = ("delete", "killed", "-n", "default", "--yes", "--no-backup")
    call = [sys.executable, "-m", "kymatui", *words]
    with subprocess.Popen(call, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL) as process:
        assert process.stderr is not None
        assert any("waiting for the deletion of ConfigMap default/k2" in line for line in process.stderr)
        (record,) = (one for one in job_records() if one.is_running)
        status, _, err = run("resume", record.number, "--yes")
        assert (status, "is running: " in err, jobs()) == (2, True, [])
        process.kill()
    assert jobs() == [("delete", ("killed",))]
    assert [one.state_words for one in interrupted()] == ["killed"]


def test_what_somebody_else_completed_is_said_to_be_done_and_leaves_the_list(
    run: Any, cluster: KubeCluster, tmp_path: Path, stop_at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = config_maps(tmp_path, "shared", "s1", "s2", held="s2")
    assert run("install", "shared", "--file", str(file), "--yes", "-n", "default")[0] == 0
    stop_at("waiting for the deletion of ConfigMap default/s2")
    assert run("delete", "shared", "-n", "default", "--yes", "--no-backup")[0] == 130
    with monkeypatch.context() as other:  # another person, on another machine
        other.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
        hold(cluster, ObjectRef(CONFIG_MAP, "default", "s2"), held=False)
        assert jobs() == []
        assert run("delete", "shared", "-n", "default", "--yes", "--no-backup")[0] == 0
    (record,) = interrupted()
    status, out, err = run("resume", "--yes")
    assert (status, f"job {record.number} is done: nothing was left to do" in err, jobs()) == (0, True, []), err
    assert "already deleted" in out or "not installed" in out
    status, _, err = run("resume", record.number)
    assert (status, "is not interrupted" in err) == (2, True)


def test_of_several_jobs_one_is_named(run: Any, cluster: KubeCluster, tmp_path: Path, stop_at: Any) -> None:
    for name in ("one", "two"):
        file = config_maps(tmp_path, name, f"{name}-a", f"{name}-b", held=f"{name}-b")
        assert run("install", name, "--file", str(file), "--yes", "-n", "default")[0] == 0
    for name in ("one", "two"):
        stop_at(f"waiting for the deletion of ConfigMap default/{name}-b")
        status, _, err = run("delete", name, "-n", "default", "--yes", "--no-backup")
        assert status == 130
        ref = ObjectRef(CONFIG_MAP, "default", f"{name}-b")
        assert f"Still deleting: ConfigMap default/{name}-b (finalizer" in err.replace("\n", " ")
        hold(cluster, ref, held=False)
        eventually(partial(is_gone, cluster, ref), f"{ref} is deleted")
    two, one = interrupted()
    assert f"`kymatui resume {two.number}` continues" in err
    status, out, err = run("resume")
    assert (status, [name in out for name in (one.number, two.number, "delete one", "delete two")]) == (0, [True] * 4)
    status, _, err = run("resume", "--yes")
    assert (status, "2 jobs were interrupted" in err) == (64, True)
    status, _, err = run("resume", "thre", "--yes")
    assert (status, 'no interrupted job "thre"' in err) == (64, True)
    assert run("resume", one.number, "--yes")[0] == 0
    assert run("resume", "two", "--yes", "-o", "json")[0] == 0
    assert jobs() == []


def test_a_job_of_another_cluster_is_refused_by_its_identity(
    run: Any, cluster: KubeCluster, tmp_path: Path, stop_at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = config_maps(tmp_path, "moved", "m1", held="m1")
    assert run("install", "moved", "--file", str(file), "--yes", "-n", "default")[0] == 0
    stop_at("waiting for the deletion of ConfigMap default/m1")
    assert run("delete", "moved", "-n", "default", "--yes", "--no-backup")[0] == 130
    (record,) = interrupted()
    hold(cluster, ObjectRef(CONFIG_MAP, "default", "m1"), held=False)
    renamed = tmp_path / "renamed"
    renamed.write_text(Path(os.environ["KUBECONFIG"]).read_text().replace("kcp", "renamed"))
    monkeypatch.setenv("KUBECONFIG", str(renamed))
    assert json.loads(run("resume", "--dry-run", "-o", "json")[1])["outcome"] == "planned"
    (path,) = journals_folder().glob(f"*/*/*-{record.number}.jsonl")
    path.write_text(path.read_text().replace(record.heading.identity, "another"))
    status, _, err = run("resume", record.number, "--yes")
    assert (status, "is from kcp, but this is renamed" in err) == (2, True), err
    renamed.write_text(renamed.read_text().replace("renamed", "kcp"))
    status, _, err = run("resume", record.number, "--yes")
    assert (status, "another cluster that is also called kcp" in err) == (2, True), err
    status, _, err = run("resume", "--yes")
    assert (status, "1 job on other clusters" in err) == (0, True), err
    assert run("delete", "moved", "-n", "default", "--yes", "--no-backup")[0] == 0


# every verb


def chart(folder: Path) -> Path:
    """A chart with a value in a ConfigMap, and a Deployment that no node takes."""
    (folder / "chart" / "templates").mkdir(parents=True)
    (folder / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: web\nversion: 1.2.3\n")
    (folder / "chart" / "values.yaml").write_text("greeting: hello\n")
    metadata = "metadata: {name: web, namespace: default}"
    text = f"apiVersion: v1\nkind: ConfigMap\n{metadata}\ndata: {{greeting: {{{{ .Values.greeting }}}}}}\n"
    (folder / "chart" / "templates" / "map.yaml").write_text(text)
    (folder / "chart" / "templates" / "deployment.yaml").write_text(yaml.safe_dump(stuck("web")))
    return folder / "chart"


def stuck(name: str) -> dict[str, Any]:
    spec = {"nodeSelector": {"no": "such"}, "containers": [{"name": "c", "image": "c:1"}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    body = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": body,
    }


def test_a_chart_is_continued_with_the_values_that_it_began_with(
    run: Any, cluster: KubeCluster, tmp_path: Path, stop_at: Any
) -> None:
    source = chart(tmp_path)
    words = ("--chart", str(source), "-n", "default", "--yes")
    for verb, greeting in (("install", "hunter2"), ("upgrade", "hunter3")):
        stop_at("waiting for Deployment default/web")
        status, _, err = run(verb, "web", *words, "--set", f"greeting={greeting}")
        assert (status, jobs()) == (130, [(verb, ("web",))]), err
        assert "Still starting: Deployment default/web" in err.replace("\n", " ")
        assert "hunter" not in "".join(path.read_text() for path in journals_folder().glob("*/*/*"))
        status, _, err = run("resume", "--yes", "--no-wait")
        assert (status, jobs()) == (0, []), err
        found = cluster.get(ObjectRef(CONFIG_MAP, "default", "web")) or {}
        assert found["data"] == {"greeting": greeting}
    stop_at("deleting Deployment default/web")
    run("delete", "web", "-n", "default", "--yes", "--no-backup")
    assert run("resume", "--yes")[0] == 0
    assert is_gone(cluster, ObjectRef(CONFIG_MAP, "default", "web"))


def test_values_that_are_nowhere_are_asked_for_again(run: Any, tmp_path: Path, stop_at: Any) -> None:
    words = ("install", "web", "--chart", str(chart(tmp_path)), "-n", "default", "--yes", "--set", "greeting=hunter2")
    stop_at("waiting for Deployment default/web")
    assert run(*words)[0] == 130
    with_release = run("resume", "--dry-run")
    assert with_release[0] == 0, with_release
    assert run("delete", "web", "-n", "default", "--yes", "--no-backup")[0] == 0
    assert jobs() == [], "a later job on the same release"
    stop_at("waiting for Deployment default/web")
    assert run(*words)[0] == 130
    (record,) = interrupted()
    assert run("delete", "web", "-n", "default", "--yes", "--no-backup")[0] == 0
    for path in journals_folder().glob("*/*/*"):
        if record.number not in path.name:
            path.unlink()
    status, _, err = run("resume", "--yes")
    assert (status, "the values of web are in no release and not in the journal" in err) == (2, True), err


def test_a_saved_plan_is_continued_with_a_new_plan(run: Any, tmp_path: Path, stop_at: Any) -> None:
    file, plan = tmp_path / "stuck.json", tmp_path / "plan.json"
    file.write_text(json.dumps(stuck("planned")))
    assert run("plan", "planned", "--file", str(file), "--out", str(plan), "-n", "default")[0] == 0
    stop_at("waiting for Deployment default/planned")
    assert run("apply", str(plan), "--yes")[0] == 130
    assert run("resume", "--yes", "--no-wait")[0] == 0
    assert jobs() == []
    assert run("delete", "planned", "-n", "default", "--yes", "--no-backup")[0] == 0


@pytest.mark.parametrize("line", ["channel istio fast", "disable eventing nats", "enable connectivity-proxy"])
def test_an_edit_is_followed_to_its_end(line: str, run: Any, stop_at: Any) -> None:
    words = line.split()
    stop_at("  ", place="options.editing")
    status, _, err = run(*words, "--yes")
    assert (status, [kind for kind, _ in jobs()]) == (130, [words[0]]), err
    assert "Stopped. " in err
    status, _, err = run("resume", "--yes", "--timeout", "60s")
    assert (status, jobs()) == (0, []), err


def test_a_restore_is_continued(run: Any, cluster: KubeCluster, tmp_path: Path, stop_at: Any) -> None:
    file = tmp_path / "saved.yaml"
    bodies = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": space}}
        for name, space in (("here", "default"), ("later", "not-yet"))
    ]
    file.write_text("# keda 1.0.0 in kcp\n" + yaml.safe_dump_all(bodies))
    stop_at("later is not created yet", place="commands.modules.restore")
    status, _, err = run("restore", str(file), "--yes")
    assert (status, jobs()) == (130, [("restore", ("keda",))]), err
    said = err.replace("\n", " ")
    assert "Stopped. Created: ConfigMap default/here. Not created: ConfigMap not-yet/later." in said
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "not-yet"}})
    status, _, err = run("resume", "--yes")
    assert (status, jobs()) == (0, []), err
    assert not is_gone(cluster, ObjectRef(CONFIG_MAP, "not-yet", "later"))


def test_several_modules_are_one_job_and_the_second_ctrl_c_ends_it_at_once(
    run: Any, cluster: KubeCluster, tmp_path: Path, stop_at: Any
) -> None:
    for name in ("first", "second", "third"):
        held = "second-a" if name == "second" else ""
        file = config_maps(tmp_path, name, f"{name}-a", held=held)
        assert run("install", name, "--file", str(file), "--yes", "-n", "default")[0] == 0
    stop_at("waiting for the deletion of ConfigMap default/second-a", times=2)
    status, _, err = run("delete", "first", "second", "third", "-n", "default", "--yes", "--no-backup")
    said = err.replace("\n", " ")
    assert (status, jobs()) == (130, [("delete", ("second", "third"))]), err
    assert "Stopped. The last request may still take effect." in said
    assert "Deleted: ConfigMap default/first-a." in said
    assert "Not started: third." in said
    hold(cluster, ObjectRef(CONFIG_MAP, "default", "second-a"), held=False)
    assert run("resume", "--yes")[0] == 0
    assert (jobs(), is_gone(cluster, ObjectRef(CONFIG_MAP, "default", "third-a"))) == ([], True)


def test_a_job_whose_journal_cannot_be_written_does_not_start(
    run: Any, cluster: KubeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no-folder").write_text("")
    file = config_maps(tmp_path, "unwritten", "u1")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "no-folder"))
    status, _, err = run("install", "unwritten", "--file", str(file), "--yes", "-n", "default")
    assert (status, "cannot be written" in err, "XDG_STATE_HOME" in err) == (1, True, True), err
    assert is_gone(cluster, ObjectRef(CONFIG_MAP, "default", "u1"))
