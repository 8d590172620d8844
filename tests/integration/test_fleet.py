"""A control plane with fifty-one runtimes, each a server of its own: slow, shut, hanging, gone and back.

What one of them does costs that one only; what the control plane's Secret says is what is connected to.
"""

from __future__ import annotations

import copy
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.fleet.fleet_tracker import FleetSnapshot, RuntimeKey
from kymatui.domain.snapshot.snapshots import RUNTIME_FEED, FeedState
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import CancelledError
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sandbox.world.story.sample_fleet import WRONG, access_secret, wrong_secrets
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.remote_session import RemoteSession
from kymatui.sessions.control_plane.runtime_clients import CONNECT_SECONDS
from kymatui.sessions.control_plane.runtime_session import ControlSide, RuntimeSession
from kymatui.sessions.reports.fleet_audit import AuditProgress, audit_fleet
from kymatui.ui.connection.fleet_view import MOST_RUNTIMES, RuntimeViews
from kymatui.ui.connection.mailbox import Mailbox
from tests import kube_writes
from tests.domain import builders as b
from tests.integration.embedded import GROUP, QUICK, VIEWER, Embedded, Json, eventually, kyma, served
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

pytestmark = pytest.mark.xdist_group("fleet")

CONTROL = "kcp-system"
NAMES = [f"r{number:02}" for number in range(51)]
LABELS = f"{GROUP}/kyma-name"


@dataclass
class Fleet:
    """The servers, and the control plane among them."""

    sandbox: ReadySandbox
    control: Embedded
    folder: Path

    @cached_property
    def _config(self) -> Json:
        found: Json = yaml.load(self.sandbox.kubeconfig.read_text(), Loader=yaml.CSafeLoader)
        return found

    def kubeconfig_of(self, name: str, *, server: str = "", token: str = "") -> str:
        """What a Secret holds: one context, with a token."""
        config = copy.deepcopy(self._config)
        context = next(entry for entry in config["contexts"] if entry["name"] == name)
        cluster = next(entry for entry in config["clusters"] if entry["name"] == context["context"]["cluster"])
        user = next(entry for entry in config["users"] if entry["name"] == context["context"]["user"])
        if server:
            cluster["cluster"]["server"] = server
        if token:
            user["user"]["token"] = token
        return yaml.dump(
            {"clusters": [cluster], "users": [user], "contexts": [context], "current-context": name, "kind": "Config"},
            Dumper=yaml.CSafeDumper,
        )

    def admit(self, name: str, kubeconfig: str = "") -> None:
        """The Secret that opens a runtime, in the place of those that were there."""
        self.shut_out(name)
        self.control.put(access_secret(name, kubeconfig or self.kubeconfig_of(name)))

    def shut_out(self, name: str) -> None:
        for raw in self.secrets(name):
            self.control.remove("secrets", raw["metadata"]["name"], CONTROL)

    def secrets(self, name: str) -> list[Json]:
        resource = served(self.control.client, "secrets")
        return self.control.client.list(resource, CONTROL, labels=f"{LABELS}={name}").items

    def server_of(self, name: str) -> str:
        return str(next(entry["cluster"]["server"] for entry in self._config["clusters"] if entry["name"] == name))

    def remote(self, **more: Any) -> RemoteSession:
        found = RemoteSession(RemoteOptions(SessionOptions(str(self.sandbox.kubeconfig), "kcp"), **more), QUICK)
        found.start(lambda: None)
        return found

    def set_state(self, name: str, **status: object) -> None:
        resource = served(self.control.client, f"kymas.{GROUP}")
        body = {"status": status}
        kube_writes.patch(self.control.client, resource, name, body, PatchKind.MERGE, CONTROL, subresource="status")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    with ready_sandbox("kcp", *NAMES, viewer_token=VIEWER) as sandbox:
        control = Embedded(sandbox.kubeconfig, "kcp", folder)
        control.define_kyma()
        control.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CONTROL}})
        found = Fleet(sandbox, control, folder)
        for name in NAMES:
            raw = b.kyma((), name=name, namespace=CONTROL, status=[b.report("keda", "1.6.0")])
            control.put(raw)
            control.put(access_secret(name, found.kubeconfig_of(name)))
        yield found
        control.client.transport.close()


