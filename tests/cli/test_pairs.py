"""Commands about one runtime of a control plane, over two clusters that are really there."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import logging
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.files.job_journals import job_records, open_job
from kymatui.adapters.files.journal_path import journals_folder
from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.main import main
from kymatui.domain.kubernetes.object_meta import field_managers, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kyma_keeper import CLOCKS_DIFFER, ELECTION
from kymatui.domain.plans.cluster_target import ClusterName
from kymatui.domain.plans.jobs import JobPurpose
from kymatui.engine.bundles import yaml_objects
from kymatui.engine.cluster.kind_order import install_waves
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.jobs.journal import JournalMark
from kymatui.errors import CancelledError, ConflictError, NotFoundError
from kymatui.sandbox.apimachinery.clock import micro_timestamp
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sessions.fetching import open_fetcher
from tests.cli.test_fleet import run
from tests.cli.unseen import ask
from tests.engine import objects as make
from tests.engine.places import eventually
from tests.sandboxes.patience import wait_longer_for_runtimes

pytestmark = pytest.mark.xdist_group("fleet")

SECRET = GroupVersionKind("", "v1", "Secret")
KYMA = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma")
TEMPLATE = GroupVersionKind("operator.kyma-project.io", "v1beta2", "ModuleTemplate")
MANIFEST = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Manifest")
LABEL = "operator.kyma-project.io/kyma-name"
MARK = "planted-marker"
NAMED = "kcp/kcp-system/skr"
"""What the runtime is called in plans, journals and backups."""


@pytest.fixture(autouse=True)
def environment(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(two_clusters))


@pytest.fixture(scope="module")
def control(two_clusters: Path) -> Iterator[KubeCluster]:
    found = KubeCluster(Client(Transport(connect(str(two_clusters), "kcp"))))
    yield found
    found.client.transport.close()


@pytest.fixture
def runtime(two_clusters: Path) -> Iterator[KubeCluster]:
    found = KubeCluster(Client(Transport(connect(str(two_clusters), "skr"))))
    yield found
    found.client.transport.close()


@pytest.fixture
def skr_faults(two_clusters: Path) -> Iterator[FaultClient]:
    faults = FaultClient.for_kubeconfig(two_clusters, "skr")
    yield faults
    faults.send("clear", {})


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_longer_for_runtimes(monkeypatch)


@pytest.fixture
def lease(control: KubeCluster) -> Iterator[ObjectRef]:
    """lifecycle-manager's Lease; it is renewed afterwards."""
    ref = ObjectRef(GroupVersionKind("coordination.k8s.io", "v1", "Lease"), "kcp-system", ELECTION)
    before = control.get(ref)
    assert before is not None
    yield ref
    seconds = before["spec"]["leaseDurationSeconds"]
    renewed = {"renewTime": micro_timestamp(time.time()), "leaseDurationSeconds": seconds}
    control.patch(ref, {"spec": renewed}, PatchKind.MERGE)


@pytest.mark.usefixtures("patient")
def test_a_lifecycle_manager_that_has_ended_is_not_said_to_act(
    capsys: pytest.CaptureFixture[str], control: KubeCluster, lease: ObjectRef
) -> None:
    """The sandbox renews the Lease once a minute: it is made old before each command.

    Not older than needed: what was written later would show that it runs.
    """

    def read(*words: str) -> tuple[str, str]:
        stale = {"renewTime": micro_timestamp(time.time() - CLOCKS_DIFFER - 4), "leaseDurationSeconds": 1}
        control.patch(lease, {"spec": stale}, PatchKind.MERGE)
        return run(capsys, *words)[1:]

    def awaited(module: str) -> dict[str, Any]:
        rows = json.loads(read("catalog", "--remote", "skr", "-o", "json")[0])["modules"]
        return next(row for row in rows if row["name"] == module)

    ended = "lifecycle-manager is not running: klm-controller-manager holds its Lease, renewed "
    eventually(lambda: awaited("nats")["actor"] == "the cluster's administrator")
    assert awaited("nats")["reason"].endswith("; lifecycle-manager is not running")
    for words in ("catalog --remote skr", "catalog", "fleet", "waits", "policy keda Ignore --remote skr --dry-run"):
        eventually(lambda words=words: ended in "".join(read(*words.split())), words)  # type: ignore[misc]
    waits = json.loads(read("waits", "-o", "json")[0])["waits"]
    assert "lifecycle-manager" not in {wait["actor"] for wait in waits}
    findings = json.loads(read("audit", "--remote", "skr", "-o", "json")[0])["findings"]
    assert [finding["actor"] for finding in findings if finding["rule"] == "kyma.stopped"] == [
        "the cluster's administrator"
    ]
    assert "lifecycle-manager" not in {finding["actor"] for finding in findings}


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    status, out, _ = run(capsys, "compare", "skr", "-o", "json", *words)
    assert status in (0, 2)
    found: list[dict[str, Any]] = json.loads(out)["lines"]
    return found


