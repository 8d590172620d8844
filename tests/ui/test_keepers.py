"""Clusters without a lifecycle-manager on the screen: one that nobody is in charge of, and one of kymatui's operator.

One module each, from the catalog to its end: installed, upgraded, deleted. Keys pressed, the cluster looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.files.backups import backups_folder
from kymatui.cli.main import main
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.plans.jobs import JobState
from kymatui.engine.cluster.ports import Cluster, cluster_identity
from kymatui.engine.deletion.deletion_state import NextStep
from kymatui.operator.manifest_context import open_manifest_context
from kymatui.sandbox.world.story.sample_fleet import access_secret
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.remote_session import RemoteSession
from kymatui.sessions.fetching import FetchOptions
from kymatui.settings.config_file import Settings
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.dialogs.action_menu import MenuScreen
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.screens.deletion_screen import DeletionScreen
from kymatui.ui.widgets.plan_widgets import PlanTable
from kymatui.ui.widgets.top_line import TopLine
from tests.adapters.chart_sites import Site, chart_site, offers
from tests.cli.unseen_manifests import VERSIONS, offer, push, template
from tests.controllers.desks import run_alone
from tests.domain.builders import kyma
from tests.engine.objects import config_map, deployment
from tests.sandboxes.starting import ReadySandbox, ready_sandbox
from tests.ui.driving import SIZE, text
from tests.ui.test_flows import ended, enter, stepper
from tests.ui.test_toggling import Person, app_of

pytestmark = pytest.mark.xdist_group("keepers")  # one sandbox for all of them

GROUP = "operator.kyma-project.io"
MANIFEST = ObjectRef(GroupVersionKind(GROUP, "v1beta2", "Manifest"), "modules", "cache")
TEMPLATE = GroupVersionKind(GROUP, "v1beta2", "ModuleTemplate")
CONFIG_MAP = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "modules", "cache")
QUEUE = ObjectRef(CONFIG_MAP.kind, "modules", "queue")
STOCK = ObjectRef(CONFIG_MAP.kind, "modules", "stock")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ReadySandbox]:
    with ready_sandbox("open", "own") as running:
        for context in ("open", "own"):
            cluster = open_cluster(SessionOptions(str(running.kubeconfig), context))
            offer(cluster, running.registry)
            for version in VERSIONS:
                cluster.apply(stock(running.registry, version))
        yield running


def stock(registry: str, version: str) -> dict[str, Any]:
    """A module whose manager tells its version, as modules have; its template."""
    bodies = [
        config_map("stock", "modules", version=version),
        deployment("stock", "modules", image=f"registry.example/stock:{version}", replicas=0),
    ]
    digest = push(registry, "stock", yaml.safe_dump_all(bodies).encode())
    return template(registry, "stock", version, digest, {"group": "apps", "version": "v1", "kind": "Deployment"})


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def charts() -> Iterator[Site]:
    with chart_site() as found:
        yield found


@pytest.fixture
def operator(sandbox: ReadySandbox) -> Iterator[None]:
    """`kymatui operator`, in this process."""
    options = SessionOptions(str(sandbox.kubeconfig), "own")
    context = open_manifest_context(options, FetchOptions((sandbox.registry,)))
    stop = threading.Event()
    thread = threading.Thread(target=run_alone, args=(context, "modules", stop))
    thread.start()
    yield
    stop.set()
    thread.join(30)


def version(cluster: Cluster, ref: ObjectRef = CONFIG_MAP) -> str:
    found = cluster.get(ref)
    return str(found["data"]["version"]) if found is not None else ""


async def delete(person: Person, turn: NextStep) -> None:
    """The guided deletion, from the catalog to its end."""
    before = len(person.app.jobs.all)
    await enter(person, "cache", turn)
    await person.press("ctrl+d")
    await person.sees(PlanScreen)
    await person.press(*"cache")
    await person.accepts()
    await person.until(lambda: len(person.app.jobs.all) > before)
    await ended(person)
    await person.until(
        lambda: isinstance(person.app.screen, DeletionScreen) and stepper(person).next_step is NextStep.GONE
    )


async def test_in_an_open_cluster_all_is_installed_upgraded_and_deleted_directly(
    sandbox: ReadySandbox, charts: Site
) -> None:
    options = SessionOptions(str(sandbox.kubeconfig), "open")
    cluster = open_cluster(options)
    offers(charts, "1.0.0", "1.1.0")
    at = ["--version", "1.0.0", "--yes", "--kubeconfig", options.kubeconfig, "--context", "open"]
    assert main(["install", "queue", *at]) == 0
    assert main(["install", "shop", "--chart", "web", "--repo", charts.url, "-n", "webs", "--set", "g=mine", *at]) == 0
    async with app_of(options).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("cache")
        await person.until(lambda: person.app.screen.query_one(TopLine).facts.manager == "not managed")
        await person.types("manifest cache")
        await person.sees(ChoiceScreen)
        await person.press("enter")
        await person.sees(PlanScreen)
        assert "no effect until you start `kymatui operator`" in text(person.app, "#plan-words")
        await person.press("escape")
        await person.press("i")
        await person.sees(ChoiceScreen)
        await person.press("j", "enter")
        await person.accepts()
        await ended(person)
        assert version(cluster) == "1.0.0"
        await person.types("upgrade all")
        await person.sees(PlanScreen)
        assert [line.split(" the ")[0] for line in person.lines() if line.startswith("~")] == [
            "~ cache: ConfigMap modules/cache change",
            "~ queue: ConfigMap modules/queue change",
            "~ shop: ConfigMap webs/shop change",
        ]
        await person.accepts()
        await person.until(lambda: len(person.app.jobs.all) == 4 and not person.app.jobs.active)
        await ended(person)
        assert (version(cluster), version(cluster, QUEUE)) == ("1.1.0", "1.1.0")
        shop = cluster.get(ObjectRef(CONFIG_MAP.kind, "webs", "shop"))
        assert shop is not None
        assert shop["data"] == {"g": "mine", "v": "1.1.0"}, "it keeps its values"
        await person.types("upgrade shop")
        await person.until(lambda: bool(person.app.problems))
        assert "shop: up to date; no changes made" in person.app.problems[0]
        await delete(person, NextStep.UNDEPLOY)
        assert version(cluster) == ""
        await restore(person, cluster)
    cluster.delete(CONFIG_MAP)
    for words, status, found in (
        ("install stock --version 1.0.0 --yes", 0, "1.0.0"),
        ("upgrade stock --yes", 0, "1.1.0"),
        ("delete stock --yes", 0, ""),
        ("restore stock --yes", 0, "1.1.0"),
        ("check stock", 2, "1.1.0"),
        ("adopt stock --yes", 0, "1.1.0"),
        ("check stock", 0, "1.1.0"),
        ("delete stock queue --yes --no-backup", 0, ""),
    ):
        assert main([*words.split(), "--kubeconfig", options.kubeconfig, "--context", "open"]) == status, words
        assert version(cluster, STOCK) == found, words
    assert version(cluster, QUEUE) == ""


async def mark(person: Person, *modules: str) -> None:
    await person.press("ctrl+backslash")
    for module in modules:
        await person.at(module)
        await person.press("space")


async def delete_both(person: Person) -> None:
    """The listing of both, agreed to, and both jobs at their end."""
    before = len(person.app.jobs.all)
    await mark(person, "cache", "queue")
    await person.press("ctrl+d")
    await person.sees(PlanScreen)
    assert [line.partition(":")[0] for line in person.lines()] == ["- cache", "- queue"]
    await person.press("2", "space", *"modules")
    await person.accepts()
    await person.until(lambda: len(person.app.jobs.all) == before + 2 and not person.app.jobs.active)
    assert [job.state for job in person.app.jobs.all[-2:]] == [JobState.DONE, JobState.DONE], person.app.jobs.all


async def test_marked_modules_are_installed_and_deleted_as_one_plan(sandbox: ReadySandbox) -> None:
    options = SessionOptions(str(sandbox.kubeconfig), "open")
    cluster = open_cluster(options)
    for ref in (CONFIG_MAP, QUEUE):
        main(["delete", ref.name, "--yes", "--no-backup", "--kubeconfig", options.kubeconfig, "--context", "open"])
    async with app_of(options).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await mark(person, "cache", "queue")
        await person.press("i")
        await person.sees(PlanScreen)
        assert person.lines() == ["+ cache: ConfigMap modules/cache create", "+ queue: ConfigMap modules/queue create"]
        await person.accepts()
        await person.until(lambda: len(person.app.jobs.all) == 2 and not person.app.jobs.active)
        assert (version(cluster), version(cluster, QUEUE)) == ("1.1.0", "1.1.0")
        await person.press("i")
        await person.until(lambda: bool(person.app.problems))
        assert person.app.problems[0].startswith("cache: 1.1.0 is already installed; queue: 1.1.0 is already installed")
        await delete_both(person)
    assert (version(cluster), version(cluster, QUEUE)) == ("", "")


async def restore(person: Person, cluster: Cluster) -> None:
    """What was deleted comes back from its backup; one of another cluster says so before anything."""
    (kept,) = backups_folder().glob("*/cache-*.yaml")
    foreign = kept.with_name("cache-20010101T000000Z.yaml")
    foreign.write_text(kept.read_text().replace(cluster_identity(cluster), "of-another"))
    text_of_run = kept.read_text().replace("# finished\n", "").replace("name: cache", "name: of-an-earlier-run")
    kept.with_name("cache-20020101T000000Z.yaml").write_text(text_of_run)
    await person.types("restore cache")
    await person.sees(ChoiceScreen)
    notes = [row.cells["note"].text for row in person.app.screen.query_one(PlanTable).rows]
    assert notes == ["2 backups of one deletion, of open", "1 object, of open, ANOTHER CLUSTER"]
    await person.press("j", "enter")
    await person.sees(PlanScreen)
    assert "the backup is from another cluster that is also called open" in text(person.app, "#plan-words")
    await person.press("enter")
    assert "restore the backup of another cluster to open" in text(person.app, ".plan-tick:focus")
    await person.press("e")
    await person.sees(ChoiceScreen)
    await person.press("k", "enter")
    await person.sees(PlanScreen)
    assert person.lines() == [f"+ ConfigMap modules/{name} create" for name in ("cache", "of-an-earlier-run")]
    number = len(person.app.jobs.all) + 1
    await person.accepts()
    assert await person.ended(number) == "done: 2 created; run `:adopt cache` so that kymatui manages it again"
    assert version(cluster) == "1.1.0"
    await person.types("restore cache")
    await person.sees(ChoiceScreen)
    await person.press("enter")
    await person.sees(PlanScreen)
    assert "all objects already exist" in text(person.app, "#plan-words")
    await person.press("escape")


async def test_with_kymatuis_operator_a_module_is_a_manifest_from_its_installation_to_its_end(
    sandbox: ReadySandbox, operator: None
) -> None:
    options = SessionOptions(str(sandbox.kubeconfig), "own")
    cluster = open_cluster(options)
    async with app_of(options).run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("cache")
        await person.types("manifest cache")
        await person.sees(ChoiceScreen)
        await person.press("j", "enter")
        await person.sees(PlanScreen)
        assert person.lines() == ["+ Manifest modules/cache the operator installs this version"]
        assert "no operator" not in text(person.app, "#plan-words")
        assert cluster.get(MANIFEST) is None
        await person.accepts()
        assert await person.ended() == "done: cache 1.0.0 is ready"
        assert version(cluster) == "1.0.0"

        await person.until(
            lambda: person.app.screen.query_one(TopLine).facts.manager == "managed by kymatui's operator"
        )
        await person.press("a")
        await person.sees(MenuScreen)
        off = {row.key: row.cells["off"].text for row in person.app.screen.query_one(PlanTable).rows}
        assert "cache is installed by Manifest modules/cache" in off["install"], "the operator would undo it"
        assert (off["manifest"], off["delete"]) == ("", "")
        await person.press("escape")

        await person.types("manifest cache")
        await person.sees(ChoiceScreen)
        await person.press("enter")
        await person.sees(PlanScreen)
        cluster.apply(changed(cluster), manager="somebody", force=True)
        await person.until(lambda: "Manifest modules/cache has changed" in text(person.app, "#plan-off"))
        await person.press("e")
        await person.sees(ChoiceScreen)
        await person.press("enter")
        await person.sees(PlanScreen)
        await person.press("enter")
        assert "become the owner of these fields" in text(person.app, ".plan-tick:focus")
        await person.press("space")
        await person.accepts()
        assert await person.ended(2) == "done: cache 1.1.0 is ready"
        live = cluster.get(MANIFEST)
        assert live is not None
        assert (version(cluster), live["spec"]["customResourcePolicy"]) == ("1.1.0", "Ignore"), "nothing is lost"

        await delete(person, NextStep.MANIFEST)
        assert person.app.jobs.all[-1].state is JobState.DONE
        assert (cluster.get(MANIFEST), version(cluster)) == (None, "")
        await person.press("escape")
        await person.types("restore cache")
        await person.sees(ChoiceScreen)
        await person.press("enter")
        await person.sees(PlanScreen)
        assert person.lines() == ["+ Manifest modules/cache create"]
        await person.accepts()
        assert (await person.ended(4)).startswith("done: 1 created")
        await person.until(lambda: version(cluster) == "1.1.0")
        await delete(person, NextStep.MANIFEST)
        assert (cluster.get(MANIFEST), version(cluster)) == (None, "")
        await person.press("escape")

        await person.types("manifest cache queue")
        await person.sees(PlanScreen)
        assert [line.partition(" the ")[0] for line in person.lines()] == [
            "+ cache: Manifest modules/cache",
            "+ queue: Manifest modules/queue",
        ]
        await person.accepts()
        await person.until(lambda: len(person.app.jobs.all) == 7 and not person.app.jobs.active)
        assert (version(cluster), version(cluster, QUEUE)) == ("1.1.0", "1.1.0")
        await delete_both(person)
    assert (cluster.get(MANIFEST), version(cluster), version(cluster, QUEUE)) == (None, "", "")
    by_commands(sandbox, cluster)


def by_commands(sandbox: ReadySandbox, cluster: Cluster) -> None:
    """The same without a screen: installed, again, moved, not lowered without a word, deleted."""
    for words, status, installed in (
        ("manifest cache --version 1.0.0 --dry-run -o json", 0, ""),
        ("manifest cache --version 1.0.0 --yes", 0, "1.0.0"),
        ("manifest cache --version 1.0.0 --yes -o json", 0, "1.0.0"),
        ("manifest cache --yes", 0, "1.1.0"),
        ("manifest cache --version 1.0.0 --yes", 2, "1.1.0"),
        ("install cache --yes", 2, "1.1.0"),
        ("manifest cache queue --version 1.0.0 --yes", 64, "1.1.0"),
        ("manifest queue nonsense --yes", 64, "1.1.0"),
        ("manifest cache queue --yes -o json", 0, "1.1.0"),
        ("manifest cache queue --yes", 0, "1.1.0"),
        ("delete cache queue --yes", 0, ""),
    ):
        assert main([*words.split(), "--kubeconfig", str(sandbox.kubeconfig), "--context", "own"]) == status, words
        assert version(cluster) == installed, words
        with_queue = words == "manifest cache queue --yes"
        assert version(cluster, QUEUE) == "1.1.0" or not with_queue, words
    assert (cluster.get(MANIFEST), version(cluster, QUEUE)) == (None, "")


@pytest.fixture
def far(sandbox: ReadySandbox) -> Iterator[FleetApp]:
    """The cluster of the operator as a control plane, and the open one as the runtime of its only Kyma."""
    control = open_cluster(SessionOptions(str(sandbox.kubeconfig), "own"))
    runtime = open_cluster(SessionOptions(str(sandbox.kubeconfig), "open"))
    main(["delete", "queue", "--yes", "--no-backup", "--kubeconfig", str(sandbox.kubeconfig), "--context", "open"])
    assert version(runtime, QUEUE) == "", "other tests may have left it"
    offered = runtime.list(TEMPLATE, "modules")
    for body in offered:  # what a runtime offers comes from its control plane
        runtime.delete(read_ref(body))
    config = yaml.safe_load(sandbox.kubeconfig.read_text())
    config["current-context"] = "open"
    made = [access_secret("far", yaml.safe_dump(config)), kyma((), name="far", namespace="modules")]
    for body in made:
        body["metadata"]["namespace"] = "modules"
        body.pop("status", None)
        control.apply(body)
    options = RemoteOptions(SessionOptions(str(sandbox.kubeconfig), "own"), runtime="far")
    yield FleetApp(lambda: RemoteSession(options), settings=Settings())
    for body in made:
        control.delete(read_ref(body))
    for body in offered:
        body["metadata"] = {"name": body["metadata"]["name"], "namespace": "modules"}
        runtime.apply(body)


async def test_the_operator_of_a_control_plane_installs_on_the_runtime(
    sandbox: ReadySandbox, operator: None, far: FleetApp
) -> None:
    """The Manifest stays on the control plane; what is installed directly has nothing to do with that side at all."""
    control, runtime = (open_cluster(SessionOptions(str(sandbox.kubeconfig), name)) for name in ("own", "open"))
    ref = ObjectRef(MANIFEST.kind, "modules", "far-cache")
    async with far.run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("cache")
        await person.until(lambda: person.app.why_no_writes == "")
        await person.types("manifest cache")
        await person.sees(ChoiceScreen)
        await person.press("j", "enter")
        await person.sees(PlanScreen)
        assert person.lines() == [
            "+ on own: Manifest modules/far-cache written by kymatui",
            "+ on far: cache the operator installs this version",
        ]
        await person.accepts()
        assert await person.ended() == "done: cache 1.0.0 is ready"
        made = control.get(ref)
        assert made is not None
        assert made["spec"]["remote"] is True
        assert made["metadata"]["labels"][LABEL_KYMA_NAME] == "far"
        assert (version(runtime), version(control), runtime.get(ref)) == ("1.0.0", "", None)
        await person.at("queue")
        await person.press("i")
        await person.sees(ChoiceScreen)
        await person.press("enter")
        await person.accepts()
        assert (await person.ended(2)).startswith("done: ")
        assert (version(runtime, QUEUE), version(control, QUEUE)) == ("1.1.0", "")
        await delete(person, NextStep.MANIFEST)
        assert control.get(ref) is None
    assert version(runtime) == ""
    (kept,) = backups_folder().glob("own/cache-*.yaml")
    assert [body["kind"] for body in yaml.safe_load_all(kept.read_text())] == ["Manifest"], "where it was, it is kept"
    runtime.delete(QUEUE)
    by_commands_for_a_runtime(sandbox, control, runtime, ref)


def by_commands_for_a_runtime(sandbox: ReadySandbox, control: Cluster, runtime: Cluster, ref: ObjectRef) -> None:
    """The same without a screen: the Manifest is written to the control plane, its operator installs on the runtime."""
    for words, status, installed in (
        ("manifest cache --version 1.0.0 --yes", 0, "1.0.0"),
        ("manifest cache --yes -o json", 0, "1.1.0"),
        ("delete cache --yes --no-backup", 0, ""),
    ):
        where = ["--remote", "far", "--kubeconfig", str(sandbox.kubeconfig), "--context", "own"]
        assert main([*words.split(), *where]) == status, words
        assert (version(runtime), version(control), runtime.get(ref)) == (installed, "", None), words
        assert (control.get(ref) is not None) == bool(installed), words


def changed(cluster: Cluster) -> dict[str, Any]:
    """The Manifest with another policy, as somebody else would write it."""
    live = cluster.get(MANIFEST)
    assert live is not None
    metadata = {"name": MANIFEST.name, "namespace": MANIFEST.namespace}
    spec = {**live["spec"], "customResourcePolicy": "Ignore"}
    return {"apiVersion": live["apiVersion"], "kind": "Manifest", "metadata": metadata, "spec": spec}
