"""What all writing commands have in common: their words, their answers, their exit statuses; and who comes in between.

The intruder is a sample of `tests.benchmarks.intruder_walk`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import TextIO

import pytest
import yaml
from msgspec.structs import replace

import kymatui.cli
from kymatui.cli.command_table import COMMANDS, by_name
from kymatui.cli.main import main
from kymatui.cli.output.printing import print_line
from kymatui.sessions.cluster.cluster_access import read_cluster_target
from tests.cli.intruding import FLOWS, MODULE, NEW, Flow, Meeting, Stage, interrupted, restoring, run, told
from tests.cli.unseen import pulled

pytestmark = pytest.mark.xdist_group("intruding")  # one sandbox for all of them
SAMPLE = {"enable-edit": 1, "disable-edit": 1, "policy-moved": 1, "upgrade-edit": 3, "install-upgrade": 1}
SAMPLE |= {"delete-object": 3, "delete-definition": 2}
"""Before which of the requests that write the intruder comes: behind the look, and before what follows from it."""


def flow_of(name: str) -> Flow:
    return next(flow for flow in FLOWS if flow.name == name)


@pytest.mark.parametrize("name", SAMPLE)
def test_what_somebody_else_did_in_between_is_still_there(name: str, stage: Stage) -> None:
    flow = flow_of(name)
    flow.prepare(stage)
    ended = run(flow.words(stage), Meeting(SAMPLE[name], lambda: flow.intrude(stage), of_writes=True))
    assert ended.came
    assert told(ended) == ""
    assert flow.judge(stage, ended) == ""


# words that all of them take

EDITING = ("enable", "disable", "channel", "manage", "unmanage", "policy", "label")
WRITING = (*EDITING, "install", "upgrade", "apply", "delete", "restore")


@pytest.mark.parametrize("name", WRITING)
def test_every_writing_command_takes_the_same_words(name: str) -> None:
    command = by_name(name)
    assert command is not None
    parser = argparse.ArgumentParser()
    command.load().configure(parser)
    known = parser._option_string_actions
    assert {"--dry-run", "--yes", "--wait", "--no-wait", "--timeout", "--output"} <= set(known)
    assert tuple(known["-o"].choices or ()) == ("table", "json", "yaml", "md")


OTHERS: dict[str, set[str]] = {
    "adopt": {"--dry-run", "--yes", "--wait", "--no-wait", "--timeout", "--output", "--version", "--file"},
    "plan": {"--out", "--output", "--version", "--set", "--force"},
    "check": {"--output", "--version", "--file"},
    "finalizers": {"--object", "--remove", "--typed", "--output"},
    "edit": {"--kyma", "--object", "--dry-run", "--yes", "--timeout", "--output"},
    "reconcile": {"--timeout", "--insecure-registry", "--namespace"},
    "operator": {"--workers", "--resync", "--insecure-registry"},
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_others_take_what_they_need(name: str) -> None:
    command = by_name(name)
    assert command is not None
    parser = argparse.ArgumentParser()
    command.load().configure(parser)
    assert {*OTHERS[name], "--kubeconfig", "--context", "--read-only"} <= set(parser._option_string_actions)


STATUSES: tuple[tuple[str, int, str], ...] = (
    ("adopt nonsense --yes", 64, 'no module "nonsense"'),
    ("adopt istio --yes", 2, "istio is managed by lifecycle-manager"),
    ("--read-only adopt docker-registry --yes", 4, "kymatui runs read-only (--read-only)"),
    ("adopt docker-registry --timeout 0", 64, '--timeout must be greater than 0, not "0"'),
    ("channel istio fast --region eu --yes", 64, "--region needs --fleet"),
    ("disable istio --canaries 3 --yes", 64, "--canaries needs --fleet"),
    ("enable istio --allow-fleet-writes --yes", 64, "--allow-fleet-writes needs --fleet"),
    ("finalizers istio --object a", 64, "--object and --remove must be used together"),
    ("finalizers istio --object a --remove b --typed a", 64, "istio has no object a whose deletion is blocked"),
    ("--read-only finalizers istio --object a --remove b", 4, "kymatui runs read-only (--read-only)"),
    ("reconcile manifest nowhere", 64, 'no Manifest "nowhere" in kcp-system'),
    ("--read-only reconcile manifest nowhere", 4, "kymatui runs read-only (--read-only)"),
    ("reconcile manifest nowhere --timeout 0", 64, '--timeout must be greater than 0, not "0"'),
    ("--read-only operator", 4, "kymatui runs read-only (--read-only)"),
    ("operator --workers 0", 64, "--workers must be greater than 0"),
    ("delete nonsense --yes -o json", 64, 'no module "nonsense"'),
    ("--read-only enable istio --yes -o yaml", 4, "enable is refused: kymatui runs read-only"),
    (
        "--read-only enable connectivity-proxy --yes -o json",
        4,
        "enable is refused: kymatui runs read-only (--read-only)",
    ),
    ("install backup-operator -o json", 2, "not a terminal"),
    ("check nonsense -o json", 64, 'no module "nonsense"'),
)


@pytest.mark.parametrize(("line", "status", "said"), STATUSES)
def test_the_status_tells_what_came_of_it_and_a_document_is_one_in_any_case(
    line: str, status: int, said: str, stage: Stage
) -> None:
    if "connectivity-proxy" in line:
        stage.set_entry(NEW, None)
    ended = run(line.split())
    assert (ended.status, said in ended.err) == (status, True), ended
    if "-o " not in line:
        assert ended.out == ""
        return
    found = yaml.safe_load(ended.out)
    if status:
        assert (found["error"]["exitStatus"], found["outcome"] != "done") == (status, True)
        assert said in found["error"]["message"]


def words_of(name: str, stage: Stage) -> list[str]:
    """An example of each, on a stage that has what it needs."""
    return {
        "enable": ["enable", NEW],
        "disable": ["disable", MODULE],
        "channel": ["channel", MODULE, "fast"],
        "manage": ["manage", "cloud-manager"],
        "unmanage": ["unmanage", MODULE],
        "policy": ["policy", MODULE, "Ignore"],
        "label": ["label", "internal=true"],
        "install": stage.installing("1")[:-3],
        "upgrade": stage.installing("2", "upgrade")[:-3],
        "apply": ["apply", str(stage.folder / f"{stage.name}.json")],
        "delete": ["delete", stage.name, "-n", stage.name, "--no-backup"],
        "restore": restoring(stage)[:2],
    }[name]


@pytest.fixture
def furnished(stage: Stage) -> Stage:
    """Something is installed, and an upgrade of it is planned."""
    stage.set_entry(NEW, None)
    stage.set_entry(MODULE, {"name": MODULE})
    flow_of("apply-edit").prepare(stage)
    return stage


def test_a_dry_run_says_what_would_be_done_in_every_form_and_does_nothing(furnished: Stage) -> None:
    for name in WRITING:
        words = words_of(name, furnished)
        for form in ("json",) if name in EDITING[1:] else ("json", "md"):
            ended = run(["--read-only", *words, "--dry-run", "-o", form])
            assert ended.status == 0, (name, form, ended)
            assert ended.out.strip(), (name, form)
            if form == "json":
                found = json.loads(ended.out)
                assert found["outcome"] in ("planned", "unchanged"), (name, found)
        if name in ("disable", "upgrade", "delete", "restore"):
            unasked = run(words)
            assert (unasked.status, unasked.out) == (2, ""), (name, unasked)
    assert furnished.data("only-1") is not None
    assert furnished.data("only-2") is None


# which cluster


def asking_commands() -> set[str]:
    """Every command that takes --yes, and finalizers, which asks for a name."""

    def options(name: str) -> set[str]:
        command, parser = by_name(name), argparse.ArgumentParser()
        assert command is not None
        command.load().configure(parser)
        return set(parser._option_string_actions)

    return {one.name for one in COMMANDS if "--yes" in options(one.name)} | {"finalizers"}


def answering(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)


def test_only_one_place_asks() -> None:
    package = Path(kymatui.cli.__file__).parent
    asking = [path.name for path in package.rglob("*.py") if re.search(r"stdin\.read|\binput\(", path.read_text())]
    assert asking == ["editing.py"]


def test_the_first_line_of_every_plan_and_every_question_name_the_cluster(
    furnished: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several names are walked besides; `plan` alone asks nothing."""
    target = read_cluster_target(furnished.cluster.client)
    words = {name: words_of(name, furnished) for name in WRITING}
    words["adopt"], words["manifest"] = ["adopt", "docker-registry"], ["manifest", "docker-registry"]
    words["plan"], words["pull"] = ["plan", *words["install"][1:]], pulled(furnished)
    words["unpause"] = ["unpause", "keda"]
    words["restart"] = ["restart", "docker-registry", "--no-wait"]
    assert asking_commands() - set(words) == {"edit", "finalizers", "resume"}
    words["several edits"] = ["disable", MODULE, "nats"]
    words["several deletions"] = ["delete", furnished.name, "nats", "--no-backup", "--cascade", "--accept-unknown"]
    words["install"] = furnished.installing("2")[:-3]
    del words["manifest"]  # lifecycle-manager writes them here; see `test_operating`
    for name, line in words.items():
        target = replace(
            read_cluster_target(furnished.cluster.client), namespace=line[line.index("-n") + 1] if "-n" in line else ""
        )
        for form in ("table", "md", "json"):
            ended = run([*line, *([] if name == "plan" else ["--dry-run"]), "-o", form])
            assert ended.status == 0, (name, form, ended)
            if form == "json":
                assert json.loads(ended.out)["target"] == target.document, (name, ended)
            else:
                assert ended.out.splitlines()[0] == target.line, (name, form, ended)
        if name != "plan":
            answering("n\n", monkeypatch)
            asked = run(line)
            assert (asked.status, asked.out) == (2, ""), (name, asked)
            assert asked.err.splitlines()[0] == target.line, (name, asked)
            of_kyma = target.of_kyma(["kyma-system/default"]) if "\nKyma: " in asked.err else target
            assert f" in {of_kyma.name}? " in asked.err.splitlines()[-1], (name, asked)


