"""The operator's log: each decision once, levels at run time, counts in place of repetitions, and no secrets."""

from __future__ import annotations

import gc
import json
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.request_scope import ADOPT, ObjectChange, RequestScope, request_scope
from kymatui.errors import (
    ConfigurationError,
    ConflictError,
    DefectError,
    ForbiddenError,
    KymatuiError,
    RefusedError,
    UnreachableError,
    UsageError,
)
from kymatui.operator.framework.controller import GroupNews, ReconcileOutcome, Reconciliation, begin_reconciliation
from kymatui.operator.kymas.kyma_context import KYMA, MANIFEST
from kymatui.operator.monitoring import operator_log
from kymatui.operator.monitoring.event_correlation import EventType, ObjectEvent
from kymatui.operator.monitoring.event_writer import PATCH_STATUS, skipped
from kymatui.operator.monitoring.log_levels import LevelFile, LogLevel, LogLevels
from kymatui.operator.monitoring.log_repeats import REMEMBERED, WINDOW, LogRepeats
from kymatui.operator.monitoring.operator_log import LogFormat, OperatorLog
from tests.controllers.module_worlds import ModuleWorld
from tests.engine.objects import config_map
from tests.engine.places import eventually

Json = dict[str, Any]
REF = ObjectRef(KYMA, "kcp-system", "one")
CONTROLLERS = ("kyma", "mandatory", "manifest", "operator")
UPGRADE = ObjectEvent(EventType.NORMAL, "ModuleUpgrade", "module keda 1.0.0 → 1.1.0")


class Written:
    """A log with a clock that a test sets, and what it has written."""

    def __init__(self, form: LogFormat = LogFormat.JSON, levels: str = "info") -> None:
        self.lines: list[str] = []
        self.now = 0.0
        self.log = OperatorLog(self.lines.append, form, LogLevels.parse(levels, CONTROLLERS), lambda: self.now)

    @property
    def entries(self) -> list[Json]:
        return [json.loads(line) for line in self.lines]

    def reconcile(
        self,
        *events: ObjectEvent,
        error: KymatuiError | None = None,
        changes: tuple[ObjectChange, ...] = (),
        controller: str = "kyma",
        ref: ObjectRef = REF,
    ) -> str:
        """Report a reconciliation with these decisions as a ControllerGroup does; return its id."""
        number = begin_reconciliation(controller)
        for event in events:
            self.log.decided(ref, event)
        outcome = ReconcileOutcome.SUCCESS if error is None else ReconcileOutcome.ERROR
        self.log.finished(Reconciliation(controller, ref, outcome, 0.25, number, error, changes))
        if error is not None:
            self.log.failed(ref, error, None if isinstance(error, RefusedError) else 2.0)
        return number


PATCHED = ObjectChange("patch", REF, "status")


def kept(entry: Json, *names: str) -> Json:
    return {name: entry[name] for name in names if name in entry}


def test_a_decision_and_what_was_written_have_object_and_reconcile_id() -> None:
    written = Written()
    number = written.reconcile(UPGRADE, changes=(PATCHED,))
    decision, reconciled = written.entries
    subject = {"kind": "Kyma", "namespace": "kcp-system", "name": "one"}
    assert {key: value for key, value in decision.items() if key != "date"} == {
        "level": "info",
        "msg": "module keda 1.0.0 → 1.1.0",
        "reason": "ModuleUpgrade",
        "controller": "kyma",
        "reconcileID": number,
        "object": subject,
    }
    assert {key: value for key, value in reconciled.items() if key != "date"} == {
        "level": "info",
        "msg": "reconciled",
        "reason": "Reconciled",
        "controller": "kyma",
        "reconcileID": number,
        "object": subject,
        "seconds": 0.25,
        "wrote": ["patch Kyma kcp-system/one status"],
    }


WARNING = ObjectEvent(EventType.WARNING, "ModuleWarning", "module keda: never downgraded")


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (lambda written: written.reconcile(UPGRADE), [("info", "ModuleUpgrade")]),
        (lambda written: written.reconcile(WARNING), [("warning", "ModuleWarning")]),
        (
            lambda written: written.reconcile(WARNING, UPGRADE),
            [("warning", "ModuleWarning"), ("info", "ModuleUpgrade")],
        ),
        (lambda written: written.reconcile(skipped("a")), [("info", "Skipped")]),
        (lambda written: written.reconcile(error=UnreachableError("no answer")), [("error", "ReconcileFailed")]),
        (lambda written: written.reconcile(error=RefusedError("another's")), [("info", "ReconcileFailed")]),
        (lambda written: written.reconcile(error=ConflictError("changed", status=409)), []),
        (
            lambda written: written.reconcile(changes=(ObjectChange(ADOPT, REF), PATCHED)),
            [("info", "ObjectsAdopted"), ("info", "Reconciled")],
        ),
        (lambda written: written.reconcile(), []),
        (lambda written: written.log.news(GroupNews.LEASE_TAKEN, "holds"), [("info", "LeaseTaken")]),
        (lambda written: written.log.news(GroupNews.LEASE_LOST, "lost"), [("warning", "LeaseLost")]),
    ],
)
def test_each_decision_is_one_entry(report: Callable[[Written], Any], expected: list[tuple[str, str]]) -> None:
    written = Written()
    report(written)
    assert [(entry["level"], entry["reason"]) for entry in written.entries] == expected


