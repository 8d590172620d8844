"""The sample world: every row and every column, expected from how its modules are declared and what is told of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kymatui.cli.main import main
from kymatui.sandbox.world.modules.sample_module import ModuleStyle, SampleModule
from kymatui.sandbox.world.modules.sample_modules import MODULES
from tests.sandboxes.starting import ReadySandbox, told_sandbox

pytestmark = pytest.mark.xdist_group("sample-rows")

Json = dict[str, Any]
AT_HOME = "kyma-system"
NEVER_ASKED_FOR = ("connectivity-proxy", "compass-manager")
CHECKED = {"application-connector", "cluster-ip"}


@dataclass(frozen=True)
class Told:
    """What a module's situation makes of its row; "" and None where nothing is other than with the others."""

    installed: str = ""
    drift: str = "up-to-date"
    state: str = "Ready"
    source: str = "status.state"
    reason: str = ""
    managed: bool = True
    tool: str | None = None
    blocked_by: tuple[str, ...] = ()


def own(module: str) -> str:
    """The module's resource, as rows name it."""
    declared = next(one for one in MODULES if one.name == module)
    return f"{declared.resource.kind} {declared.namespace}/default"


SITUATIONS = {
    "keda": Told("1.4.0", "behind", reason="Action needed: Manifest kyma-system/default-keda"),
    "application-connector": Told(
        "1.1.7", "ahead", reason="Action needed: Manifest kyma-system/default-application-connector"
    ),
    "telemetry": Told(
        "1.24.0",
        "newer-than-channel",
        "Warning",
        "kyma",
        "Newer than channel regular (1.24.0 > 1.23.0), and never downgraded automatically. "
        "Wait for the channel, or move the module to channel fast, which has 1.24.0 "
        "(`kymatui channel telemetry fast`).",
    ),
    "nats": Told(
        "1.1.0",
        "awaiting-window",
        reason="Awaiting maintenance window for the upgrade 1.1.0 → 1.2.0: the next window is ",
    ),
    "api-gateway": Told(
        state="Deleting",
        source="presence",
        reason=f"Action needed: deletion of {own('api-gateway')} is blocked: cannot be deleted while these exist: "
        "2 APIRule (billing/invoices, shop/orders). Delete what blocks it; the module's manager then removes finalizer "
        "api-gateway.operator.kyma-project.io/deletion-hook (`kymatui delete api-gateway --cascade`).",
        blocked_by=(own("api-gateway"),),
    ),
    "cloud-manager": Told(
        state="Unmanaged",
        source="presence",
        reason="Unmanaged: lifecycle-manager does not update or repair it; it reports Ready",
        managed=False,
    ),
    "btp-operator": Told(
        state="Warning",
        reason=f"Action needed: {own('btp-operator')} reports Warning: Secret sap-btp-manager not found",
    ),
    "eventing": Told(state="Error", source="manager", reason="Pod kyma-system/eventing-manager-"),
    "transparent-proxy": Told(source="manager", reason="Installed, but not in use: it has no module CR. Create one"),
    "docker-registry": Told(
        "0.11.0", "behind", reason="0.11.0 installed, 0.14.0 available (3 minors behind)", managed=False, tool="kubectl"
    ),
    "cap-operator": Told(
        "none",
        "none",
        "Warning",
        "presence",
        f"Action needed: {own('cap-operator')} exists, but the module's manager does not. "
        "Install the module or delete the module CR (`kymatui install cap-operator`).",
        managed=False,
    ),
}


PRESENCES = {
    "api-gateway": "deleting",
    "cloud-manager": "unmanaged",
    "transparent-proxy": "installed, not configured",
    "cap-operator": "orphan configuration",
}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.partition("-")[0].split(".")))


def expected(module: SampleModule) -> Json:
    """One row of the documented JSON, but for the beginning of its reason."""
    community = module.style is ModuleStyle.COMMUNITY
    newest = max((version for version in module.versions if "-" not in version), key=numbers)
    desired = newest if community or module.mandatory else module.channels.get("regular")
    told = SITUATIONS.get(module.name)
    if told is None and (community or module.name in NEVER_ASKED_FOR):
        offer = f"Not installed ({desired} available)" if desired else "Not installed, not available: "
        told = Told("none", "none", "NotInstalled", "presence", offer, False)
    told = told or Told()
    installed = None if told.installed == "none" else told.installed or desired
    newer = f" (newest {newest})" if newest != desired else ""
    return {
        "name": module.name,
        "origin": "community" if community else "kyma",
        "channels": dict(module.channels),
        "channel": None if community or module.mandatory else "regular",
        "desired": desired,
        "installed": installed,
        "newest": newest,
        "drift": told.drift,
        "state": told.state,
        "stateSource": "customStateCheck" if module.name in CHECKED else told.source,
        "presence": PRESENCES.get(module.name, "enabled" if installed else "not installed"),
        "managed": told.managed,
        "mandatory": module.mandatory,
        "beta": module.beta,
        "internal": module.internal,
        "checks": checks(module),
        "reason": told.reason or f"{installed} installed and ready{newer}",
        "blockedBy": list(told.blocked_by),
        "installedBy": None if not installed else "lifecycle-manager" if told.managed else told.tool,
        "installation": None,
        "unknown": {},
    }