@pytest.fixture
def remote(fleet: Fleet) -> Iterator[RemoteSession]:
    found = fleet.remote()
    assert found.wait_complete(30)
    yield found
    found.close()


@dataclass
class Looked:
    """A runtime that somebody looks at."""

    session: RuntimeSession

    @property
    def state(self) -> FeedState:
        return self.session.snapshot().feeds[RUNTIME_FEED].state

    @property
    def said(self) -> str:
        return self.session.snapshot().feeds[RUNTIME_FEED].message

    def comes_to_be(self, state: FeedState, words: str = "") -> None:
        eventually(lambda: self.state is state and words in self.said, f"{state} {words}")

    @property
    def server(self) -> str:
        inner = self.session.inner
        return inner.client.transport.connection.endpoint.server if inner is not None else ""


@pytest.fixture
def look(remote: RemoteSession) -> Iterator[Callable[..., Looked]]:
    sessions: list[RuntimeSession] = []

    def opened(name: str, connect_timeout: float = 10.0) -> Looked:
        session = remote.runtime((CONTROL, name), connect_timeout)
        session.start(lambda: None)
        sessions.append(session)
        return Looked(session)

    yield opened
    for session in sessions:
        session.close()


def own_runtime(fleet: Fleet, name: str) -> None:
    """A runtime whose Kyma says whose it is."""
    own = Embedded(fleet.sandbox.kubeconfig, name, fleet.folder)
    own.define_kyma()
    own.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kyma-system"}})
    body = kyma()
    body["metadata"]["annotations"] = {f"deprecated-{GROUP}/owned-by": f"{CONTROL}/{name}"}
    own.put(body)
    own.client.transport.close()


def settled(picture: Callable[[], FleetSnapshot], holds: Callable[[FleetSnapshot], bool]) -> FleetSnapshot:
    found = picture()
    deadline = time.monotonic() + 60
    while not holds(found):
        assert time.monotonic() < deadline, "the fleet never came to be so"
        time.sleep(0.01)
        found = picture()
    return found


# the fleet


def test_the_fleet_follows_what_changes_comes_and_goes(fleet: Fleet, remote: RemoteSession) -> None:
    first = remote.picture()
    assert {name for _, name in first.runtimes} == set(NAMES)
    fleet.set_state("r40", state="Error", modules=[b.report("keda", "1.8.0", "Error")])
    key: RuntimeKey = (CONTROL, "r40")
    second = settled(remote.picture, lambda picture: picture.runtimes[key].state == "Error")
    changed = {(change.what, change.before, change.after) for change in second.changes if change.runtime == key}
    assert {("state", "Ready", "Error"), ("version", "1.6.0", "1.8.0")} <= changed
    same = [one for one in first.runtimes if one != key and second.runtimes[one] is not first.runtimes[one]]
    assert same == [], "rows that did not change were made again"
    fleet.control.put(b.kyma((), name="newcomer", namespace=CONTROL))
    settled(remote.picture, lambda picture: (CONTROL, "newcomer") in picture.runtimes)
    fleet.control.remove(f"kymas.{GROUP}", "newcomer", CONTROL)
    settled(remote.picture, lambda picture: (CONTROL, "newcomer") not in picture.runtimes)


def test_drift_follows_the_release_metas(fleet: Fleet, remote: RemoteSession) -> None:
    key = (CONTROL, "r41")
    fleet.control.put(b.meta("keda", {"regular": "1.9.0"}, namespace=CONTROL))
    settled(remote.picture, lambda picture: [one.desired for one in picture.runtimes[key].drifting] == ["1.9.0"])
    fleet.control.remove(f"modulereleasemetas.{GROUP}", "keda", CONTROL)
    settled(remote.picture, lambda picture: picture.runtimes[key].drifting == ())


def test_a_fleet_that_is_listed_anew_stays_whole(fleet: Fleet, remote: RemoteSession) -> None:
    remote.picture()
    fleet.control.fault("expire-watches")
    fleet.set_state("r42", state="Warning")
    found = settled(remote.picture, lambda picture: picture.runtimes[CONTROL, "r42"].state == "Warning")
    assert len(found.runtimes) == len(NAMES)
    assert [change for change in found.changes if change.what == "runtime"] == []