def test_the_error_that_ends_a_reconciliation_is_one_entry_with_the_reason_of_its_decision() -> None:
    written = Written()
    error = ForbiddenError("kymas.operator.kyma-project.io is forbidden" + "x" * 2000, status=403)
    number = written.reconcile(ObjectEvent(EventType.WARNING, PATCH_STATUS, str(error)), error=error)
    (entry,) = written.entries
    assert kept(entry, "level", "reason", "errorType", "retrySeconds", "reconcileID", "seconds") == {
        "level": "error",
        "reason": PATCH_STATUS,
        "errorType": "ForbiddenError",
        "retrySeconds": 2.0,
        "reconcileID": number,
        "seconds": 0.25,
    }
    written.reconcile(WARNING, error=error)
    assert [entry["reason"] for entry in written.entries[1:]] == ["ModuleWarning", "ReconcileFailed"]


def test_what_repeats_is_counted() -> None:
    written = Written()
    for second in range(38):
        written.now = float(second)
        written.reconcile(error=UnreachableError(f"dial tcp 10.0.0.1:{50_000 + second}: no answer after {second} s"))
        written.log.write_counts()
    assert len(written.entries) == 1
    written.now = WINDOW
    written.log.write_counts()
    (last,) = written.entries[1:]
    assert kept(last, "reason", "repeated", "repeatedSeconds") == {
        "reason": "ReconcileFailed",
        "repeated": 37,
        "repeatedSeconds": 300,
    }
    written.reconcile(error=UnreachableError("the certificate expired"))
    written.reconcile(error=UnreachableError("dial tcp 10.0.0.1:1: no answer after 1 s"), ref=ObjectRef(KYMA, "a", "b"))
    assert len(written.entries) == 4, "another text and another object are written"


def test_a_line_says_how_often_an_entry_was_repeated_and_the_end_writes_all_counts() -> None:
    written = Written(LogFormat.TEXT)
    for _ in range(3):
        written.reconcile(error=UnreachableError("no answer"))
    written.now = 60.0
    written.log.write_counts(everything=True)
    assert [line[9:].partition(" reason=")[0] for line in written.lines] == [
        "error Kyma kcp-system/one failed: no answer; retry in 2 s",
        "error Kyma kcp-system/one failed: no answer; repeated 2 times in 60s",
    ]


def test_failures_of_an_object_that_succeeds_are_counted_then_and_not_later() -> None:
    written = Written()
    for _ in range(3):
        written.reconcile(error=UnreachableError("no answer"))
    written.now = 20.0
    written.reconcile(changes=(PATCHED,))
    assert [(entry["reason"], entry.get("repeated")) for entry in written.entries] == [
        ("ReconcileFailed", None),
        ("ReconcileFailed", 2),
        ("Reconciled", None),
    ]
    written.now = WINDOW + 30
    written.log.write_counts(everything=True)
    written.reconcile(error=UnreachableError("no answer"))
    assert [entry["reason"] for entry in written.entries[3:]] == ["ReconcileFailed"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("HTTP 503", "HTTP 401"),
        ("template alpha-1.1.0 is missing", "template alpha-1.2.0 is missing"),
        ("2 of 3 pods", "1 of 3 pods"),
    ],
)
def test_a_failure_with_another_status_or_version_is_another(first: str, second: str) -> None:
    written = Written()
    for text in (first, second):
        written.reconcile(error=UnreachableError(text))
    assert [entry["error"] for entry in written.entries] == [first, second]


def test_the_log_keeps_no_exception_and_nothing_that_its_frames_hold() -> None:
    class Held:
        pass

    def fail() -> weakref.ref[Held]:
        held = Held()
        try:
            raise UnreachableError("no answer")
        except UnreachableError as error:
            written.reconcile(error=error)
        return weakref.ref(held)

    written = Written()
    kept = fail()
    gc.collect()
    assert kept() is None


