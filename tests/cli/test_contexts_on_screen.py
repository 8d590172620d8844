"""The screen on many contexts: rows that are live, catalogs that stay open, and contexts that do not work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from kymatui.actions.batch import BatchJob, run_items
from kymatui.actions.edits.campaign import Campaign, CampaignEdit, campaign_item
from kymatui.domain.fleet.campaigns import CampaignOutcome, CampaignPace, summarize_campaign
from kymatui.domain.fleet.clusters import ClusterStatus
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Policy
from kymatui.domain.kyma_edit.module_edit import EditVerb, ModuleEdit
from kymatui.engine.cluster.logins import LOGINS
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.context_fleet import ContextFleet, listed_contexts
from kymatui.sessions.contexts import KubeContexts, list_entries, select_entries
from kymatui.sessions.deletions import edits_of
from kymatui.settings.config_file import Settings
from kymatui.ui.application.contexts_app import ContextsApp
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.navigation.history import OtherView, ViewKind
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from tests.cli.test_contexts import Kubeconfig, identity, interrupted_edit
from tests.ui.driving import SIZE, table, until
from tests.ui.parsing import parse_once

pytestmark = pytest.mark.xdist_group("fleet")

KYMA = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma"), "kyma-system", "default")
SKIP = "operator.kyma-project.io/skip-reconciliation"


@pytest.fixture
def kubeconfig(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kubeconfig:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    parse_once(monkeypatch)
    config = Kubeconfig(two_clusters, tmp_path)
    config.add("prod/eu")
    config.add("dead", server="https://127.0.0.1:9")
    config.add("token", user={"token": "wrong"})
    return config


@pytest.fixture
def runtime(two_clusters: Path) -> Iterator[Cluster]:
    cluster = open_cluster(SessionOptions(str(two_clusters), "skr"))
    kyma = cluster.get(KYMA)
    assert kyma is not None
    yield cluster
    before = {"metadata": {"labels": {SKIP: None}}, "spec": {"modules": kyma["spec"]["modules"]}}
    cluster.patch(KYMA, before, kind=PatchKind.MERGE)
    cluster.client.transport.close()


def contexts_app(kubeconfig: Kubeconfig, *patterns: str, settings: Settings | None = None, **more: Any) -> ContextsApp:
    options, own = SessionOptions(str(kubeconfig.path)), settings or Settings()
    entries = select_entries(list_entries(options, own, {}), patterns, own)
    contexts = KubeContexts(lambda: options, own, lambda _: None)
    return ContextsApp(lambda: ContextFleet(options, entries), settings=own, contexts=contexts, **more)


def clusters(app: ContextsApp) -> dict[str, Any]:
    picture = app.fleet.picture if app.fleet is not None else None
    return {key[1]: cluster for key, cluster in picture.clusters.items()} if picture is not None else {}


def is_read(app: ContextsApp) -> bool:
    return bool(clusters(app)) and all(c.status is not ClusterStatus.CONNECTING for c in clusters(app).values())


async def test_every_context_is_a_row_the_worst_first(kubeconfig: Kubeconfig) -> None:
    app = contexts_app(kubeconfig)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: is_read(app))
        rows = {row.key: row.cells for row in table(app).rows}
        assert [row.key for row in table(app).rows] == ["/dead", "/token", "/prod/eu", "/skr", "/kcp"]
        assert table(app).cursor_key == "/dead", "the cursor stays at the top while rows find their places"
        assert "unreachable" in rows["/dead"]["state"].text
        assert "login needed" in rows["/token"]["state"].text
        assert "control plane" in rows["/kcp"]["state"].text
        assert rows["/prod/eu"]["problems"].text == str(clusters(app)["skr"].problems)
        assert "contexts 5" in app.frame_facts.counts
        assert "not read 2" in app.frame_facts.counts


async def test_enter_opens_the_catalog_and_escape_keeps_it_open(kubeconfig: Kubeconfig) -> None:
    app = contexts_app(kubeconfig, "prod/eu", "skr")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: is_read(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.catalog is not None)
        assert isinstance(app.screen, CatalogScreen)
        assert app.frame_facts.cluster == "prod/eu"
        session = app.view.session
        view = app.view
        row = clusters(app)["prod/eu"]
        await until(pilot, lambda: view.catalog is not None and view.catalog.problem_count == row.problems)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CatalogScreen))
        assert app.view.session is session  # nothing was read again


async def test_a_change_in_a_cluster_is_in_its_row(kubeconfig: Kubeconfig, runtime: Cluster) -> None:
    app = contexts_app(kubeconfig, "prod/eu")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: is_read(app))
        before = clusters(app)["prod/eu"].problems
        await asyncio.to_thread(runtime.patch, KYMA, {"metadata": {"labels": {SKIP: "true"}}}, kind=PatchKind.MERGE)
        await until(pilot, lambda: clusters(app)["prod/eu"].problems > before)


async def test_a_context_that_is_configured_so_is_read_only(kubeconfig: Kubeconfig) -> None:
    settings = Settings(contexts={"prod/*": {"read_only": True, "accent": "red"}})
    app = contexts_app(kubeconfig, "prod/eu", "skr", settings=settings)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: is_read(app))
        assert not app.read_only
        app.look_at(("", "prod/eu"))
        await until(pilot, lambda: app.catalog is not None)
        assert (app.read_only, app.frame_facts.mode, app.has_class("-accent-red")) == (True, "READ-ONLY", True)
        assert app.view.session is not None
        assert app.view.session.read_only
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))
        assert (app.read_only, app.has_class("-accent-red")) == (False, False)


async def test_a_plugin_in_the_fleet_gets_no_terminal_until_its_context_is_opened(kubeconfig: Kubeconfig) -> None:
    kubeconfig.add("login", user=kubeconfig.plugin("fails", "echo 'token expired' >&2\nexit 1\n"))
    app = contexts_app(kubeconfig, "login", "skr")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: is_read(app))
        assert clusters(app)["login"].status is ClusterStatus.LOGIN
        assert "login" in LOGINS.in_background
        app.look_at(("", "login"))
        await until(pilot, lambda: "login" not in LOGINS.in_background)


async def test_commands_switch_between_fleet_catalog_and_control_plane(kubeconfig: Kubeconfig) -> None:
    app = contexts_app(kubeconfig, "kcp", "skr")
    app.may_switch = True
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: is_read(app))
        commands = {command.name: command for command in app.commands()}
        commands["ctx"].run(["kcp"])
        await until(pilot, lambda: app.runtime_key == ("", "kcp"))
        assert {"sync", "windows", "whatif"}.isdisjoint(commands)
        commands["fleet"].run([])
        await until(pilot, lambda: app.runtime_key is None)
        commands["ctx"].run(["kcp"])
        await until(pilot, lambda: app.runtime_key == ("", "kcp"))
        commands["fleet"].run(["runtimes"])
        assert app.other_view == OtherView(ViewKind.RUNTIMES, "kcp")


def test_a_campaign_over_contexts_obeys_read_only_and_starts_with_the_canary(
    kubeconfig: Kubeconfig, runtime: Cluster
) -> None:
    kubeconfig.add("shut")
    settings = Settings(contexts={"shut": {"read_only": True}})
    options = SessionOptions(str(kubeconfig.path))
    entries = {entry.name: entry for entry in list_entries(options, settings, {})}
    edit = ModuleEdit(EditVerb.POLICY, "keda", policy=Policy.IGNORE)  # which upgrades nothing, and can be undone
    campaign = Campaign(listed_contexts(options, entries), edits_of, edit, CampaignPace(canaries=1, wait=False))
    steps = campaign.plan(["/prod/eu", "/shut", "/kcp", "/dead", "/token"])
    assert [(step.name, step.outcome) for step in steps] == [
        ("prod/eu", CampaignOutcome.PLANNED),
        ("shut", CampaignOutcome.REFUSED),
        ("kcp", CampaignOutcome.REFUSED),
        ("dead", CampaignOutcome.UNREACHABLE),
        ("token", CampaignOutcome.UNREACHABLE),
    ]
    assert "read-only" in steps[1].message
    assert summarize_campaign(steps).startswith("5 contexts: ")
    (ended,) = run_items(
        [campaign_item(steps[0])], CampaignEdit(campaign, lambda _: None), Mock(), BatchJob(threading.Event())
    )
    assert ended.result is not None
    assert ended.result.outcome is CampaignOutcome.ACCEPTED
    kyma = runtime.get(KYMA)
    assert kyma is not None
    assert [m.get("customResourcePolicy") for m in kyma["spec"]["modules"] if m["name"] == "keda"] == ["Ignore"]


async def test_an_interrupted_edit_of_contexts_is_in_the_jobs_and_continues(kubeconfig: Kubeconfig) -> None:
    names = (f"{identity(kubeconfig, 'prod/eu')}/prod/eu", "gone/away")
    number = interrupted_edit(kubeconfig, *names)
    app = contexts_app(kubeconfig, "prod/eu", "kcp", allow_fleet_writes=True)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: is_read(app) and bool(app.jobs.interrupted))
        assert [record.number for record in app.jobs.interrupted] == [number]
        await pilot.press("J")
        await until(pilot, lambda: app.shown is not None and app.shown.step.kind == "jobs" and bool(table(app).rows))
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, PlanScreen))
        plan = app.screen
        assert isinstance(plan, PlanScreen)
        assert [line.name for line in plan.preview.lines] == ["prod/eu", "away"]
        assert app.jobs.target is not None
        assert app.jobs.target.contexts == ("prod/eu",)


async def test_the_matrix_has_the_version_of_each_module_in_each_context(kubeconfig: Kubeconfig) -> None:
    app = contexts_app(kubeconfig, "prod/eu", "skr")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: is_read(app))
        await pilot.press("v")
        await until(pilot, lambda: app.shown is not None and app.shown.step.kind == "matrix" and bool(table(app).rows))
        assert table(app).grid.columns[1].title == "CONTEXTS"
        await pilot.press("V")
        await until(pilot, lambda: [row.key for row in table(app).rows] == ["/prod/eu", "/skr"])
        keda = next(row.installed for row in clusters(app)["skr"].modules if row.name == "keda")
        assert [row.cells["module:keda"].text for row in table(app).rows] == [keda, keda]
        first = table(app).grid.columns[1].id
        await pilot.press("right")
        await until(pilot, lambda: table(app).grid.columns[1].id != first)
        await pilot.press("enter")
        await until(pilot, lambda: app.runtime_key == ("", "prod/eu"))
