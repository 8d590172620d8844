"""`kymatui rights`: the printed Role lets a user without rights run the command, and with one rule less it fails."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.cli.main import main
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.cli.unseen_manifests import offer
from tests.sandboxes.starting import ready_sandbox, told_sandbox

USER = "jane"
HELD = "example.org/held"
TAX = ObjectRef(GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function"), "billing", "tax")
VERBS: dict[str, tuple[str, ...]] = {
    "channel": ("channel", "keda", "fast", "--no-wait"),
    "enable": ("enable", "connectivity-proxy", "--no-wait"),
    "disable": ("disable", "cluster-ip", "--no-wait"),
    "manage": ("manage", "cloud-manager", "--no-wait"),
    "unmanage": ("unmanage", "cluster-ip", "--no-wait"),
    "policy": ("policy", "cluster-ip", "Ignore", "--no-wait"),
    "label": ("label", "internal=true", "--no-wait"),
    "install": ("install", "backup-operator"),
    "upgrade": ("upgrade", "docker-registry"),
    "adopt": ("adopt", "docker-registry"),
    "delete": ("delete", "backup-operator"),
    "manifest": ("manifest", "cache", "--no-wait"),
    "restore": ("restore", "backup-operator", "--timeout", "2"),
    "edit": ("edit", "keda"),
    "finalizers": ("finalizers", "serverless", "--object", "billing/tax", "--remove", HELD),
    "logs": ("logs", "keda"),
}
ASKED = {**dict.fromkeys(VERBS, ("--yes",)), "finalizers": ("--typed", "billing/tax"), "logs": ()}
"""What accepts the plan of a command."""


def install(_: Cluster) -> None:
    assert run("install", "backup-operator", "--yes")[0] == 0


def delete_held_object(cluster: Cluster) -> None:
    cluster.patch(TAX, {"metadata": {"finalizers": [HELD]}}, PatchKind.MERGE)
    cluster.delete(TAX)


def install_and_delete(cluster: Cluster) -> None:
    install(cluster)
    assert run("delete", "backup-operator", "--yes")[0] == 0


SETUPS = {"delete": install, "restore": install_and_delete, "finalizers": delete_held_object}


def set_up(verb: str, kubeconfig: Path) -> None:
    if verb in SETUPS:
        SETUPS[verb](open_cluster(SessionOptions(str(kubeconfig))))


@contextmanager
def prepared(verb: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cluster of its own in which a verb has something to do; that of Manifests has no lifecycle-manager."""
    with ready_sandbox("own") if verb == "manifest" else told_sandbox() as running:
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
        set_up(verb, running.kubeconfig)
        if verb == "manifest":
            offer(open_cluster(SessionOptions(str(running.kubeconfig))), running.registry)
        yield running.kubeconfig


