"""What two places say of the same thing is the same: header, filter, list of problems, JSON; fleet and catalog."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import catalog_to_json
from kymatui.domain.catalog.channel_matrix import build_matrix
from kymatui.domain.catalog.rows import NAMING_LISTS
from kymatui.domain.fleet.pending_actions import runtime_pending_actions
from kymatui.domain.fleet.runtimes import metas_by_module, read_runtime, version_matrix
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.problems import Severity
from kymatui.domain.kyma.versions import same_version
from kymatui.domain.remote.runtime_pair import RuntimePair, join_snapshots
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from kymatui.ui.presenters.catalog.catalog_rows import table_rows
from kymatui.ui.presenters.catalog.catalog_views import ALL_MODULES
from kymatui.ui.presenters.catalog.problem_rows import count_problems, problem_rows, summarize_problems
from tests.domain import builders as b
from tests.ui.worlds import world

MODULES = ("alpha", "beta", "gamma", "delta", "epsilon")
VERSIONS = ("1.0.0", "1.1.0", "1.2.0")
STATES = ("Ready", "Ready", "Processing", "Warning", "Error", "Deleting")


def random_control(seed: int) -> Snapshot:
    """A control plane with one runtime, whose modules are in any state and version, in order or not."""
    draw = random.Random(seed)
    place: dict[str, Any] = {"namespace": "kcp-system"}
    reports, metas, templates, manifests = [], [], [], []
    for name in MODULES:
        mandatory = draw.random() < 0.1
        offered = {"regular": draw.choice(VERSIONS), "fast": draw.choice(VERSIONS)}
        metas.append(b.meta(name, {} if mandatory else offered, **place, **_mandatory(draw, mandatory=mandatory)))
        templates += [b.template(name, version, **place) for version in VERSIONS]
        if draw.random() < 0.8:
            state, version = draw.choice(STATES), draw.choice(VERSIONS)
            channel = draw.choice(("regular", "fast"))
            reports.append(b.report(name, version, state, channel=channel, message=draw.choice(("", "a message"))))
            manifests.append(b.manifest(name, version, state, owner="r1", namespace="kcp-system"))
    kyma = b.kyma([], status=reports, name="r1", namespace="kcp-system", state=draw.choice(STATES))
    feeds = {name: Feed(FeedState.LIVE, b.NOW) for name in NAMING_LISTS}
    return Snapshot(
        "kcp",
        kymas=(kyma,),
        release_metas=tuple(metas),
        templates=tuple(templates),
        manifests=tuple(manifests),
        feeds=feeds,
        taken_at=b.NOW,
    )


def _mandatory(draw: random.Random, *, mandatory: bool) -> dict[str, Any]:
    return {"mandatory": {"version": draw.choice(VERSIONS)}} if mandatory else {}


def random_cluster(seed: int) -> Snapshot:
    """A runtime with some lists missing, some lost, and modules with and without problems."""
    draw = random.Random(seed)
    whole = world()
    states = (*[FeedState.LIVE] * 6, FeedState.STALE, FeedState.FAILED, FeedState.FORBIDDEN)
    feeds = {
        name: Feed(draw.choice(states), b.NOW, draw.choice(("", "refused")))
        for name in (*NAMING_LISTS, "deployments.apps")
    }

    def some(objects: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(raw for raw in objects if draw.random() < 0.8)

    return Snapshot(
        "random",
        kymas=whole.kymas,
        templates=some(whole.templates),
        release_metas=some(whole.release_metas),
        manifests=some(whole.manifests),
        workloads=some(whole.workloads),
        module_resources={kind: some(found) for kind, found in whole.module_resources.items()},
        feeds=feeds,
        taken_at=b.NOW,
    )


@pytest.mark.parametrize("seed", [None, *range(60)])
def test_every_place_counts_the_same_problems(seed: int | None) -> None:
    seen = build_catalog(world() if seed is None else random_cluster(seed), b.NOW)
    listed = [row for row in problem_rows(seen) if row.cells["severity"].text != Severity.INFO]
    filtered = {row.key for row in table_rows(seen, ALL_MODULES, b.NOW, only_problems=True)}
    document = catalog_to_json(seen)
    assert len({row.key for row in problem_rows(seen)}) == len(seen.problems), "each once"
    assert len(listed) == seen.problem_count == document["counts"]["problems"]
    assert f"problems {len(listed)}" in count_problems(seen).split("  ")
    assert document["counts"]["updates"] in (seen.update_count, None)
    assert (f"updates {seen.update_count}" in count_problems(seen).split("  ")) is (seen.update_count > 0)
    assert summarize_problems(seen).startswith(f"{len(listed)} problem")
    modules = {row.cells["module"].text for row in listed} - {""}
    assert filtered == modules & {row.name for row in seen.rows}
    assert modules == {one["module"] for one in document["problems"] if one["severity"] != "info"} - {None}
    for row in seen.rows:  # a row that says that something is wrong is among the problems, and no other reason
        assert (row.reason.severity is Severity.INFO) or row.name in filtered


@pytest.mark.parametrize("seed", range(60))
def test_a_fleet_says_of_a_runtime_what_its_catalog_says(seed: int) -> None:
    """As far as the control plane alone knows it: what the runtime adds is observed there."""
    control = random_control(seed)
    kyma = read_kyma(control.kymas[0])
    assert isinstance(kyma, Kyma)
    one = read_runtime(kyma, metas_by_module(control.release_metas))
    seen = build_catalog(join_snapshots(RuntimePair("r1", control, None, "no route")), b.NOW)
    waits = {wait.module: wait for wait in runtime_pending_actions(one)}
    for module in one.modules:
        row = seen.row(module.name)
        assert row is not None
        assert module.desired == row.desired, module.name
        assert same_version(module.version, row.installed), module.name
        assert module.state.value == row.reports.kyma
        assert module.drift == row.drift, module.name
        if row.drift.is_drift and row.reports.kyma == "Ready" and not one.skipped:
            assert module.actor is row.actor, (module.name, row.reason.text)
        if module.name in waits and row.reports.kyma in ("Warning", "Error", "Deleting"):
            assert row.actor is waits[module.name].actor, (module.name, row.reason.text)
    (spread,) = ({found.module: dict(found.counts) for found in version_matrix([one])},)
    assert spread == {module.name: {module.version: 1} for module in one.modules}


@pytest.mark.parametrize("seed", range(60))
def test_the_channels_side_by_side_say_what_the_catalog_says(seed: int) -> None:
    seen = build_catalog(random_cluster(seed), b.NOW)
    for line in build_matrix(seen).rows:
        row = seen.row(line.module)
        assert row is not None
        assert (line.installed, {name: cell.version for name, cell in line.cells.items()}) == (
            row.installed,
            row.channels,
        )
