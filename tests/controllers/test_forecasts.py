"""What `kymatui whatif` forecasts is what the operator then does: the same decisions, for random fleets and changes."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import cast
from unittest.mock import patch

from hypothesis import Phase, given, settings

from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.modules.module_outcomes import Outcome
from kymatui.domain.plans.kyma_manifest import ModuleContent
from kymatui.domain.plans.manifest_body import ManifestLayer
from kymatui.domain.whatif.fleet_objects import CatalogChange, FleetObjects, apply_change
from kymatui.domain.whatif.forecast import ModuleForecast, foresee
from kymatui.domain.whatif.module_results import ResultKind, ResultReason, namespace_catalogs
from kymatui.operator.kymas import module_planning
from kymatui.operator.kymas.kyma_context import KymaContext
from kymatui.operator.kymas.module_planning import ModulePlanner, PlannedModule
from tests.controllers.drawn_fleets import DrawnStep, drawn_fleets, release_steps
from tests.controllers.release_worlds import DrawnFleet, ReleaseWorld
from tests.domain.builders import NOW, kyma
from tests.domain.test_whatif import SPACE, a_meta, a_template, changes, fleets, policy

LAYER = ManifestLayer("http://reg.example", "kyma-project.io/module/mod", "sha256:1", True)
CONTENT = ModuleContent("kyma-project.io/module/mod", "1.0.0", LAYER, ())
MOVES = {ResultKind.KEEP, ResultKind.INSTALL, ResultKind.UPGRADE, ResultKind.DOWNGRADE}
ERRORS = {ResultKind.ERROR, ResultKind.HELD_BACK}
EXPECTED = {
    Outcome.ACCEPTED: MOVES,
    Outcome.UNINSTALL: {ResultKind.UNINSTALL, ResultKind.NOT_INSTALLED},
    Outcome.WAIT: {ResultKind.WAIT},
    Outcome.KEEP_FAILED: {ResultKind.ERROR, ResultKind.WAIT},  # without a policy, no window is known
    Outcome.KEEP_WARNED: ERRORS,
    Outcome.WARNED: ERRORS,
    Outcome.FAILED: ERRORS,
}


def planned_modules(fleet: FleetObjects, kyma: Kyma) -> list[PlannedModule]:
    """The plan of the operator's controller for a Kyma, whose components are all in the registry."""
    catalog = namespace_catalogs(fleet, [SPACE])[SPACE]
    context = SimpleNamespace(
        templates=SimpleNamespace(read=lambda cancel: catalog.index),
        clock=SimpleNamespace(now=lambda: NOW),
        settings=catalog.settings,
    )
    with patch.object(module_planning, "module_content", lambda *_: CONTENT):
        return ModulePlanner(cast(KymaContext, context)).plan(kyma, threading.Event())


@settings(max_examples=200, deadline=None)
@given(fleets, changes())
def test_a_forecast_is_what_the_operator_plans_after_the_change(fleet: FleetObjects, change: CatalogChange) -> None:
    after = apply_change(fleet, change)
    found = {(one.runtime, one.module): one for one in foresee(fleet, change, NOW).entries}
    mandatory = {name for one in (fleet, after) for name in namespace_catalogs(one, [SPACE])[SPACE].mandatory}
    for key, raw in after.kymas.items():
        read = read_kyma(raw)
        assert isinstance(read, Kyma)
        for planned in planned_modules(after, read):
            if planned.item.name not in mandatory:  # another controller installs and deletes them
                _compare(planned, found[key, planned.item.name])


def _compare(planned: PlannedModule, forecast: ModuleForecast) -> None:
    result = forecast.then
    assert result.kind in EXPECTED[planned.outcome], (planned, result)
    if planned.outcome is Outcome.ACCEPTED:
        assert planned.template is not None
        assert result.version == planned.template.version


@settings(
    max_examples=15, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)  # shrinking takes minutes
