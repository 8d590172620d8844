"""Maintenance windows as lifecycle-manager resolves them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kymatui.domain.fleet.maintenance import DowntimeUpgrade, Maintenance, UpgradeStatus, pending_count, pending_first
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.maintenance_windows import (
    ControllerSettings,
    MaintenanceWindow,
    UnreadablePolicy,
    WindowPolicy,
    next_window,
    policy_document,
    read_policy,
    runtime_properties,
)
from kymatui.domain.snapshot.missing_lists import ListGap, UnknownFact
from kymatui.domain.versions import refusals as r
from kymatui.domain.versions.resolution import resolve
from tests.domain.builders import a_kyma, meta, report, shelf, template

KYMA = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma")
EUROPE = {"kyma-project.io/region": "eu-central-1"}


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def policy(text: str) -> WindowPolicy:
    found = read_policy(text)
    assert isinstance(found, WindowPolicy), found
    return found


def weekly(days: str, begin: str, end: str) -> str:
    names = ", ".join(f'"{day}"' for day in days.split())
    return f'{{"days": [{names}], "begin": "{begin}", "end": "{end}"}}'


SATURDAY = f'{{"rules": [], "default": {weekly("Sat", "21:00:00+00:00", "00:00:00+00:00")}}}'


@pytest.mark.parametrize(
    ("now", "begin", "end"),
    [
        pytest.param("2026-11-18T10:00", "2026-11-21T21:00", "2026-11-22T00:00", id="on Wednesday"),
        pytest.param("2026-11-21T20:59", "2026-11-21T21:00", "2026-11-22T00:00", id="a minute before"),
        pytest.param("2026-11-21T22:00", "2026-11-21T21:00", "2026-11-22T00:00", id="under way"),
        pytest.param("2026-11-21T23:39", "2026-11-21T21:00", "2026-11-22T00:00", id="21 minutes are enough"),
        pytest.param("2026-11-21T23:45", "2026-11-28T21:00", "2026-11-29T00:00", id="56 15 minutes are too short"),
        pytest.param("2026-11-22T00:00", "2026-11-28T21:00", "2026-11-29T00:00", id="over"),
    ],
)
def test_56_a_weekly_window_across_midnight(now: str, begin: str, end: str) -> None:
    assert next_window(policy(SATURDAY), {}, at(now)) == MaintenanceWindow(at(begin), at(end))


def test_a_window_that_began_yesterday_is_not_seen() -> None:
    text = f'{{"default": {weekly("Sat", "22:00:00Z", "04:00:00Z")}}}'
    assert next_window(policy(text), {}, at("2026-11-22T01:00")) == MaintenanceWindow(
        at("2026-11-28T22:00"), at("2026-11-29T04:00")
    )


def test_times_are_in_their_own_zone() -> None:
    text = f'{{"default": {weekly("Sat", "21:00:00+02:00", "23:00:00+02:00")}}}'
    assert next_window(policy(text), {}, at("2026-11-18T10:00")) == MaintenanceWindow(
        at("2026-11-21T19:00"), at("2026-11-21T21:00")
    )


def test_a_window_as_long_as_the_day() -> None:
    text = f'{{"default": {weekly("Mon Tue Wed Thu Fri Sat Sun", "01:00:00Z", "01:00:00Z")}}}'
    assert next_window(policy(text), {}, at("2026-11-18T10:00")) == MaintenanceWindow(
        at("2026-11-18T01:00"), at("2026-11-19T01:00")
    )


RULED = f"""{{
  "rules": [
    {{"match": {{"plan": "trial"}}, "windows": [{weekly("Mon", "01:00:00Z", "05:00:00Z")}]}},
    {{"match": {{"region": "eu-|uk"}}, "windows": [
      {{"begin": "2020-01-01T00:00:00Z", "end": "2020-01-02T00:00:00Z"}}]}},
    {{"match": {{"region": "eu"}}, "windows": [{weekly("Tue", "01:00:00Z", "05:00:00Z")}]}}
  ],
  "default": {weekly("Fri", "01:00:00Z", "05:00:00Z")}
}}"""


@pytest.mark.parametrize(
    ("runtime", "begin"),
    [
        pytest.param({"plan": "trial", "region": "eu-1"}, "2026-11-23T01:00", id="the first rule that matches"),
        pytest.param({"plan": "free-trial"}, "2026-11-23T01:00", id="a pattern is searched for"),
        pytest.param({"region": "eu-1"}, "2026-11-20T01:00", id="its windows are over: the default, not the next rule"),
        pytest.param({"region": "us-1"}, "2026-11-20T01:00", id="no rule matches"),
        pytest.param({}, "2026-11-20T01:00", id="nothing is known of the runtime"),
    ],
)
def test_rules(runtime: dict[str, str], begin: str) -> None:
    found = next_window(policy(RULED), runtime, at("2026-11-18T10:00"))
    assert found is not None
    assert found.begin == at(begin)


def test_any_property_of_a_rule_is_enough() -> None:
    text = f'{{"rules": [{{"match": {{"globalAccountId": "ga", "platformRegion": "pr"}}, "windows": [{weekly("Mon", "01:00:00Z", "05:00:00Z")}]}}], "default": {weekly("Fri", "01:00:00Z", "05:00:00Z")}}}'  # noqa: E501
    found = next_window(policy(text), {"globalAccountID": "my-ga", "platformRegion": "x"}, at("2026-11-18T10:00"))
    assert found is not None
    assert found.begin == at("2026-11-23T01:00")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"rules": 3}',
        '{"rules": [3]}',
        '{"rules": [{"match": {"plan": "["}}]}',
        '{"default": {"begin": "noon"}}',
        '{"default": {"begin": "25:00:00Z"}}',
        '{"default": {"days": "Sat"}}',
    ],
)
def test_a_policy_that_cannot_be_read(text: str) -> None:
    assert isinstance(read_policy(text), UnreadablePolicy)


def test_of_two_spellings_of_a_key_the_last_counts() -> None:
    monday, friday = weekly("Mon", "01:00:00Z", "05:00:00Z"), weekly("Fri", "01:00:00Z", "05:00:00Z")
    found = next_window(policy(f'{{"default": {friday}, "DEFAULT": {monday}}}'), {}, at("2026-11-18T10:00"))
    assert found is not None
    assert found.begin == at("2026-11-23T01:00")


def test_a_policy_without_windows_names_none() -> None:
    assert next_window(policy("{}"), {}, at("2026-11-18T10:00")) is None


@pytest.mark.parametrize("name", ["policy.json", "ruleset-1.json", "testdata-policy.json"])
def test_the_policies_of_lifecycle_manager(name: str, shared: Path) -> None:
    found = policy((shared / "kyma/maintenance-windows" / name).read_text())
    assert found.rules
    assert next_window(found, {"plan": "trial"}, at("2026-11-18T10:00")) == MaintenanceWindow(
        at("2026-11-18T01:00"), at("2026-11-19T01:00")
    )


def test_56_europe_waits_until_saturday(shared: Path) -> None:
    found = policy((shared / "kyma/maintenance-windows/policy.json").read_text())
    window = next_window(found, runtime_properties(EUROPE), at("2026-11-18T10:00"))
    assert window == MaintenanceWindow(at("2026-11-21T21:00"), at("2026-11-22T00:00"))
    assert not window.is_active(at("2026-11-18T10:00"))
    assert window.is_active(at("2026-11-21T22:00"))


DOWNTIME = (meta("mod", {"regular": "1.1.0"}), template("mod", "1.1.0", requiresDowntime=True))


@pytest.mark.parametrize(
    ("status", "skip", "now", "refusal"),
    [
        pytest.param([], False, "2026-11-18T10:00", None, id="56 the first install does not wait"),
        pytest.param(
            [report("mod", "1.0.0")],
            False,
            "2026-11-18T10:00",
            r.WaitsForWindow(
                "mod", "1.0.0", "1.1.0", MaintenanceWindow(at("2026-11-21T21:00"), at("2026-11-22T00:00"))
            ),
            id="56 an upgrade waits",
        ),
        pytest.param([report("mod", "1.0.0")], False, "2026-11-21T22:00", None, id="until the window is open"),
        pytest.param([report("mod", "1.0.0")], True, "2026-11-18T10:00", None, id="56 unless windows are skipped"),
        pytest.param([report("mod", "1.1.0")], False, "2026-11-18T10:00", None, id="nothing changes"),
    ],
)
def test_56_what_waits(status: list[dict[str, object]], skip: bool, now: str, refusal: r.Refusal | None) -> None:
    owner = a_kyma([{"name": "mod"}], status=status, skip_windows=skip)
    found = resolve("mod", owner, shelf(*DOWNTIME), now=at(now), rules=ControllerSettings(windows=policy(SATURDAY)))
    assert found.refusal == refusal


def test_without_a_policy_the_update_waits_for_a_window_that_is_not_known() -> None:
    owner = a_kyma([{"name": "mod"}], status=[report("mod", "1.0.0")])
    assert resolve("mod", owner, shelf(*DOWNTIME)).refusal == r.WaitsForWindow("mod", "1.0.0", "1.1.0", None)
    nothing = ControllerSettings(windows=policy("{}"))
    unreadable = resolve("mod", owner, shelf(*DOWNTIME), now=at("2026-11-18T10:00"), rules=nothing).refusal
    assert isinstance(unreadable, r.WindowsUnreadable)


@pytest.mark.parametrize(
    ("pattern", "value", "matches"),
    [
        pytest.param("eu-.*", "eu-central-1", True, id="plain"),
        pytest.param(r"eu-\\w+", "eu-central-1", False, id="an escape of JSON stays in the expression"),
        pytest.param(r"eu-\\w+", "eu-\\w", True, id="so that it stands for a backslash"),
        pytest.param(r"\"", '"', False, id="quotes at the end are cut off"),
        pytest.param(r"a\tb", "a\tb", True, id="some escapes mean the same in both"),
    ],
)
def test_patterns_are_read_as_lifecycle_manager_reads_them(pattern: str, value: str, matches: bool) -> None:
    text = f'{{"rules": [{{"match": {{"plan": "{pattern}"}}}}]}}'
    found = read_policy(text)
    readable = not pattern.endswith('"')  # what is left of it ends with a backslash
    assert isinstance(found, WindowPolicy) == readable
    if isinstance(found, WindowPolicy):
        assert found.rules[0].matches({"plan": value}) == matches
        assert policy_document(found)["rules"][0]["match"] == json.loads(text)["rules"][0]["match"]


@pytest.mark.parametrize("pattern", ["[[:alpha:]]", "(?=a)", "(?<!a)", "a(?P=b)", "(?>a)", "\u00e9(?!a)"])
def test_patterns_that_go_reads_differently_are_refused(pattern: str) -> None:
    found = read_policy(json.dumps({"rules": [{"match": {"plan": pattern}}]}))
    assert isinstance(found, UnreadablePolicy)
    assert "which Go and Python read differently" in found.reason


def test_hours_may_have_one_digit() -> None:
    for begin, end in (("2026-11-25T9:00:00Z", "2026-11-25T17:00:00Z"), ("9:00:00Z", "17:00:00Z")):
        days = ["Wed"] if begin.startswith("9") else []
        found = policy(json.dumps({"default": {"days": days, "begin": begin, "end": end}}))
        assert next_window(found, {}, at("2026-11-25T08:00")) == MaintenanceWindow(
            at("2026-11-25T09:00"), at("2026-11-25T17:00")
        )


def test_a_time_that_is_null_cannot_be_read_and_one_that_is_missing_can() -> None:
    assert isinstance(read_policy('{"default": {"begin": null}}'), UnreadablePolicy)
    assert isinstance(read_policy('{"default": {"days": null}}'), WindowPolicy)


def test_runtimes_are_ordered_by_what_is_pending() -> None:
    def runtime(name: str, begin: float, *waiting: UpgradeStatus, unknown: UnknownFact | None = None) -> Maintenance:
        window = MaintenanceWindow(begin, begin + 1) if begin else None
        upgrades = tuple(DowntimeUpgrade("keda", "1", "2", status) for status in waiting)
        return Maintenance(ObjectRef(KYMA, "kcp-system", name), window, False, False, upgrades, unknown)

    hidden = UnknownFact(ListGap.FORBIDDEN, ("moduletemplates",), "forbidden")
    ordered = [
        runtime("blocked", 0, UpgradeStatus.STUCK),
        runtime("soon", 1, UpgradeStatus.WAITS),
        runtime("later", 2, UpgradeStatus.REPORTED),
        runtime("unknown", 0, unknown=hidden),
        runtime("nothing", 1),
    ]
    assert pending_first(reversed(ordered)) == ordered
    assert pending_count(ordered) == "3+"
