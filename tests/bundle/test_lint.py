"""`bundle lint`: every problem of the sources together, with file, line and rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.cli.main import main
from tests.bundle.sources import CR, IMAGE, crd, workload, write_sources

MANAGER = {
    "name": "sample-manager",
    "namespace": "sample-system",
    "group": "apps",
    "version": "v1",
    "kind": "Deployment",
}
DIGEST = f"{IMAGE}@sha256:{'0123456789abcdef' * 4}"
SIZE: dict[str, Any] = {"properties": {"size": {"type": "integer", "maximum": 3}}, "required": ["size"]}


def lint(config: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, list[dict[str, Any]]]:
    status = main(["bundle", "lint", "-c", str(config), "-o", "json", *more])
    found = json.loads(capsys.readouterr().out)["problems"]
    for one in found:
        one["file"] = Path(one["file"]).name
    return status, found


def shown(found: list[dict[str, Any]]) -> list[str]:
    return [f"{one['file']}:{one['line']}: {one['severity']}: {one['rule']}: {one['message']}" for one in found]


def test_a_module_without_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = (crd("Cluster", **SIZE), workload(DIGEST))
    config = write_sources(tmp_path, *objects, default_cr=CR, manager=MANAGER)
    assert lint(config, capsys, "--strict") == (0, [])
    assert main(["bundle", "lint", "-c", str(config)]) == 0
    assert capsys.readouterr().out == f"{config}: no problems\n"


def test_every_problem_is_reported_together_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_sources(
        tmp_path,
        crd(**SIZE),
        workload("r.io/x:latest"),
        workload("r.io/app:1.0.1", name="two"),
        workload("r.io/b:1.0.0", name="three"),
        workload("r.io/other:1", kind="DaemonSet", name="four"),
        default_cr={**CR, "spec": {"size": 4, "colour": "red"}},
        team="",
        chanel="fast",
        labels={"a": "b c"},
        manager={**MANAGER, "name": "two", "namespace": "elsewhere"},
        security="gone.yaml",
    )
    manifest = (tmp_path / "manifest.yaml").read_text().splitlines()
    default_cr = (tmp_path / "default-cr.yaml").read_text().splitlines()
    fields = {line.partition(":")[0]: number for number, line in enumerate(config.read_text().splitlines(), 1)}

    def line(lines: list[str], text: str) -> int:
        return next(number for number, one in enumerate(lines, 1) if text in one)

    status, found = lint(config, capsys)
    assert status == 2
    places = {(one["file"], one["line"], one["severity"], one["rule"]) for one in found}
    assert places == {
        ("module-config.yaml", fields["team"], "error", "config"),
        ("module-config.yaml", fields["version"], "error", "manager.version"),
        ("module-config.yaml", fields["chanel"], "warning", "config.unknown"),
        ("module-config.yaml", fields["labels"], "error", "template.metadata"),
        ("module-config.yaml", fields["manager"], "error", "manager"),
        ("module-config.yaml", fields["security"], "error", "file"),
        ("manifest.yaml", line(manifest, "r.io/x:latest"), "error", "image"),
        ("manifest.yaml", line(manifest, "r.io/app:1.0.1"), "warning", "image.digest"),
        ("manifest.yaml", line(manifest, "r.io/b:1.0.0"), "error", "image.name"),
        ("manifest.yaml", line(manifest, "r.io/b:1.0.0"), "warning", "image.digest"),
        ("manifest.yaml", line(manifest, "r.io/other:1"), "warning", "image.scan"),
        ("default-cr.yaml", line(default_cr, "size:"), "error", "default-cr"),
        ("default-cr.yaml", line(default_cr, "colour:"), "error", "default-cr"),
    }


def test_the_line_of_an_image_is_found_whatever_its_text_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Python quotes a text with an apostrophe in another way."""
    config = write_sources(tmp_path, workload("r.io/it's:1.0.0"), manager=MANAGER)
    manifest = (tmp_path / "manifest.yaml").read_text().splitlines()
    _, found = lint(config, capsys)
    (line,) = [one["line"] for one in found if one["rule"] == "image"]
    assert "it's" in manifest[line - 1]