@given(drawn_fleets(), release_steps())
def test_changes_that_are_made_do_what_was_forecast(drawn: DrawnFleet, steps: list[DrawnStep]) -> None:
    """`python -m tests.benchmarks.whatif_walk` does the same for 200 fleets and changes."""
    world = ReleaseWorld(drawn)
    for step in steps:
        world.skip(step.skipped)
        assert world.differences(step.change)[0] == []


def test_a_kyma_in_error_since_its_creation_still_has_what_it_reports() -> None:
    """Its status has no active channel, so the channel of each module is its report's."""
    catalog = [a_meta("keda", {"fast": "1.0.0"}), a_template("keda", "1.0.0")]
    runtimes = [kyma([{"name": "keda"}, {"name": "nats"}], name="a", namespace=SPACE, channel="fast")]
    world = ReleaseWorld(DrawnFleet(catalog, runtimes))
    change = CatalogChange((a_meta("keda", {"fast": "1.1.0"}), a_template("keda", "1.1.0")))
    differences, entries = world.differences(change)
    assert differences == []
    assert [(one.module, one.kind) for one in entries if one.changes] == [("keda", ResultKind.UPGRADE)]


def test_a_module_that_cannot_be_resolved_when_it_is_no_longer_requested_stays_in_the_forecast() -> None:
    """It is lifecycle-manager's, which no longer knows the Manifest; the operator deletes it."""
    catalog = [a_meta("keda", {"regular": "1.0.0"}), a_template("keda", "1.0.0")]
    world = ReleaseWorld(DrawnFleet(catalog, [kyma([{"name": "keda"}], name="a", namespace=SPACE)]))
    gone = {"kind": "Kyma", "metadata": {"name": "a", "namespace": SPACE}, "spec": {"modules": []}}
    change = CatalogChange(({**kyma((), name="a", namespace=SPACE), **gone}, a_meta("keda", {"fast": "1.0.0"})))
    differences, (entry,) = world.differences(change)
    assert differences == []
    assert (entry.kind, entry.then.reason) == (ResultKind.ERROR, ResultReason.NOT_UNINSTALLED)


def test_a_module_that_was_never_resolved_follows_the_channel_of_its_kyma_in_a_forecast() -> None:
    """Its report names no channel, so that the control plane does not know that the runtime requests another one."""
    runtimes = [kyma([{"name": "keda", "channel": "fast"}], name="a", namespace=SPACE)]
    world = ReleaseWorld(DrawnFleet([a_template("keda", "2.0.0")], runtimes))
    meta = a_meta("keda", {"regular": "1.0.0", "fast": "2.0.0"})
    differences, (entry,) = world.differences(CatalogChange((meta, a_template("keda", "1.0.0"))))
    assert differences == []
    assert (entry.kind, entry.then.channel, entry.then.version) == (ResultKind.INSTALL, "regular", "1.0.0")


def test_a_module_that_never_got_a_version_waits_with_the_channel_of_its_first_report() -> None:
    """Its runtime requests another channel since, which the control plane does not know."""
    meta = a_meta("keda", {"regular": "1.0.0", "fast": "2.0.0"})
    runtimes = [kyma([{"name": "keda"}], name="a", namespace=SPACE)]
    world = ReleaseWorld(DrawnFleet([meta], runtimes, ControllerSettings(policy())))
    templates = [a_template("keda", version, requiresDowntime=True) for version in ("1.0.0", "2.0.0")]
    faster = kyma([{"name": "keda"}], name="a", namespace=SPACE, channel="fast")
    for change in (CatalogChange(tuple(templates)), CatalogChange((faster,))):
        assert world.differences(change)[0] == []
    differences, (entry,) = world.differences(CatalogChange((a_meta("keda", {"regular": "1.0.0"}),)))
    assert differences == []
    assert (entry.then.kind, entry.then.channel) == (ResultKind.WAIT, "regular")
