"""Whoever may not list one kind of a control plane or of its runtime: every command about both states what it knows.

Each answer is compared with that of somebody who may list everything: what differs has to be said to be unknown.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.main import main
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sessions.control_plane.pair_session import PairSession
from tests.cli.test_unlisted_fleet import strange
from tests.engine.places import eventually
from tests.sandboxes.starting import ready_sandbox

pytestmark = pytest.mark.xdist_group("unlisted-pairs")  # one sandbox, and what everybody reads of it, for all of them

Json = dict[str, Any]
RUNTIME = "skr"
SIDES = ("kcp", "skr")
KINDS = (
    "kymas",
    "modulereleasemetas",
    "moduletemplates",
    "manifests",
    "watchers",
    "deployments",
    "pods",
    "nats",
    "customresourcedefinitions",
    "validatingwebhookconfigurations",
)
_RBAC = "rbac.authorization.k8s.io"
COMMANDS = {
    "compare": ("compare", RUNTIME),
    "sync": ("sync", RUNTIME),
    "events": ("events", "nats", "--remote", RUNTIME),
    "windows": ("windows",),
    "watchers": ("watchers", RUNTIME),
    "catalog": ("catalog", "--remote", RUNTIME),
    "audit": ("audit", "--remote", RUNTIME),
    "audit of the control plane": ("audit",),
}


@pytest.fixture(scope="module")
def viewer() -> Iterator[Path]:
    """The kubeconfig of somebody with both clusters."""
    with ready_sandbox("kcp", "skr", empty=False, settled=True, viewer_token="viewer") as running:
        for side in SIDES:
            grant(running.kubeconfig, side, "")
        running.kubeconfig.with_name("everybody").write_text(running.kubeconfig.read_text())
        config = yaml.safe_load(running.kubeconfig.read_text())
        for user in config["users"]:
            user["user"] = {"token": "viewer"}
        path = running.kubeconfig.with_name("viewer")
        path.write_text(yaml.safe_dump(config))
        yield path


@pytest.fixture(scope="module")
def whole(viewer: Path) -> dict[str, tuple[int, Json]]:
    return {}


def grant(kubeconfig: Path, side: str, hidden: str) -> None:
    """Let the viewer list every kind but one."""
    cluster = KubeCluster(Client(Transport(connect(str(kubeconfig), side))))
    kinds: dict[str, set[str]] = defaultdict(set)
    for kind in cluster.all_kinds():
        if kind.resource != hidden:
            kinds[kind.gvk.group].add(kind.resource)
    verbs, meta = ["get", "list", "watch"], {"name": "pair-view"}
    rules = [{"apiGroups": [group], "resources": sorted(names), "verbs": verbs} for group, names in kinds.items()]
    cluster.apply({"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules})
    role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "pair-view"}
    who = [{"apiGroup": _RBAC, "kind": "User", "name": "viewer"}]
    body = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRoleBinding", "metadata": meta, "roleRef": role}
    cluster.apply({**body, "subjects": who})
    cluster.client.transport.close()


def read(viewer: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> tuple[int, Json, str]:
    both = ["--skr-kubeconfig", str(viewer), "--skr-context", "skr"] if RUNTIME in words else []
    capsys.readouterr()
    status = main(["--kubeconfig", str(viewer), "--context", "kcp", *words, *both, "-o", "json"])
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return status, json.loads(said.out) if said.out else {}, said.err


def compare(found: Json, full: Json) -> Iterator[str]:
    """A line of a comparison is the same, or its verdict is unknown; what is missing is under an unknown line."""
    known = {(one["about"], one["subject"], one["field"]): one for one in full["lines"]}
    for line in found["lines"]:
        before = known.pop((line["about"], line["subject"], line["field"]), None)
        if line["verdict"] == "unknown":
            continue
        if before is None or any(line[key] not in (before[key], "?", "unknown") for key in ("kcp", "skr")):
            yield f"{line}, not {before}"
    if any(one["verdict"] != "same" for one in known.values()) and not found["counts"]["unknown"]:
        yield f"nothing is said of {list(known)}"


def sync(found: Json, full: Json) -> Iterator[str]:
    known = {(one["kind"], one["name"]): one for one in full["catalog"]}
    for one in found["catalog"]:
        before = known.pop((one["kind"], one["name"]), None)
        if one["standing"] != "unknown" and (before is None or one["standing"] != before["standing"]):
            yield f"{one}, not {before}"
        if before is not None and one["wanted"] not in (None, before["wanted"]):
            yield f"{one['name']} wanted: {one['wanted']}"
    if known and not found["unknown"] and not any(one["standing"] == "unknown" for one in found["catalog"]):
        yield f"nothing is said of {list(known)}"


def events(found: Json, full: Json) -> Iterator[str]:
    listed, known = ({json.dumps(one["object"]) for one in answer["events"]} for answer in (found, full))
    if listed - known:
        yield f"more than there are: {listed - known}"
    if known - listed and not found["unknown"]:
        yield f"nothing is said of {known - listed}"


def watchers(found: Json, full: Json) -> Iterator[str]:
    known = {(one["watcher"], link["link"]): link for one in full["watchers"] for link in one["links"]}
    for one in found["watchers"]:
        for link in one["links"]:
            before = known.get((one["watcher"], link["link"]), {})
            if link["health"] not in ("unknown", before.get("health")):
                yield f"{one['watcher']}: {link}, not {before}"


def windows(found: Json, full: Json) -> Iterator[str]:
    yield from strange(found["runtimes"], full["runtimes"])


def audit(found: Json, full: Json) -> Iterator[str]:
    """Findings are those of everybody, or say what cannot be known.

    Who does not know that lifecycle-manager keeps the version of a module still knows its version and its state.
    """
    known = {(one["rule"], one["module"]) for one in full["findings"]}
    for module in [module for rule, module in known if rule == "drift.held-back"]:
        known |= {("drift.ahead", module), ("state.warning", module)}
    for one in found["findings"]:
        unsure = one["rule"].endswith((".unread", ".unknown", ".unreached", ".unseen")) or "forbidden" in one["message"]
        if not unsure and (one["rule"], one["module"]) not in known:
            yield f"{one['rule']} of {one['module']}: {one['message']}"
    left = {(one["rule"], one["module"]) for one in full["findings"]}
    left -= {(one["rule"], one["module"]) for one in found["findings"]}
    if left and not any(one["rule"] in ("access.unread", "runtime.unreachable") for one in found["findings"]):
        yield f"nothing is said of {sorted(map(str, left))}"


def catalog(found: Json, full: Json) -> Iterator[str]:
    """No module is said to be known that others do not have; where the modules may be more, that is said."""
    names = [{one["name"] for one in answer["modules"]} for answer in (found, full)]
    if names[0] - names[1]:
        yield f"more than there are: {names[0] - names[1]}"
    if names[1] - names[0] and "modules" not in found["unknown"]:
        yield f"nothing is said of {names[1] - names[0]}"
    for one in found["modules"]:
        if "not offered" in one["reason"] and "forbidden" in one["reason"]:
            yield one["reason"]


CHECKS = {
    "compare": compare,
    "sync": sync,
    "events": events,
    "windows": windows,
    "watchers": watchers,
    "catalog": catalog,
    "audit": audit,
    "audit of the control plane": audit,
}


def read_whole(viewer: Path, whole: dict[str, tuple[int, Json]], capsys: pytest.CaptureFixture[str]) -> None:
    """Read every answer once as somebody who may list everything."""
    for name, words in COMMANDS.items() if not whole else ():
        status, answer, err = read(viewer, capsys, words)
        assert "error" not in answer, (name, err)
        whole[name] = status, answer


@pytest.mark.parametrize(("side", "hidden"), [("kcp", "manifests"), ("kcp", "moduletemplates"), ("skr", "nats")])
def test_no_command_about_two_clusters_states_what_a_list_would_tell_that_is_loading(
    viewer: Path,
    whole: dict[str, tuple[int, Json]],
    side: str,
    hidden: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admin, feed = viewer.with_name("everybody"), f"{hidden}.operator.kyma-project.io"
    read_whole(viewer, whole, capsys)
    faults = FaultClient.for_kubeconfig(admin, side)
    wait_complete = PairSession.wait_complete

    def wait_for_the_others(session: PairSession, timeout: float) -> bool:
        """Give every other list its time: the command waits for the one that hangs, and for nothing else."""
        eventually(lambda: session.failure is not None or others_are_listed(session, feed))
        return wait_complete(session, timeout)

    monkeypatch.setattr(PairSession, "wait_complete", wait_for_the_others)
    try:
        faults.send("hang", {"resource": feed})
        for name in ("compare", "sync", "events", "catalog", "audit"):
            _, answer, err = read(viewer, capsys, (*COMMANDS[name], "--timeout", "2"))
            assert answer, (name, err)
            assert list(CHECKS[name](answer, whole[name][1])) == [], name
            if name in ("events", "catalog"):
                assert {why["state"] for why in answer["unknown"].values()} == {"loading"}, name
    finally:
        faults.send("clear", {})


def others_are_listed(session: PairSession, hidden: str) -> bool:
    """Return whether both sides have every list but one, and look for no other kind."""
    inner, control = session.inner, session.pair().control.feeds
    if inner is None or inner._director.is_due or not inner._watched.is_settled:
        return False
    lists = [*control.items(), *inner.feeds.items()]
    return all(found.state is not FeedState.SYNCING for name, found in lists if name != hidden)


@pytest.mark.parametrize("hidden", KINDS)
@pytest.mark.parametrize("side", SIDES)
def test_no_command_about_two_clusters_states_what_a_forbidden_list_would_tell(
    viewer: Path, whole: dict[str, tuple[int, Json]], side: str, hidden: str, capsys: pytest.CaptureFixture[str]
) -> None:
    admin = viewer.with_name("everybody")
    read_whole(viewer, whole, capsys)
    wrong: list[str] = []
    try:
        grant(admin, side, hidden)
        for name, words in COMMANDS.items():
            status, answer, err = read(viewer, capsys, words)
            before, full = whole[name]
            if not answer or "error" in answer:
                assert status == 1, (name, status, err)
                assert "forbidden" in err or "not known" in err or "may not" in err, (name, err)
                continue
            wrong += [f"{name}: {one}" for one in CHECKS[name](answer, full)]
            if status == 0 and before:
                wrong.append(f"{name} ends with 0, not with {before}")
    finally:
        grant(admin, side, "")
    assert not wrong, "\n".join(wrong)