def test_a_runtime_and_its_control_plane_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    found = lines(capsys)
    verdicts = [line["verdict"] for line in found]
    order = ("not intended", "unknown", "under way", "intended", "same")
    assert verdicts == sorted(verdicts, key=order.index), "what differs comes first"
    assert "unknown" not in verdicts
    by = {(line["about"], line["subject"], line["field"]): line for line in found}
    assert by["spec", "istio", "spec.modules"]["verdict"] == "intended"
    assert by["status", "istio", "manifest"]["skr"] is None
    assert by["module", "keda", "version"]["verdict"] == "not intended"
    assert by["module", "warden", "Manifest"]["skr"] == "mandatory"
    assert all(line["why"] for line in found if line["verdict"] != "same")
    assert all(line["actor"] for line in found if line["verdict"] == "not intended")
    status, out, _ = run(capsys, "compare", "skr")
    assert (status, out.splitlines()[0].split()[:3]) == (2, ["VERDICT", "ABOUT", "SUBJECT"])


def test_the_second_cluster_may_be_named_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "compare", "--kcp-context", "kcp", "--skr-context", "skr", "-o", "json")
    assert (status, json.loads(out)["runtime"]) == (2, "skr")


def test_a_runtime_that_is_not_there_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "compare", "skrr")
    assert (status, "did you mean skr" in err) == (64, True)


def test_the_catalog_of_a_runtime_says_who_says_what(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "catalog", "--remote", "skr", "-o", "json")
    modules = {one["name"]: one for one in json.loads(out)["modules"]}
    assert status == 0
    warden = modules["warden"]
    assert (warden["mandatory"], warden["manifest"]["namespace"], warden["reports"]["kyma"]) == (
        True,
        "kcp-system",
        None,
    )
    assert warden["reports"]["resource"] == "Ready", "its kind is known from the control plane alone"
    assert {one["type"] for one in warden["manifest"]["conditions"]} >= {"Resources", "Installation"}
    table = run(capsys, "catalog", "--remote", "skr")[1].splitlines()
    assert table[0].split()[-4:] == ["MANIFEST", "MODULE", "CR", "MANAGER"]


@pytest.mark.parametrize(
    ("words", "status"), [(("module", "warden"), 0), (("checks", "istio"), 0), (("drift",), 2)], ids=str
)
def test_the_reading_commands_take_a_runtime(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int
) -> None:
    assert run(capsys, *words, "--remote", "skr")[0] == status


def test_the_sync_is_explained_and_labels_are_tried_out(capsys: pytest.CaptureFixture[str]) -> None:
    out = json.loads(run(capsys, "sync", "skr", "-o", "json")[1])
    standing = {(one["kind"], one["name"]): one["standing"] for one in out["catalog"]}
    assert standing["ModuleReleaseMeta", "compass-manager"] == "withheld"
    assert standing["ModuleTemplate", "istio-1.11.0"] == "synced"
    tried = json.loads(run(capsys, "sync", "skr", "--label", "internal=true", "-o", "json")[1])
    assert [one["name"] for one in tried["comes"]] == ["compass-manager", "compass-manager-0.3.0"]
    assert (tried["goes"], tried["uninstalls"]) == ([], [])
    assert run(capsys, "sync", "skr", "--label", "=x")[0] == 64


def test_a_label_goes_to_the_control_plane_and_is_followed_until_the_copies_are_there(
    capsys: pytest.CaptureFixture[str], control: KubeCluster, runtime: KubeCluster
) -> None:
    copy = ObjectRef(
        GroupVersionKind(KYMA.group, KYMA.version, "ModuleTemplate"), "kyma-system", "compass-manager-0.3.0"
    )
    there = {"kind": copy.kind.kind, "name": copy.name}
    status, out, _ = run(capsys, "label", "internal=true", "--remote", "skr", "--yes", "-o", "json")
    found = json.loads(out)
    assert (status, found["kyma"], found["outcome"]) == (0, "kcp-system/skr", "done")
    assert there in found["catalog"]["comes"]
    assert runtime.get(copy) is not None
    kyma = control.get(ObjectRef(KYMA, "kcp-system", "skr"))
    assert kyma is not None
    assert kyma["metadata"]["labels"]["operator.kyma-project.io/internal"] == "true"
    status, out, err = run(capsys, "label", "internal-", "--remote", "skr", "--yes")
    assert (status, out) == (0, "operator.kyma-project.io/internal is removed\n")
    assert "removed   ModuleTemplate      compass-manager-0.3.0" in err
    assert runtime.get(copy) is None


