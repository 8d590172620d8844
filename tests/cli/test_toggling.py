"""`kymatui enable|disable|channel|manage|unmanage|policy` on the sample world with its simulated lifecycle-manager."""

from __future__ import annotations

import io
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.cli.main import main
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.problems import Actor
from kymatui.engine.cluster.ports import PatchKind
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.sandboxes.resuming import resume_reconciliation
from tests.sandboxes.starting import told_sandbox

FUNCTION = GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function")
KYMA = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma"), "kyma-system", "default")

pytestmark = pytest.mark.xdist_group("toggling")  # one sandbox for all of them


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with told_sandbox() as running:
        yield running.kubeconfig


@pytest.fixture(autouse=True)
def environment(kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def module(capsys: pytest.CaptureFixture[str], name: str) -> dict[str, Any]:
    status, out, _ = run(capsys, "module", name, "-o", "json")
    assert status == 0
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize(
    "words", [("channel", "istio", "default"), ("enable", "connectivity-proxy", "--channel", "default")]
)
def test_the_kymas_own_channel_is_called_default(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    status, out, err = run(capsys, *words, "--dry-run", "-o", "json")
    assert (status, err) == (0, "")
    assert "channel" not in json.loads(out)["after"], "the module's entry names no channel"


def test_a_plan_is_printed_and_nothing_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "enable", "connectivity-proxy", "--dry-run", "-o", "json")
    found = json.loads(out)
    assert (status, err) == (0, "")
    assert {key: found[key] for key in ("kyma", "module", "verb", "before", "after", "outcome")} == {
        "kyma": "kyma-system/default",
        "module": "connectivity-proxy",
        "verb": "enable",
        "before": None,
        "after": {"name": "connectivity-proxy"},
        "outcome": "planned",
    }
    assert found["effects"] == [{"module": "connectivity-proxy", "kind": "install", "words": "is installed (1.0.2)"}]
    assert module(capsys, "connectivity-proxy")["managed"] is False


def test_a_module_is_enabled_after_a_yes_and_followed_until_it_is_ready(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO("y\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    status, out, err = run(capsys, "enable", "connectivity-proxy")
    assert (status, out) == (0, "connectivity-proxy 1.0.2 is ready\n"), err
    question = "Enable connectivity-proxy in Kyma kyma-system/default of context kcp? [y/N]"
    assert err.index("is installed (1.0.2)") < err.index(question) < err.rindex("lifecycle-manager")
    found = module(capsys, "connectivity-proxy")
    assert (found["managed"], found["installed"], found["state"]) == (True, "1.0.2", "Ready")


def test_a_module_is_moved_to_another_channel_and_followed_until_it_is_ready(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, err = run(capsys, "channel", "istio", "fast", "--yes")
    assert (status, out) == (0, "istio 1.12.0 is ready\n")
    assert "istio    is upgraded 1.11.0 → 1.12.0" in err
    named = {actor for actor in Actor if actor.value and re.search(rf"\b{actor.value}\b", err)}
    assert named & {Actor.KLM, Actor.MANAGER}, err
    assert not named & {Actor.CLUSTER, Actor.YOU}
    assert "action needed" not in err.casefold(), "an upgrade on its way needs no action of a person"
    assert module(capsys, "istio")["installed"] == "1.12.0"
    again = run(capsys, "channel", "istio", "fast", "--yes", "-o", "json")
    assert (again[0], json.loads(again[1])["outcome"]) == (0, "unchanged")


def test_a_module_is_disabled_and_followed_until_it_is_gone(
    capsys: pytest.CaptureFixture[str], kubeconfig: Path
) -> None:
    resume_reconciliation(open_cluster(SessionOptions(str(kubeconfig))), "application-connector")
    status, out, err = run(capsys, "disable", "application-connector", "--yes", "-o", "json")
    found = json.loads(out)
    assert (status, found["outcome"]) == (0, "done")
    words = "is uninstalled (1.1.5)"
    assert found["effects"] == [{"module": "application-connector", "kind": "uninstall", "words": words}]
    assert "the default CR is deleted with the module" in err
    assert module(capsys, "application-connector")["state"] == "NotInstalled"


def functions(kubeconfig: Path) -> list[str]:
    return sorted(one["metadata"]["name"] for one in open_cluster(SessionOptions(str(kubeconfig))).list(FUNCTION))


def test_what_would_block_a_deletion_is_listed_and_refused_before_anything_is_edited(
    capsys: pytest.CaptureFixture[str], kubeconfig: Path
) -> None:
    before = functions(kubeconfig)
    for words in (["serverless"], ["serverless", "telemetry"]):
        status, out, err = run(capsys, "disable", *words, "--yes")
        assert (status, out) == (2, "")
        assert "serverless still manages 3 objects: Function" in err
        assert "--cascade" in err
        assert "Function shop/price" in err, "the plan lists them"
    status, out, _ = run(capsys, "disable", "serverless", "--dry-run", "-o", "json")
    found = json.loads(out)
    assert (status, found["outcome"]) == (2, "refused")
    (gone,) = found["uninstalls"]
    assert [one["object"].split()[0] for one in gone["remaining"]].count("Function") == 3
    assert (module(capsys, "serverless")["managed"], functions(kubeconfig)) == (True, before)
    assert module(capsys, "telemetry")["managed"] is True


@pytest.mark.parametrize(
    ("names", "summary"),
    [
        (["istio"], "1 to change, 1 to delete, 1 module to uninstall"),
        (["serverless"], "1 to change, 4 to delete, 1 module to uninstall"),
        (["serverless", "telemetry"], "2 to change, 5 to delete, 2 modules to uninstall"),
    ],
)
def test_disable_and_delete_count_and_name_the_same(
    names: list[str], summary: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for verb in ("disable", "delete"):
        status, out, err = run(capsys, verb, *names, "--cascade", "--dry-run")
        assert (status, err) == (0, "")
        assert summary in out.splitlines(), out
        assert out.count("deleted first") >= 3 * ("serverless" in names)
        assert not re.search(r"(Function|Istio|Telemetry) .*blocks the deletion", out), "the plan deletes them"
    _, out, _ = run(capsys, "delete", "serverless", "--dry-run")
    assert len(re.findall("Function .*blocks the deletion", out)) == 3, "without consent they are in the way"


def test_what_comes_between_the_plan_and_the_yes_is_not_deleted(
    capsys: pytest.CaptureFixture[str], kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object, **__: object) -> None:
        body = {
            "apiVersion": "serverless.kyma-project.io/v1alpha2",
            "kind": "Function",
            "metadata": {"name": "late", "namespace": "default"},
            "spec": {"runtime": "nodejs20", "source": {"inline": {"source": "x"}}},
        }
        open_cluster(SessionOptions(str(kubeconfig))).apply(body, manager="someone")

    monkeypatch.setattr("kymatui.cli.options.batch_renderers.confirm", late)
    before = functions(kubeconfig)
    status, _, err = run(capsys, "disable", "serverless", "--cascade")
    assert (status, "Function default/late, created after the plan was displayed" in err) == (2, True), err
    assert functions(kubeconfig) == sorted([*before, "late"])
    assert module(capsys, "serverless")["managed"] is True
    open_cluster(SessionOptions(str(kubeconfig))).delete(ObjectRef(FUNCTION, "default", "late"))


def test_a_deletion_that_is_blocked_ends_with_what_a_person_has_to_do(
    capsys: pytest.CaptureFixture[str], kubeconfig: Path
) -> None:
    cluster = open_cluster(SessionOptions(str(kubeconfig)))
    kyma = cluster.get(KYMA)
    assert kyma is not None
    left = [entry for entry in kyma["spec"]["modules"] if entry["name"] != "serverless"]
    cluster.patch(KYMA, {"spec": {"modules": left}}, PatchKind.MERGE, manager="someone")
    began = time.monotonic()
    status, out, err = run(capsys, "disable", "serverless", "--yes", "-o", "json")
    assert (status, json.loads(out)["outcome"]) == (3, "unfinished"), err
    assert "no changes made; action needed: deletion of Serverless kyma-system/default is blocked: " in err
    assert "3 Function" in err
    assert time.monotonic() - began < 60
    status, out, err = run(capsys, "disable", "serverless", "nonsense", "--yes")
    assert (status, 'no module "nonsense"' in err) == (64, True), "before anything else"


def test_the_dry_run_of_a_blocked_deletion_has_the_plan_of_the_run(
    capsys: pytest.CaptureFixture[str], kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = functions(kubeconfig)
    status, out, err = run(capsys, "disable", "serverless", "--cascade", "--dry-run")
    assert (status, err, out.count("deleted first")) == (0, "", 3)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    status, _, err = run(capsys, "disable", "serverless", "--cascade")
    assert (status, err.count("deleted first")) == (2, 3), "the run displays the same before it asks"
    assert all("\n4 to delete, 1 unchanged\n" in printed for printed in (out, err))
    status, out, _ = run(capsys, "disable", "serverless", "--cascade", "--dry-run", "-o", "json")
    found = json.loads(out)
    assert (status, found["outcome"], found["refusals"]) == (0, "planned", [])
    assert [one["object"].split()[0] for one in found["uninstalls"][0]["remaining"]].count("Function") == 3
    status, out, err = run(capsys, "disable", "serverless", "telemetry", "--cascade", "--dry-run")
    assert (status, err) == (0, "")
    assert len(re.findall("Function .*deleted first", out)) == 3, "several are planned as one is"
    assert "2 to change" not in out
    status, out, err = run(capsys, "disable", "serverless", "--dry-run")
    assert (status, err) == (0, ""), "the run would only wait"
    assert "deletion of Serverless kyma-system/default is blocked" in out
    assert functions(kubeconfig) == before


def test_with_cascade_what_was_listed_goes_first_with_a_backup(
    capsys: pytest.CaptureFixture[str], kubeconfig: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.yaml"
    status, out, err = run(capsys, "disable", "serverless", "--cascade", "--yes", "--backup", str(kept))
    assert (status, out) == (0, "serverless is removed from the Kyma\n"), err
    assert f"4 objects saved in {kept}" in err
    kinds = [body["kind"] for body in yaml.safe_load_all(kept.read_text())]
    assert kinds.count("Function") == 3
    assert functions(kubeconfig) == []
    assert module(capsys, "serverless")["state"] == "NotInstalled"


def test_a_channel_with_an_older_version_leaves_the_module_as_it_is_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, err = run(capsys, "channel", "istio", "regular", "--yes")
    assert (status, out) == (3, ""), err
    assert "\n1 to change, 1 unchanged\n" in err, "a module that stays is no change"
    assert "is downgraded" not in err
    assert (
        err.count("stays at 1.12.0, which is newer than channel regular (1.11.0) and never downgraded automatically")
        >= 2
    )
    assert module(capsys, "istio")["installed"] == "1.12.0"
    assert run(capsys, "channel", "istio", "fast", "--yes")[0] == 0


def test_what_only_a_person_can_unblock_ends_the_wait_and_the_others_are_seen_to_their_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    began = time.monotonic()
    status, out, err = run(capsys, "enable", "keda", "telemetry", "--yes", "-o", "json")
    found = {one["module"]: one["outcome"] for one in json.loads(out)["edits"]}
    assert (status, found) == (3, {"keda": "unfinished", "telemetry": "unchanged"}), err
    assert "keda: no changes made; action needed: " in err
    assert time.monotonic() - began < 60


def test_a_module_is_let_go_and_then_leaves_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "unmanage", "transparent-proxy", "--yes")
    assert (status, out) == (0, "transparent-proxy: lifecycle-manager has released the module\n")
    status, _, err = run(capsys, "disable", "transparent-proxy", "--yes")
    assert status == 0
    assert "warning: the module stays installed and is no longer managed" in err
    assert module(capsys, "transparent-proxy")["installed"] == "1.5.2"


def test_a_policy_is_set(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "policy", "btp-operator", "Ignore", "--yes")
    assert (status, out) == (0, "btp-operator: the policy is set\n")
    assert module(capsys, "btp-operator")["policy"] == "Ignore"


def test_a_guard_refuses_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "enable", "docker-registry", "--yes")
    assert (status, out) == (2, "")
    assert "docker-registry is a community module: lifecycle-manager does not install it" in err
    status, out, err = run(capsys, "disable", "warden", "--yes", "-o", "json")
    assert status == 2
    assert json.loads(out)["outcome"] == "refused"
    assert "is mandatory" in json.loads(out)["refusals"][0]


def test_without_a_yes_nothing_is_done(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    status, out, err = run(capsys, "disable", "cluster-ip")
    assert (status, out) == (2, "")
    assert "not a terminal" in err
    assert module(capsys, "cluster-ip")["managed"] is True


@pytest.mark.parametrize(("answer", "status"), [("n\n", 2), ("\n", 2), ("", 2), ("yes\n", 0)])
def test_a_person_is_asked(
    answer: str, status: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    found = run(capsys, "policy", "nats", "Ignore")
    assert found[0] == status
    assert "Set policy Ignore for nats in Kyma kyma-system/default of context kcp? [y/N]" in found[2]
    assert "\nKyma: kyma-system/default\n" in found[2]


def test_read_only_plans_and_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--read-only", "disable", "keda", "--dry-run")
    assert status == 0
    assert "is uninstalled (1.4.0)" in out
    status, _, err = run(capsys, "--read-only", "disable", "keda", "--yes")
    assert status == 4
    assert "disable is refused: kymatui runs read-only (--read-only)" in err
    assert module(capsys, "keda")["managed"] is True


def test_several_modules_are_one_plan(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "channel", "keda", "nats", "fast", "--dry-run", "-o", "json")
    found = json.loads(out)
    assert (status, found["outcome"], [one["module"] for one in found["edits"]]) == (0, "planned", ["keda", "nats"])
    status, out, err = run(capsys, "enable", "warden", "connectivity-proxy", "--yes")
    assert (status, out) == (2, "")
    assert "warden is mandatory" in err
    assert "; no changes made" in err
    status, out, err = run(capsys, "policy", "btp-operator", "cluster-ip", "nats", "Ignore", "--yes")
    assert (status, out) == (0, "cluster-ip: the policy is set\n")
    assert "btp-operator no change: the Kyma already has this setting" in " ".join(err.split())
    assert module(capsys, "cluster-ip")["policy"] == "Ignore"
    first, *warnings = run(capsys, "policy", "btp-operator", "cluster-ip", "Ignore", "--yes")[1].split("warning: ")
    assert (first, len(warnings)) == ("no change: the Kyma already has this setting\n", 2)
    assert all("still has CreateAndDelete" in " ".join(warning.split()) for warning in warnings)
    document = json.loads(run(capsys, "policy", "btp-operator", "Ignore", "--yes", "-o", "json")[1])
    assert (document["outcome"], "still has CreateAndDelete" in document["warnings"][0]) == ("unchanged", True)


def test_what_is_not_done_keeps_no_other_from_it(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "unmanage", "istio", "keda", "--yes", "--timeout", "25", "-o", "json")
    found = json.loads(out)
    assert (status, found["outcome"]) == (3, "unfinished")
    assert {one["module"]: one["outcome"] for one in found["edits"]} == {"istio": "done", "keda": "unfinished"}
    assert "1 of 2 modules not done: keda: the Kyma is edited; not finished within" in err
    assert module(capsys, "istio")["managed"] is False


LABEL = "operator.kyma-project.io/beta"


def test_a_label_tells_first_what_it_uninstalls(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "enable", "connectivity-proxy", "--yes")[0] == 0
    status, out, err = run(capsys, "label", "beta-", "--dry-run", "-o", "json")
    found = json.loads(out)
    assert (status, err, found["outcome"], found["uninstalls"]) == (0, "", "planned", ["connectivity-proxy"])
    assert found["labels"] == [{"label": LABEL, "before": "true", "after": None}]
    status, out, err = run(capsys, "label", "beta-", "internal=true", "--yes")
    internal = "operator.kyma-project.io/internal is true"
    assert (status, out) == (0, f"{LABEL} is removed; {internal}; connectivity-proxy is uninstalled\n")
    assert "connectivity-proxy   is uninstalled" in err
    assert run(capsys, "label", "internal=true", f"{LABEL}-", "--yes")[:2] == (
        0,
        "no change: the Kyma already has these labels\n",
    )


@pytest.mark.parametrize("words", [["bata=true"], ["beta"], ["beta=yes"], ["beta=true", "beta-"]], ids=str)
def test_what_is_no_label_about_modules_is_said_before_anybody_is_asked(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "label", *words, "--yes")[0] == 64
