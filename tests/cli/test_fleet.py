"""`kymatui fleet` and `kymatui matrix` on a control plane with a small fleet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.auth.connection import connect
from kymatui.cli.commands.program import screen
from kymatui.cli.main import main
from kymatui.errors import KymatuiError, UnknownNameError
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions

pytestmark = pytest.mark.xdist_group("fleet")  # one sandbox for all tests of this group


@pytest.fixture(autouse=True)
def environment(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(two_clusters))


@pytest.fixture
def kcp_faults(two_clusters: Path) -> Iterator[FaultClient]:
    faults = FaultClient.for_kubeconfig(two_clusters, "kcp")
    yield faults
    faults.send("clear", {})


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def runtimes(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    status, out, _ = run(capsys, "fleet", "-o", "json", *words)
    assert status == 0
    found: list[dict[str, Any]] = json.loads(out)["runtimes"]
    return found


def test_the_table_has_a_row_for_each_runtime(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "fleet")
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[0].split()[:6] == ["RUNTIME", "SHOOT", "REGION", "PLAN", "CHANNEL", "STATE"]
    assert lines[-1].startswith(f"{len(lines) - 3} runtimes, ")
    assert any(line.startswith("skr ") for line in lines)


@pytest.mark.parametrize("kind", ["kymas", "modulereleasemetas"])
def test_a_list_that_breaks_off_once_is_awaited(
    capsys: pytest.CaptureFixture[str], kcp_faults: FaultClient, kind: str
) -> None:
    whole = runtimes(capsys)
    kcp_faults.send("drop", {"resource": f"{kind}.operator.kyma-project.io", "count": 1})
    assert runtimes(capsys) == whole
    assert kcp_faults.send("list", {})["faults"] == []


def test_runtimes_are_chosen_by_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    whole = runtimes(capsys)
    azure = [one["name"] for one in whole if one["plan"] == "azure"]
    assert 0 < len(azure) < len(whole)
    assert [one["name"] for one in runtimes(capsys, "--plan", "azure")] == azure
    assert [one["name"] for one in runtimes(capsys, "-l", "kyma-project.io/broker-plan-name=azure")] == azure
    both = "kyma-project.io/broker-plan-name in (azure, aws),!nothing"
    assert {one["plan"] for one in runtimes(capsys, "-l", both)} == {"azure", "aws"}
    drifting = [one["name"] for one in whole if any(module["drifts"] for module in one["modules"])]
    assert [one["name"] for one in runtimes(capsys, "--drifting")] == drifting
    ready = runtimes(capsys, "--state", "ready")
    assert {one["state"] for one in ready} == {"Ready"}
    (version,) = {m["version"] for one in whole for m in one["modules"] if m["name"] == "keda"}
    keda = runtimes(capsys, "--module", f"keda@{version}")
    assert [one["name"] for one in keda] == [
        one["name"] for one in whole if "keda" in [module["name"] for module in one["modules"]]
    ]
    assert runtimes(capsys, "--module", "keda@0.0.1") == []


def test_runtimes_are_counted_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    whole = runtimes(capsys)
    counts = json.loads(run(capsys, "fleet", "--group", "plan", "-o", "json")[1])["counts"]
    assert sum(counts.values()) == len(whole)
    assert list(counts.values()) == sorted(counts.values(), reverse=True)


def test_the_matrix_counts_versions(capsys: pytest.CaptureFixture[str]) -> None:
    whole = runtimes(capsys)
    modules = json.loads(run(capsys, "matrix", "-o", "json")[1])["modules"]
    for name, counts in modules.items():
        having = [one for one in whole if name in [module["name"] for module in one["modules"]]]
        assert sum(counts.values()) == len(having)
    status, out, _ = run(capsys, "matrix")
    assert (status, out.splitlines()[0].split()) == (0, ["MODULE", "RUNTIMES", "REPORTED", "VERSIONS"])


def test_the_worst_runtimes_come_first_and_each_problem_has_its_module(capsys: pytest.CaptureFixture[str]) -> None:
    ranks = {name: rank for rank, name in enumerate(("Error", "Warning", "Processing", "Deleting", "Ready"))}
    listed = runtimes(capsys)
    assert [ranks[one["state"]] for one in listed] == sorted(ranks[one["state"]] for one in listed)
    ready = [bool(one["problem"]) for one in listed if one["state"] == "Ready"]
    assert True in ready
    assert ready == sorted(ready, reverse=True), "those that drift come first"
    _, out, _ = run(capsys, "fleet", "--drifting", "--state", "Ready")
    rows = out.splitlines()[1 : 1 + sum(ready)]
    assert all(row.split()[-2] == "behind" for row in rows), out


def test_the_matrix_is_limited_to_modules_that_the_fleet_has(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "matrix", "nats", "keda")
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["keda", "nats"]
    status, _, err = run(capsys, "matrix", "nat")
    assert (status, err.splitlines()[0]) == (
        64,
        'kymatui: no module "nat" in the control plane kcp; did you mean nats?',
    )


def test_a_filter_has_one_name_in_lists_and_edits_and_its_other_names_work(capsys: pytest.CaptureFixture[str]) -> None:
    for one, other in (("--module", "--having"), ("--in-channel", "--channel")):
        value = "keda" if one == "--module" else "fast"
        assert runtimes(capsys, one, value) == runtimes(capsys, other, value) != []
        assert other not in run(capsys, "help", "fleet")[1]
    whole = {one["name"]: one for one in runtimes(capsys)}
    name, shoot = next((name, one["shoot"]) for name, one in whole.items() if one["shoot"])
    for word in (name, shoot, f"kcp-system/{name}"):
        assert [one["name"] for one in runtimes(capsys, "--runtime", word)] == [name]
    status, out, _ = run(capsys, "policy", "keda", "Ignore", "--fleet", "--runtime", shoot, "--dry-run", "-o", "json")
    assert status in (0, 2, 3)
    assert [one["runtime"] for one in json.loads(out)["runtimes"]] == [f"kcp-system/{name}"]


def test_a_version_that_no_runtime_reports_is_answered_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "fleet", "--module", "keda@1.4.0")
    assert (status, out.splitlines()[-1]) == (0, "no runtime that matches reports keda 1.4.0; reported: 1.5.0: 9")


def test_a_selector_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "fleet", "-l", "a in b")
    assert status == 64
    assert "invalid selector 'a in b': " in err


@pytest.mark.parametrize(("words", "status", "outcome"), [((), 2, "refused"), (("--cascade",), 0, "planned")])
def test_an_edit_over_a_fleet_checks_what_blocks_the_deletion_on_each_runtime(
    words: tuple[str, ...], status: int, outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["disable", "serverless", "--fleet", "--runtime", "skr", "--dry-run", "-o", "json", *words]
    assert main(given) == status
    (leg,) = json.loads(capsys.readouterr().out)["runtimes"]
    assert (leg["outcome"], leg["uninstalls"]) == (outcome, ["serverless"])
    assert [one.split()[0] for one in leg["blocking"]] == ["Function"] * 3
    assert ("--cascade" in (leg["words"] or "")) is (outcome == "refused")


def test_a_plan_over_a_fleet_names_the_server_of_each_runtime(
    two_clusters: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = connect(str(two_clusters), "skr").endpoint.host
    given = ["policy", "keda", "Ignore", "--fleet", "--runtime", "skr", "--dry-run"]
    main([*given, "-o", "json"])
    (leg,) = json.loads(capsys.readouterr().out)["runtimes"]
    assert leg["server"] == server
    main(given)
    rows = [
        line.split() for line in capsys.readouterr().out.splitlines() if line.startswith(("RUNTIME", "kcp-system/"))
    ]
    assert [row[:2] for row in rows] == [["RUNTIME", "SERVER"], ["kcp-system/skr", server]]


def test_a_runtime_behind_a_control_plane_is_checked_as_one_cluster_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["disable", "serverless", "--remote", "skr", "--yes", "-o", "json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["outcome"], len(found["uninstalls"][0]["remaining"])) == ("refused", 4)


MISSES = (
    (("fleet", "--module", "kedaa"), 'no module "kedaa" in the control plane kcp; did you mean keda'),
    (("matrix", "--module", "kedaa@1.0.0"), 'no module "kedaa" in the control plane kcp; did you mean keda'),
    (
        ("fleet", "--channel", "regula", "-o", "json"),
        'no channel "regula" in the control plane kcp; did you mean regular',
    ),
    (("matrix", "--channel", "regula"), 'no channel "regula"'),
    (("fleet", "--plan", "azzure"), 'no plan "azzure" in the control plane kcp; did you mean azure'),
    (
        ("fleet", "--region", "eu-cntral-1"),
        'no region "eu-cntral-1" in the control plane kcp; did you mean eu-central-1',
    ),
    (("fleet", "--state", "Redy"), 'no state "Redy"; did you mean Ready'),
    (("fleet", "--state", "ready", "--state", "Wrning"), 'no state "Wrning"; did you mean Warning'),
    (("matrix", "--plan", "azzure"), 'no plan "azzure"'),
    (("fleet", "-l", "kyma-project.io/broker-plan-name=azure", "--region", "eu-cntral-1"), 'no region "eu-cntral-1"'),
    (("enable", "keda", "--fleet", "--region", "eu-cntral-1", "--dry-run"), 'no region "eu-cntral-1"'),
    (("enable", "keda", "--fleet", "--state", "Redy", "--dry-run"), 'no state "Redy"; did you mean Ready'),
    (("fleet", "-l", "kyma-project.io/broker-plan-name=azure", "--module", "kedaa"), 'no module "kedaa"'),
    (("fleet", "--group", "plan", "--module", "kedaa"), 'no module "kedaa"'),
    (("enable", "keda", "--fleet", "--having", "kedaa", "--dry-run"), 'no module "kedaa"'),
    (("enable", "keda", "--fleet", "--in-channel", "regula", "--dry-run"), 'no channel "regula"'),
    (("enable", "keda", "--fleet", "--runtime", "skrr", "--dry-run"), 'no runtime "skrr"; did you mean skr'),
    (("enable", "kedaa", "--fleet", "--runtime", "skr", "--dry-run"), 'no module "kedaa"'),
    (("channel", "keda", "regula", "--fleet", "--runtime", "skr", "--dry-run"), 'no channel "regula"'),
    (("channel", "keda", "regula", "--remote", "skr", "--dry-run"), 'no channel "regula"'),
    (("compare", "skrr"), 'no runtime "skrr" in the control plane kcp; did you mean skr'),
    (("sync", "skrr"), 'no runtime "skrr"'),
    (("windows", "skrr"), 'no runtime "skrr"'),
    (("watchers", "skrr"), 'no runtime "skrr"'),
    (("audit", "--remote", "skrr"), 'no runtime "skrr"'),
    (("catalog", "--remote", "skrr"), 'no runtime "skrr"'),
    (("module", "kedaa", "--remote", "skr"), 'no module "kedaa"'),
    (("checks", "kedaa", "--remote", "skr"), 'no module "kedaa"'),
    (("events", "kedaa", "--remote", "skr"), 'no module "kedaa"'),
    (("catalog", "--remote", "skr", "-n", "kcp-syste"), 'no namespace "kcp-syste"'),
    (("fleet", "-n", "kcp-syste"), 'no namespace "kcp-syste"'),
    (("matrix", "-n", "kcp-syste"), 'no namespace "kcp-syste"'),
)


@pytest.mark.parametrize(("words", "said"), MISSES, ids=[" ".join(words) for words, _ in MISSES])
def test_a_name_that_nothing_has_is_a_usage_error(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *words)
    assert (status, said in err) == (64, True), err
    assert "json" in words or out == ""


def test_a_name_that_is_offered_and_that_no_runtime_has_chooses_none(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "matrix", "-o", "json")
    running = set(json.loads(out)["modules"])
    _, out, _ = run(capsys, "catalog", "-o", "json")
    offered = {one["name"] for one in json.loads(out)["modules"]} - running
    assert offered, "the sample offers modules that no runtime has"
    assert runtimes(capsys, "--module", min(offered)) == []
    assert runtimes(capsys, "--module", "keda@0.0.1") == []


def test_what_other_runtimes_have_chooses_none_and_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    found = runtimes(capsys)
    plans = {one["plan"] for one in found} - {None}
    one = next(one for one in found if one["plan"])
    others = plans - {one["plan"]}
    assert others
    assert runtimes(capsys, "-l", f"kyma-project.io/broker-plan-name={one['plan']}", "--plan", min(others)) == []
    assert runtimes(capsys, "--state", "Unmanaged") == []


@pytest.mark.parametrize("words", [(), ("--remote",), ("--remote", "skr")])
def test_the_screen_takes_no_namespace_that_is_not_there(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[KymatuiError] = []

    def show(args: object, settings: object, connect: object, *_: object, **__: object) -> int:
        assert callable(connect)
        with pytest.raises(UnknownNameError, match='no namespace "nowhere"') as caught:
            connect()
        raised.append(caught.value)
        return 0

    monkeypatch.setattr(screen, "show", show)
    assert main(["-n", "nowhere", *words]) == 0
    assert [error.exit_code for error in raised] == [64]


@pytest.mark.parametrize(
    ("words", "status", "hint"),
    [
        ("drift", 1, "use --remote RUNTIME, or `kymatui fleet --drifting`"),
        ("drift -o json", 1, "use --remote RUNTIME, or `kymatui fleet --drifting`"),
        ("edit --kyma --dry-run", 2, "use --remote RUNTIME"),
        ("delete keda --dry-run", 2, "no changes made"),
        ("delete nats --dry-run", 2, "no changes made"),
        ("finalizers keda", 2, "use --remote RUNTIME"),
    ],
)
def test_no_kyma_of_several_is_taken_without_a_name(
    words: str, status: int, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ended, out, err = run(capsys, *words.split())
    assert ended == status
    assert "no module drifts" not in out
    assert "this cluster has 13 Kymas, and none is named" in err
    assert hint in err


def test_a_named_runtime_of_several_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("drift", "delete keda --dry-run"):
        _, _, err = run(capsys, *words.split(), "--remote", "skr")
        assert "none is named" not in err


def waits(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    status, out, _ = run(capsys, "waits", "-o", "json", *words)
    assert status == 0
    document: dict[str, Any] = json.loads(out)
    return document


def test_what_waits_is_listed_worst_first_with_who_acts(capsys: pytest.CaptureFixture[str]) -> None:
    listed = waits(capsys)["waits"]
    order = ["Error", "Unknown", "Warning", "Deleting", "Processing", "Unmanaged", "Ready"]
    assert [one["state"] for one in listed] == sorted((one["state"] for one in listed), key=order.index)
    access = next(one for one in listed if one["actor"] == "you" and one["module"] is None)
    assert access["command"] in access["reason"]
    status, out, _ = run(capsys, "waits", "--runtime", "skr")
    lines = out.splitlines()
    assert (status, lines[0].split()[:3]) == (0, ["WHO", "ACTS", "STATE"])
    assert {line.split()[0] for line in run(capsys, "waits", "--runtime", "skr", "-o", "name")[1].splitlines()} == {
        "/".join(filter(None, (one["runtime"], one["module"]))) for one in listed if one["runtime"] == "skr"
    }


def test_manifests_that_may_not_be_listed_are_no_proof_that_nothing_waits(
    capsys: pytest.CaptureFixture[str], two_clusters: Path
) -> None:
    rule = {"apiGroups": ["operator.kyma-project.io"], "resources": ["kymas", "modulereleasemetas"], "verbs": ["list"]}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "no-manifests"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}
    cluster = open_cluster(SessionOptions(str(two_clusters), "kcp"))
    for kind, content in (
        ("ClusterRole", {"rules": [rule]}),
        ("ClusterRoleBinding", {"roleRef": role, "subjects": [subject]}),
    ):
        body = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "no-manifests"}}
        cluster.apply({**body, **content})
    document = waits(capsys, "--as", "jane")
    assert document["unknown"]["waits"]["state"] == "forbidden"
    assert "Manifests: forbidden" in run(capsys, "waits", "--as", "jane")[1]


def test_windows_have_what_is_pending_first_in_every_form(capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(run(capsys, "windows", "-o", "json")[1])["runtimes"]
    assert [bool(one["upgrades"]) for one in listed] == [True] + [False] * (len(listed) - 1)
    names = [one["runtime"] for one in listed]
    assert run(capsys, "windows", "-o", "name")[1].split() == names
    assert [line.split()[0] for line in run(capsys, "windows")[1].splitlines()[1 : len(names) + 1]] == names