def test_progress_goes_to_standard_error_and_the_answer_alone_to_standard_output(stage: Stage) -> None:
    for words in (stage.installing("1"), stage.installing("2", "upgrade"), [*words_of("delete", stage), "--yes"]):
        ended = run([*words, "-o", "json"])
        assert ended.status == 0, ended
        assert json.loads(ended.out)["outcome"] == "done"
        assert ended.err.count("\n") > 2


# names that nothing has

TYPOS = (
    *(f"{name} nas" for name in ("module", "checks", "events", "enable", "disable", "manage", "unmanage")),
    *(f"{name} nas" for name in ("install", "upgrade", "plan", "check", "adopt", "delete", "finalizers")),
    *("policy nas Ignore", "channel nas fast", "channel nats fasst", "enable nats --channel fasst"),
    *("--context kpc catalog", "--context kpc enable nats", "--context kpc delete nats"),
    *(f"{name} -n kyma-sytem" for name in ("catalog", "module nats", "disable nats", "delete nats", "check nats")),
    *("--contxt kcp catalog", "--contxt=kcp catalog", "catalog --contxt kcp", "catalgo", "disabel nats"),
)


@pytest.mark.parametrize("line", TYPOS)
def test_a_typo_has_one_status_everywhere_and_what_was_meant(line: str, stage: Stage) -> None:
    ended = run(line.split())
    meant = re.search(r"did you mean (.*)\?", ended.err)
    assert (ended.status, ended.out) == (64, ""), ended
    assert meant is not None, ended
    assert {"nats", "kcp", "fast", "kyma-system", "--context", "catalog", "disable"} & set(meant[1].split(", ")), ended


