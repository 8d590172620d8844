"""The workflow and the hook of docs/guide/whatif.md: their commands run as written, on the sandbox's control plane."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.adapters.test_git_commits import git
from tests.cli.test_whatif import Fleet, commit_catalog, fleet  # noqa: F401 (a fixture)
from tests.documents import DOCUMENTS

pytestmark = pytest.mark.xdist_group("fleet")  # one sandbox for all tests of this group

WORKFLOW, HOOK = (
    yaml.safe_load(block)
    for block in re.findall(r"^```yaml\n(.*?)^```$", DOCUMENTS["docs/guide/whatif.md"], re.MULTILINE | re.DOTALL)
)
FETCHES = ('pipx install "$KYMATUI"', "gh release download fleet --pattern fleet.json.gz")


def steps() -> list[str]:
    """The workflow's commands, without those that fetch what the test has."""
    found = [one["run"] for one in WORKFLOW["jobs"]["whatif"]["steps"] if "run" in one]
    assert found[: len(FETCHES)] == [*FETCHES]
    return found[len(FETCHES) :]


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "KUBECONFIG": "/nowhere",
        "BASE": WORKFLOW["env"]["BASE"].replace("${{ github.base_ref }}", "main"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    command = ["bash", "-e", "-c", line]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(shutil.which("git") is None, reason="the workflow uses git")
@pytest.mark.parametrize("version", ["9.9.9", ""])
def test_the_steps_of_the_workflow_report_a_pull_request(fleet: Fleet, version: str) -> None:  # noqa: F811
    folder = fleet.folder
    assert fleet.run("fleet", "export", str(folder / "fleet.json.gz"))[0] == 0
    (folder / "catalog").mkdir()
    fleet.write(fleet.meta("keda"), name="catalog/keda.yaml")
    git(folder, "init", "-q")
    commit_catalog(folder)
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    change = fleet.with_channels("keda", version) if version else fleet.meta("istio")
    fleet.write(change, name="catalog/keda.yaml" if version else "catalog/istio.yaml")
    commit_catalog(folder)
    *reports, check = steps()
    for line in reports:
        assert run(line, folder).returncode == 0, line
    ended = run(check, folder)
    assert ended.returncode == (2 if version else 0), ended.stderr
    results = json.loads((folder / "whatif.sarif").read_text())["runs"][0]["results"]
    summary, page = ((folder / name).read_text() for name in ("summary.md", "whatif.html"))
    assert bool(results) == bool(version)
    assert ("keda-9.9.9 is missing" in summary, "keda-9.9.9 is missing" in page) == (bool(version), bool(version))
    assert "runtimes: " in summary


def test_the_hook_of_argo_cd_fails_the_sync_where_a_module_would_break(fleet: Fleet) -> None:  # noqa: F811
    assert HOOK["metadata"]["annotations"]["argocd.argoproj.io/hook"] == "PreSync"
    pod: dict[str, Any] = HOOK["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (mount,), (volume,) = container["volumeMounts"], pod["volumes"]
    assert (HOOK["spec"]["backoffLimit"], pod["restartPolicy"], mount["name"]) == (0, "Never", volume["name"])
    folder = fleet.folder / "..data"  # the kubelet mounts the keys of a ConfigMap as links
    folder.mkdir()
    program, *words = (word.replace(mount["mountPath"], str(fleet.folder), 1) for word in container["command"])
    (fleet.folder / "catalog.yaml").symlink_to(folder / "catalog.yaml")
    assert program == "kymatui"
    for raw, expected in ((fleet.meta("keda"), 0), (fleet.with_channels("keda", "9.9.9"), 2)):
        (folder / "catalog.yaml").write_text(yaml.safe_dump(raw))
        status, out, err = fleet.run(*words)
        assert (status, bool(out)) == (expected, True), err
    assert "keda-9.9.9 is missing" in " ".join(out.split())
