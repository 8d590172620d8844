"""Who is at work, what he did, and who comes after him."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import Cluster, Object, PatchKind
from kymatui.engine.jobs.identity import is_dead, own_identity
from kymatui.engine.jobs.journal import Journal, JournalMark, read_journal
from kymatui.engine.jobs.lease import LEASE, Lease, LeaseTerms
from kymatui.engine.jobs.run import SystemClock
from kymatui.engine.plans.plan import Action
from kymatui.errors import (
    CancelledError,
    ConfigurationError,
    OutdatedError,
    PartlyDoneError,
    RefusedError,
    UnreachableError,
)
from tests.engine import objects as make
from tests.engine.installing import LIMITS, Told, actions, apply, bundle, install, plan
from tests.engine.places import Place, eventually


class Slow:
    """A clock that jumps whenever somebody sleeps."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        self.time += seconds


def lease(place: Place, identity: str, clock: object = None, terms: LeaseTerms | None = None) -> Lease:
    return Lease(place.connect(), clock or SystemClock(), "m", place.namespace, identity, terms)  # type: ignore[arg-type]


def silent(words: str) -> None:
    """Nobody listens."""


def holder(place: Place) -> str:
    found = place.raw.get(ObjectRef(LEASE, place.namespace, "kymatui.m"))
    return "" if found is None else str(found["spec"]["holderIdentity"])


def test_the_second_is_told_who_the_first_is(place: Place) -> None:
    place.make_namespace()
    cancel = threading.Event()
    told: list[str] = []
    with lease(place, "ann@laptop").hold(cancel, silent):
        assert holder(place) == "ann@laptop"
        second = lease(place, "bob@desk", terms=LeaseTerms(timeout=0.0))
        with (
            pytest.raises(RefusedError, match=r"ann@laptop is already changing .*/m"),
            second.hold(cancel, told.append),
        ):
            raise AssertionError("two hold one lease")
    assert holder(place) == ""


def test_a_lease_that_is_let_go_is_there_for_the_next(place: Place) -> None:
    place.make_namespace()
    for name in ("ann", "bob"):
        with lease(place, name).hold(threading.Event(), silent):
            assert holder(place) == name


