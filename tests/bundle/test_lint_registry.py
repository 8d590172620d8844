"""`bundle lint --check-images` and `--against`, on registries over real sockets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kymatui.cli.main import main
from tests.bundle.sources import NAME, crd, workload, write_sources
from tests.bundle.test_image_signatures import push
from tests.bundle.test_lint import DIGEST, MANAGER, lint, shown
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)


@pytest.fixture
def host(serve: Serve) -> str:  # noqa: F811
    return serve().registry.address


def role(name: str, *verbs: str, resource: str = "secrets") -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": [resource], "verbs": list(verbs)}]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }


def binding(name: str, *subjects: str) -> dict[str, Any]:
    listed = [{"kind": "ServiceAccount", "name": one, "namespace": "sample-system"} for one in subjects]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "manager"}
    return {**role(name), "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": listed, "rules": None}


def test_images_are_looked_up_all_at_once(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    digest = push(host, "1.0.0", repository="prod/sample-manager")
    good = f"{host}/prod/sample-manager:1.0.0@{digest}"
    gone = f"{host}/prod/gone:1.0.0@{digest}"
    job = f"{host}/prod/job:1.0.0"
    config = write_sources(
        tmp_path,
        workload(good),
        workload(gone, name="two"),
        workload(job, kind="DaemonSet", name="three"),
        workload(f"127.0.0.1:1/x:1.0.0@{digest}", name="four"),
        manager=MANAGER,
    )
    lines = (tmp_path / "manifest.yaml").read_text().splitlines()
    assert [one["rule"] for one in lint(config, capsys)[1]] == ["image.scan"]
    status, found = lint(config, capsys, "--check-images", "--insecure-registry", host)
    assert status == 2
    known = {one["rule"]: one for one in found if one["message"].startswith("Deployment")}
    assert set(known) == {"image.missing", "image.unknown"}, shown(found)
    assert known["image.missing"]["message"] == f"Deployment two, container manager: image {gone!r} does not exist"
    assert gone in lines[known["image.missing"]["line"] - 1]
    assert known["image.unknown"]["severity"] == "warning"
    assert [one["message"] for one in found if job in one["message"] and one["rule"] == "image.missing"]


def created(host: str, folder: Path, version: str, *objects: dict[str, Any]) -> Path:
    config = write_sources(
        folder, *objects, workload(DIGEST.replace("1.0.0", version)), version=version, manager=MANAGER
    )
    words = ["-c", str(config), "-o", str(folder / "t.yaml"), "--sources", str(folder)]
    assert main(["bundle", "create", *words, "--registry", f"{host}/p", "--insecure-registry", host]) == 0
    return config


def test_rights_that_grew_since_the_last_version_are_reported(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    created(host, tmp_path / "a", "0.9.0", role("manager", "get", "list"), binding("manager", "one"))
    created(host, tmp_path / "b", "1.1.0", role("manager", "*"))  # newer: it is not the last one before 1.0.0
    config = write_sources(
        tmp_path / "c",
        role("manager", "get", "delete"),
        role("fresh", "get", resource="pods"),
        binding("manager", "one", "two"),
        workload(DIGEST),
        manager=MANAGER,
    )
    capsys.readouterr()
    assert lint(config, capsys) == (0, [])
    for place in (f"{host}/p", f"{host}/p//{NAME}:0.9.0"):
        status, found = lint(config, capsys, "--against", place, "--insecure-registry", host)
        assert status == 0
        assert {one["message"] for one in found if one["rule"] == "rbac.grown"} >= {
            "ClusterRole manager grants more than in 0.9.0: secrets: delete",
            "ClusterRole fresh grants more than in 0.9.0: pods: get",
            "ClusterRoleBinding manager grants more than in 0.9.0: "
            "ClusterRole manager: ServiceAccount sample-system/two",
        }
    lines = (tmp_path / "c" / "manifest.yaml").read_text().splitlines()
    fresh = next(one for one in found if "fresh" in one["message"])
    assert "name: fresh" in lines[fresh["line"] - 1]
    assert lint(config, capsys, "--against", f"{host}/p", "--insecure-registry", host, "--strict")[0] == 2


def test_fields_that_are_gone_since_the_last_version_are_reported(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    created(host, tmp_path / "a", "0.9.0", crd(properties={"size": {"type": "integer"}}))
    config = write_sources(
        tmp_path / "c", crd(properties={"sum": {"type": "integer"}}), workload(DIGEST), manager=MANAGER
    )
    capsys.readouterr()
    _, found = lint(config, capsys, "--against", f"{host}/p", "--insecure-registry", host)
    (one,) = [one for one in found if one["rule"] == "version.fieldRemoved"]
    assert "spec.size" in one["message"]
    assert "not as in 0.9.0" in one["message"]


def test_a_version_that_is_not_there_is_an_error(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_sources(tmp_path, workload(DIGEST), manager=MANAGER)
    words = ["bundle", "lint", "-c", str(config), "--insecure-registry", host]
    assert main([*words, "--against", f"{host}/p//{NAME}:0.1.0"]) == 1
    assert "does not exist" in capsys.readouterr().err
    assert main([*words, "--against", "layout:x"]) == 64


def test_the_first_version_has_nothing_to_be_compared_with(
    host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_sources(tmp_path, workload(DIGEST), manager=MANAGER)
    for _ in range(2):
        status, found = lint(config, capsys, "--against", f"{host}/p", "--insecure-registry", host)
        assert (status, [one["rule"] for one in found]) == (0, ["version.first"])
        assert found[0]["message"] == f"{host}/p has no version of {NAME} before 1.0.0"
        push(host, "2.0.0", repository=f"p/component-descriptors/{NAME}")  # a newer one