def run(*words: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as end:
            status = int(end.code or 0)
    return status, out.getvalue(), err.getvalue()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/level: info/level: debug/' \"$1\"\n")
    editor.chmod(0o755)
    monkeypatch.delenv("KUBE_EDITOR", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    return tmp_path


def printed(words: tuple[str, ...]) -> list[dict[str, Any]]:
    action, *arguments = words
    names = list(takewhile(lambda word: not word.startswith("--"), arguments))
    options = arguments[len(names) :]
    status, out, err = run("rights", action, *names, "--as", USER, "-o", "yaml", f"--options={' '.join(options)}")
    assert status == 2, out + err
    return [body for body in yaml.safe_load_all(out) if body]


def apply(kubeconfig: Path, manifests: list[dict[str, Any]], context: str = "") -> None:
    cluster = open_cluster(SessionOptions(str(kubeconfig), context))
    for body in manifests:
        cluster.apply(body)


RULES = int(os.environ.get("KYMATUI_RIGHTS_RULES", "3"))
"""How many rules of each Role are left out, one after the other; a run over all of them takes ten minutes."""


def less_one(manifests: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for number, body in enumerate(manifests):
        rules = body.get("rules") or []
        for index, rule in enumerate(rules):
            if len(rules) > RULES and index % -(-len(rules) // RULES):
                continue
            changed = {**body, "rules": [*rules[:index], *rules[index + 1 :]]}
            yield json.dumps(rule), [*manifests[:number], changed, *manifests[number + 1 :]]


@pytest.mark.parametrize("verb", VERBS)
def test_the_printed_role_is_enough_and_no_more(verb: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = VERBS[verb]
    with prepared(verb, monkeypatch) as kubeconfig:
        manifests = printed(words)
        apply(kubeconfig, manifests)
        status, out, err = run(*words, *ASKED[verb], "--as", USER)
        assert status == 0, yaml.safe_dump_all(manifests) + out + err
    needless = []
    for rule, fewer in less_one(manifests):
        with prepared(verb, monkeypatch) as kubeconfig:
            apply(kubeconfig, fewer)
            if run(*words, *ASKED[verb], "--as", USER)[0] == 0:
                needless.append(rule)
    assert needless == []


@pytest.fixture(scope="module")
def world() -> Iterator[Path]:
    with told_sandbox() as running:
        yield running.kubeconfig


def test_without_arguments_it_is_about_what_the_catalog_reads(
    world: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(world))
    status, out, _ = run("rights", "--as", "viewer")
    assert status == 2
    assert "viewer lacks" in out
    assert "kymas.operator.kyma-project.io" in out
    assert "secrets" not in out, "the list of all Secrets is not given away unasked"
    assert "secrets" in run("rights", "--as", "viewer", "--secrets")[1]
    apply(world, printed_catalog("viewer"))
    assert run("rights", "--as", "viewer")[0] == 0
    status, out, err = run("catalog", "--as", "viewer")
    assert status == 0
    assert "keda" in out
    assert "you may not list secrets" in err


def printed_catalog(user: str) -> list[dict[str, Any]]:
    return [body for body in yaml.safe_load_all(run("rights", "--as", user, "-o", "yaml")[1]) if body]


def test_a_user_with_every_right_lacks_none(world: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(world))
    status, out, _ = run("rights", "enable", "cluster-ip", "-o", "json")
    answer = json.loads(out)
    assert (status, answer["allowed"], answer["missing"], answer["manifests"]) == (0, True, [], [])


def test_what_a_user_cannot_find_out_is_reported_as_unknown(
    world: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --as the plan is read with the user's own permissions, which end before the plan is known."""
    token = home / "kubeconfig"
    body = yaml.safe_load(world.read_text())
    body["users"][0]["user"] = {"token": "viewer"}
    token.write_text(yaml.safe_dump(body))
    monkeypatch.setenv("KUBECONFIG", str(token))
    status, out, _ = run("rights", "install", "backup-operator")
    assert status == 2
    assert "More may be missing: " in out


ADVICE = "`kymatui (rights [^`]*)`( with the arguments of this command)? prints the Role"
READER = [
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}],
    },
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name} for name in ("reader", "viewer")
        ],
    },
]


def test_the_command_that_a_refusal_names_prints_a_role(
    world: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(world))
    apply(world, READER)
    try:
        for verb, words in VERBS.items():
            if verb in ("logs", "manifest"):  # a reader may; lifecycle-manager writes Manifests here
                continue
            set_up(verb, world)
            status, _, err = run(*words, *ASKED[verb], "--as", "reader")
            advice = re.search(ADVICE, err)
            assert (status != 0, advice is not None) == (True, True), (verb, err)
            assert advice is not None
            assert advice[1].split()[1] in (verb, "adopt")  # the upgrade adopts what kubectl installed
            arguments = VERBS[verb][1:] if advice[2] else ()
            status, out, err = run(*shlex.split(advice[1]), *arguments, "--as", "reader")
            assert (status, "reader lacks" in out) == (2, True), (advice[1], out, err)
    finally:
        assert run("delete", "backup-operator", "--yes", "--no-backup")[0] == 0


