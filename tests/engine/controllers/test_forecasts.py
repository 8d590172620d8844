"""What `kymatui whatif` forecasts is what the operator then does: the same decisions, for random fleets and changes."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import cast
from unittest.mock import patch

from hypothesis import given, settings

from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.modules.module_outcomes import Outcome
from kymatui.domain.plans.kyma_manifest import ModuleContent
from kymatui.domain.plans.manifest_body import ManifestLayer
from kymatui.domain.whatif.catalog_change import CatalogChange, apply_change
from kymatui.domain.whatif.fleet_objects import FleetObjects
from kymatui.domain.whatif.forecast import ModuleForecast, foresee
from kymatui.domain.whatif.module_results import ResultKind, namespace_catalogs
from kymatui.engine.controllers.kyma import module_planning
from kymatui.engine.controllers.kyma.kyma_context import KymaContext
from kymatui.engine.controllers.kyma.module_planning import ModulePlanner, PlannedModule
from tests.domain.builders import NOW
from tests.domain.test_whatif import SPACE, changes, fleets

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
        kyma = read_kyma(raw)
        assert isinstance(kyma, Kyma)
        for planned in planned_modules(after, kyma):
            if planned.item.name not in mandatory:  # another controller installs and deletes them
                _compare(planned, found[key, planned.item.name])


def _compare(planned: PlannedModule, forecast: ModuleForecast) -> None:
    result = forecast.then
    assert result.kind in EXPECTED[planned.outcome], (planned, result)
    if planned.outcome is Outcome.ACCEPTED:
        assert planned.template is not None
        assert result.version == planned.template.version