def test_a_long_traceback_ends_with_the_error_and_a_secret_at_the_cut_is_hidden() -> None:
    written = Written()
    try:
        raise KeyError("x" * 9000 + " the end")
    except KeyError as error:
        defect = DefectError(error)
        defect.__cause__ = error
    written.reconcile(error=defect)
    assert written.entries[-1]["stacktrace"].endswith("the end'")
    for before in range(8150, 8200):
        assert "s3cretPa55" not in operator_log.printable("x" * before + " https://user:s3cretPa55word@example.org/ y")


def test_a_paused_object_is_in_the_log_once_until_it_is_reconciled() -> None:
    written = Written()
    pause = skipped("operator.kyma-project.io/skip-reconciliation")
    for second in range(0, 7200, 60):
        written.now = float(second)
        if second % 1800 == 0:
            written.reconcile(pause)
        written.log.write_counts()
    assert len(written.lines) == 1
    written.reconcile()
    written.reconcile(pause)
    assert len(written.lines) == 2


def test_a_resting_fleet_writes_nothing() -> None:
    written = Written()
    for number in range(300):
        for ref in (ObjectRef(KYMA, "kcp-system", f"k{number}"), ObjectRef(MANIFEST, "kcp-system", f"k{number}-keda")):
            written.reconcile(ref=ref)
    assert written.lines == []


def test_what_is_remembered_of_repetitions_is_bounded_and_no_count_is_lost() -> None:
    repeats: LogRepeats[int] = LogRepeats()
    counts = 0
    for number in range(REMEMBERED + 100):
        for _ in range(2):
            counts += sum(one.count for one in repeats.take(str(number), "Failed", "m", number, 0.0, 1))
    assert len(repeats._known) == REMEMBERED
    counts += sum(one.count for one in repeats.due(0.0, everything=True))
    assert counts == REMEMBERED + 100
    many = [len(list(repeats.take("flood", "Failed", "abc"[: number % 3], number, 0.0, 1))) for number in range(1000)]
    assert sum(many) < 20


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("", LogLevels()),
        ("debug", LogLevels(LogLevel.DEBUG)),
        (" warning , manifest = DEBUG", LogLevels(LogLevel.WARNING, {"manifest": LogLevel.DEBUG})),
        ("manifest=debug\n# all others\nerror\n", LogLevels(LogLevel.ERROR, {"manifest": LogLevel.DEBUG})),
    ],
)
def test_levels_are_read_from_options_and_files(text: str, levels: LogLevels) -> None:
    assert LogLevels.parse(text, CONTROLLERS) == levels
    assert LogLevels.parse(str(levels), CONTROLLERS) == levels


@pytest.mark.parametrize("text", ["loud", "info,kima=debug", "=debug", "kyma=", "info kyma=debug"])
def test_levels_that_do_not_exist_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        LogLevels.parse(text, CONTROLLERS)


def test_each_controller_has_its_level() -> None:
    written = Written(levels="warning,manifest=debug,mandatory=info")
    for controller in ("kyma", "manifest", "manifest-shop", "mandatory-removal"):
        written.reconcile(UPGRADE, controller=controller)
    written.log.news(GroupNews.LEASE_TAKEN, "holds the Lease")
    found = [(entry.get("controller"), entry["reason"]) for entry in written.entries]
    assert found == [
        ("manifest", "ModuleUpgrade"),
        ("manifest", "Reconciled"),
        ("manifest-shop", "ModuleUpgrade"),
        ("manifest-shop", "Reconciled"),
        ("mandatory-removal", "ModuleUpgrade"),
    ]