def test_56_upgrades_wait_for_the_policy_that_is_mounted(
    capsys: pytest.CaptureFixture[str], control: KubeCluster
) -> None:
    mount = [{"name": "p", "mountPath": "/etc/maintenance-policy"}]
    container = {"name": "manager", "image": "klm", "volumeMounts": mount}
    pod = {"containers": [container], "volumes": [{"name": "p", "configMap": {"name": "klm-maintenance-config"}}]}
    labels = {"app": "klm"}
    window = {"days": ["Sat"], "begin": "21:00:00+00:00", "end": "00:00:00+00:00"}
    policy = json.dumps({"rules": [], "default": window})
    metadata = {"namespace": "kcp-system"}
    control.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**metadata, "name": "klm-maintenance-config"},
            "data": {"policy.json": policy},
        }
    )
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {**metadata, "name": "klm"}, "spec": spec}
    control.apply(deployment)
    try:
        status, out, err = run(capsys, "windows", "skr", "-o", "json")
    finally:
        control.delete(ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "kcp-system", "klm"))
    (found,) = json.loads(out)["runtimes"]
    assert (status, "ConfigMap kcp-system/klm-maintenance-config" in err) == (0, True)
    assert found["window"]["begin"].endswith("T21:00:00Z")
    assert [one["module"] for one in found["upgrades"]] == ["nats"]


def test_a_control_plane_without_watchers(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "watchers", "skr")
    assert (status, "no Watchers in the control plane" in out) == (0, True)


# access Secrets of every kind of wrong


def kubeconfig(**user: Any) -> str:
    return yaml.safe_dump(
        {
            "clusters": [{"name": MARK, "cluster": {"server": "https://127.0.0.1:9"}}],
            "users": [{"name": MARK, "user": user or {"token": MARK}}],
            "contexts": [{"name": MARK, "context": {"cluster": MARK, "user": MARK}}],
            "current-context": MARK,
        }
    )


def expired() -> str:
    parts = [{"alg": "none"}, {"exp": 1_700_000_000}]
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return kubeconfig(token=".".join([*coded, MARK]))


