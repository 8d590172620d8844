"""What of a command line is in its journal, and that the command line which continues it is the same; no server."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from kymatui.cli.commands.modules import resume
from kymatui.cli.commands.modules.kyma_edit import KymaEditCommand
from kymatui.cli.options.recorded_jobs import job_options, resume_args
from kymatui.cli.parser import build_parser
from kymatui.domain.kyma_edit.module_edit import EditVerb, edit_options
from kymatui.domain.plans.cluster_target import ClusterName
from kymatui.domain.plans.jobs import RUNTIMES
from kymatui.engine.jobs.job_records import JobRecord
from kymatui.engine.jobs.journal import JobHeading
from kymatui.errors import RefusedError


def parsed(*words: str) -> argparse.Namespace:
    return build_parser(words).parse_args(words)


def resumed(kind: str, modules: tuple[str, ...], options: dict[str, str], *words: str) -> argparse.Namespace:
    heading = JobHeading(kind, modules, options, cluster="prod")
    return resume_args(JobRecord("0a1b2c", heading, 0.0, "dead"), parsed("resume", *words))


@pytest.mark.parametrize(
    ("kind", "modules", "line"),
    [
        ("delete", ("keda", "nats"), "delete keda nats --cascade --accept-unknown --way ignore -n place"),
        ("delete", ("keda",), "delete keda --backup /tmp/keda.yaml"),
        ("enable", ("keda", "nats"), "enable keda nats --channel fast --policy Ignore"),
        ("disable", ("keda",), "disable keda --cascade --no-backup"),
        ("channel", ("keda", "nats"), "channel keda nats default"),
        ("policy", ("keda",), "policy keda Ignore"),
        ("label", (), "label beta=true internal- --cascade"),
        ("install", ("keda",), "install keda --version 1.5.0 --policy Ignore --direct --no-prune --verify"),
        ("install", ("shop",), "install shop --chart oci://registry/shop --repo https://charts -n shop"),
        ("install", ("shop",), "install shop --chart shop -f /tmp/one.yaml -f /tmp/two.yaml"),
        ("install", ("keda",), "install keda --component layout:/tmp//kyma-project.io/module/keda:1.6.0"),
        ("upgrade", ("keda", "nats"), "upgrade keda nats --prune-definitions --prune-namespaces"),
        ("upgrade", ("shop",), "upgrade shop --reset-values --allow-downgrade --public-key /tmp/key.pem"),
        ("upgrade", ("keda",), "upgrade --all --devel"),
        ("adopt", ("keda",), "adopt keda --force"),
        ("apply", ("keda",), "apply /tmp/plan.json"),
        ("manifest", ("keda",), "manifest keda --version 1.5.0 --force"),
        ("restore", ("keda",), "restore keda"),
        ("finalizers", ("keda",), "finalizers keda --object default/held --remove example.org/held"),
        ("operator install", ("kymatui-operator",), "operator install --image reg/kymatui:1 --replicas 3 --shards 2"),
        ("operator uninstall", ("kymatui-operator",), "operator uninstall --delete-kymas"),
    ],
)
def test_a_job_is_continued_by_the_same_command_line(kind: str, modules: tuple[str, ...], line: str) -> None:
    args = parsed(*line.split())
    options = job_options(kind, args)
    if kind in set(EditVerb):  # the edit itself is written by what makes it
        options |= edit_options(KymaEditCommand(kind)._toggle(args, "keda"))
    again = vars(resumed(kind, modules, json.loads(json.dumps(options)), "--yes", "--timeout", "7s", "-o", "json"))
    expected = vars(args)
    own = {
        "yes",
        "timeout",
        "output",
        "command",
        "command_module",
        "resumed_job",
        "creates_namespace",
        "allow_fleet_writes",
    }
    assert {name: again.get(name) for name in expected.keys() - own} == {
        name: value for name, value in expected.items() if name not in own
    }
    assert (again["command"].name, again["yes"], again["timeout"], again["output"]) == (
        kind.partition(" ")[0],
        True,
        7.0,
        "json",
    )
    assert again["resumed_job"].number == "0a1b2c"


def test_what_may_be_a_secret_is_not_in_the_journal() -> None:
    values = ("--set", "password=hunter2", "--set-string", "a=hunter2", "--set-json", 'b="hunter2"')
    address = ("--chart", "https://ann:hunter2@charts.example/shop.tgz", "--repo", "https://charts.example?key=hunter2")
    options = job_options("install", parsed("install", "shop", *values, *address))
    assert "hunter2" not in str(options)
    assert "chart" not in options
    assert options["values_left_out"] == "true"
    assert "typed" not in job_options("finalizers", parsed("finalizers", "keda", "--typed", "hunter2"))


def test_files_are_written_with_their_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("shop.yaml", "shop", "archive.tgz"):
        (tmp_path / name).write_text("")
    for given, written in (
        (("--file", "shop.yaml"), {"file": f"{tmp_path}/shop.yaml"}),
        (("--chart", "shop"), {"chart": f"{tmp_path}/shop"}),
        (("--chart", "no-file", "--repo", "https://charts"), {"chart": "no-file", "repo": "https://charts"}),
        (("--kustomize", "archive.tgz//folder"), {"kustomize": f"{tmp_path}/archive.tgz//folder"}),
        (("--chart", "shop", "-f", "x.yaml"), {"chart": f"{tmp_path}/shop", "values": f"{tmp_path}/x.yaml"}),
    ):
        options = job_options("install", parsed("install", "shop", *given))
        assert {name: value for name, value in options.items() if name != "policy"} == written


def test_a_fleet_is_continued_on_the_runtimes_that_are_left() -> None:
    options = {"channel": "fast", RUNTIMES: "kcp/a,kcp/b", "canaries": "2", "at_once": "8", "cascade": "true"}
    args = resumed("channel", ("keda",), options, "--allow-fleet-writes")
    assert (args.fleet, args.runtime, args.names, args.channel) == (True, ["kcp/a", "kcp/b"], ["keda"], "fast")
    assert (args.canaries, args.at_once, args.cascade, args.allow_fleet_writes) == (2, 8, True, True)
    assert not resumed("channel", ("keda",), options).allow_fleet_writes, "a journal allows nothing"


def test_options_of_resume_come_first_and_unknown_kinds_are_refused() -> None:
    assert resumed("delete", ("keda",), {"namespace": "old"}, "-n", "new").namespace == "new"
    with pytest.raises(RefusedError, match="does not continue"):
        resumed("levitate", ("keda",), {})


@pytest.mark.parametrize(
    ("here", "hint"),
    [
        (ClusterName("kcp", "uid-1"), "run `kymatui resume 0a1b2c --remote skr`"),
        (
            ClusterName("kcp", "uid-2"),
            "run `kymatui resume 0a1b2c --remote skr` with the kubeconfig of its control plane",
        ),
        (ClusterName("other", "uid-3"), "run `kymatui resume 0a1b2c --context kcp --remote skr`"),
    ],
    ids=["its control plane", "another control plane with this name", "another cluster"],
)
def test_a_job_on_a_runtime_is_continued_on_its_own_control_plane(here: ClusterName, hint: str) -> None:
    assert resume._hint("0a1b2c", ClusterName("kcp/kcp-system/skr", "uid-skr", "uid-1"), here) == hint
