"""Which upgrades wait for a maintenance window, and lifecycle-manager's configuration in its Deployment."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from kymatui.domain.fleet.maintenance import UpgradeStatus, runtime_maintenance
from kymatui.domain.kyma.controller_flags import read_controller_flags
from kymatui.domain.kyma.maintenance_windows import ControllerSettings, WindowPolicy, read_policy
from kymatui.moments import parse_duration
from tests.domain.builders import Json, a_kyma, meta, report, shelf, template

SATURDAY = {"days": ["Sat"], "begin": "21:00:00+00:00", "end": "00:00:00+00:00"}


def policy(default: Json) -> WindowPolicy:
    found = read_policy(json.dumps({"rules": [], "default": default}))
    assert isinstance(found, WindowPolicy)
    return found


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


CATALOG = shelf(meta("keda", {"regular": "2.0.0"}), template("keda", "2.0.0", requiresDowntime=True))
INSTALLED = report("keda", "1.0.0")


@pytest.mark.parametrize(
    ("now", "status", "more", "begin", "standing"),
    [
        ("2026-11-18T10:00", [INSTALLED], {}, "2026-11-21T21:00", UpgradeStatus.WAITS),
        ("2026-11-21T22:00", [INSTALLED], {}, "2026-11-21T21:00", UpgradeStatus.GOES),
        # 15 minutes are too short
        ("2026-11-21T23:45", [INSTALLED], {}, "2026-11-28T21:00", UpgradeStatus.WAITS),
        ("2026-11-18T10:00", [INSTALLED], {"skip_windows": True}, "2026-11-21T21:00", UpgradeStatus.SKIPS),
        ("2026-11-18T10:00", [], {}, "2026-11-21T21:00", None),
        ("2026-11-18T10:00", [report("keda", "2.0.0")], {}, "2026-11-21T21:00", None),
        (
            "2026-11-18T10:00",
            [report("keda", "2.0.0", maintenance=True)],
            {},
            "2026-11-21T21:00",
            UpgradeStatus.REPORTED,
        ),
    ],
)
def test_56_upgrades_that_need_a_downtime(
    now: str, status: list[Json], more: dict[str, Any], begin: str, standing: UpgradeStatus | None
) -> None:
    kyma = a_kyma([{"name": "keda"}], status=status, **more)
    found = runtime_maintenance(kyma, CATALOG, ControllerSettings(policy(SATURDAY)), at(now))
    assert found.window is not None
    assert found.window.begin == at(begin)
    assert [upgrade.waiting for upgrade in found.upgrades] == ([standing] if standing else [])
    assert found.open == (standing is UpgradeStatus.GOES)


def test_56_the_least_duration_is_the_controllers() -> None:
    kyma = a_kyma([{"name": "keda"}], status=[INSTALLED])
    found = runtime_maintenance(
        kyma, CATALOG, ControllerSettings(policy(SATURDAY), least=600.0), at("2026-11-21T23:45")
    )
    assert [upgrade.waiting for upgrade in found.upgrades] == [UpgradeStatus.GOES]


def test_without_a_policy_an_upgrade_waits_for_a_window_that_is_not_known() -> None:
    found = runtime_maintenance(a_kyma([{"name": "keda"}], status=[INSTALLED]), CATALOG, ControllerSettings(), 0.0)
    assert (found.window, [one.waiting for one in found.upgrades]) == (None, [UpgradeStatus.WAITS])


def test_a_window_that_never_comes() -> None:
    past = {"begin": "2020-01-01T00:00:00Z", "end": "2020-01-02T00:00:00Z"}
    found = runtime_maintenance(
        a_kyma([{"name": "keda"}], status=[INSTALLED]),
        CATALOG,
        ControllerSettings(policy(past)),
        at("2026-11-18T10:00"),
    )
    assert [one.waiting for one in found.upgrades] == [UpgradeStatus.STUCK]


def test_the_runtimes_own_channel_counts_where_the_control_plane_knows_no_other() -> None:
    catalog = shelf(
        meta("keda", {"regular": "1.0.0", "fast": "2.0.0"}),
        template("keda", "1.0.0", requiresDowntime=True),
        template("keda", "2.0.0", requiresDowntime=True),
    )
    kyma = a_kyma([], status=[report("keda", "1.0.0", channel="fast")])
    found = runtime_maintenance(kyma, catalog, ControllerSettings(policy(SATURDAY)), at("2026-11-18T10:00"))
    assert [(one.module, one.offered) for one in found.upgrades] == [("keda", "2.0.0")]


# lifecycle-manager's Deployment


def deployment(
    args: list[str], *, mount: str = "/etc/maintenance-policy", name: str = "klm-controller-manager"
) -> Json:
    container = {"name": "manager", "args": args, "volumeMounts": [{"name": "policy", "mountPath": mount}]}
    volumes = [{"name": "policy", "configMap": {"name": "klm-maintenance-config"}}]
    pod = {"containers": [container], "volumes": volumes}
    return {"kind": "Deployment", "metadata": {"name": name}, "spec": {"template": {"spec": pod}}}


def test_the_controllers_configuration() -> None:
    flags = ["--min-maintenance-window-size=1h30m", "--restricted-default-modules", "a-module,other"]
    found = read_controller_flags(deployment(flags))
    assert found is not None
    assert (found.policy, found.least) == ("klm-maintenance-config", 5400.0)
    assert found.restricted == {"a-module", "other"}


def test_what_is_not_said_is_the_controllers_default() -> None:
    found = read_controller_flags(deployment([], mount="/elsewhere"))
    assert found is not None
    assert (found.policy, found.least, found.restricted) == ("", 1200.0, frozenset())


def test_another_deployment_is_not_taken_for_it() -> None:
    assert read_controller_flags(deployment(["--leader-elect"], mount="/elsewhere", name="other")) is None
    assert read_controller_flags({"kind": "Deployment", "spec": "odd"}) is None


@pytest.mark.parametrize(
    ("text", "seconds"), [("20m", 1200.0), ("1h0.5m", 3630.0), ("90s", 90.0), ("", None), ("20", None), ("1x", None)]
)
def test_go_durations(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == seconds
