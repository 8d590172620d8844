"""`Y` and `:copy`: a line as its name, a kubectl command, a JSON path or YAML; nothing of a Secret's data."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.errors import ForbiddenError
from kymatui.ui.application.copy_commands import module_subject, object_subject
from kymatui.ui.navigation.history import ScreenStep
from tests.ui.driving import SIZE, ready, shown, table, until
from tests.ui.test_objects import POD, body, line_of, ref, tree_of
from tests.ui.worlds import StillSession, app_on, world

ONE = ref("Pod", "v1", POD)
DEPLOYMENT = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "ns", "web")


async def chosen(pilot: Pilot[Any], form: str) -> str:
    """What is in the clipboard after this form was chosen in the dialog."""
    app = pilot.app
    app._clipboard = ""
    await pilot.press("Y")
    await until(pilot, lambda: bool(app.screen.query("#choice-form")))
    app.screen.query_one("#choice-form").move_to(form)  # type: ignore[attr-defined]
    await pilot.press("enter")
    await until(pilot, lambda: bool(app.clipboard))
    return app.clipboard


async def test_an_object_of_the_tree_is_copied_in_every_form() -> None:
    session = StillSession(world())
    session.server[ONE] = body(ONE, spec={"nodeName": "n"})
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot)
        table(app).move_to(line_of(app, ONE))
        assert await chosen(pilot, "name") == POD
        assert await chosen(pilot, "kubectl") == f"kubectl --context prod-eu -n kyma-system get pod {POD} -o yaml"
        assert await chosen(pilot, "path") == f'{{.items[?(@.metadata.name=="{POD}")]}}'
        assert (await chosen(pilot, "yaml")).startswith("apiVersion: v1\nkind: Pod\n")
        assert POD in await chosen(pilot, "line")
        assert (await chosen(pilot, "table")).count("\n") > 5


async def test_a_module_of_the_catalog_is_copied() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        table(app).move_to("istio")
        assert await chosen(pilot, "name") == "istio"
        path = '{.status.modules[?(@.name=="istio")]}'
        assert await chosen(pilot, "path") == path
        assert (await chosen(pilot, "kubectl")).endswith(
            f"get kyma.operator.kyma-project.io default -o jsonpath='{path}'"
        )
        assert "kind: Istio\n" in await chosen(pilot, "yaml")


async def test_a_rule_of_the_checks_has_its_own_path() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot, "cloud-logging", "checks")
        await pilot.press("j")
        found = await chosen(pilot, "path")
        assert found in ("{.status.health}", "{.status.sync}")
        assert f"-o jsonpath={found}" in (await chosen(pilot, "kubectl")).replace("'", "")
        assert app.shown is not None


async def test_a_problem_is_about_its_object_or_module() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        app.ways.open(ScreenStep("problems"))
        await until(pilot, lambda: bool(app.screen.query("#problems")) and bool(table(app).rows))
        table(app).move_to(next(key for key in shown(app) if "istio" in key))
        assert "get " in await chosen(pilot, "kubectl")


async def test_a_line_without_anything_to_copy_says_so() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        app.ways.open(ScreenStep("jobs"))
        await until(pilot, lambda: app.shown is not None and app.shown.step.kind == "jobs")
        app.shown.command_line.run("copy")  # type: ignore[union-attr]
        await pilot.pause()
        assert app.problems[-1] == "this line has nothing to copy"


async def test_the_command_names_a_form_and_refuses_others() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert app.shown is not None
        app.shown.command_line.run("copy name")
        await until(pilot, lambda: app.clipboard == "api-gateway")
        app.shown.command_line.run("copy nmae")
        await pilot.pause()
        assert 'no form "nmae"; did you mean name?' in app.problems[-1]


async def test_yaml_that_may_not_be_read_is_a_problem_and_copies_nothing() -> None:
    session = StillSession(world())
    session.server[ONE] = ForbiddenError('pods is forbidden: User "viewer" cannot get')
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await tree_of(pilot)
        table(app).move_to(line_of(app, ONE))
        assert app.shown is not None
        app.shown.command_line.run("copy yaml")
        await until(pilot, lambda: any("pods is forbidden" in one for one in app.problems))
        assert app.clipboard == ""


async def test_the_data_of_a_secret_is_never_copied() -> None:
    secret = ref("Secret", "v1", "token")
    session = StillSession(world())
    session.server[secret] = body(secret, data={"a": "aHVudGVyMg=="})
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        app.ways.open(ScreenStep("object", "/v1/Secret/kyma-system/token"))
        await until(pilot, lambda: app.shown is not None and app.shown.step.kind == "object")
        app.shown.command_line.run("copy yaml")  # type: ignore[union-attr]
        await until(pilot, lambda: "kind: Secret" in app.clipboard)
        assert "aHVudGVyMg" not in app.clipboard


@pytest.mark.parametrize(
    ("subject", "command", "path"),
    [
        (object_subject(DEPLOYMENT, "a b"), "kubectl --context 'a b' -n ns get deployment.apps web -o yaml", None),
        (object_subject(DEPLOYMENT, ""), "kubectl -n ns get deployment.apps web -o yaml", None),
        (
            object_subject(ObjectRef(GroupVersionKind("", "v1", "Namespace"), "", "ns"), "c"),
            "kubectl --context c get namespace ns -o yaml",
            '{.items[?(@.metadata.name=="ns")]}',
        ),
        (
            object_subject(DEPLOYMENT, "", "$.status.replicas"),
            "kubectl -n ns get deployment.apps web -o jsonpath='{.status.replicas}'",
            "{.status.replicas}",
        ),
        (module_subject("keda", None, None, "c"), "", ""),
    ],
)
def test_commands_are_quoted_for_a_shell(subject: Any, command: str, path: str | None) -> None:
    assert subject.kubectl == command
    assert path is None or subject.path == path
