"""What the stepper of the guided deletion and a form look like, in a usual and in a narrow terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.schema_forms import form_fields
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.ownership import ObjectOwnership
from kymatui.domain.plans.jobs import Job, JobState, JobStep, LogLine, StepState
from kymatui.engine.deletion.deletion_state import DeletionState, ManagedBy
from kymatui.engine.inventory.managed_resources import ManagedObject, ManagedObjects
from kymatui.ui.dialogs.form_dialog import FormScreen
from kymatui.ui.screens.deletion_screen import DeletionScreen
from kymatui.ui.screens.jobs_screen import JobScreen, JobsScreen
from tests.domain import builders as b
from tests.ui.conftest import Compare
from tests.ui.driving import Walk, ready, typing, until
from tests.ui.worlds import StillSession, app_on, world

SIZES = [
    pytest.param((120, 40), id="120x40"),
    pytest.param((60, 30), id="60x30"),
    pytest.param((80, 24), id="80x24"),
    pytest.param((160, 24), id="160x24"),
    pytest.param((200, 24), id="200x24"),
]
SCALED = GroupVersionKind("keda.sh", "v1alpha1", "ScaledObject")
KEDA = GroupVersionKind("operator.kyma-project.io", "v1alpha1", "Keda")


def left(name: str, **more: Any) -> ManagedObject:
    return ManagedObject(ObjectRef(SCALED, "shop", name), name, maker="Helm shop", **more)


DEFAULT_CR = ObjectOwnership.DEFAULT_CR
OWN = ManagedObject(ObjectRef(KEDA, "kyma-system", "default"), "own", DEFAULT_CR, maker="lifecycle-manager")
SEEN = DeletionState(
    "prod-eu",
    "keda",
    ManagedBy.KYMA,
    installed="1.6.0",
    remaining=ManagedObjects(
        (
            left("cart", finalizers=("finalizer.keda.sh",)),
            left("checkout", finalizers=("finalizer.keda.sh",)),
            left("orders", deleted_at=1.0, held=", held by finalizer.keda.sh (set by keda-operator)"),
            OWN,
        ),
        (("scaledjobs.keda.sh", "you may not list them"),),
    ),
    default=OWN,
    requested=True,
    reported="Ready",
    manager=ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "kyma-system", "keda-manager"),
    definitions=(ObjectRef(GroupVersionKind("", "v1", "X"), "", "a"),) * 3,
)
SCHEMA = {
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 5, "description": "How many replicas the manager has."},
        "mode": {"type": "string", "enum": ["internal", "external"], "default": "internal"},
        "storage": {"properties": {"class": {"type": "string"}, "deleteEnabled": {"type": "boolean"}}},
    },
}


class StillScreen(DeletionScreen):
    """Sees the same whenever it looks."""

    def _read_again(self) -> None:
        self.reader.state = SEEN
        if self.frame.is_whole:
            self._draw()


def showing(made: Callable[[], Screen[Any]], *keys: str) -> Walk:
    async def before(pilot: Pilot[Any]) -> None:
        app = await ready(pilot)
        screen = made()
        await app.push_screen(screen)
        await until(pilot, lambda: app.screen is screen and screen.focused is not None)
        await pilot.press(*keys)
        await pilot.pause()
        await typing(pilot)

    return before


def form() -> FormScreen:
    return FormScreen("default CR of docker-registry", form_fields(SCHEMA, ("spec",)), {"spec": {"size": 2}})


STEPS = (
    JobStep("read the cluster", StepState.DONE, b.NOW - 200, b.NOW - 190),
    JobStep("delete what it manages", StepState.RUNNING, b.NOW - 190),
    JobStep("undeploy the manager"),
)
LINES = (
    LogLine(b.NOW - 190, "delete what it manages"),
    LogLine(b.NOW - 150, "deleted", "ScaledObject shop/cart"),
    LogLine(b.NOW - 60, "waiting for the module's manager to remove finalizer.keda.sh", "ScaledObject shop/checkout"),
)
JOBS = (
    Job(
        *(1, "delete keda 1.6.0", "keda"),
        state=JobState.RUNNING,
        steps=STEPS,
        waits_for="ScaledObject shop/checkout has a finalizer",
        actor=Actor.MANAGER,
        done=2,
        total=3,
        created=b.NOW - 210,
        began=b.NOW - 200,
        log=LINES,
    ),
    Job(2, "upgrade registry-proxy 0.12.0", "registry-proxy", message="waits for job 1", created=b.NOW - 30),
    Job(
        *(3, "enable telemetry", "telemetry"),
        state=JobState.FAILED,
        message="the Kyma is edited; the module is in Error: ImagePullBackOff",
        hint="run `kymatui module telemetry`",
        created=b.NOW - 900,
        began=b.NOW - 900,
        ended=b.NOW - 600,
    ),
)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("made", [JobsScreen, lambda: JobScreen("1")], ids=["jobs", "job"])
def test_jobs_look_as_they_should(made: Callable[[], Screen[Any]], size: tuple[int, int], compare: Compare) -> None:
    app = app_on(StillSession(world()))

    async def before(pilot: Pilot[Any]) -> None:
        await ready(pilot)
        app.jobs.all = JOBS
        await showing(made, "j")(pilot)

    assert compare(app, size, before)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("made", "keys"),
    [
        pytest.param(lambda: StillScreen("keda"), (), id="deletion"),
        pytest.param(form, (), id="form"),
        pytest.param(form, ("backspace", "9"), id="form-wrong"),
        pytest.param(form, ("ctrl+y",), id="form-yaml"),
    ],
)
def test_it_looks_as_it_should(
    made: Callable[[], Screen[Any]], keys: tuple[str, ...], size: tuple[int, int], compare: Compare
) -> None:
    assert compare(app_on(StillSession(world())), size, showing(made, *keys))
