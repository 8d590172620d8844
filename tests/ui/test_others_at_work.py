"""Others delete the definition, or upgrade the module, while a job works with it; and what they left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.actions.jobs import JobReport
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.engine.deletion.deletion_state import NextStep
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.screens.deletion_screen import DeletionScreen
from kymatui.ui.screens.jobs_screen import JobScreen, JobsScreen
from tests.limits import patched_limits
from tests.sandboxes.starting import told_sandbox
from tests.ui.driving import SIZE, text
from tests.ui.test_flows import drawn, enter, stepper
from tests.ui.test_toggling import Person, app_of

pytestmark = pytest.mark.xdist_group("others-at-work")  # one sandbox for all of them

DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
PROXIES = ObjectRef(DEFINITION, "", "registryproxies.registry-proxy.kyma-project.io")
CONTROLLER = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "registry-proxy", "registry-proxy-controller")


@pytest.fixture(scope="module")
def options() -> Iterator[SessionOptions]:
    with told_sandbox() as running:
        yield SessionOptions(str(running.kubeconfig))


@pytest.fixture
def cluster(options: SessionOptions) -> Cluster:
    return open_cluster(options)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def image(cluster: Cluster) -> str:
    live = cluster.get(CONTROLLER)
    assert live is not None
    return str(live["spec"]["template"]["spec"]["containers"][0]["image"])


def set_image(cluster: Cluster, name: str) -> None:
    place = "/spec/template/spec/containers/0/image"
    cluster.patch(CONTROLLER, [{"op": "replace", "path": place, "value": name}], PatchKind.JSON, manager="somebody")


async def plan_of(person: Person, key: str, *more: str) -> None:
    """From the catalog to the plan of what is installed (`i`) or upgraded (`u`)."""
    await person.at("registry-proxy")
    await person.press(key)
    await person.sees(ChoiceScreen)
    await person.press(*more, "enter")
    await person.sees(PlanScreen)


def installed(person: Person) -> str:
    row = person.app.catalog.row("registry-proxy") if person.app.catalog is not None else None
    return row.installed if row is not None else ""


@pytest.fixture
def _impatient() -> Iterator[None]:
    """What is gone is looked for again at once."""
    with patched_limits(lambda limits: replace(limits, poll=0.2, absent=0.2)):
        yield


@pytest.mark.usefixtures("_impatient")
async def test_a_definition_that_is_deleted_and_an_upgrade_by_somebody_else_are_noticed(
    options: SessionOptions, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app_of(options).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await plan_of(person, "i", "j")
        await person.accepts()
        assert (await person.ended(1)).startswith("done")
        await person.until(lambda: installed(person) == "0.14.0")

        real = JobReport.progress

        def once_begun(work: Callable[[], object]) -> Callable[[JobReport, Any], None]:
            def late(self: JobReport, progress: Any) -> None:
                if progress.message == "upgrade registry-proxy":
                    monkeypatch.setattr(JobReport, "progress", real)
                    work()
                real(self, progress)

            return late

        await plan_of(person, "u")
        monkeypatch.setattr(JobReport, "progress", once_begun(lambda: set_image(cluster, "example.org/theirs:9")))
        await person.accepts()
        said = await person.ended(2)
        assert "other field managers own fields of Deployment registry-proxy/registry-proxy-controller now" in said
        assert "by somebody" in said
        assert image(cluster) == "example.org/theirs:9"

        await plan_of(person, "u")
        monkeypatch.setattr(JobReport, "progress", once_begun(lambda: cluster.delete(PROXIES)))
        await person.press("enter", "space")
        await person.accepts()
        said = await person.ended(3)
        assert "CustomResourceDefinition registryproxies.registry-proxy.kyma-project.io" in said
        assert "another client has deleted it" in said

        await person.types("jobs")
        await person.sees(JobsScreen)
        await person.press("enter")
        await person.sees(JobScreen)
        await person.press("ctrl+s")
        await person.press("enter")
        await person.until(lambda: Path("job-3-install-registry-proxy-0.15.0-again.log").exists())
        kept = Path("job-3-install-registry-proxy-0.15.0-again.log").read_text()
        assert kept.startswith("# #3 install registry-proxy 0.15.0 again: ")
        assert "Deployment registry-proxy/registry-proxy-controller written" in kept


async def test_what_is_left_without_its_manager_is_deleted_as_it_is(options: SessionOptions, cluster: Cluster) -> None:
    async with app_of(options).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await enter(person, "cap-operator", NextStep.CLEAR)
        assert "not managed" in drawn(person.app)
        assert "the manager of cap-operator is missing" in drawn(person.app)
        await person.press("ctrl+d")
        await person.sees(PlanScreen)
        assert "Install cap-operator again so that" in text(person.app, "#plan-words")
        await person.press("enter", "space", *"cap", "minus", *"operator")
        await person.accepts()
        said = await person.ended()
        assert said.startswith("done: cap-operator is deleted, 1 object deleted; not deleted: CustomResourceDefinition")
        await person.sees(DeletionScreen)
        await person.until(lambda: stepper(person).next_step is NextStep.GONE)