@pytest.mark.parametrize(
    ("secrets", "said"),
    [
        ([], "access secret not found"),
        ([{"config": kubeconfig()}, {"config": kubeconfig()}], "more than one secret found"),
        ([{"kubeconfig": kubeconfig()}], "data.config is missing"),
        ([{"config": f"a: [{MARK}"}], "is not valid YAML"),
        ([{"config": kubeconfig(exec={"command": MARK, "apiVersion": "v1"})}], "names exec"),
        ([{"config": kubeconfig(tokenFile=f"/{MARK}")}], "names tokenFile"),
        ([{"config": expired()}], "has expired: its token was valid until 2023-11-14"),
        ([{"config": kubeconfig()}], "nothing listens at https://127.0.0.1:9"),
    ],
    ids=["none", "two", "no key", "no YAML", "a plugin", "a file", "expired", "nobody there"],
)
def test_57_each_wrong_secret_has_its_own_words(
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    control: KubeCluster,
    secrets: list[dict[str, str]],
    said: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    name = "wrong-access"
    ref = ObjectRef(KYMA, "kcp-system", name)
    metadata = {"name": name, "namespace": "kcp-system"}
    control.apply({"apiVersion": KYMA.api_version, "kind": "Kyma", "metadata": metadata, "spec": {"channel": "fast"}})
    made = [ObjectRef(SECRET, "kcp-system", f"{name}-{index}") for index in range(len(secrets))]
    for secret, data in zip(made, secrets, strict=True):
        labelled = {"name": secret.name, "namespace": "kcp-system", "labels": {LABEL: name}}
        control.apply({"apiVersion": "v1", "kind": "Secret", "metadata": labelled, "stringData": data})
    try:
        status, out, err = run(capsys, "compare", name)
    finally:
        for secret in made:
            control.delete(secret)
        control.delete(ref)
        if control.get(ref) is not None:
            control.patch(ref, {"metadata": {"finalizers": None}}, PatchKind.MERGE)
    assert (status, said in err) == (1, True), err
    assert MARK not in out + err + caplog.text


# runtimes that misbehave


@pytest.mark.parametrize(
    ("fault", "said"),
    [({"word": "unauthorized"}, "does not accept the credentials"), ({"word": "drop"}, "was lost during GET")],
    ids=["forbids", "drops"],
)
def test_a_runtime_that_misbehaves_is_told_as_such_and_comes_back(
    capsys: pytest.CaptureFixture[str], skr_faults: FaultClient, fault: dict[str, str], said: str
) -> None:
    skr_faults.send(fault["word"], {})
    status, _, err = run(capsys, "compare", "skr")
    assert (status, said in err) == (1, True), err
    skr_faults.send("clear", {})
    assert run(capsys, "compare", "skr")[0] == 2


# an audit of the fleet


WATCHER = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Watcher")
LEFT = {"name": "left", "namespace": "kcp-system", "labels": {LABEL: "gone"}}


@pytest.fixture
def left_over(control: KubeCluster) -> Iterator[None]:
    """A Watcher that nobody made anything for, and a Manifest and a Secret whose Kyma is gone."""
    service = {"name": "klm-events", "namespace": "kcp-system", "port": 8082}
    spec = {
        "manager": "klm",
        "serviceInfo": service,
        "labelsToWatch": {"a": "b"},
        "field": "spec",
        "resourceToWatch": {"group": "operator.kyma-project.io", "version": "*", "resource": "kymas"},
        "gateway": {"selector": {"matchLabels": {"app": "klm"}}},
    }
    source = {"repo": "registry.local", "name": "kyma-project.io/module/x", "ref": "sha256:1", "type": "oci-ref"}
    install = {"name": "raw-manifest", "source": source}
    made = [
        {"apiVersion": WATCHER.api_version, "kind": "Watcher", "metadata": LEFT | {"name": "klm"}, "spec": spec},
        {
            "apiVersion": MANIFEST.api_version,
            "kind": "Manifest",
            "metadata": LEFT,
            "spec": {"remote": False, "version": "1.0.0", "install": install},
        },
        {"apiVersion": "v1", "kind": "Secret", "metadata": LEFT, "stringData": {"config": MARK}},
        {
            "apiVersion": "operator.kyma-project.io/v1beta2",
            "kind": "Manifest",
            "metadata": {"name": "ignored", "namespace": "default"},
            "spec": {"remote": False, "version": "1.0.0", "install": install},
        },
    ]
    for body in made:
        control.apply(body)
    yield
    for body in made:
        control.patch(read_ref(body), {"metadata": {"finalizers": None}}, PatchKind.MERGE)
        control.delete(read_ref(body))


@pytest.mark.usefixtures("left_over")
def test_the_fleet_is_audited_and_what_cannot_be_reached_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "audit", "--remote", "-o", "json", "--timeout", "60")
    assert MARK not in out
    report = json.loads(out)
    found = report["findings"]
    rules = ("runtime.unreachable", "runtime.access")
    assert (report["scope"]["kind"], len(report["scope"]["runtimes"]), report["scope"]["objects"]) == (
        "fleet",
        13,
        False,
    )
    assert (report["users"], report["requests"]["writes"], len(report["notRead"]) >= 12) == (["admin"], 0, True)
    results = {rule["id"]: rule["result"] for rule in report["rules"]}
    assert (results["rights.broad"], results["module.twice"]) == ("not applied", "incomplete")
    unreached = {one["runtime"]: one["message"] for one in found if one["rule"] in rules}
    assert status == 2
    assert len(unreached) == 12, "those that are there on paper only"
    assert sum(one["rule"] == "runtime.access" for one in found) == 8, "which is the Secret's fault, and not a server's"
    by = {(one["rule"], one.get("runtime"), one["object"]) for one in found}
    assert {
        ("manifest.orphan", None, "Manifest kcp-system/left"),
        ("manifest.ignored", None, "Manifest default/ignored"),
        ("access.orphan", None, "Secret kcp-system/left"),
        ("watcher.unknown", None, "Gateway"),
        ("watcher.broken", None, "Service kcp-system/klm-events"),
        ("watcher.broken", "skr", "Deployment kyma-system/skr-webhook"),
        ("drift.behind", "skr", "Deployment kyma-system/keda-manager"),
    } <= by
    assert not any(one.get("runtime") for one in found if one["rule"].startswith("template.")), "told once"
    assert len({*unreached.values()}) >= 9, "each kind of wrong has words of its own"
    assert any("leads to the runtime of kcp-system/skr" in words for words in unreached.values())
    assert "skr" not in unreached
    assert "state.error" in {one["rule"] for one in found if one.get("runtime") == "skr"}
    assert len({one["fingerprint"] for one in found}) == len(found)
    one = json.loads(run(capsys, "audit", "--remote", "skr", "-o", "json")[1])
    alike = {(it["rule"], it["module"]) for it in found if it.get("runtime") == "skr"}
    assert alike <= {(it["rule"], it["module"]) for it in one["findings"]}, "what the fleet tells of it, and more"
    status, out, _ = run(capsys, "audit", "--remote", next(iter(unreached)), "-o", "json")
    lost = json.loads(out)
    assert (status, [it["rule"] in rules for it in lost["findings"]]) == (2, [True])
    assert lost["cluster"] == f"kcp/{lost['kyma']}", "as where the runtime is reached"


# writing


def server(cluster: KubeCluster) -> str:
    return cluster.client.transport.connection.endpoint.host


