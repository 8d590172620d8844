"""The controller of all Manifests: what idles costs nothing, one works at a time, watches that end are opened again."""

from __future__ import annotations

import base64
import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import SECRET, ObjectRef
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.errors import DefectError, KymatuiError, RefusedError, UnreachableError
from kymatui.operator.framework.dependency_watches import DependencyWatches
from kymatui.operator.manifests.standalone_context import StandaloneContext
from kymatui.sessions.control_plane.runtime_clients import SecretRuntimes
from tests.controllers.desks import MANIFEST, Desk, run_alone
from tests.engine.objects import config_map
from tests.engine.objects import secret as make_secret
from tests.engine.places import eventually

MANIFESTS = 20


@dataclass
class Operator:
    """A controller in a thread."""

    context: StandaloneContext
    namespace: str
    lease: float = 15.0
    said: list[str] = field(default_factory=list)
    told: list[KymatuiError] = field(default_factory=list)
    raised: list[BaseException] = field(default_factory=list)
    cancel: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            run_alone(
                self.context,
                self.namespace,
                self.cancel,
                lambda ref, error, seconds: self.told.append(error),
                tell=self.said.append,
                lease=self.lease,
            )
        except BaseException as error:  # noqa: BLE001 (the test looks at it)
            self.raised.append(error)

    def stop(self) -> None:
        self.cancel.set()
        self.thread.join(30)


@contextlib.contextmanager
def operator(context: StandaloneContext, namespace: str) -> Iterator[Operator]:
    running = Operator(context, namespace)
    try:
        yield running
    finally:
        running.stop()


def put(desk: Desk, name: str, value: str) -> ObjectRef:
    digest = desk.layers.push(config_map(f"of-{name}", desk.place.namespace, v=value))
    desk.ref = ObjectRef(MANIFEST, desk.place.namespace, name)
    desk.put(digest)
    return desk.ref


def value(desk: Desk, name: str) -> str:
    return str(((desk.config(f"of-{name}") or {}).get("data") or {}).get("v", ""))


def states(desk: Desk) -> list[str]:
    found = desk.place.raw.list(MANIFEST, desk.place.namespace)
    return [str((body.get("status") or {}).get("state", "")) for body in found]


def test_manifests_of_which_nothing_changes_cost_no_request(desk: Desk) -> None:
    """A small version; a thousand are in tests/benchmarks/idle_manifests.py."""
    for number in range(MANIFESTS):
        put(desk, f"idle-{number}", "1")
    with operator(desk.context, desk.ref.namespace):
        eventually(lambda: states(desk) == ["Ready"] * MANIFESTS, "all are installed", 60)
        for turn in ("1a", "1b", "2"):  # behind these, the changes of their own status are through the queue
            put(desk, "idle-0", turn)
            eventually(lambda turn=turn: value(desk, "idle-0") == turn, "one changes", 60)  # type: ignore[misc]
        before = desk.place.faults.requests()["count"]
        for turn in ("3", "4"):
            put(desk, "idle-0", turn)
            eventually(lambda turn=turn: value(desk, "idle-0") == turn, "one changes", 60)  # type: ignore[misc]
        told = desk.place.faults.requests()
    asked = [one["path"] for one in told["requests"][before - told["count"] :]]
    assert any("idle-0" in path for path in asked)
    assert [path for path in asked if "idle-" in path and "idle-0" not in path] == []


def test_a_watch_that_ends_or_expires_is_opened_again(desk: Desk) -> None:
    put(desk, "followed", "1")
    with operator(desk.context, desk.ref.namespace):
        eventually(lambda: value(desk, "followed") == "1", "it is installed", 60)
        for number, word in enumerate(("end-watches", "expire-watches"), 2):
            desk.place.fault(word)
            put(desk, "followed", str(number))
            eventually(lambda number=number: value(desk, "followed") == str(number), word, 60)  # type: ignore[misc]


def test_the_second_operator_waits_for_the_first_and_says_for_whom(desk: Desk) -> None:
    put(desk, "shared", "1")
    with operator(desk.context, desk.ref.namespace) as first:
        eventually(lambda: value(desk, "shared") == "1", "the first works", 60)
        another = replace(desk.context, watches=DependencyWatches())
        with operator(another, desk.ref.namespace) as second:
            eventually(lambda: bool(second.said), "the second waits", 60)
            assert re.fullmatch(
                r"standby: \S.* works; starts when its Lease kube-system/kymatui\.operator ends", second.said[0]
            )
            assert second.told == []
            first.stop()
            put(desk, "shared", "2")
            eventually(lambda: value(desk, "shared") == "2", "the second has taken over", 60)
            assert [words.partition(" ")[0] for words in second.said] == ["standby:", "holds"]
    assert (first.raised, second.raised) == ([], [])