def test_warnings_count_only_when_they_are_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_sources(tmp_path, manager=MANAGER)
    assert lint(config, capsys)[0] == 0
    assert lint(config, capsys, "--strict")[0] == 2


@pytest.mark.parametrize(
    ("custom_resource", "definition", "expected"),
    [
        (CR, crd(**SIZE), []),
        ({**CR, "spec": {}}, crd(**SIZE), ["Thing default: spec.size: Required value"]),
        ({**CR, "spec": {"size": "big"}}, crd(**SIZE), ['spec.size: Invalid value: "string": spec.size in body']),
        ({**CR, "apiVersion": "things.example.com/v2"}, crd(), ["v2 is not served; the CRD serves v1alpha1"]),
        (CR, crd(group="other.example.com"), ["no CRD of Thing; kymatui assumes that it is namespaced"]),
        (
            CR,
            crd(**{"x-kubernetes-validations": [{"rule": "self.size > 1", "message": "too small"}], **SIZE}),
            ["spec: Invalid value: too small"],
        ),
    ],
    ids=["valid", "missing", "wrong type", "version", "no CRD", "CEL"],
)  # fmt: skip
def test_the_default_cr_is_checked_against_its_crd(
    custom_resource: dict[str, Any],
    definition: dict[str, Any],
    expected: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = write_sources(tmp_path, definition, workload(DIGEST), default_cr=custom_resource, manager=MANAGER)
    _, found = lint(config, capsys)
    assert len(found) == len(expected), shown(found)
    for one, text in zip(found, expected, strict=True):
        assert one["file"] == "default-cr.yaml"
        assert text in one["message"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scope": "Everywhere"}, "spec.scope: Unsupported value"),
        ({"group": "x.example.com"}, "metadata.name: Invalid value"),
        ({"versions": 5}, "spec"),
        ({"names": None}, "spec.names"),
    ],
)
def test_a_crd_that_a_server_refuses_is_reported(
    change: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    definition = crd()
    definition["spec"].update(change)
    config = write_sources(tmp_path, definition, workload(DIGEST), default_cr=CR, manager=MANAGER)
    status, found = lint(config, capsys)
    assert status == 2
    assert any(one["rule"] == "crd" and words in one["message"] for one in found), shown(found)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([("Ready", "status.state", "Ready"), ("Error", "status.state", "Error")], []),
        ([("Ready", "status.state", "Ready")], ["customStateCheck: no rule maps to Error"]),
        (
            [("Ready", "a", "x"), ("Ready", "a", "y"), ("Error", "b", "z")],
            ["customStateCheck[1]: 'a': two values for one path can never both match"],
        ),
        (
            [("Ready", "$.a", "x"), ("Error", "b", "z")],
            ["customStateCheck[0]: '$.a': lifecycle-manager reads the path differently"],
        ),
    ],
)
def test_rules_of_the_state_are_checked(
    rules: list[tuple[str, str, str]], expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [{"jsonPath": path, "value": value, "mappedState": state} for state, path, value in rules]
    config = write_sources(tmp_path, workload(DIGEST), manager=MANAGER, customStateCheck=checks)
    _, found = lint(config, capsys)
    assert [one["message"] for one in found if one["rule"] == "state-check"] == expected


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"version": "1.0.0+build"}, "template.version"),
        ({"version": "1.0.0-rc.1"}, "template.version"),
        ({"name": "kyma-project.io/module/ip"}, "template.name"),
    ],
)
def test_what_lifecycle_manager_refuses_is_a_warning(
    change: dict[str, Any], rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    image = DIGEST.replace(":1.0.0", f":{change.get('version', '1.0.0').partition('+')[0]}")
    config = write_sources(tmp_path, workload(image), **change)
    _, found = lint(config, capsys)
    assert (rule, "warning") in {(one["rule"], one["severity"]) for one in found}


@pytest.mark.parametrize(
    ("security", "expected"),
    [
        ({"module-name": "sample", "bdba": [DIGEST]}, []),
        ({"module-name": "other", "bdba": [DIGEST]}, ["error: module-name is 'other', not 'sample'"]),
        ({"module-name": "sample"}, []),
        ({"module-name": "sample", "mend": {"language": "golang-mod"}}, []),
        ({"module-name": "sample", "bdba": []}, [f"warning: bdba does not list {DIGEST}, so it is not scanned"]),
        ({"module-name": "sample", "bdba": None}, [f"warning: bdba does not list {DIGEST}, so it is not scanned"]),
        ({"module-name": "sample", "protecode": None}, [f"warning: protecode does not list {DIGEST}"]),
        ({"module-name": "sample", "bdba": None, "protecode": [DIGEST]}, []),
        (
            {"module-name": "sample", "bdba": [DIGEST, "a.io/b:main", "a.io/b:latest", "a.io/c", "a b"]},
            [
                "warning: bdba: the tag main of a.io/b:main is not a version",
                "warning: bdba: the tag latest of a.io/b:latest is not a version",
                "warning: bdba: the tag latest of a.io/c is not a version",
                "error: bdba: 'a b' is not an image",
            ],
        ),
        ({"module-name": "sample", "bdba": {}}, ["error: bdba must be a list of images"]),
        ({"module-name": "sample", "bdba": False}, ["error: bdba must be a list of images"]),
        ([], ["error: the security config must be a map"]),
    ],
)
def test_the_security_config_fits_the_module(
    security: Any, expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_sources(tmp_path, workload(DIGEST), manager=MANAGER, security="scan.yaml")
    (tmp_path / "scan.yaml").write_text(yaml.safe_dump(security))
    _, found = lint(config, capsys)
    assert len(found) == len(expected), shown(found)
    for one, text in zip(found, expected, strict=True):
        assert one["file"] == "scan.yaml"
        assert text in f"{one['severity']}: {one['message']}"


@pytest.mark.parametrize("name", ["manifest.yaml", "default-cr.yaml", "scan.yaml"])
def test_a_file_that_is_no_yaml_does_not_hide_other_problems(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_sources(tmp_path, workload(DIGEST), default_cr=CR, team="", security="scan.yaml")
    (tmp_path / "scan.yaml").write_text(f"module-name: sample\nbdba: ['{DIGEST}']\n")
    (tmp_path / name).write_text("a: b\nc: [\n")
    status, found = lint(config, capsys)
    assert status == 2
    assert any(one["file"] == name and one["rule"] == "yaml" for one in found), shown(found)
    assert any("team must not be empty" in one["message"] for one in found)


def test_a_config_that_does_not_exist_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bundle", "lint", "-c", str(tmp_path / "gone.yaml")]) == 1
    assert "gone.yaml does not exist" in capsys.readouterr().err


def test_what_lint_accepts_is_created_and_its_errors_of_the_config_are_refused(
    tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On real manifests of modules: an error of `lint` in images or names is one of `create`."""
    for at, path in enumerate(sorted((shared / "kyma/raw-manifests").glob("*-manifest.yaml"))):
        folder = tmp_path / str(at)
        config = write_sources(folder)
        (folder / "manifest.yaml").write_bytes(path.read_bytes())
        _, found = lint(config, capsys)
        errors = [one for one in found if one["severity"] == "error"]
        words = ["-c", str(config), "-o", str(folder / "t.yaml"), "--sources", str(folder)]
        assert main(["bundle", "create", *words]) == (1 if errors else 0), shown(found)
        capsys.readouterr()


def test_an_object_that_appears_twice_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_sources(tmp_path, workload(DIGEST), workload(DIGEST), manager=MANAGER)
    _, found = lint(config, capsys)
    assert [one["message"] for one in found] == ["Deployment sample-manager in namespace sample-system appears 2 times"]
