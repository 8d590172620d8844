"""Each verb is killed after its first recorded step, found by JOBS and `resume` in the same words, and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import Struct

from kymatui.adapters.files.job_journals import interrupted
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.main import main
from kymatui.cli.options.recorded_jobs import _FORMS
from kymatui.cli.parser import build_parser
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.ui.presenters.plans.job_rows import interrupted_rows
from tests.sandboxes.starting import ready_sandbox

pytestmark = pytest.mark.xdist_group("killed-verbs")  # one sandbox for all of them

TAX = ObjectRef(GroupVersionKind("serverless.kyma-project.io", "v1alpha2", "Function"), "billing", "tax")
DYING = """
import os, signal, sys
from kymatui.engine.jobs.journal import Journal
write = Journal.write
def write_and_die(journal, mark, what, *more, **named):
    write(journal, mark, what, *more, **named)
    if mark.value == "done" and what != "module":
        os.kill(os.getpid(), signal.SIGKILL)
Journal.write = write_and_die
from kymatui.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def body(name: str, *, value: str = "", **metadata: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"value": value}}


class World(Struct):
    """What a verb needs before it is killed."""

    cluster: KubeCluster
    folder: Path
    run: Callable[..., tuple[int, str, str]]

    def file(self, name: str, value: str = "") -> str:
        """Write a source of two ConfigMaps."""
        path = self.folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump_all(body(f"{name}-{number}", value=value) for number in range(2)))
        return str(path)

    def chart(self, name: str) -> str:
        folder = self.folder / name / "templates"
        folder.mkdir(parents=True)
        (folder.parent / "Chart.yaml").write_text(f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n")
        (folder / "a.yaml").write_text(Path(self.file(name)).read_text())
        return str(folder.parent)

    def installed(self, name: str, *source: str) -> str:
        words = source or ("--file", self.file(name))
        assert self.run("install", name, *words, "-n", "default", "--yes")[0] == 0
        return name

    def unmanaged(self, name: str) -> str:
        assert self.run("unmanage", name, "--yes")[0] == 0
        return name

    def blocked(self, ref: ObjectRef) -> str:
        """Delete an object that a finalizer holds."""
        patch = {"metadata": {"finalizers": ["example.org/held"]}}
        self.cluster.patch(ref, patch, PatchKind.MERGE, manager="user")
        self.cluster.delete(ref)
        return f"{ref.namespace}/{ref.name}"

    def planned(self, name: str) -> str:
        path = str(self.folder / "plan.json")
        assert self.run("plan", name, "--file", self.file(name), "-n", "default", "--out", path)[0] == 0
        return path

    def saved(self, name: str) -> str:
        path = Path(self.file(name))
        path.write_text(f"# {name} 1.0.0 in kcp\n{path.read_text()}")
        return str(path)


HERE = ("-n", "default")
VERBS: dict[str, Callable[[World], tuple[str, ...]]] = {
    "install of files": lambda world: ("install", "if", "--file", world.file("if"), *HERE),
    "install of a chart": lambda world: ("install", "ic", "--chart", world.chart("ic"), *HERE),
    "install of a module": lambda world: ("install", "registry-proxy", "--no-wait"),
    "upgrade": lambda world: ("upgrade", world.installed("up"), "--file", world.file("up", "new"), *HERE),
    "adopt": lambda world: ("adopt", world.unmanaged("btp-operator")),
    "apply": lambda world: ("apply", world.planned("ap")),
    "delete of files": lambda world: ("delete", world.installed("df"), *HERE),
    "delete of a chart": lambda world: ("delete", world.installed("dc", "--chart", world.chart("dc")), *HERE),
    "restore": lambda world: ("restore", world.saved("re")),
    "finalizers": lambda world: (
        *("finalizers", "serverless", "--object", (name := world.blocked(TAX)), "--typed", name),
        *("--remove", "example.org/held"),
    ),
    "enable": lambda world: ("enable", "connectivity-proxy"),
    "channel": lambda world: ("channel", "istio", "fast"),
    "policy": lambda world: ("policy", "istio", "Ignore"),
    "label": lambda world: ("label", "internal=true"),
    "disable --cascade": lambda world: ("disable", "serverless", "--cascade"),
    "delete of a module": lambda world: ("delete", "api-gateway", "--cascade"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_killed_verb_is_listed_with_the_same_words_and_resumed(
    verb: str, run: Any, cluster: KubeCluster, tmp_path: Path
) -> None:
    words = VERBS[verb](World(cluster, tmp_path, run))
    kill_after_a_step(*words, *([] if verb == "finalizers" else ["--yes"]))
    resumed_in_the_same_words(run)


def kill_after_a_step(*words: str) -> None:
    call = [sys.executable, "-c", DYING, *words]
    killed = subprocess.run(call, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=os.environ)
    assert killed.returncode == -signal.SIGKILL, killed.stderr


def resumed_in_the_same_words(run: Any) -> None:
    (record,) = interrupted()
    (row,) = interrupted_rows([record], record.began)
    (listed,) = json.loads(run("resume", "--list", "-o", "json")[1])["jobs"]
    assert (listed["title"], listed["state"]) == (row.cells["job"].text, "killed")
    table = run("resume", "--list")[1]
    assert all(text in table for text in (record.number, record.title, record.state_words, record.counts))
    assert record.counts in row.cells["waits"].text
    status, _, err = run("resume", "--yes", "--timeout", "60s")
    assert (status, interrupted()) == (0, ()), err
    assert json.loads(run("resume", "--list", "-o", "json")[1])["jobs"] == []


def test_an_operator_is_installed_and_uninstalled_after_a_kill(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*words: str) -> tuple[int, str, str]:
        status = main(words)
        return status, *capsys.readouterr()

    with ready_sandbox("one") as running:
        for name, path in (
            ("HOME", tmp_path),
            ("XDG_STATE_HOME", tmp_path / "state"),
            ("KUBECONFIG", running.kubeconfig),
        ):
            monkeypatch.setenv(name, str(path))
        monkeypatch.setenv("COLUMNS", "200")
        scrapers = ("--metrics-from", "monitoring")
        kill_after_a_step(
            "operator", "install", "--image", "registry.example/kymatui:1", *scrapers, "--no-wait", "--yes"
        )
        (record,) = interrupted()
        assert record.heading.options["metrics_from"] == "monitoring"
        resumed_in_the_same_words(run)
        kill_after_a_step("operator", "uninstall", "--yes")
        resumed_in_the_same_words(run)


OTHERWISE = {
    *("names", "name", "module", "verb", "action", "channel", "policy", "plan", "labels"),  # positional arguments
    *("fleet", "runtime", "selector", "drifting", "region", "state", "in_channel"),  # the runtimes are written down
    *("set", "set_file", "set_json", "set_literal", "set_string"),  # secrets: taken from the release
    *("no_headers", "sort_by", "watch"),  # of the list of finalizers
    "typed",  # asked for again
    "contexts",  # with --dry-run alone, which has no journal
}
OF_THE_RUN = {"operator install", "operator upgrade", "operator uninstall"}
"""Their parsers have what `operator run` and `operator manifests` take, too."""


@pytest.mark.parametrize("kind", sorted(set(_FORMS) - OF_THE_RUN))
def test_each_option_of_a_verb_is_in_its_journal(kind: str) -> None:
    given = {"channel": ["a", "fast"], "policy": ["a", "Ignore"], "label": ["beta=true"]}.get(kind, ["a"])
    options = set(vars(build_parser([kind]).parse_args([kind, *given])))
    own = options - set(vars(build_parser(["resume"]).parse_args(["resume"])))
    assert own - set(_FORMS[kind]) - OTHERWISE == set()