def test_a_runtimes_screens_go_by_lifecycle_managers_own_policy(fleet: Fleet, look: Callable[..., Looked]) -> None:
    """As its Deployment mounts it; asked again by hand, since it is not watched."""
    metadata = {"namespace": CONTROL, "name": "klm"}
    policy = json.dumps({"rules": [], "default": {"days": ["Sat"], "begin": "21:00:00Z", "end": "00:00:00Z"}})
    mount = [{"name": "p", "mountPath": "/etc/maintenance-policy"}]
    flags = ["--restricted-default-modules=inner"]
    container = {"name": "manager", "image": "klm", "args": flags, "volumeMounts": mount}
    pod = {"containers": [container], "volumes": [{"name": "p", "configMap": {"name": "klm"}}]}
    labels = {"app": "klm"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    fleet.control.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"policy.json": policy}})
    fleet.control.put({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    session = look("r44").session
    eventually(lambda: session.pair().rules.windows is not None, "the policy is known")
    assert session.pair().rules.restricted == {"inner"}
    assert session.snapshot().rules == session.pair().rules, "the catalog goes by it, too"
    assert session.notes == (f"maintenance window policy: ConfigMap {CONTROL}/klm",)
    fleet.control.remove("deployments.apps", "klm", CONTROL)
    session.retry()
    eventually(
        lambda: "neither lifecycle-manager nor kymatui's operator" in "".join(session.notes), "it is asked again"
    )
    assert session.pair().rules.windows is None


# runtimes


def test_of_fifty_that_were_looked_at_eight_are_kept(fleet: Fleet, remote: RemoteSession) -> None:
    assert len(NAMES) > 50
    opened: list[RuntimeSession] = []

    class Source:
        def __getattr__(self, name: str) -> Any:
            return getattr(remote, name)

        def runtime(self, key: RuntimeKey) -> RuntimeSession:
            opened.append(remote.runtime(key))
            return opened[-1]

    views = RuntimeViews(Mailbox(lambda _: None), time.time, busy=lambda key: key[1] == NAMES[0])

    def count() -> int:
        return sum(one.inner is not None and not one._closed.is_set() for one in opened)

    for name in NAMES:
        views.of((CONTROL, name), Source())
        eventually(lambda: bool(opened) and opened[-1].inner is not None, f"{name} is connected")
        eventually(lambda: count() <= MOST_RUNTIMES + 1, f"an earlier runtime is closed for {name}")
    assert len(opened) == len(NAMES)
    eventually(lambda: sum(one.inner is not None for one in opened) == MOST_RUNTIMES, "eight are left")
    assert opened[0].inner is not None, "a job is at work there"
    views.close()
    eventually(lambda: all(one.inner is None for one in opened), "all are let go of")


@pytest.mark.parametrize("how", WRONG)
def test_access_secrets_of_every_kind_of_wrong(fleet: Fleet, look: Callable[..., Looked], how: str) -> None:
    words = {
        "missing": "access secret not found",
        "doubled": "more than one secret found for r30",
        "no config": "data.config is missing",
        "no kubeconfig": "is not an object",
        "expired": "does not accept the credentials",
        "plugin": "names exec",
        "file": "names tokenFile",
        "another's": f"leads to the runtime of {CONTROL}/r38, not of {CONTROL}/r30",
        "unreachable": "nothing listens at https://127.0.0.1:9",
    }
    own_runtime(fleet, "r38")
    fleet.shut_out("r30")
    for secret in wrong_secrets("r30", how, fleet.kubeconfig_of("r38")):
        fleet.control.put(secret)
    wrong = look("r30")
    wrong.comes_to_be(FeedState.FAILED, words[how])
    assert fleet.control.admin_token() not in wrong.said
    fleet.admit("r30")
    wrong.comes_to_be(FeedState.LIVE)


def test_another_secret_leads_to_another_server_and_none_to_nowhere(fleet: Fleet, look: Callable[..., Looked]) -> None:
    runtime = look("r31")
    runtime.comes_to_be(FeedState.LIVE)
    assert runtime.server == fleet.server_of("r31")
    fleet.control.put(access_secret("r31", fleet.kubeconfig_of("r32")))  # of the same name: it is changed
    eventually(lambda: runtime.server == fleet.server_of("r32"), "the new server is asked")
    fleet.shut_out("r31")
    runtime.comes_to_be(FeedState.FAILED, "access secret not found")
    assert runtime.server == ""


def test_a_secret_that_changes_before_it_is_followed_leads_to_another_server(
    fleet: Fleet, look: Callable[..., Looked], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_changed, follow = threading.Event(), ControlSide.follow

    def follow_later(side: ControlSide) -> None:
        threading.Thread(target=lambda: is_changed.wait(60) and follow(side), daemon=True).start()

    monkeypatch.setattr(ControlSide, "follow", follow_later)
    runtime = look("r45")
    runtime.comes_to_be(FeedState.LIVE)
    fleet.control.put(access_secret("r45", fleet.kubeconfig_of("r46")))
    is_changed.set()
    eventually(lambda: runtime.server == fleet.server_of("r46"), "the new server is asked")


def test_one_that_hangs_is_given_up_and_holds_nobody_up(fleet: Fleet, look: Callable[..., Looked]) -> None:
    hanging = Embedded(fleet.sandbox.kubeconfig, "r33", fleet.folder)
    hanging.fault("latency", seconds=60)
    stuck = look("r33", connect_timeout=1.0)
    well = look("r34")
    well.comes_to_be(FeedState.LIVE)
    stuck.comes_to_be(FeedState.FAILED, "did not answer within 1 s")
    hanging.clear()
    stuck.session._connector._timeout = CONNECT_SECONDS  # coming back is not hurried
    stuck.session.retry()
    stuck.comes_to_be(FeedState.LIVE)


def test_one_that_forbids_everything_shows_what_the_control_plane_says(
    fleet: Fleet, look: Callable[..., Looked]
) -> None:
    fleet.admit("r35", fleet.kubeconfig_of("r35", token=VIEWER))
    shut = look("r35")
    shut.comes_to_be(FeedState.LIVE)
    inner = shut.session.inner
    assert inner is not None
    assert inner.wait_complete(30)
    states = {feed.state for name, feed in shut.session.snapshot().feeds.items() if name.endswith(".apps")}
    assert states == {FeedState.FORBIDDEN}
    assert [raw["metadata"]["name"] for raw in shut.session.snapshot().kymas] == ["r35"]


def test_one_that_refuses_its_token_comes_back_with_it(fleet: Fleet, look: Callable[..., Looked]) -> None:
    own = Embedded(fleet.sandbox.kubeconfig, "r36", fleet.folder)
    fleet.admit("r36", fleet.kubeconfig_of("r36", token=VIEWER))
    own.fault("revoke-token", token=VIEWER)
    runtime = look("r36")
    runtime.comes_to_be(FeedState.FAILED, "does not accept the credentials")
    own.fault("restore-token", token=VIEWER)
    runtime.session.retry()
    runtime.comes_to_be(FeedState.LIVE)


class Door:
    """A way to a server that can be shut and opened again, on the same port."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._is_shut = False
        self._listener = socket.create_server(("127.0.0.1", 0))  # bound until the end, so that the port is taken
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._is_shut:
                    here.close()
                    continue
                there = socket.create_connection(("127.0.0.1", self._to))
                self._open += [here, there]
            for pair in ((here, there), (there, here)):
                threading.Thread(target=_carry, args=pair, daemon=True).start()

    def shut(self) -> None:
        with self._lock:
            self._is_shut = True
            for one in self._open:
                with_shutdown(one)
            self._open.clear()

    def reopen(self) -> None:
        with self._lock:
            self._is_shut = False

    def close(self) -> None:
        self.shut()
        with_shutdown(self._listener)  # which ends `accept`
        self._listener.close()


def with_shutdown(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster


def _carry(source: socket.socket, target: socket.socket) -> None:
    with source:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        with_shutdown(target)


def test_one_that_vanishes_is_stale_and_comes_back_by_itself(fleet: Fleet, look: Callable[..., Looked]) -> None:
    door = Door(int(fleet.server_of("r37").rpartition(":")[2]))
    fleet.admit("r37", fleet.kubeconfig_of("r37", server=f"https://127.0.0.1:{door.port}"))
    runtime = look("r37")
    runtime.comes_to_be(FeedState.LIVE)
    inner = runtime.session.inner
    assert inner is not None
    assert inner.wait_complete(30)

    def states() -> set[FeedState]:
        return {feed.state for name, feed in runtime.session.snapshot().feeds.items() if name.endswith(".apps")}

    assert states() == {FeedState.LIVE}
    door.shut()
    eventually(lambda: states() == {FeedState.STALE}, "what is seen is of the past")
    door.reopen()
    eventually(lambda: states() == {FeedState.LIVE}, "it is live again")
    door.close()


def test_a_cluster_named_by_hand_must_be_the_runtimes_own(fleet: Fleet) -> None:
    own_runtime(fleet, "r38")
    by_hand = SessionOptions(str(fleet.sandbox.kubeconfig), "r38")
    remote = fleet.remote(by_hand=by_hand)
    right = remote.runtime((CONTROL, "r38"))
    wrong = RuntimeSession(remote.home, (CONTROL, "r39"), SessionOptions(), by_hand=by_hand, timing=QUICK)
    try:
        settled(remote.picture, lambda picture: remote.requested_runtime == f"{CONTROL}/r38" and bool(picture.runtimes))
        assert remote.straight_to == (CONTROL, "r38")
        for session in (right, wrong):
            session.start(lambda: None)
        Looked(right).comes_to_be(FeedState.LIVE)
        # what is edited is the runtime's own Kyma, what is shown is the control plane's
        eventually(lambda: _names(right.snapshot().kymas) == ["r38"], "the control plane's Kyma is shown")
        eventually(lambda: bool(right.snapshot()) and _names(right.kymas) == ["default"], "the own is known")
        Looked(wrong).comes_to_be(FeedState.FAILED, f"is the runtime of {CONTROL}/r38, not of {CONTROL}/r39")
    finally:
        for session in (right, wrong):
            session.close()
        remote.close()


def _names(objects: Iterable[Any]) -> list[str]:
    return [raw["metadata"]["name"] for raw in objects]


def test_both_sides_are_one_catalog(fleet: Fleet, look: Callable[..., Looked]) -> None:
    manifest = {**b.manifest("warden", "0.19.0", owner="r43", namespace=CONTROL), "spec": _spec("0.19.0")}
    manifest["metadata"]["labels"][f"{GROUP}/mandatory-module"] = "true"
    fleet.control.put(manifest)
    runtime = look("r43")
    runtime.comes_to_be(FeedState.LIVE)
    eventually(lambda: bool(runtime.session.snapshot().manifests), "its Manifest is seen")
    row = build_catalog(runtime.session.snapshot(), time.time()).row("warden")
    assert row is not None
    assert (row.mandatory, row.manifest and row.manifest.name) == (True, "r43-warden-1")


def _spec(version: str) -> Json:
    source = {
        "repo": "registry.local/kyma",
        "name": "kyma-project.io/module/warden",
        "ref": "sha256:1",
        "type": "oci-ref",
    }
    return {"remote": True, "version": version, "install": {"name": "raw-manifest", "source": source}}


def test_an_audit_of_all_of_them_gives_up_on_each_by_itself(fleet: Fleet) -> None:
    """Eight at once, so that one that hangs holds nobody else up for long."""
    ill = {"r03": ("hang", "did not answer"), "r11": ("drop", "was lost"), "r29": ("unauthorized", "does not accept")}
    options = RemoteOptions(SessionOptions(str(fleet.sandbox.kubeconfig), "kcp"))
    try:
        for name, (word, _) in ill.items():
            FaultClient.for_kubeconfig(fleet.sandbox.kubeconfig, name).send(word, {})
        told: list[AuditProgress] = []
        report, _ = audit_fleet(options, timeout=20.0, progress=told.append)
        cancel = threading.Event()
        with pytest.raises(CancelledError, match=r"^stopped: ([1-9]|[1-4]\d|50) of 51 runtimes read$"):
            audit_fleet(options, timeout=20.0, progress=lambda _: cancel.set(), cancel=cancel)
    finally:
        for name in ill:
            FaultClient.for_kubeconfig(fleet.sandbox.kubeconfig, name).send("clear", {})
    rules = ("runtime.unreachable", "runtime.access")
    unreached = {one.runtime: one.message for one in report.findings if one.rule.id in rules}
    assert [tally.done for tally in told] == list(range(1, 52))
    assert told[-1] == AuditProgress(51, 51, len(unreached))
    assert {name for name, (_, said) in ill.items() if said in unreached.get(name, "")} == set(ill)
    looked_at = {one.runtime for one in report.findings} - {*unreached}
    assert len(looked_at) >= 40, "what other tests did to their runtimes is their affair"