@pytest.mark.parametrize(
    ("context", "resource"),
    [
        ("skr", "customresourcedefinitions.apiextensions.k8s.io"),
        ("skr", "kymas.operator.kyma-project.io"),
        ("kcp", "moduletemplates.operator.kyma-project.io"),
        ("kcp", "manifests.operator.kyma-project.io"),
    ],
)
def test_a_list_that_breaks_off_once_does_not_change_the_plan(
    capsys: pytest.CaptureFixture[str], two_clusters: Path, context: str, resource: str
) -> None:
    words = ("delete", "keda", "--cascade", "--dry-run", "--remote", "skr", "-o", "json")
    whole = run(capsys, *words)
    faults = FaultClient.for_kubeconfig(two_clusters, context)
    faults.send("drop", {"resource": resource, "count": 1})
    try:
        assert run(capsys, *words) == whole
        assert faults.send("list", {})["faults"] == []
    finally:
        faults.send("clear", {})
    assert whole[0] == 0


SUMMARY = re.compile(r"\d+ to (create|change|delete)(, \d+ to (change|delete))*(, \d+ modules? to (un)?install)*")


def test_plans_and_questions_name_the_runtime_and_its_control_plane(
    capsys: pytest.CaptureFixture[str], control: KubeCluster, runtime: KubeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = f"runtime kcp-system/skr ({server(runtime)}) of context kcp ({server(control)})"
    line = f"Cluster: {line}, namespace kyma-system, read-write"
    terminal = io.StringIO("n\n" * 9)
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    for words in (("disable", "keda"), ("label", "beta-"), ("delete", "keda", "--cascade")):
        command = (*words, "--remote", "skr")
        first, *kyma, summary = run(capsys, *command, "--dry-run")[1].partition("\n\n")[0].splitlines()
        edited = {"disable": "kyma-system/default", "label": "kcp-system/skr"}.get(words[0], "")
        assert kyma == ([f"Kyma: {edited}"] if edited else [])
        assert (first, bool(SUMMARY.fullmatch(summary))) == (line, True), summary
        target = json.loads(run(capsys, *command, "--dry-run", "-o", "json")[1])["target"]
        assert (target["runtime"], target["context"], target["read_only"]) == ("kcp-system/skr", "kcp", False)
        status, _, err = run(capsys, *command)
        assert (status, err.splitlines()[0]) == (2, line), err
        named = "runtime kcp-system/skr of context kcp? "
        assert (f" in {named}" if not kyma else f" in Kyma {edited} of {named}") in err


def fleet(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return run(capsys, "enable", "connectivity-proxy", "--fleet", "--yes", *words)


@pytest.mark.usefixtures("patient")
def test_edits_go_to_the_runtime_and_over_a_fleet_only_when_allowed(
    capsys: pytest.CaptureFixture[str], control: KubeCluster, runtime: KubeCluster
) -> None:
    def asked() -> bool:
        kyma = runtime.get(ObjectRef(KYMA, "kyma-system", "default"))
        return kyma is not None and "connectivity-proxy" in [one["name"] for one in kyma["spec"]["modules"]]

    plan = json.loads(fleet(capsys, "--dry-run", "-o", "json")[1])
    assert (plan["target"]["context"], plan["target"]["server"]) == ("kcp", server(control))
    line = f"Cluster: context kcp ({server(control)}), all namespaces, read-write"
    assert fleet(capsys, "--dry-run", "--runtime", "skr")[1].splitlines()[:2] == [line, "1 runtime: 1 to change"]
    assert plan["counts"] == {"planned": 1, "unreachable": 12}
    assert any("leads to the runtime of kcp-system/skr" in one["words"] for one in plan["runtimes"])
    two = {one["outcome"]: one["runtime"].rpartition("/")[2] for one in plan["runtimes"]}
    names = [word for name in two.values() for word in ("--runtime", name)]
    assert (fleet(capsys, "--runtime", "skr")[0], asked()) == (2, False)
    assert (fleet(capsys, "--runtime", "skr", "--read-only", "--allow-fleet-writes")[0], asked()) == (4, False)
    status, out, err = fleet(capsys, "--allow-fleet-writes", "-o", "json", *names)
    assert (status, asked()) == (3, True), "one runtime could not be reached"
    assert json.loads(out)["counts"] == {"unreachable": 1, "done": 1}
    assert "1 unreachable runtime is left; `kymatui audit --remote` says why" in err
    again = fleet(capsys, "--allow-fleet-writes", "--runtime", "skr", "-o", "json")
    assert (again[0], json.loads(again[1])["counts"]) == (0, {"unchanged": 1})
    status, _, err = fleet(capsys, "--allow-fleet-writes", *names)
    assert (status, "1 of 2 runtimes cannot be changed: " in err, two["unreachable"] in err) == (3, True, True), err
    assert "run the command again" not in err
    status, _, err = fleet(capsys, "--allow-fleet-writes", "--runtime", two["unreachable"])
    assert (status, "1 of 1 runtime cannot be changed: " in err) == (2, True), err
    assert fleet(capsys, "--dry-run", *names)[0] == 3, "as the edit would"
    stored = control.get(ObjectRef(KYMA, "kcp-system", "skr"))
    assert stored is not None
    assert not stored["spec"].get("modules"), "the control plane's Kyma is not written to"
    assert run(capsys, "disable", "connectivity-proxy", "--remote", "skr", "--yes")[0] == 0
    assert not asked()


def test_the_kyma_that_is_edited_is_the_one_that_git_must_not_own(
    capsys: pytest.CaptureFixture[str], control: KubeCluster, runtime: KubeCluster
) -> None:
    sides = ((control, ObjectRef(KYMA, "kcp-system", "skr")), (runtime, ObjectRef(KYMA, "kyma-system", "default")))
    warning = "Flux Kustomization {} applies {} and may revert this change: make it in Git"
    for cluster, kyma in sides:
        label = {"kustomize.toolkit.fluxcd.io/name": cluster.name}
        cluster.patch(kyma, {"metadata": {"labels": label}}, PatchKind.MERGE)
        try:
            words = (("disable", "keda"), ("delete", "keda"))
            plans = [json.loads(run(capsys, *verb, "--remote", "skr", "--dry-run", "-o", "json")[1]) for verb in words]
        finally:
            cluster.patch(kyma, {"metadata": {"labels": dict.fromkeys(label)}}, PatchKind.MERGE)
        warnings = {*plans[0]["warnings"], *plans[1]["foreseen"]}
        is_edited = cluster is runtime
        assert (warning.format(cluster.name, kyma) in warnings) == is_edited, warnings
        assert any(words.startswith("Flux ") for words in warnings) == is_edited, warnings
        assert all("Flux " in str(plan) for plan in plans) == is_edited, "each of the two"
        assert {plan["outcome"] for plan in plans} == {"refused" if is_edited else "planned"}


@pytest.fixture
def flux(runtime: KubeCluster) -> Iterator[str]:
    """The runtime's Kyma comes from Git: a Kustomization of the runtime, whose interval can be read, applies it."""
    group, name = "kustomize.toolkit.fluxcd.io", "Flux Kustomization kyma-system/apps"
    kyma, definition = ObjectRef(KYMA, "kyma-system", "default"), make.definition(group, "Kustomization")
    runtime.create(definition)
    source = make.custom(group, "Kustomization", "apps", "kyma-system", interval="10m", path="./kyma")
    eventually(lambda: bool(runtime.kinds(group, "Kustomization")), "it is served")
    runtime.create(source)
    labels = {f"{group}/name": "apps", f"{group}/namespace": "kyma-system"}
    runtime.patch(kyma, {"metadata": {"labels": labels}}, PatchKind.MERGE)
    yield name
    runtime.patch(kyma, {"metadata": {"labels": dict.fromkeys(labels)}}, PatchKind.MERGE)
    runtime.delete(read_ref(definition))


@pytest.mark.usefixtures("patient")
def test_a_kyma_of_git_is_edited_only_where_a_person_overrides_it(
    capsys: pytest.CaptureFixture[str], runtime: KubeCluster, flux: str
) -> None:
    words = ("policy", "keda", "Ignore", "--remote", "skr")

    def policy() -> str:
        kyma = runtime.get(ObjectRef(KYMA, "kyma-system", "default"))
        assert kyma is not None
        return str({one["name"]: one for one in kyma["spec"]["modules"]}["keda"]["customResourcePolicy"])

    was = policy()
    status, out, err = run(capsys, *words, "--dry-run")
    assert (status, f"for the repository of {flux}:" in out, "customResourcePolicy: Ignore" in out) == (2, True, True)
    assert f"{flux} applies Kyma kyma-system/default and may revert this change: make it in Git" in err
    assert "--override-gitops makes it here, for at most 10m, its interval" in err
    status, out, _ = run(capsys, *words, "--yes", "-o", "json")
    refused = json.loads(out)
    assert (status, refused["outcome"], policy()) == (2, "refused", was)
    (change,) = refused["git"]
    assert (change["source"], change["object"]) == (flux, "Kyma kyma-system/default")
    assert set(change["manifest"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert "kustomize" not in json.dumps(change["manifest"])
    fleet_words = ("policy", "keda", "Ignore", "--fleet", "--runtime", "skr", "--allow-fleet-writes", "--yes")
    status, _, err = run(capsys, *fleet_words)
    assert (status, "--override-gitops makes it here" in err, policy()) == (2, True, was)
    (change,) = json.loads(run(capsys, *fleet_words, "-o", "json")[1])["git"]
    assert (change["name"], change["source"]) == ("kcp-system/skr", flux)
    for command in (words, fleet_words):
        status, _, err = run(capsys, *command, "--yes", "--override-gitops")
        assert (status, policy()) == (0, "Ignore"), err
        assert (
            command is fleet_words
            or f"this lasts for at most 10m, its interval; a field that Git does not have stays ({flux})" in err
        )
        assert run(capsys, "policy", "keda", was, *command[3:], "--yes", "--override-gitops")[0] == 0


def test_a_fleet_is_not_named_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    assert fleet(capsys, "--skr-context", "skr")[0] == 64
    assert fleet(capsys, "--runtime", "nobody")[0] == 64


@pytest.mark.parametrize("verb", ["enable", "disable", "unmanage"])
def test_a_module_that_no_runtime_has_is_a_typo_over_a_fleet_too(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, verb, "kedaa", "--fleet", "--dry-run")
    assert (status, out) == (64, "")
    assert 'no module "kedaa" in the control plane kcp; did you mean keda?' in err
    assert main(["enable", "istio", "--fleet", "--at-once", "99"]) == 64


# direct installations and deletions in a runtime


def test_an_installation_goes_to_the_runtime_and_is_kept_under_its_name(
    capsys: pytest.CaptureFixture[str], control: KubeCluster, runtime: KubeCluster, tmp_path: Path
) -> None:
    where = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "kyma-system", "shop")
    source, plan, backup = tmp_path / "shop.yaml", tmp_path / "plan.json", tmp_path / "backup.yaml"
    source.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: shop, namespace: kyma-system}}")
    given = ("shop", "--file", str(source), "--remote", "skr")
    assert json.loads(run(capsys, "plan", *given, "--out", str(plan), "-o", "json")[1])["cluster"] == NAMED
    assert run(capsys, "apply", str(plan), "--context", "skr", "--yes")[0] == 2, "a plan is for one cluster"
    assert run(capsys, "apply", str(plan), "--remote", "skr", "--read-only")[0] == 4
    assert runtime.get(where) is None
    status, _, err = run(capsys, "apply", str(plan), "--remote", "skr", "--yes")
    assert (status, runtime.get(where) is None, control.get(where)) == (0, False, None), err
    again = json.loads(run(capsys, "upgrade", *given, "-o", "json", "--dry-run")[1])
    assert [step["action"] for step in again["steps"]] == ["same"]
    assert run(capsys, "delete", "shop", "--remote", "skr", "--yes", "--backup", str(backup))[0] == 0
    assert runtime.get(where) is None
    assert run(capsys, "restore", str(backup), "--remote", "skr", "--yes")[0] == 0
    assert (runtime.get(where) is None, control.get(where)) == (False, None)
    runtime.delete(where)
    assert journals_folder().joinpath(NAMED.replace("/", "_")).is_dir()
    jobs = sorted((one.heading.kind, one.cluster.name) for one in job_records() if one.is_done)
    assert jobs == [("apply", NAMED), ("delete", NAMED), ("restore", NAMED)]


def test_an_interrupted_job_on_a_runtime_is_in_its_catalog_and_continued_there(
    capsys: pytest.CaptureFixture[str],
) -> None:
    catalog = ("catalog", "--remote", "skr", "-o", "json")
    modules = json.loads(run(capsys, *catalog)[1])["modules"]
    name = next(one["name"] for one in modules if one["reports"]["kyma"] == "Ready")
    job = open_job(ClusterName(NAMED), JobPurpose("manage", (name,)), f"let lifecycle-manager manage {name}")
    job.journal.write(JournalMark.BEGUN, "edit", name)
    job.end(CancelledError("stopped"))
    command = f"kymatui resume {job.number} --remote skr"
    problems = json.loads(run(capsys, *catalog)[1])["problems"]
    assert [problem["module"] for problem in problems if problem["command"] == command] == [name]
    status, _, err = run(capsys, "resume", job.number, "--yes")
    assert (status, f"run `kymatui resume {job.number} --remote skr`" in err.replace("\n", " ")) == (2, True), err
    status, _, err = run(capsys, "resume", job.number, "--yes", "--remote", "skr")
    assert status == 0, err
    assert command not in run(capsys, *catalog)[1]


def test_what_is_created_in_the_runtime_after_the_plan_is_left(
    capsys: pytest.CaptureFixture[str], runtime: KubeCluster, tmp_path: Path
) -> None:
    where = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "kyma-system", "shop")
    source = tmp_path / "shop.yaml"
    source.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: shop, namespace: kyma-system}}")
    assert run(capsys, "install", "shop", "--file", str(source), "--remote", "skr", "--yes")[0] == 0

    def replace_it() -> None:
        live = runtime.get(where)
        assert live is not None
        runtime.delete(where)
        labels = {"name": "shop", "namespace": "kyma-system", "labels": live["metadata"]["labels"]}
        runtime.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": labels}, manager="other")

    asked = ask(["delete", "shop", "--remote", "skr", "--no-backup"], replace_it)
    live = runtime.get(where)
    assert (asked.asked, live is not None) == (1, True), asked
    assert "not deleted: ConfigMap kyma-system/shop (it was created after the plan was displayed)" in asked.out
    runtime.delete(where)


