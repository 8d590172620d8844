"""What the commands say of one module is the same, field by field; what only a Kyma reports is labelled so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kymatui.cli.main import main
from kymatui.domain.kyma.versions import same_version

pytestmark = pytest.mark.xdist_group("fleet")  # one sandbox for all tests of this group

Json = dict[str, Any]
RUNTIME = "skr"


@pytest.fixture(autouse=True)
def environment(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(two_clusters))


def read(capsys: pytest.CaptureFixture[str], *words: str) -> Json:
    assert main([*words, "-o", "json"]) in (0, 1, 2)
    found: Json = json.loads(capsys.readouterr().out)
    return found


def by_name(entries: list[Json]) -> dict[str, Json]:
    return {entry["name"]: entry for entry in entries}


def test_every_command_says_the_same_of_each_module(capsys: pytest.CaptureFixture[str]) -> None:
    remote = by_name(read(capsys, "catalog", "--remote", RUNTIME)["modules"])
    own = by_name(read(capsys, "--context", "skr", "catalog")["modules"])
    (runtime,) = (one for one in read(capsys, "fleet")["runtimes"] if one["name"] == RUNTIME)
    fleet, spread = by_name(runtime["modules"]), read(capsys, "matrix")
    drifting = by_name(read(capsys, "drift", "--remote", RUNTIME)["drift"])
    lines = read(capsys, "compare", RUNTIME)["lines"]
    compared = {(one["subject"], one["field"]): one for one in lines if one["about"] == "module"}
    assert len(fleet) > 10
    assert fleet.keys() <= remote.keys()
    assert spread["versionSource"] == "reported"
    for name, row in remote.items():
        if name in ("keda", "telemetry"):
            single = read(capsys, "module", name, "--remote", RUNTIME)
            assert {key: single[key] for key in row if key != "manifest"} == {
                key: value for key, value in row.items() if key != "manifest"
            }
        assert (name in drifting) is (row["drift"] not in ("up-to-date", "none", "unknown", "rolling-out")), name
        if name in drifting:
            found = drifting[name]
            assert found["drift"] == row["drift"], name
            for key in ("installed", "installedSource", "desired", "actor"):
                assert found[key] == row[key], (name, key)
        for field, value in (("version", row["installed"]), ("state", row["state"])):
            line = compared.get((name, field))
            if line is not None:
                assert line["skr"] == value, (name, field)
                assert line["verdict"] == "same" or line["actor"] == row["actor"], (name, field)
        if name in own:  # the runtime's own cluster sees what runs, and not the Manifests
            for key in ("installed", "installedSource", "state"):
                assert own[name][key] == row[key], (name, key)
    for name, module in fleet.items():
        row = remote[name]
        sources = [module[key] for key in ("versionSource", "channelSource", "actorSource", "stateSource")]
        assert sources == ["reported", "reported", "reported", "kyma"]
        assert row["installedSource"] == "running"
        assert (module["version"], module["state"]) == (row["reports"]["kymaVersion"], row["reports"]["kyma"]), name
        assert spread["modules"][name][module["version"]] >= 1
        if module["desired"] is None:
            assert (module["drifts"], module["drift"]) == (None, "unknown"), name
            continue
        if same_version(module["version"], row["installed"]) and module["channel"] == row["channel"]:
            assert (module["desired"], module["drift"]) == (row["desired"], row["drift"]), name
            if row["stateSource"] == "kyma" or row["drift"] != "up-to-date":  # else what runs adds reasons of its own
                assert module["actor"] in (row["actor"], "unknown"), name
                assert (module["actor"] == "unknown") is ("actor" in module["unknown"]), name
        else:
            assert name in ("keda", "telemetry"), "only these are not what their Kyma reports"
    assert (fleet["keda"]["version"], remote["keda"]["installed"]) == ("1.5.0", "1.4.0")


def test_audit_versions_and_what_if_say_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    document = read(capsys, "catalog", "--remote", RUNTIME)
    rows = by_name(document["modules"])
    for one in read(capsys, "audit", "--remote", RUNTIME)["findings"]:
        assert one["actor"] == one["whoActs"], "the old key stays for a version"
        if one["rule"] in ("state.error", "state.warning", "drift.behind", "drift.ahead", "drift.held-back"):
            assert one["actor"] == rows[one["module"]]["actor"], one
        if one["rule"] in ("state.error", "state.warning"):
            assert (one["message"], one["value"]) == (rows[one["module"]]["reason"], rows[one["module"]]["state"])
    problems = [one for one in document["problems"] if one["message"] == rows.get(one["module"], {}).get("reason")]
    assert problems
    assert all(one["actor"] == rows[one["module"]]["actor"] for one in problems)
    for version in read(capsys, "versions", "keda", "--remote", RUNTIME)["versions"]:
        assert version["installed"] is (version["version"] == rows["keda"]["installed"])
        assert version["desired"] is (version["version"] == rows["keda"]["desired"])
    (upgrade,) = (
        upgrade
        for runtime in read(capsys, "windows", RUNTIME)["runtimes"]
        for upgrade in runtime["upgrades"]
        if upgrade["module"] == "nats"
    )
    assert (upgrade["installed"], upgrade["offered"]) == (rows["nats"]["installed"], rows["nats"]["desired"])


def test_tables_label_what_is_only_reported(capsys: pytest.CaptureFixture[str]) -> None:
    main(["matrix"])
    assert "REPORTED VERSIONS" in capsys.readouterr().out.splitlines()[0]
    main(["fleet"])
    assert capsys.readouterr().out.rstrip().endswith("(reported by their Kymas)")
    main(["--context", "kcp", "catalog", "-o", "json"])
    rows = by_name(json.loads(capsys.readouterr().out)["modules"])
    main(["--context", "kcp", "catalog"])
    table = capsys.readouterr().out
    assert rows["keda"]["installedSource"] == "reported"
    assert f"{rows['keda']['installed']} (reported)" in table
