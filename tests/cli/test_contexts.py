"""`--contexts`: commands over many contexts of a kubeconfig, of which some do not work."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.files.job_journals import open_job
from kymatui.cli.main import main
from kymatui.cli.options.contexts import ContextResults
from kymatui.domain.plans.cluster_target import ALL_CONTEXTS
from kymatui.domain.plans.jobs import RUNTIMES, JobPurpose
from kymatui.engine.cluster.ports import cluster_identity
from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.engine.jobs.job_records import RUNTIME_STEP, join_runtimes
from kymatui.engine.jobs.journal import JournalMark
from kymatui.errors import (
    CancelledError,
    DefectError,
    KymatuiError,
    RefusedError,
    RegistryUnreachableError,
    UnknownNameError,
    UnreachableError,
)
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.contexts import ContextEntry

pytestmark = pytest.mark.xdist_group("fleet")  # one sandbox for all tests of this group

_WAIT = "echo 'Open https://login.example and type ABCD' >&2\nexec sleep 60\n"
Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("results", "errors", "status"),
    [
        (1, [], 0),
        (1, [UnreachableError("gone")], 3),
        (1, [RegistryUnreachableError("the registry is down")], 3),
        (1, [DefectError(ValueError("a bug"))], 3),
        (1, [UnknownNameError("no such module")], 2),
        (0, [UnreachableError("gone")], 1),
        (0, [UnknownNameError("no such module")], 64),
        (0, [UnknownNameError("no such module"), RefusedError("refused")], 2),
        (0, [UnknownNameError("no such module"), UnreachableError("gone")], 64),
    ],
)
def test_the_exit_status_tells_what_was_refused_from_what_was_not_read(
    results: int, errors: list[KymatuiError], status: int
) -> None:
    failures = {f"c{number}": (ContextEntry(f"c{number}"), error) for number, error in enumerate(errors)}
    assert ContextResults({f"r{number}": None for number in range(results)}, failures).status == status


class Kubeconfig:
    """A copy of a sandbox's kubeconfig, with more contexts of its runtime."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.path, self._folder = folder / "contexts.yaml", folder
        self._body: dict[str, Any] = yaml.safe_load(source.read_text())
        self._cluster = self._part("clusters", "skr")["cluster"]
        self.token: str = self._part("users", "skr")["user"]["token"]

    def _part(self, section: str, name: str) -> dict[str, Any]:
        return next(part for part in self._body[section] if part["name"] == name)

    def add(self, name: str, *, server: str = "", user: dict[str, Any] | None = None) -> None:
        cluster = {**self._cluster, **({"server": server} if server else {})}
        self._body["clusters"].append({"name": name, "cluster": cluster})
        self._body["users"].append({"name": name, "user": user or {"token": self.token}})
        self._body["contexts"].append({"name": name, "context": {"cluster": name, "user": name}})
        self.path.write_text(dump_yaml(self._body))

    def plugin(self, name: str, body: str) -> dict[str, Any]:
        path = self._folder / name
        path.write_text(f"#!/bin/sh\n{body}")
        path.chmod(0o755)
        return {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": str(path),
                "interactiveMode": "IfAvailable",
            }
        }

    def credential(self) -> str:
        return json.dumps(
            {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": self.token}}
        )


@pytest.fixture
def kubeconfig(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kubeconfig:
    config = Kubeconfig(two_clusters, tmp_path)
    config.add("prod/eu")
    config.add("prod/us")
    monkeypatch.setenv("KUBECONFIG", str(config.path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)
    return config


@pytest.fixture
def run(kubeconfig: Kubeconfig, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(words)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def silent_server() -> Iterator[str]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(50)
        yield f"https://127.0.0.1:{server.getsockname()[1]}"


def test_a_fleet_of_contexts_says_of_each_what_its_catalog_says(run: Run) -> None:
    status, out, _ = run("fleet", "--contexts", "prod/*", "-o", "json")
    entries = json.loads(out)["contexts"]
    own = json.loads(run("catalog", "--context", "prod/eu", "-o", "json")[1])
    assert status == 0
    assert [entry["context"] for entry in entries] == ["prod/eu", "prod/us"]
    assert entries[0]["problems"] == own["counts"]["problems"]
    shown = {module["name"]: module for module in entries[0]["modules"]}
    for module in own["modules"]:
        if module["name"] in shown:
            assert shown[module["name"]].items() <= module.items()


def test_contexts_that_are_not_read_are_rows_with_their_reason(
    run: Run, kubeconfig: Kubeconfig, silent_server: str
) -> None:
    kubeconfig.add("dead", server="https://127.0.0.1:9")
    kubeconfig.add("hangs", server=silent_server)
    kubeconfig.add("token", user={"token": "wrong"})
    kubeconfig.add("login", user=kubeconfig.plugin("waits", _WAIT))
    kubeconfig.add("login-2", user=kubeconfig.plugin("waits", _WAIT))
    kubeconfig.add("failed", user=kubeconfig.plugin("fails", "echo 'token expired' >&2\nexit 1\n"))
    kubeconfig.add("works", user=kubeconfig.plugin("works", f"echo '{kubeconfig.credential()}'\n"))
    began = time.monotonic()
    status, out, err = run("fleet", "--contexts", "--timeout", "4s", "-o", "json")
    assert time.monotonic() - began < 20
    assert status == 3
    entries = {entry["context"]: entry for entry in json.loads(out)["contexts"]}
    assert {name: entry["status"] for name, entry in entries.items()} == {
        "dead": "unreachable",
        "hangs": "unreachable",
        "token": "login needed",
        "login": "login needed",
        "login-2": "login needed",
        "failed": "login needed",
        "works": "listed",
        "kcp": "control plane",
        "skr": "listed",
        "prod/eu": "listed",
        "prod/us": "listed",
    }
    assert entries["failed"]["loginNeeded"]
    assert "token expired" in entries["failed"]["reason"]
    assert "connection refused" in entries["dead"]["reason"]
    assert err.count("Open https://login.example") == 1  # the plugin runs for one of its contexts


def test_a_login_that_failed_is_not_asked_again_for_other_contexts(run: Run, kubeconfig: Kubeconfig) -> None:
    plugin = kubeconfig.plugin("counts", f"echo x >> {kubeconfig.path}.runs\nexit 1\n")
    for number in range(5):
        kubeconfig.add(f"login-{number}", user=plugin)
    status, out, _ = run("fleet", "--contexts", "login-*", "--timeout", "8s", "-o", "json")
    assert status == 1
    assert {entry["status"] for entry in json.loads(out)["contexts"]} == {"login needed"}
    assert Path(f"{kubeconfig.path}.runs").read_text().count("x") <= 2  # and perhaps again with the terminal


def test_no_context_is_read_ends_with_1_and_the_filters_of_fleets_work(run: Run, kubeconfig: Kubeconfig) -> None:
    kubeconfig.add("dead", server="https://127.0.0.1:9")
    assert run("fleet", "--contexts", "dead")[0] == 1
    status, out, _ = run("fleet", "--contexts", "prod/*", "--module", "keda", "-o", "name")
    assert (status, out.split()) == (0, ["prod/eu", "prod/us"])
    assert run("fleet", "--contexts", "prod/*", "--module", "no-such", "-o", "name")[1] == ""


@pytest.mark.parametrize(
    "words",
    [
        ("fleet", "--contexts", "--context", "skr"),
        ("fleet", "export", "f.json", "--contexts"),
        ("fleet", "--contexts", "nope-*"),
        ("catalog", "--contexts", "--remote", "skr"),
        ("catalog", "--contexts", "--signed"),
        ("upgrade", "--all", "--contexts", "--context", "skr"),
        ("channel", "keda", "fast", "--contexts", "--fleet"),
        ("channel", "keda", "fast", "--contexts", "--region", "eu"),
        ("channel", "keda", "istio", "fast", "--contexts"),
        ("resume", "--contexts", "--context", "skr"),
    ],
)
def test_options_that_name_one_cluster_are_refused(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words)[0] == 64


def test_groups_of_the_configuration_name_contexts(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[groups]\nproduction = ["prod/*"]\ndefault = ["skr"]\n')
    monkeypatch.setenv("KYMATUI_CONFIG", str(path))
    assert run("fleet", "--contexts", "production", "-o", "name")[1].split() == ["prod/eu", "prod/us"]
    assert run("fleet", "--contexts", "-o", "name")[1].split() == ["skr"]


def test_a_matrix_has_the_contexts_of_each_version(run: Run) -> None:
    document = json.loads(run("matrix", "--contexts", "prod/*", "-o", "json")[1])
    own = json.loads(run("catalog", "--context", "skr", "-o", "json")[1])
    keda = next(module for module in own["modules"] if module["name"] == "keda")
    assert document["modules"]["keda"] == {keda["installed"]: ["prod/eu", "prod/us"]}
    assert "prod/eu" in run("matrix", "--contexts", "prod/*", "-o", "wide")[1]


def test_lists_of_several_contexts_have_the_context_in_each_entry(run: Run, kubeconfig: Kubeconfig) -> None:
    kubeconfig.add("dead", server="https://127.0.0.1:9")
    status, out, err = run("catalog", "--contexts", "prod/*", "dead", "-o", "json")
    entries = {entry["context"]: entry for entry in json.loads(out)["contexts"]}
    assert status == 3
    assert "dead not read" in err
    assert entries["dead"]["status"] == "unreachable"
    assert [module["name"] for module in entries["prod/eu"]["modules"]] == [
        module["name"] for module in entries["prod/us"]["modules"]
    ]
    names = run("catalog", "--contexts", "prod/*", "-o", "name")[1].split()
    assert "prod/eu/keda" in names
    rows = run("catalog", "--contexts", "prod/*", "--no-headers", "--sort-by", "name")[1].splitlines()
    assert [row.split()[:2] for row in rows if " keda " in row] == [["prod/eu", "keda"], ["prod/us", "keda"]]


def test_drift_and_audit_of_contexts_have_the_status_of_their_findings(run: Run, kubeconfig: Kubeconfig) -> None:
    kubeconfig.add("dead", server="https://127.0.0.1:9")
    assert run("drift", "--contexts", "prod/eu")[0] == run("drift", "--context", "prod/eu")[0] == 2
    status, out, _ = run("audit", "--contexts", "prod/eu", "dead", "-o", "json")
    findings = json.loads(out)["findings"]
    assert status == 2
    assert {finding["context"] for finding in findings} == {"prod/eu", "dead"}
    assert [finding["rule"] for finding in findings if finding["context"] == "dead"] == ["runtime.unreachable"]
    assert run("audit", "--contexts", "prod/eu", "--fail-on", "never")[0] == 0


def test_a_login_that_fails_is_a_finding_of_its_own(run: Run, kubeconfig: Kubeconfig) -> None:
    kubeconfig.add("token", user={"token": "wrong"})
    findings = json.loads(run("audit", "--contexts", "token", "-o", "json")[1])["findings"]
    assert [finding["rule"] for finding in findings] == ["context.access"]


def test_check_and_the_plan_of_an_upgrade_print_each_context(run: Run, kubeconfig: Kubeconfig) -> None:
    kubeconfig.add("dead", server="https://127.0.0.1:9")
    status, out, _ = run("upgrade", "--all", "--dry-run", "--contexts", "prod/*", "dead", "-o", "json")
    entries = {entry["context"]: entry for entry in json.loads(out)["contexts"]}
    assert status == 3
    assert entries["prod/eu"]["outcome"] == "unchanged"
    assert entries["dead"]["status"] == "unreachable"
    status, out, _ = run("check", "keda", "--contexts", "prod/*", "-o", "json")
    assert status == 2
    assert {entry["status"] for entry in json.loads(out)["contexts"]} == {"refused"}
    status, _, err = run("check", "no-such", "--contexts", "prod/*", "dead")
    assert (status, err.count("no module"), err.count("run `kymatui catalog`")) == (64, 2, 1)
    assert "context prod/eu" in run("upgrade", "--all", "--dry-run", "--contexts", "prod/eu")[1]


# edits


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[contexts."shut"]\nread_only = true\n')
    monkeypatch.setenv("KYMATUI_CONFIG", str(path))


def outcomes(out: str) -> dict[str, str]:
    return {entry["context"]: entry["outcome"] for entry in json.loads(out)["contexts"]}


POLICY = ("policy", "keda")


@pytest.mark.usefixtures("settings")
def test_an_edit_of_contexts_plans_each_and_edits_each_cluster_once(run: Run, kubeconfig: Kubeconfig) -> None:
    kubeconfig.add("shut")
    kubeconfig.add("dead", server="https://127.0.0.1:9")
    plugin = kubeconfig.plugin("counts", f"echo x >> {kubeconfig.path}.runs\necho 'token expired' >&2\nexit 1\n")
    for number in range(5):
        kubeconfig.add(f"login-{number}", user=plugin)
    names = ("prod/*", "shut", "dead", "kcp", "login-*")
    status, out, err = run(*POLICY, "Ignore", "--contexts", *names, "--dry-run", "-o", "json")
    assert status == 3
    expected = {"kcp": "refused", "prod/eu": "planned", "prod/us": "unchanged", "shut": "refused"}
    expected |= {"dead": "unreachable", **{f"login-{number}": "unreachable" for number in range(5)}}
    assert outcomes(out) == expected
    entries = {entry["context"]: entry for entry in json.loads(out)["contexts"]}
    assert "prod/eu" in entries["prod/us"]["words"]
    assert "read-only" in entries["shut"]["words"]
    assert "token expired" in entries["login-4"]["words"]
    assert Path(f"{kubeconfig.path}.runs").read_text().count("x") <= 2  # and perhaps again with the terminal
    assert "canary: prod/eu" in err


@pytest.mark.usefixtures("settings")
def test_an_edit_of_contexts_needs_its_option_and_asks(run: Run) -> None:
    assert run(*POLICY, "Ignore", "--contexts", "prod/*", "--yes")[0] == 2
    status, _, err = run(*POLICY, "Ignore", "--contexts", "prod/*", "--allow-fleet-writes")
    assert status == 2
    assert "not a terminal" in err
    status, out, _ = run(
        *POLICY, "Ignore", "--contexts", "prod/*", "--allow-fleet-writes", "--yes", "--no-wait", "-o", "json"
    )
    assert (status, outcomes(out)) == (0, {"prod/eu": "accepted", "prod/us": "unchanged"})
    assert json.loads(out)["target"]["contexts"] == ["prod/eu", "prod/us"]
    back = run(*POLICY, "CreateAndDelete", "--contexts", "prod/us", "--allow-fleet-writes", "--yes", "--no-wait")
    assert back[0] == 0
    assert run("resume", "--list")[1] == ""


def interrupted_edit(kubeconfig: Kubeconfig, *names: str) -> str:
    """Return the number of a job that was stopped while it edited the first of these contexts."""
    job = open_job(
        ALL_CONTEXTS, JobPurpose("policy", ("keda",), {"policy": "Ignore", RUNTIMES: join_runtimes(names)}), "edit"
    )
    job.journal.write(JournalMark.FAILED, RUNTIME_STEP, names[0])
    job.end(CancelledError("stopped"))
    return job.number


def identity(kubeconfig: Kubeconfig, context: str) -> str:
    cluster = open_cluster(SessionOptions(str(kubeconfig.path), context))
    try:
        return cluster_identity(cluster)
    finally:
        cluster.client.transport.close()


def test_an_interrupted_edit_finds_its_clusters_under_other_names(run: Run, kubeconfig: Kubeconfig) -> None:
    uid = identity(kubeconfig, "prod/eu")
    number = interrupted_edit(kubeconfig, f"{uid}/renamed, once", f"{identity(kubeconfig, 'kcp')}/prod/us", "gone/away")
    (job,) = json.loads(run("resume", "--list", "-o", "json")[1])["jobs"]
    assert (job["contexts"], job["unfinished"]) == (
        ["renamed, once", "prod/us", "away"],
        ["edit context renamed, once"],
    )
    assert job["resume"] == f"kymatui resume {number} --contexts"
    status, _, err = run("resume", number, "--context", "prod/eu")
    assert status == 2
    assert f"kymatui resume {number} --contexts" in err
    status, out, _ = run("resume", "--contexts", "--dry-run", "-o", "json")
    assert status == 3
    found = outcomes(out)
    context = next(name for name, outcome in found.items() if outcome == "planned")
    assert identity(kubeconfig, context) == uid, "the cluster decides, not the name"
    assert found["away"] == "refused"
    assert found["prod/us"] == "refused", "that name is of another cluster now, which is a control plane"


# what if


def test_a_forecast_of_contexts_has_the_context_in_each_entry(run: Run, kubeconfig: Kubeconfig) -> None:
    kubeconfig.add("dead", server="https://127.0.0.1:9")
    change = ("whatif", "--delete", "ModuleReleaseMeta/keda")
    own = json.loads(run(*change, "--context", "skr", "-o", "json", "--each")[1])
    status, out, err = run(*change, "--contexts", "prod/*", "dead", "-o", "json", "--each")
    entries = {entry["context"]: entry for entry in json.loads(out)["contexts"]}
    assert status == 2, "a module is in error then, as for one cluster"
    assert own["changes"]
    assert {name: entry["status"] for name, entry in entries.items()} == {
        "dead": "unreachable",
        "prod/eu": "listed",
        "prod/us": "listed",
    }
    assert entries["prod/eu"]["changes"] == entries["prod/us"]["changes"] == own["changes"]
    assert "dead not read" in err
    rows = run(*change, "--contexts", "prod/*")[1].splitlines()
    assert rows[0].split()[:3] == ["CONTEXT", "OUTCOME", "MODULE"]
    assert [row.split()[0] for row in rows[1:3]] == ["prod/eu", "prod/us"]
    assert [row.partition(": ")[0] for row in rows[-3:] if row] == ["prod/eu", "prod/us"]
    assert run(*change, "--contexts", "prod/*", "-o", "name")[1].split() == ["prod/eu/keda", "prod/us/keda"]
    assert run(*change, "--contexts", "prod/*", "dead", "--fail-on", "never")[0] == 3


def test_a_forecast_of_contexts_takes_each_catalog_as_it_is(run: Run) -> None:
    status, out, _ = run("whatif", "--delete", "ModuleReleaseMeta/no-such", "--contexts", "prod/eu", "-o", "json")
    (entry,) = json.loads(out)["contexts"]
    assert (status, entry["status"]) == (64, "refused")
    assert "no-such" in entry["reason"]


def test_a_file_that_cannot_be_read_is_said_once(run: Run) -> None:
    status, out, err = run("whatif", "-f", "no-such.yaml", "--contexts", "prod/*", "shut")
    assert (status, out, err.count("no-such.yaml")) == (1, "", 1), err


@pytest.mark.parametrize("more", [("--fleet", "f.json"), ("-f", "-"), ("-o", "html"), ("-o", "sarif"), ("-n", "x")])
def test_a_forecast_of_contexts_has_no_file_of_a_fleet(run: Run, more: tuple[str, ...]) -> None:
    assert run("whatif", "--delete", "ModuleReleaseMeta/keda", "--contexts", *more)[0] == 64
