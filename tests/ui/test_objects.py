"""Enter on a line that is about an object opens that object and no other, and escape leads back to the line."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.snapshot.snapshots import Object
from kymatui.errors import ForbiddenError, KymatuiError, NotFoundError, UnreachableError
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.navigation.history import ScreenStep, object_reference, object_step
from kymatui.ui.panes.object_view import ObjectView
from kymatui.ui.presenters.module.yaml_documents import as_yaml
from kymatui.ui.screens.module_screen import ModuleScreen
from kymatui.ui.screens.object_screen import ObjectScreen
from kymatui.ui.widgets.document import Document
from tests.domain import builders as b
from tests.ui.driving import SIZE, ready, shown, table, text, until
from tests.ui.test_flow_snapshots import SEEN, StillScreen
from tests.ui.worlds import OWNED, StillSession, app_on, world

POD, REPLICA_SET = "istio-manager-7d4b-x2x", "istio-manager-7d4b"


def ref(kind: str, api: str, name: str, namespace: str = "kyma-system") -> ObjectRef:
    return ObjectRef(GroupVersionKind.of(api, kind), namespace, name)


def body(one: ObjectRef, **more: Any) -> Object:
    """The object as the server has it: more than what is watched of it."""
    metadata = {"name": one.name, "namespace": one.namespace, "uid": one.name}
    return {"apiVersion": one.kind.api_version, "kind": one.kind.kind, "metadata": metadata, **more}


IN_TREE = [
    ref("Pod", "v1", POD),
    ref("ReplicaSet", "apps/v1", REPLICA_SET),
    ref("ServiceAccount", "v1", "istio-manager"),
    ref("ConfigMap", "v1", "istio-config"),
    ref("ClusterRole", "rbac.authorization.k8s.io/v1", "istio-manager", ""),
    ref("Deployment", "apps/v1", "istio-manager"),
    ref("Istio", "operator.kyma-project.io/v1alpha1", "default"),
    ref("Manifest", "operator.kyma-project.io/v1beta2", b.manifest("istio", "1.20.3")["metadata"]["name"]),
]


async def tree_of(pilot: Pilot[Any], module: str = "istio", tab: str = "resources") -> KymatuiApp:
    app = await ready(pilot)
    app.ways.open(ScreenStep("module", module, tab))
    await pilot.pause()
    await until(pilot, lambda: bool(table(app).rows))
    return app


def line_of(app: KymatuiApp, one: ObjectRef) -> str:
    """The key of the line that is about an object."""
    end = f"/{one.kind.kind}.{one.kind.group}:{one.namespace}:{one.name}"
    return next(key for key in shown(app) if key.endswith(end))


def yaml_of(app: KymatuiApp) -> str:
    return "\n".join(app.screen.query_one(Document).lines)


@pytest.mark.parametrize("key", ["enter", "y"])
@pytest.mark.parametrize("one", IN_TREE, ids=lambda one: one.kind.kind)
async def test_a_line_of_the_tree_opens_its_own_object(one: ObjectRef, key: str) -> None:
    session = StillSession(world())
    found = {**body(one), "spec": {"only": "the server knows"}}
    session.server[one] = found
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot)
        here = line_of(app, one)
        table(app).move_to(here)
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, ObjectScreen) and f"name: {one.name}" in yaml_of(app))
        assert f"kind: {one.kind.kind}" in yaml_of(app)
        whole = app.view.locations.whole(one)
        assert yaml_of(app) == as_yaml(whole or found).rstrip("\n")
        assert str(one) in text(app, "#yaml-name")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ModuleScreen))
        assert app.shown is not None
        assert app.shown.step == ScreenStep("module", "istio", "resources")
        assert table(app).cursor_key == here


async def test_an_object_that_stays_the_same_is_written_as_yaml_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[object] = []

    def write(found: Any) -> str:
        written.append(found)
        return as_yaml(found)

    monkeypatch.setattr("kymatui.ui.panes.object_view.as_yaml", write)
    session = StillSession(world())
    one = IN_TREE[0]
    session.server[one] = body(one)
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot)
        table(app).move_to(line_of(app, one))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ObjectScreen) and f"name: {one.name}" in yaml_of(app))
        for _ in range(3):
            app.screen.query_one(ObjectView).show(one)
        assert len(written) == 1
        assert f"name: {one.name}" in yaml_of(app)


async def test_what_is_watched_in_full_is_not_asked_for() -> None:
    session = StillSession(world())
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot)
        table(app).move_to(line_of(app, IN_TREE[-2]))
        await pilot.press("enter")
        await until(pilot, lambda: "watched" in text(app, "#yaml-state"))
        assert session.reads == []


async def test_a_line_that_is_no_object_opens_none() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot)
        group = next(key for key in shown(app) if key.endswith("/ConfigMap."))
        table(app).move_to(group)
        await pilot.press("y")
        await until(pilot, lambda: [one.message for one in app._notifications] == ["this line has no object"])
        assert isinstance(app.screen, ModuleScreen)
        lines = len(shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: len(shown(app)) < lines)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ForbiddenError('pods is forbidden: User "viewer" cannot get'), "forbidden: pods is forbidden"),
        (NotFoundError("Pod not found"), "not found: Pod not found"),
        (UnreachableError("no answer within 5 s"), "cannot be read: no answer within 5 s; ctrl-r retries"),
    ],
)
async def test_what_cannot_be_read_is_said_and_nothing_else_is_shown(error: KymatuiError, words: str) -> None:
    session = StillSession(world())
    session.server[IN_TREE[0]] = error
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot)
        table(app).move_to(line_of(app, IN_TREE[0]))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ObjectScreen) and words in text(app, "#yaml-state"))
        assert yaml_of(app) == ""
        session.server[IN_TREE[0]] = body(IN_TREE[0])
        await pilot.press("ctrl+r")
        await until(pilot, lambda: f"name: {POD}" in yaml_of(app))


async def test_loading_is_said_until_the_server_answers() -> None:
    answered = threading.Event()

    class Slow(StillSession):
        def read(self, ref: ObjectRef) -> Object:
            answered.wait(20)
            return super().read(ref)

    async with app_on(Slow(world())).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot)
        table(app).move_to(line_of(app, IN_TREE[0]))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ObjectScreen))
        assert text(app, "#yaml-state") == "loading"
        await asyncio.sleep(0)
        answered.set()
        await until(pilot, lambda: f"name: {POD}" in yaml_of(app))


async def test_an_object_that_goes_stays_to_be_read_and_is_called_gone() -> None:
    session = StillSession(world())
    session.server[IN_TREE[0]] = body(IN_TREE[0])
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot)
        table(app).move_to(line_of(app, IN_TREE[0]))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ObjectScreen) and f"name: {POD}" in yaml_of(app))
        session.server[IN_TREE[0]] = NotFoundError("Pod not found")
        session.show(owned=OWNED[:1])
        app.action_reconnect()
        await until(pilot, lambda: "not found" in text(app, "#yaml-state"))
        assert "last read at" in text(app, "#yaml-state")
        assert f"name: {POD}" in yaml_of(app)


async def test_an_event_opens_the_object_that_it_is_about() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot, "btp-operator", "events")
        here = table(app).cursor_key
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ObjectScreen) and "kind: BtpOperator" in yaml_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ModuleScreen))
        assert app.shown is not None
        assert (app.shown.step.tab, table(app).cursor_key) == ("events", here)


@pytest.mark.parametrize(
    ("module", "tab", "moves", "named"),
    [
        ("api-gateway", "versions", "j", "ModuleTemplate kyma-system/api-gateway-3.4.1"),
        ("cloud-logging", "checks", "", "CloudLogging kyma-system/default"),
    ],
)
async def test_y_is_about_the_line_on_every_tab_that_has_lines_about_objects(
    module: str, tab: str, moves: str, named: str
) -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot, module, tab)
        await pilot.press(*moves, "y")
        await until(pilot, lambda: isinstance(app.screen, ObjectScreen))
        assert text(app, "#yaml-name") == named
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ModuleScreen))
        assert app.shown is not None
        assert app.shown.step.tab == tab


async def test_enter_on_the_stepper_of_a_deletion_opens_the_object_and_deletes_nothing() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await app.push_screen(StillScreen("keda"))
        await until(pilot, lambda: bool(table(app).rows))
        await pilot.press("j", "enter")
        await until(pilot, lambda: isinstance(app.screen, ObjectScreen))
        screen = app.screen
        assert isinstance(screen, ObjectScreen)
        assert screen.ref == SEEN.remaining.theirs[1].ref
        assert not app.jobs.busy


@pytest.mark.parametrize(
    ("tab", "label"), [("versions", "Component of this version"), ("checks", "Evaluate this path")]
)
async def test_enter_does_what_the_line_of_keys_says(tab: str, label: str) -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot, "cloud-logging", tab)
        assert app.screen.active_bindings["enter"].binding.description == label


async def test_nothing_is_offered_to_be_opened_before_there_are_lines() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert app.screen.active_bindings["enter"].binding.description == "Open"
        await pilot.press("slash", *"zzzz", "enter")
        await pilot.pause()
        assert "enter" not in app.screen.active_bindings


async def test_a_change_of_a_condition_opens_the_object_that_has_it() -> None:
    session = StillSession(world())
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        changed = b.resource("eventing")
        changed["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "Broken"}]
        session.show(module_resources={**world().module_resources, b.gvk("eventing"): (changed,)})
        await until(pilot, lambda: app.view.history is not None and bool(app.view.history.of("eventing")))
        app = await tree_of(pilot, "eventing", "history")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ObjectScreen) and "kind: Eventing" in yaml_of(app))


async def test_the_yaml_tab_has_the_whole_manager_and_keeps_to_an_object_that_goes() -> None:
    session = StillSession(world())
    manager = ref("Deployment", "apps/v1", "istio-manager")
    session.server[manager] = body(manager, spec={"template": {"spec": {"volumes": [{"name": "certificates"}]}}})
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        app.ways.open(ScreenStep("module", "istio", "yaml"))
        await pilot.pause()
        assert "kind: Istio" in yaml_of(app)
        resources = {kind: found for kind, found in world().module_resources.items() if kind != b.gvk("istio")}
        session.server[ref("Istio", "operator.kyma-project.io/v1alpha1", "default")] = NotFoundError("no such Istio")
        session.show(module_resources={**resources, b.gvk("istio"): ()})
        await until(pilot, lambda: "no such Istio" in text(app, "#yaml-state"))
        assert "kind: Istio" in yaml_of(app)
        await pilot.press("comma")
        await until(pilot, lambda: "certificates" in yaml_of(app))


def test_secrets_show_no_data_and_neither_does_what_kubectl_applied() -> None:
    applied = {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"password":"aHVudGVyMg=="}}'}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "keys", "annotations": {**applied, "mine": "kept"}},
        "data": {"password": "aHVudGVyMg=="},
    }
    shown = as_yaml(secret)
    assert "aHVudGVyMg" not in shown
    assert "mine: kept" in shown
    assert "(36 characters)" in shown


@pytest.mark.parametrize("one", [*IN_TREE, ref("ClusterRole", "rbac.authorization.k8s.io/v1", "system:node", "")])
def test_an_object_is_named_by_its_step_and_found_again(one: ObjectRef) -> None:
    assert object_reference(object_step(one)) == one
    assert object_step(one).crumb == f"{one.kind.kind} {one.name}"