@pytest.fixture
def by_kubectl(control: KubeCluster, runtime: KubeCluster) -> Iterator[list[ObjectRef]]:
    """registry-proxy 0.14.0 in the runtime, as kubectl applies its manifest, and the templates of two versions."""
    templates = [one for one in control.list(TEMPLATE) if one["metadata"]["name"].startswith("registry-proxy-")]
    made = [{**one, "metadata": {"name": one["metadata"]["name"], "namespace": "default"}} for one in templates]
    link = next(one["spec"]["resources"][0]["link"] for one in made if one["spec"]["version"] == "0.14.0")
    bodies = yaml_objects.from_url(link, open_fetcher(), name="registry-proxy", namespace="registry-proxy").objects
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "registry-proxy"}}
    refs = []
    for body in [*made, *(body for wave in install_waves((space, *bodies)) for body in wave)]:
        with contextlib.suppress(ConflictError):
            runtime.create(body, manager="kubectl-client-side-apply")
        runtime.forget_kinds()
        refs.append(read_ref(body))
    yield refs
    main(["delete", "registry-proxy", "--remote", "skr", "--yes", "--cascade", "--no-backup"])
    for ref in refs:
        with contextlib.suppress(NotFoundError):
            runtime.delete(ref)
    eventually(lambda: all(runtime.get(ref) is None for ref in refs))