@contextmanager
def following(written: Written, path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    monkeypatch.setattr(operator_log, "_TICK", 0.01)
    stopped, hangup = threading.Event(), threading.Event()
    with written.log.running(stopped, LevelFile(path, CONTROLLERS), hangup, lambda: "SIGTERM"):
        yield hangup


def test_levels_of_a_file_that_is_being_written_are_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "levels"
    path.write_text("debug")
    file = LevelFile(path, CONTROLLERS)
    assert file.read() == LogLevels(LogLevel.DEBUG)
    for half in ("", "err"):
        path.write_text(half)
        assert file.read() is None
    path.write_text("error")
    assert [file.read(), file.read(), file.read()] == [None, LogLevels(LogLevel.ERROR), None]
    assert file.read(again=True) == LogLevels(LogLevel.ERROR)


def replace_file(path: Path, text: str) -> None:
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def test_levels_change_with_their_file_and_after_a_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, written = tmp_path / "levels", Written()
    path.write_text("info")
    with following(written, path, monkeypatch) as hangup:
        replace_file(path, "info,kyma=debug")
        eventually(lambda: written.log.levels.of("kyma") is LogLevel.DEBUG, "the file is read")
        replace_file(path, "loud")
        eventually(lambda: "error" in [entry["level"] for entry in written.entries], "it says why it keeps the levels")
        assert written.log.levels.of("kyma") is LogLevel.DEBUG
        replace_file(path, "error,operator=info")
        eventually(lambda: written.log.levels.of("kyma") is LogLevel.ERROR, "the file is read again")
        count = len(written.lines)
        hangup.set()
        eventually(lambda: len(written.lines) > count, "the signal is answered")
    reasons = [entry["reason"] for entry in written.entries]
    assert reasons == ["LogLevels"] * 4 + ["Stopping", "Stopped"]
    assert written.entries[-2]["msg"] == "stopping: SIGTERM"


def test_a_count_of_a_level_that_is_not_written_any_more_is_not_written() -> None:
    written = Written()
    for _ in range(20):
        written.reconcile(UPGRADE)
    count = len(written.lines)
    written.log.levels = LogLevels(LogLevel.ERROR)
    written.log.write_counts(everything=True)
    assert len(written.lines) == count


def test_a_file_that_is_no_regular_one_or_too_large_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_text("# " + "x" * 70_000 + "\nerror")
    with pytest.raises(ConfigurationError, match="is not a regular file"):
        LevelFile(tmp_path / "pipe", CONTROLLERS).read()
    with pytest.raises(ConfigurationError, match="is larger than 65536 bytes"):
        LevelFile(tmp_path / "large", CONTROLLERS).read()


def test_a_file_that_is_missing_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"--log-level-file .* cannot be read: No such file"):
        LevelFile(tmp_path / "none", CONTROLLERS).read()


@pytest.mark.parametrize("is_foreign", [True, False])
def test_only_what_others_made_is_adopted_and_not_what_an_earlier_attempt_created(
    monkeypatch: pytest.MonkeyPatch, is_foreign: bool
) -> None:
    world = ModuleWorld()
    if is_foreign:
        world.runtime.create(config_map("a", "default", x="1"))
        world.living.advance(90)
    world.clock.seconds = world.living.clock.now()
    world.put("1.0.0", config_map("a", "default", x="1"), config_map("late", "default"))
    apply, changes = world.runtime.apply, list[ObjectChange]()

    def refusing(body: Json, **more: Any) -> Json:
        if body["metadata"]["name"] == "late":
            raise ForbiddenError("not yet", status=403)
        return apply(body, **more)

    with monkeypatch.context() as patched, request_scope(RequestScope(changes=changes)):
        patched.setattr(world.runtime, "apply", refusing)
        with pytest.raises(ForbiddenError):
            world.reconcile()
    for _ in range(3):
        world.living.advance(90)
        world.clock.seconds = world.living.clock.now()
        with request_scope(RequestScope(changes=changes)):
            world.reconcile()
    assert world.exists(config_map("late", "default"))
    assert [change.ref.name for change in changes if change.verb == ADOPT] == (["a"] if is_foreign else [])


SECRETS = st.text("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", min_size=16, max_size=40).filter(
    lambda text: any(char.isdigit() for char in text) and any(char.isupper() for char in text)
)
PLACES = st.sampled_from(
    [
        "Get https://robot:{}@registry.example.org/v2/: EOF",
        "the registry says: Authorization: Bearer {}",
        'unexpected answer {{"password": "{}"}}',
        "exec plugin failed: --token {} is refused",
        "cannot read kubeconfig: users: [{{token: {}}}]",
        "env DB_PASSWORD={} is invalid",
    ]
)


@given(SECRETS, PLACES, st.sampled_from(LogFormat))
def test_no_entry_has_a_secret(secret: str, place: str, form: LogFormat) -> None:
    text, written = place.format(secret), Written(form, "debug")
    begin_reconciliation("kyma")
    written.log.news(GroupNews.STANDBY, text)
    written.reconcile(ObjectEvent(EventType.WARNING, "ModuleError", text))
    written.reconcile(error=UnreachableError(text))
    written.reconcile(error=RefusedError(text))
    try:
        raise KeyError(text)
    except KeyError as error:
        defect = DefectError(error)
        defect.__cause__ = error
    written.reconcile(error=defect)
    written.log.write_counts(everything=True)
    assert written.lines
    assert not [line for line in written.lines if secret in line]


@given(st.text(max_size=200), st.text(min_size=1, max_size=50))
def test_each_entry_is_one_json_object_on_one_line(text: str, name: str) -> None:
    written = Written()
    written.reconcile(ObjectEvent(EventType.NORMAL, "Ready", text), error=UnreachableError(text))
    written.log.news(GroupNews.STANDBY, text)
    written.reconcile(UPGRADE, ref=ObjectRef(KYMA, "kcp-system", name), changes=(ObjectChange("patch", REF),))
    assert all("\n" not in line and isinstance(json.loads(line), dict) for line in written.lines)
    assert written.entries[-1]["object"]["name"] == name
