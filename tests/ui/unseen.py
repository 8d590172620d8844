"""One flow of the screen after the other with an intruder between its plan and its yes; see `tests.cli.unseen`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from textual.widgets import Input

from kymatui.adapters.kube.transport.transport import Transport
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.plans.plan_preview import Preview
from kymatui.engine.deletion.deletion_state import NextStep
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen, ConfirmScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.screens.deletion_screen import DeletionScreen
from kymatui.ui.widgets.plan_widgets import Tick
from tests.cli import unseen as lines
from tests.cli.intruding import DEFINITION, MANAGED, MODULE, NEW, Stage, asked_for, is_write, run
from tests.cli.unseen import Entry, Label, Left, Target, Write
from tests.ui.test_toggling import Person

BACKUPS = ObjectRef(DEFINITION, "", "backups.backup.sandbox.local")
PROXY = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "registry-proxy", "registry-proxy-controller")
Opening = Callable[[Person, Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ScreenWalk:
    """One flow: how it is prepared, how its plan is opened, and what the intruder works on, by sort."""

    name: str
    prepare: Callable[[Stage], None]
    open: Opening
    targets: lines.Targets
    deletes: bool = False


@dataclass(slots=True)
class Watch:
    """The writes of the app after the intruder has acted."""

    acting: bool = True
    writes: list[Write] = field(default_factory=list)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        once = Transport._once

        def noting_once(transport: Transport, request: Any, *given: Any, **named: Any) -> Any:
            if not self.acting and is_write(request):
                self.writes.append(lines.write_of(request))
            return once(transport, request, *given, **named)

        with patch.object(Transport, "_once", noting_once):
            yield


async def walk(flow: ScreenWalk, sort: str, person: Person, stage: Stage, watch: Watch) -> str:
    """What is wrong afterwards, "" where nothing unseen was touched."""
    target = flow.targets[sort](stage)
    await flow.open(person, stage)
    await person.sees(PlanScreen)
    shown = displayed(plan_of(person).preview)
    before = await asyncio.to_thread(target.left, stage)
    await asyncio.to_thread(target.act, stage, sort)
    seen = await asyncio.to_thread(target.left, stage)
    watch.acting = False
    said = await accept(person)
    watch.acting = True
    after = await asyncio.to_thread(target.left, stage)
    found = [_left(flow, target, before, seen, after, shown, said)]
    found += [
        f"{one.method} {one.path} {one.name} was not displayed"
        for one in watch.writes
        if not one.is_bookkeeping and not one.is_in(shown)
    ]
    found += [f"{one.path} names no uid" for one in watch.writes if one.method == "DELETE" and not one.has_uid]
    return "; ".join(one for one in found if one)


def _left(flow: ScreenWalk, target: Target, before: Left, seen: Left, after: Left, shown: str, said: str) -> str:
    was_displayed = bool(seen.uid) and seen.uid == before.uid and target.name in shown
    if after == seen or (flow.deletes and was_displayed and after.value is None):
        return ""
    return f"the intruder left {seen}, and it is {after}: {said}"


def plan_of(person: Person) -> PlanScreen:
    assert isinstance(person.app.screen, PlanScreen)
    return person.app.screen


def displayed(preview: Preview) -> str:
    """Everything that the plan says."""
    rows = [f"{line.name} {line.note} {' '.join(line.diff)}" for line in preview.lines]
    return re.sub(r"\s+", " ", " ".join([preview.title, preview.management, *rows, *preview.warnings]))


async def accept(person: Person) -> str:
    """Agrees to all that is asked and says yes, as far as the plan still lets; what became of it."""
    screen = plan_of(person)
    for tick in screen.query(Tick):
        tick.focus()
        await person.press("space")
    for consent in screen.preview.consents:
        for box in screen.query(Input):
            if box.name == consent.id:
                box.value = consent.typed
    screen.action_accept()
    await person.until(lambda: isinstance(person.app.screen, ConfirmScreen) or bool(screen.why_off("accept")))
    if isinstance(person.app.screen, ConfirmScreen):
        await person.press("y")
        await person.until(lambda: screen not in person.app.screen_stack or bool(screen.why_off("accept")))
    if screen in person.app.screen_stack:
        return screen.why_off("accept")
    await person.until(lambda: not person.app.jobs.busy and not person.app.jobs.active)
    return json.dumps([f"{job.state.value}: {job.message}" for job in person.app.jobs.all] + person.app.problems)


# the flows


def typed(line: str, *, choice: bool = False) -> Opening:
    async def opening(person: Person, stage: Stage) -> None:
        await person.at(MODULE)
        await person.types(line.format(stage=stage))
        if choice:
            await person.sees(ChoiceScreen)
            await person.press("enter")

    return opening


def stepped(module: str, key: str, turn: NextStep) -> Opening:
    async def opening(person: Person, stage: Stage) -> None:
        await person.at(module)
        await person.press("ctrl+d")
        await person.sees(DeletionScreen)
        screen = person.app.screen
        assert isinstance(screen, DeletionScreen)
        action = {"ctrl+d": "go_on", "f": "finalizer"}[key]
        await person.until(lambda: screen.next_step is turn and not screen.why_off(action))
        await person.press(key)
        if key == "f":
            await person.sees(ChoiceScreen)
            await person.press("enter")

    return opening


def entry(module: str, before: dict[str, Any] | None) -> Callable[[Stage], None]:
    return lambda stage: stage.set_entry(module, before)


def object_of(ref: ObjectRef) -> Callable[[Stage], Target]:
    return lambda stage: Target(ref)


def backups(stage: Stage) -> Target:
    names = {"kind": "Backup", "plural": "backups", "singular": "backup"}
    version = {"name": "v9", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "backup.sandbox.local", "scope": "Cluster", "names": names, "versions": [version]}
    return Target(BACKUPS, {"metadata": {"name": BACKUPS.name}, "spec": spec})


def old_proxy(stage: Stage) -> None:
    """A version that can be upgraded is installed."""
    assert run(["delete", "registry-proxy", "--yes", "--no-backup"]).status == 0
    done = run(["install", "registry-proxy", "--version", "0.14.0", "--yes"])
    assert done.status == 0, done


def thing_of(name: str) -> Callable[[Stage], Target]:
    return lines.function(name)


def edits() -> Iterator[ScreenWalk]:
    ignore, fast, own = {"customResourcePolicy": "Ignore"}, {"channel": "fast"}, {"name": MODULE}
    yield ScreenWalk("enable", entry(NEW, None), typed(f"enable {NEW} fast"), {"create": lambda _: Entry(NEW, ignore)})
    rows: Sequence[tuple[str, dict[str, Any], dict[str, Any]]] = (
        (f"disable {MODULE}", own, fast),
        (f"channel {MODULE} fast", own, ignore),
        (f"unmanage {MODULE}", own, ignore),
        (f"policy {MODULE} Ignore", own, fast),
        (f"manage {MODULE}", {**own, "managed": False}, ignore),
    )
    for line, before, theirs in rows:
        target = Entry(MODULE, theirs)
        yield ScreenWalk(
            line.partition(" ")[0],
            entry(MODULE, before),
            typed(line),
            {sort: lambda stage, target=target: target for sort in ("change", "delete")},  # type: ignore[misc]
        )


SCREENS: tuple[ScreenWalk, ...] = (
    *edits(),
    ScreenWalk("label", lines.unlabelled, typed("label internal on"), {"create": lambda _: Label(lines.INTERNAL)}),
    ScreenWalk("install", lambda stage: None, typed("install backup-operator", choice=True), {"create": backups}),
    ScreenWalk(
        "upgrade",
        old_proxy,
        typed("upgrade registry-proxy", choice=True),
        {"change": object_of(PROXY), "replace": object_of(PROXY), "delete": object_of(PROXY)},
    ),
    ScreenWalk(
        "adopt",
        lambda stage: None,
        typed("adopt docker-registry"),
        {
            "change": lines.registry("config"),
            "replace": lines.registry("config"),
            "delete": lines.registry("migration"),
        },
    ),
    ScreenWalk(
        "restore",
        lines.backup,
        typed("restore {stage.folder}/{stage.name}-backup.yaml"),
        {sort: lines.config_map("missing" if sort == "create" else "there") for sort in lines.SORTS},
    ),
    ScreenWalk(
        "finalizers",
        lines.holding,
        stepped("application-connector", "f", NextStep.CLEAR),
        {"create": lines.held("late"), "change": lines.held("held")},
        deletes=True,
    ),
    ScreenWalk(
        "delete",
        lines.with_function,
        stepped(MANAGED, "ctrl+d", NextStep.CLEAR),
        {sort: thing_of("late" if sort == "create" else "seen") for sort in ("create", "replace", "delete", "change")},
        deletes=True,
    ),
    ScreenWalk(
        "delete-several",
        lines.with_function,
        typed(f"delete {MANAGED} cluster-ip"),
        {sort: thing_of("late" if sort == "create" else "seen") for sort in ("create", "replace")},
        deletes=True,
    ),
    ScreenWalk(
        "disable-managed",
        lines.with_function,
        typed(f"disable {MANAGED}"),
        {sort: thing_of("late" if sort == "create" else "seen") for sort in ("create", "replace")},
        deletes=True,
    ),
    ScreenWalk(
        "delete-entry",
        asked_for,
        stepped(MANAGED, "ctrl+d", NextStep.LEAVE),
        {"change": lambda _: Entry(MANAGED, {"channel": "fast"})},
        deletes=True,
    ),
)


def walks(names: Sequence[str] = ()) -> Iterator[tuple[ScreenWalk, str]]:
    """Each flow with each of its intruders."""
    for flow in SCREENS:
        if not names or flow.name in names:
            yield from ((flow, sort) for sort in flow.targets)