@pytest.mark.parametrize("is_kept", [False, True])
def test_what_kubectl_installed_in_a_runtime_is_adopted_and_upgraded_by_one_plan(
    is_kept: bool,
    capsys: pytest.CaptureFixture[str],
    control: KubeCluster,
    runtime: KubeCluster,
    by_kubectl: list[ObjectRef],
    tmp_path: Path,
) -> None:
    words, kept = ["upgrade", "registry-proxy"], str(tmp_path / "plan.json")
    eventually(lambda: "0.14.0" in run(capsys, "module", "registry-proxy", "--remote", "skr")[1])
    if is_kept:
        status, out, err = run(capsys, "plan", "registry-proxy", "--remote", "skr", "--out", kept)
        assert (status, "upgrades it 0.14.0 → 0.15.0: kymatui becomes the owner" in out) == (0, True), err
        words = ["apply", kept]
    status, out, err = run(capsys, *words, "--remote", "skr", "--dry-run")
    assert (status, "upgrades it 0.14.0 → 0.15.0: kymatui becomes the owner" in out) == (0, True), err
    status, out, err = run(capsys, *words, "--remote", "skr", "--yes", "--no-wait")
    assert status == 0, err
    for ref in by_kubectl:
        live = runtime.get(ref)
        if live is not None and ref.kind.kind not in ("Namespace", "CustomResourceDefinition", "ModuleTemplate"):
            assert "kubectl-client-side-apply" not in field_managers(live), ref
            assert control.get(ref) is None
    status, out, err = run(capsys, "upgrade", "registry-proxy", "--remote", "skr", "--yes", "--no-wait")
    assert (status, out.startswith("registry-proxy: no changes")) == (0, True), out + err


