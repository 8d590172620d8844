"""What docs/helm.md says of the library runs, and what it lists is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kymatui.helm
from kymatui.helm import HelmError

DOCUMENT = Path(__file__).parents[2] / "docs" / "helm.md"
CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: demo\nversion: 0.1.0\n",
    "chart/values.yaml": "replicas: 1\n",
    "chart/templates/a-deployment.yaml": "kind: Deployment\nmetadata: {name: {{ .Release.Name }}}\n"
    "replicas: {{ .Values.replicas }}\n",
    "chart/templates/b-account.yaml": "kind: ServiceAccount\nmetadata: {name: {{ .Release.Namespace }}}\n",
    "chart/templates/hook.yaml": 'kind: Job\nmetadata: {name: migrate, annotations: {"helm.sh/hook": pre-install}}\n',
    "chart/templates/NOTES.txt": "Kubernetes {{ .Capabilities.KubeVersion }}, {{ .Values.colour }}\n",
    "prod.yaml": "colour: red\n",
}
PRINTED = """\
ServiceAccount shop demo/templates/b-account.yaml
Deployment web demo/templates/a-deployment.yaml
before: Job migrate 0 ()
Kubernetes v1.33.0, red

"""


def example() -> str:
    found = re.search(
        r"<!-- helm-example -->\n```python\n(.*?)```\n<!-- end -->", DOCUMENT.read_text("utf-8"), re.DOTALL
    )
    assert found, "docs/helm.md has no example between its markers"
    return found[1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in CHART.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(example(), str(DOCUMENT), "exec"), {})
    assert capsys.readouterr().out == PRINTED


def test_the_example_tells_what_is_wrong_with_a_chart(folder: Path) -> None:
    (folder / "chart/templates/b-account.yaml").write_text("kind: {{ .Values.a.b }}\n")
    with pytest.raises(SystemExit, match=r"demo/templates/b-account\.yaml:1:16\n.*<\.Values\.a\.b>"):
        exec(compile(example(), str(DOCUMENT), "exec"), {})


def test_what_is_exported_is_documented() -> None:
    documented = set(re.findall(r"\b[A-Za-z_]+\b", DOCUMENT.read_text("utf-8")))
    explained = set(re.findall(r"\b[A-Za-z_]+\b", kymatui.helm.__doc__ or ""))
    assert set(kymatui.helm.__all__) - explained == set()
    assert set(kymatui.helm.__all__) - documented == {"DEFAULT_API_VERSIONS"}


def test_every_name_is_there_and_no_other() -> None:
    assert all(getattr(kymatui.helm, name) is not None for name in kymatui.helm.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kymatui.helm.nothing  # noqa: B018 - the access is what is tested


def test_helm_error_is_the_only_exception(folder: Path) -> None:
    for call in (
        lambda: kymatui.helm.load_chart(folder / "nothing"),
        lambda: kymatui.helm.load_archive(b"no archive"),
        lambda: kymatui.helm.merge_values(value_files=[folder / "nothing"]),
        lambda: kymatui.helm.merge_values(set=["a=1,a.b=2"]),
        lambda: kymatui.helm.load_yaml("a: b: c"),
        lambda: kymatui.helm.dump_yaml({"a": float("nan")}),
    ):
        with pytest.raises(HelmError):
            call()