def checks(module: SampleModule) -> list[Json]:
    """Each rule with what its resource reports of it; a path that is not there is skipped."""
    found = []
    for rule in module.rules:
        value = module.reports.get(rule.path.removeprefix("status."))
        result = "skipped" if value is None else "match" if value == rule.value else "no match"
        found.append(
            {
                "resource": own(module.name),
                "path": rule.path,
                "wanted": rule.value,
                "found": value,
                "result": result,
                "mapsTo": rule.state,
                "state": "Ready",
            }
        )
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReadySandbox]:
    with told_sandbox() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield running


ACTORS = {
    "api-gateway": "you",
    "application-connector": "you",
    "btp-operator": "you",
    "cap-operator": "you",
    "docker-registry": "you",
    "keda": "you",
    "telemetry": "you",
    "transparent-proxy": "you",
    "eventing": "the owner of the catalog",
    "nats": "lifecycle-manager",
}
"""Who must act; nobody for every other module."""


ADVICE = ("cause", "effect", "advice", "adviceKind", "command")


def answer(world: ReadySandbox, capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> Json:
    assert main([*words, "--kubeconfig", str(world.kubeconfig), "-o", "json"]) == status
    found: Json = json.loads(capsys.readouterr().out)
    return found


def test_every_row_is_right(world: ReadySandbox, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(world, capsys, "catalog")
    assert [row["name"] for row in found["modules"]] == sorted(module.name for module in MODULES)
    wanted = {module.name: expected(module) for module in MODULES}
    for row in found["modules"]:
        begins = wanted[row["name"]].pop("reason")
        assert row["reason"].startswith(begins), row["name"]
        assert row["actor"] == ACTORS.get(row["name"]), row["name"]
        assert row["installedSource"] == ("running" if row["installed"] else None), row["name"]
        assert (row["channelSource"] is None) is (row["channel"] is None), row["name"]
        own = ("reason", *ADVICE, "actor", "installedSource", "channelSource")
        assert {key: value for key, value in row.items() if key not in own} == wanted[row["name"]]
    assert found["kyma"] == {"name": "default", "namespace": AT_HOME, "channel": "regular", "state": "Error"}


def test_the_problems_are_those_of_the_situations(world: ReadySandbox, capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(world, capsys, "catalog")["problems"]
    serious = {(one["severity"], one["module"]) for one in found if one["severity"] != "info"}
    assert serious == {
        ("error", "eventing"),
        *(
            ("warning", name)
            for name in (
                "api-gateway",
                "application-connector",
                "btp-operator",
                "cap-operator",
                "cluster-ip",
                "keda",
                "telemetry",
            )
        ),
    }


def test_the_document_follows_its_schema(world: ReadySandbox, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalog", "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert list(Draft202012Validator(schema).iter_errors(answer(world, capsys, "catalog"))) == []


def test_drift_says_exactly_what_drifts(world: ReadySandbox, capsys: pytest.CaptureFixture[str]) -> None:
    found = {one["name"]: one["drift"] for one in answer(world, capsys, "drift", status=2)["drift"]}
    told = {name: situation.drift for name, situation in SITUATIONS.items()}
    assert found == {name: drift for name, drift in told.items() if drift not in ("up-to-date", "none")}


POLICY = '{"rules": [], "default": {"days": ["Sat"], "begin": "21:00:00+00:00", "end": "00:00:00+00:00"}}'


def test_the_next_window_is_named_where_the_policy_is_known(
    world: ReadySandbox, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "policy.json").write_text(POLICY)
    (tmp_path / "config.toml").write_text('maintenance_policy = "policy.json"')
    monkeypatch.setenv("KYMATUI_CONFIG", str(tmp_path / "config.toml"))
    (row,) = [row for row in answer(world, capsys, "catalog")["modules"] if row["name"] == "nats"]
    assert row["drift"] in ("awaiting-window", "behind")  # in a window, lifecycle-manager would be at work
    if row["drift"] == "awaiting-window":
        assert "the next window is Sat " in row["reason"]
        assert "21:00 to Sun 00:00 UTC" in row["reason"]


@pytest.mark.parametrize(("mode", "state"), [("klm", "Ready"), ("strict", "Processing")])
def test_checks_come_out_as_each_mode_reads_them(
    world: ReadySandbox, capsys: pytest.CaptureFixture[str], mode: str, state: str
) -> None:
    """Of two rules for Ready one has a path that is not there."""
    (found,) = answer(world, capsys, "checks", "cluster-ip", "--mode", mode)["resources"]
    assert (found["state"], found["source"]) == (state, "customStateCheck")
    assert [rule["path"] for rule in found["rules"]] == ["status.phase", "status.dataplane.health", "status.phase"]


@pytest.mark.parametrize("name", [module.name for module in MODULES])
def test_a_module_by_itself_says_the_same_as_its_row(
    world: ReadySandbox, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    row = next(row for row in answer(world, capsys, "catalog")["modules"] if row["name"] == name)
    found = answer(world, capsys, "module", name)
    assert {key: found[key] for key in row} == row
