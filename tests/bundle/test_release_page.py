"""The workflow of docs/guide/release.md: its steps run as written, on a sandbox's registry."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.cli.main import main
from tests.bundle.components import key_files
from tests.bundle.sources import NAME, write_sources
from tests.documents import DOCUMENTS
from tests.sandbox.registry.conftest import Serve, Served, serve  # noqa: F401 (a fixture)

PAGE = DOCUMENTS["docs/guide/release.md"]
WORKFLOW: dict[str, Any] = yaml.safe_load(re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0])
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "a"}}


@pytest.fixture
def served(serve: Serve) -> Served:  # noqa: F811
    return serve()


def steps(job: str) -> list[str]:
    return [one["run"] for one in WORKFLOW["jobs"][job]["steps"] if "run" in one]


def run(job: str, environment: dict[str, str]) -> list[str]:
    """Run the steps of a job, as a shell would; return those that were run."""
    done = []
    for line in steps(job):
        if line.startswith("kymatui "):
            words = shlex.split(re.sub(r"\$(\w+)", lambda found: environment[found[1]], line))
            assert main(words[1:]) == 0, line
        elif line != 'pipx install "$KYMATUI"':
            subprocess.run(["bash", "-e", "-c", line], env={**os.environ, **environment}, check=True)
        done.append(line)
    return done


def test_the_workflow_releases_a_module_as_written_and_again(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = served.registry.address
    monkeypatch.chdir(tmp_path)
    write_sources(tmp_path, SETTINGS)
    private, public = key_files(tmp_path)
    shutil.copy(public, tmp_path / "release.pub")
    monkeypatch.setenv("SIGNING_KEY", Path(private).read_text())
    channels = [{"channel": "regular", "version": "0.9.0"}]
    spec = {"moduleName": "sample", "ocmComponentName": NAME, "channels": channels}
    head = {
        "apiVersion": "operator.kyma-project.io/v1beta2",
        "kind": "ModuleReleaseMeta",
        "metadata": {"name": "sample"},
    }
    (tmp_path / "release-meta.yaml").write_text(yaml.safe_dump({**head, "spec": spec}))
    environment = {
        **WORKFLOW["env"],
        "REGISTRY": f"{host}/acme/modules",
        "REGISTRY_OPTIONS": f"--insecure-registry {host}",
        "VERSION": "1.0.0",
    }
    assert environment["COMPONENT"] == NAME
    assert len(run("check", environment)) == 3
    assert len(run("release", environment)) == 7
    assert f"pushed    {host}/acme/modules//{NAME}:1.0.0" in capsys.readouterr().out
    run("release", environment)
    assert f"unchanged {host}/acme/modules//{NAME}:1.0.0" in capsys.readouterr().out
    _, release = yaml.safe_load_all((tmp_path / "template.yaml").read_text())
    assert release["spec"]["channels"] == [*channels, {"channel": "fast", "version": "1.0.0"}]
    with pytest.raises(subprocess.CalledProcessError):
        run("release", {**environment, "VERSION": "1.0.1"})


def test_each_command_of_the_page_is_run_by_the_workflow() -> None:
    named = set(re.findall(r"kymatui (bundle \w+)", " ".join([*steps("check"), *steps("release")])))
    assert named == {"bundle create", "bundle lint", "bundle sign", "bundle verify", "bundle show"}