def test_the_action_is_checked() -> None:
    assert run("rights", "enabel", "keda")[2].startswith('kymatui: no action "enabel"; did you mean enable')
    assert run("rights", "catalog", "keda")[0] == 64


def test_an_audit_names_the_lists_that_it_may_not_read_in_one_line(
    world: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(world))
    kinds = {"apiGroups": ["operator.kyma-project.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    metadata = {"name": "kymas-only"}
    binding = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "kymas-only"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "kymas-only"}],
    }
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": metadata}
    role = {**head, "kind": "ClusterRole", "rules": [kinds]}
    apply(world, [role, {**head, "kind": "ClusterRoleBinding", **binding}])
    _, _, err = run("audit", "--as", "kymas-only")
    (line,) = [line for line in err.splitlines() if "not read" in line]
    assert "deployments.apps" in line
    assert "`kymatui rights` prints the Role" in line


@contextmanager
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with ready_sandbox("kcp", "skr", empty=False, settled=True, fleet=1, viewer_token="viewer") as running:
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
        yield running.kubeconfig


@pytest.mark.parametrize("words", [("channel", "istio", "fast"), ("delete", "telemetry")], ids=" ".join)
def test_the_roles_for_a_runtime_are_enough_and_no_more_on_its_control_plane(
    words: tuple[str, ...], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_runtime = ("--remote", "skr", "--context", "kcp")
    command = (*words, "--yes", *on_runtime, "--as", USER)
    with runtime(monkeypatch) as kubeconfig:
        assert run(*command)[0] != 0
        as_jane = yaml.safe_load(kubeconfig.read_text())
        for user in as_jane["users"]:
            user["user"]["as"] = USER
        (home / "jane").write_text(yaml.safe_dump(as_jane))
        status, out, _ = run("rights", *words, *on_runtime, "--kubeconfig", str(home / "jane"))
        assert (status, "More may be missing: kymas" in out) == (2, True), out
        status, out, err = run("rights", *words, *on_runtime, "--as", USER, "--on", "control-plane", "-o", "yaml")
        assert (status, out.splitlines()[0].endswith(" on the control plane kcp.")) == (2, True), out + err
        manifests = [body for body in yaml.safe_load_all(out) if body]
        apply(kubeconfig, manifests)
        status, out, err = run(*command)
        assert status == 0, yaml.safe_dump_all(manifests) + out + err
        document = json.loads(run("rights", *words, *on_runtime, "--as", USER, "-o", "json")[1])
        assert [(side["side"], side["allowed"]) for side in document["clusters"]] == [
            ("control-plane", True),
            ("runtime", True),
        ]
    needless = []
    for rule, fewer in less_one(manifests):
        with runtime(monkeypatch) as kubeconfig:
            apply(kubeconfig, fewer)
            if run(*command)[0] == 0:
                needless.append(rule)
    assert needless == []


def test_a_refusal_of_a_runtime_names_the_command_that_prints_the_role_for_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with runtime(monkeypatch) as kubeconfig:
        body = yaml.safe_load(kubeconfig.read_text())
        body["current-context"] = "skr"
        for user in body["users"]:
            user["user"] = {"token": "viewer"}
        (home / "viewer").write_text(yaml.safe_dump(body))
        apply(kubeconfig, READER, "skr")
        of_runtime = ("--context", "kcp", "--skr-kubeconfig", str(home / "viewer"))
        command = ("channel", "istio", "fast", "--yes", "--remote", "skr", *of_runtime)
        status, _, err = run(*command)
        advice = re.search(ADVICE, err)
        assert advice is not None, err
        assert (status, advice[1]) == (1, "rights channel istio fast --remote skr")
        status, out, err = run(*shlex.split(advice[1]), *of_runtime, "--on", "runtime", "-o", "yaml")
        assert (status, "More may be missing" in out) == (2, False), out + err
        apply(kubeconfig, [body for body in yaml.safe_load_all(out) if body], "skr")
        assert run(*command)[0] == 0