def test_a_namespace_that_may_not_be_read_is_not_known(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that an installation creates need not be there."""
    viewer = stage.folder / "viewer"
    config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    config["users"] = [{**user, "user": {"token": "viewer"}} for user in config["users"]]
    viewer.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(viewer))
    assert "no namespace" not in run(["catalog", "-n", "nowhere"]).err
    monkeypatch.undo()
    ended = run(["install", stage.name, "--file", str(stage.source("1")), "-n", f"new-{stage.name}", "--dry-run"])
    assert "no namespace" not in ended.err


# Ctrl-C


@pytest.mark.parametrize(
    ("name", "number", "said"),
    [
        ("policy-moved", 0, "interrupted; no changes made"),
        ("install-edit", 0, "interrupted; no changes made"),
        ("upgrade-edit", 2, "`kymatui resume"),
        ("delete-object", 3, "`kymatui resume"),
        ("restore-object", 2, "`kymatui resume"),
    ],
)
def test_who_interrupts_is_told_what_stays(name: str, number: int, said: str, stage: Stage) -> None:
    ended = interrupted(flow_of(name), stage, number)
    assert ended.status == 130, ended
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_plan_that_was_cut_off_is_taken_away_whole(stage: Stage) -> None:
    assert interrupted(flow_of("apply-edit"), stage, 2).status == 130
    ended = run(["delete", stage.name, "-n", stage.name, "--yes", "--no-backup"])
    assert ended.status == 0, ended
    assert [stage.data(name) for name in ("settings", "only-1", "only-2")] == [None, None, None]
    assert stage.cluster.get(stage.definition) is None


def test_who_stops_waiting_is_told_that_the_edit_is_made(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.set_entry(NEW, None)
    told_once: list[str] = []

    def interrupting(text: str, stream: TextIO | None = None) -> None:
        print_line(text, stream)
        if text.startswith("  ") and not told_once:
            told_once.append(text)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("kymatui.cli.options.editing.print_line", interrupting)
    assert main(["enable", NEW, "--yes"]) == 130
    assert f"Stopped. Changed, not finished: {NEW} (" in capsys.readouterr().err
    assert stage.entry(NEW) is not None
