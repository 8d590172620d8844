"""`--channel` of `bundle create` and `bundle template`: what becomes of the module's other channels."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from kymatui.cli.main import main
from tests.bundle.sources import NAME, VERSION, write_sources
from tests.bundle.test_create import create
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)


def release(*channels: tuple[str, str], module: str = "sample", **spec: Any) -> dict[str, Any]:
    entries = [{"channel": name, "version": version} for name, version in channels]
    spec = {"moduleName": module, "ocmComponentName": NAME, **({"channels": entries} if entries else {}), **spec}
    head = {"apiVersion": "operator.kyma-project.io/v1beta2", "kind": "ModuleReleaseMeta"}
    return {**head, "metadata": {"name": module}, "spec": spec}


PRESENT = release(("regular", "0.9.0"), ("fast", "0.9.5"), ("experimental", "1.1.0-rc.1"))


def written(folder: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((folder / "template.yaml").read_text()))


def channels(objects: list[dict[str, Any]]) -> dict[str, str]:
    (meta,) = (each for each in objects if each["kind"] == "ModuleReleaseMeta")
    return {entry["channel"]: entry["version"] for entry in meta["spec"]["channels"]}


def test_without_the_present_one_none_is_written_and_the_entries_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert create(write_sources(tmp_path), "--channel", "fast", "--channel", "regular") == 0
    (template,) = written(tmp_path)
    assert template["kind"] == "ModuleTemplate"
    advice = capsys.readouterr().err
    start = advice.index("channels:\n")
    entries = yaml.safe_load(advice[start : advice.index("or use", start)])
    expected = [{"channel": name, "version": VERSION} for name in ("fast", "regular")]
    assert entries == {"channels": expected}
    assert "--release-meta FILE" in advice
    assert "--first-release" in advice


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["fast"], {"regular": "0.9.0", "fast": VERSION, "experimental": "1.1.0-rc.1"}),
        (["fast", "regular"], {"regular": VERSION, "fast": VERSION, "experimental": "1.1.0-rc.1"}),
        (["new"], {"regular": "0.9.0", "fast": "0.9.5", "experimental": "1.1.0-rc.1", "new": VERSION}),
    ],
)
def test_the_present_one_keeps_its_other_channels(names: list[str], expected: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "release.yaml"
    file.write_text(yaml.safe_dump_all([release(("fast", "3.0.0"), module="other"), PRESENT]))
    before = file.read_text()
    options = [word for name in names for word in ("--channel", name)]
    assert create(write_sources(tmp_path), "--release-meta", str(file), *options) == 0
    found = written(tmp_path)
    assert channels(found) == expected
    assert list(channels(found))[:3] == ["regular", "fast", "experimental"]
    assert file.read_text() == before


def test_the_one_of_a_cluster_is_read_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    present = {
        **release(("fast", "0.9.5"), ("regular", "0.9.0"), kymaSelector={"matchLabels": {"a": "b"}}, beta=True),
        "metadata": {
            "name": "sample",
            "namespace": "kcp-system",
            "labels": {"a": "b"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "c": "d"},
            "resourceVersion": "7",
            "uid": "u",
            "managedFields": [{"manager": "kubectl"}],
        },
        "status": {},
    }
    listed = {"apiVersion": "v1", "kind": "List", "items": [present]}
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(listed).encode())))
    assert create(write_sources(tmp_path), "--channel", "fast", "--release-meta", "-") == 0
    _, meta = written(tmp_path)
    annotations = {"c": "d"}
    assert meta["metadata"] == {
        "name": "sample",
        "namespace": "kcp-system",
        "labels": {"a": "b"},
        "annotations": annotations,
    }
    assert meta["spec"] == {
        **present["spec"],
        "channels": [{"channel": "fast", "version": VERSION}, {"channel": "regular", "version": "0.9.0"}],
    }
    assert "status" not in meta


def test_the_result_of_the_last_release_is_the_present_one_of_the_next(tmp_path: Path) -> None:
    config = write_sources(tmp_path)
    assert create(config, "--channel", "regular", "--first-release") == 0
    assert create(config, "--channel", "fast", "--release-meta", str(tmp_path / "template.yaml")) == 0
    assert channels(written(tmp_path)) == {"regular": VERSION, "fast": VERSION}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no ModuleReleaseMeta of sample (modules in it: none)"),
        (release(("fast", "1.0.0"), module="other"), "has no ModuleReleaseMeta of sample (modules in it: other)"),
        ({**PRESENT, "apiVersion": "example.org/v1"}, "has no ModuleReleaseMeta of sample"),
        ([PRESENT, PRESENT], "has several ModuleReleaseMetas of sample"),
        ({**PRESENT, "spec": None}, "ModuleReleaseMeta sample has no spec"),
        (release(mandatory={"version": "1.0.0"}), "is of a mandatory module, which is in no channel"),
        (release(channels="fast"), "spec.channels is not a list of channels"),
        (release(channels=[{"version": "1.0.0"}]), "spec.channels is not a list of channels"),
        (release(("fast", "1.0.0"), ocmComponentName="kyma-project.io/module/another"), "is of the component kyma-pro"),
        ("a: [", "release.yaml"),
        ("kind: ModuleReleaseMeta\n", "release.yaml"),
    ],
)
def test_a_file_without_the_one_of_the_module_is_refused_before_anything_is_pushed(
    content: Any,
    message: str,
    tmp_path: Path,
    serve: Serve,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    served = serve()
    file = tmp_path / "release.yaml"
    documents = content if isinstance(content, list) else [content]
    file.write_text(content if isinstance(content, str) else yaml.safe_dump_all(documents))
    config = write_sources(tmp_path)
    host = served.registry.address
    assert create(config, "--channel", "fast", "--release-meta", str(file), host=host) == 1
    assert message in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "template.yaml").exists()
    assert [line for line in served.registry.requests if line.startswith(("PUT", "POST"))] == []


def test_a_template_from_a_registry_is_offered_in_the_same_way(
    serve: Serve,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    host = serve().registry.address
    assert create(write_sources(tmp_path), host=host) == 0
    (tmp_path / "release.yaml").write_text(yaml.safe_dump(PRESENT))
    words = ["bundle", "template", f"{host}/p//{NAME}:{VERSION}", "--insecure-registry", host, "--channel", "fast"]
    capsys.readouterr()
    assert main(words) == 0
    shown = capsys.readouterr()
    assert [each["kind"] for each in yaml.safe_load_all(shown.out)] == ["ModuleTemplate"]
    assert "no ModuleReleaseMeta is written" in shown.err
    assert main([*words, "--release-meta", str(tmp_path / "release.yaml")]) == 0
    shown = capsys.readouterr()
    expected = {"regular": "0.9.0", "fast": VERSION, "experimental": "1.1.0-rc.1"}
    assert (channels(list(yaml.safe_load_all(shown.out))), shown.err) == (expected, "")