def test_a_lifecycle_manager_that_comes_is_given_way_to(desk: Desk) -> None:
    ref = put(desk, "contested", "1")
    with operator(desk.context, desk.ref.namespace) as running:
        eventually(lambda: states(desk) == ["Ready"], "it is installed", 60)
        patch = {"metadata": {"labels": {"operator.kyma-project.io/watched-by": "kyma"}}}
        desk.place.raw.patch(ref, patch, PatchKind.MERGE, manager="lifecycle-manager")
        eventually(lambda: bool(running.told), "it says so", 60)
        put(desk, "contested", "2")
        eventually(lambda: len(running.told) > 1, "and again, after the next change", 60)
    assert all(isinstance(error, RefusedError) and "lifecycle-manager" in str(error) for error in running.told)
    assert value(desk, "contested") == "1"


def put_remote(desk: Desk, name: str) -> None:
    """For the runtime `far`, which has a Kyma, and no access Secret yet."""
    kyma = {"apiVersion": MANIFEST.api_version, "kind": "Kyma", "spec": {"channel": "regular"}}
    metadata = {"name": "far", "namespace": desk.place.namespace}
    desk.place.raw.apply({**kyma, "metadata": metadata}, manager="test")
    put(desk, name, "1")
    patch = {"spec": {"remote": True}, "metadata": {"labels": {"operator.kyma-project.io/kyma-name": "far"}}}
    desk.place.raw.patch(desk.ref, patch, PatchKind.MERGE)


def test_an_access_secret_that_comes_changes_or_goes_is_acted_on_at_once(desk: Desk) -> None:
    """Without the watch the Manifest would be looked at again a minute later, or after half an hour."""
    put_remote(desk, "away")
    secret = make_secret("access", desk.place.namespace)
    secret["metadata"]["labels"] = {"operator.kyma-project.io/kyma-name": "far"}

    def write(kubeconfig: bytes) -> None:
        desk.place.raw.apply({**secret, "data": {"config": base64.b64encode(kubeconfig).decode()}}, manager="test")

    def says(words: str) -> bool:
        found = desk.place.raw.get(desk.ref) or {}
        return words in str(found.get("status") or {})

    with operator(replace(desk.context, runtimes=SecretRuntimes(desk.place.cluster)), desk.ref.namespace):
        eventually(lambda: says(f"not found: no Secret in {desk.place.namespace} is labelled"), "it has none", 30)
        write(desk.place.kubeconfig.read_bytes())
        eventually(lambda: states(desk) == ["Ready"], "it came", 30)
        write(b"}")
        eventually(lambda: says("cannot be reached"), "it is no use any more", 30)
        write(desk.place.kubeconfig.read_bytes())
        eventually(lambda: states(desk) == ["Ready"], "it is mended", 30)
        desk.place.raw.delete(ObjectRef(SECRET, desk.place.namespace, "access"))
        eventually(lambda: says("access secret not found"), "it is gone", 30)


class Loose:
    """A cluster to which the connection can be cut."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.cut = False

    def __getattr__(self, name: str) -> Any:
        if self.cut and name != "name":
            raise UnreachableError("nobody answers")
        return getattr(self._cluster, name)


def test_an_operator_cut_off_for_longer_than_its_lease_works_again_when_it_holds_it_again(desk: Desk) -> None:
    home = Loose(desk.context.home)
    put(desk, "far", "1")
    running = Operator(replace(desk.context, home=cast(Cluster, home)), desk.ref.namespace, lease=1.5)
    eventually(lambda: value(desk, "far") == "1", "it works", 60)
    home.cut = True
    eventually(lambda: any("no connection" in words for words in running.said), "it has stopped", 60)
    put(desk, "far", "2")
    home.cut = False
    eventually(lambda: value(desk, "far") == "2", "it works again", 60)
    running.stop()
    assert running.raised == []


class Broken:
    """Runtimes whose use is a bug."""

    def of(self, manifest: object, cancel: threading.Event) -> Cluster | None:
        raise ZeroDivisionError("a bug")


def test_a_bug_is_told_and_the_operator_goes_on(desk: Desk) -> None:
    put(desk, "bad", "1")

    def bugs() -> list[str]:  # Manifests of earlier tests may be refused
        return [str(error) for error in running.told if isinstance(error, DefectError)]

    with operator(replace(desk.context, runtimes=Broken()), desk.ref.namespace) as running:
        eventually(lambda: len(bugs()) > 1, "it tries again", 60)
    assert running.raised == []
    assert set(bugs()) == {"ZeroDivisionError: a bug"}