class Deaf:
    """A cluster that takes the lease, and then answers nothing more."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def create(self, body: Object) -> Object:
        return self._cluster.create(body)

    def get(self, ref: ObjectRef) -> Object:
        raise UnreachableError("nobody answers")


class Fast(SystemClock):
    """A hundred times as fast."""

    def now(self) -> float:
        return super().now() * 100


def test_who_cannot_renew_his_lease_stops_before_others_may_take_it(place: Place) -> None:
    place.make_namespace()
    alone = Lease(Deaf(place.connect()), Fast(), "m", place.namespace, "ann")  # type: ignore[arg-type]

    def work() -> None:
        with alone.hold(threading.Event(), silent) as stopped:
            assert stopped.wait(30)
            raise CancelledError("stopped")

    with pytest.raises(RefusedError, match=r"could not be renewed for \d+ s"):
        work()
    assert alone.cut_off


def test_a_lease_that_nobody_renews_is_taken_over(place: Place) -> None:
    place.make_namespace()
    clock = Slow()
    with (
        lease(place, "ann").hold(threading.Event(), silent),
        lease(place, "bob", clock).hold(threading.Event(), silent),
    ):
        assert holder(place) == "bob"
        assert clock.time - 1_000_000.0 >= 15.0


def test_whoever_loses_his_lease_stops(place: Place) -> None:
    place.make_namespace()
    quick = LeaseTerms(duration=3.0)

    def work() -> None:
        with lease(place, "ann", terms=quick).hold(threading.Event(), silent) as stopped:
            ref = ObjectRef(LEASE, place.namespace, "kymatui.m")
            place.raw.patch(ref, {"spec": {"holderIdentity": "bob"}}, PatchKind.MERGE)
            assert stopped.wait(60)
            raise CancelledError("stopped")

    with pytest.raises(RefusedError, match="was lost to bob"):
        work()
    assert holder(place) == "bob"


def delete_lease(place: Place) -> None:
    place.raw.delete(ObjectRef(LEASE, place.namespace, "kymatui.m"))


def test_a_deleted_lease_of_an_operator_is_created_again(place: Place) -> None:
    place.make_namespace()
    alone = lease(place, "ann", terms=LeaseTerms(standby=True))
    with alone.hold(threading.Event(), silent) as stopped:
        for _ in range(2):
            delete_lease(place)
            alone._renew()
            assert holder(place) == "ann"
        assert not stopped.wait(0.2)
    assert holder(place) == ""


def test_a_renewal_in_progress_at_the_end_leaves_no_lease_behind(place: Place) -> None:
    place.make_namespace()
    alone = lease(place, "ann", terms=LeaseTerms(duration=0.3, standby=True))
    begun, renew = threading.Event(), alone._renew

    def renew_slowly() -> None:
        begun.set()
        time.sleep(0.5)  # the run ends meanwhile
        renew()

    alone._renew = renew_slowly  # type: ignore[method-assign]
    with alone.hold(threading.Event(), silent):
        assert begun.wait(10.0)
    time.sleep(1.0)
    assert holder(place) == ""


def test_an_operator_stops_when_another_creates_its_deleted_lease_first(place: Place) -> None:
    place.make_namespace()

    class Beaten:
        """A connection whose second Lease comes too late."""

        def __init__(self) -> None:
            self._cluster = place.connect()
            self._creates = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(self._cluster, name)

        def create(self, body: Object) -> Object:
            self._creates += 1
            if self._creates == 2:
                place.raw.create({**body, "spec": {**body["spec"], "holderIdentity": "bob"}})
            return self._cluster.create(body)

    def work() -> None:
        terms = LeaseTerms(standby=True)
        beaten = Lease(Beaten(), SystemClock(), "m", place.namespace, "ann", terms)  # type: ignore[arg-type]
        with beaten.hold(threading.Event(), silent) as stopped:
            delete_lease(place)
            beaten._renew()
            assert stopped.wait(30)
            raise CancelledError("stopped")

    with pytest.raises(RefusedError, match="was lost to bob"):
        work()
    assert holder(place) == "bob"


def test_a_run_does_not_create_its_lease_again_while_it_deletes_the_namespace(place: Place) -> None:
    place.make_namespace()
    alone = lease(place, "ann")
    with alone.hold(threading.Event(), silent) as stopped:
        delete_lease(place)
        alone._renew()
        assert holder(place) == ""
        assert not stopped.wait(0.2)


def test_a_process_of_this_machine_that_is_gone_holds_nothing(place: Place) -> None:
    script = "from kymatui.engine.jobs.identity import own_identity; print(own_identity())"
    gone = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()
    assert is_dead(gone)
    assert not is_dead(own_identity())
    assert not is_dead("somebody else")
    place.make_namespace()
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "kymatui.m", "namespace": place.namespace},
        "spec": {"holderIdentity": gone, "leaseDurationSeconds": 3600},
    }
    place.raw.create(body)
    with lease(place, "bob", terms=LeaseTerms(timeout=0.0)).hold(threading.Event(), silent):
        assert holder(place) == "bob"


def test_two_runs_on_one_module_write_everything_once(place: Place) -> None:
    what = bundle(place, *(make.config_map(f"c{number}", x="1") for number in range(8)))
    place.make_namespace()

    def run(number: int) -> int:
        cluster = place.connect()
        for _ in range(5):
            try:
                return len(apply(place, plan(place, what, cluster=cluster), cluster=cluster).written)
            except OutdatedError:
                continue
        raise AssertionError("it never came to an end")

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(run, range(2))) == [0, 8]


def test_different_modules_do_not_wait_for_each_other(place: Place) -> None:
    place.make_namespace()
    with lease(place, "ann").hold(threading.Event(), silent):
        install(
            place,
            bundle(place, make.config_map("a"), name="other"),
            limits=replace(LIMITS, lease=LeaseTerms(timeout=0)),
        )


def test_a_journal_has_every_step_before_and_after(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "state" / "journal"
    install(place, bundle(place, make.config_map("a"), make.config_map("b")), journal=path)
    entries = list(read_journal(path))
    steps = [(entry.mark, entry.what, entry.on.rpartition("/")[2]) for entry in entries]
    assert (JournalMark.BEGUN, "create", "a") in steps
    assert (JournalMark.DONE, "create", "a") in steps
    assert len([step for step in steps if step[0] is JournalMark.BEGUN]) == len(
        [s for s in steps if s[0] is JournalMark.DONE]
    )


def test_a_failure_stands_in_the_journal_and_in_the_error(place: Place, tmp_path: Path) -> None:
    install(place, bundle(place, make.config_map("a", x="1"), make.config_map("c")))
    newer = plan(place, bundle(place, make.config_map("a", x="2"), make.config_map("b"), make.deployment("d")))
    place.fault("error", verb="patch", resource="deployments.apps")
    with pytest.raises(PartlyDoneError, match=r"2 of 4 changes applied, left: Deployment .*/d, ConfigMap .*/c"):
        apply(place, newer, journal=tmp_path / "journal")
    place.fault("clear")
    failed = [entry for entry in read_journal(tmp_path / "journal") if entry.mark is JournalMark.FAILED]
    assert [(entry.on, entry.message) for entry in failed] == [(f"Deployment {place.namespace}/d", "ServerError")]
    assert place.get("v1", "ConfigMap", "c") is not None
    again = plan(place, bundle(place, make.config_map("a", x="2"), make.config_map("b"), make.deployment("d")))
    assert actions(again.writes) == [("d", Action.CREATE.value), ("c", Action.DELETE.value)]
    apply(place, again)
    assert place.get("v1", "ConfigMap", "c") is None


def test_lines_that_were_cut_off_are_not_read_and_spoil_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for run in ("one", "two"):
        journal = Journal(path, run, lambda: 1.0)
        journal.write(JournalMark.BEGUN, "create", "a")
        journal.close()
        with path.open("ab") as file:
            file.write(b'{"time": 1, "run": "cut')
    assert [entry.run for entry in read_journal(path)] == ["one", "two"]


def test_a_journal_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        Journal(tmp_path / "file" / "journal", "run", lambda: 1.0)


def test_a_run_that_is_cancelled_says_what_is_left_and_goes_on_when_run_again(place: Place) -> None:
    cancel = threading.Event()
    what = bundle(place, make.config_map("a"), make.deployment("d"))
    planned = plan(place, what)

    class Stopping(Told):
        def __call__(self, progress: object) -> None:
            if "waiting for Deployment" in str(progress):
                cancel.set()

    with pytest.raises(CancelledError, match=r"changes are applied|applied, left"):
        apply(place, planned, cancel=cancel, told=Stopping())
    eventually(lambda: holder(place) == "", "the lease is let go")
    install(place, what)
    assert plan(place, what).changes_nothing