def test_what_its_control_plane_manages_is_not_installed_in_a_runtime(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "install", "keda", "--remote", "skr", "--direct", "--yes")
    assert (status, "keda is managed by lifecycle-manager" in err) == (2, True), err
    status, _, err = run(capsys, "install", "keda", "--remote", "skrr", "--yes")
    assert (status, "did you mean skr" in err) == (64, True)


def test_a_deletion_is_watched_on_both_sides(
    capsys: pytest.CaptureFixture[str], control: KubeCluster, tmp_path: Path
) -> None:
    assert run(capsys, "enable", "connectivity-proxy", "--remote", "skr", "--yes")[0] == 0
    words = ("delete", "connectivity-proxy", "--remote", "skr", "-o", "json")
    seen = json.loads(run(capsys, *words, "--dry-run")[1])
    assert (seen["cluster"], seen["manifest"]["cluster"], seen["manifest"]["state"]) == (NAMED, "kcp", "Ready")
    assert [one["object"] for one in seen["remaining"]] == ["ConnectivityProxy kyma-system/default"]
    status, out, err = run(capsys, *words, "--yes")
    assert (status, json.loads(out)["outcome"]) == (0, "done"), err
    labels = f"{LABEL}=skr,operator.kyma-project.io/module-name=connectivity-proxy"
    assert control.list(MANIFEST, "kcp-system", labels=labels) == []
    assert [path.parent.name for path in journals_folder().parent.glob("backups/*/*")] == [NAMED.replace("/", "_")]
