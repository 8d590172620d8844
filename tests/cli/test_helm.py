"""`kymatui helm` prints what helm prints."""

from __future__ import annotations

import functools
import io
import re
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kymatui.cli.main import main
from tests.sandboxes.starting import ready_sandbox

CHART = {
    "Chart.yaml": "apiVersion: v2\nname: demo\nversion: 0.1.0\nappVersion: '7'\n",
    "values.yaml": "name: world\nreplicas: 1\n",
    "README.md": "# demo\n",
    "crds/thing.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n",
    "templates/config.yaml": "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: {{ .Release.Name }}\n"
    "data:\n  hello: {{ .Values.name }}\n",
    "templates/account.yaml": "kind: ServiceAccount\napiVersion: v1\nmetadata:\n  name: {{ .Release.Name }}\n",
    "templates/check.yaml": "kind: Pod\napiVersion: v1\nmetadata:\n  name: check\n"
    '  annotations: {"helm.sh/hook": test}\n',
    "templates/NOTES.txt": "Thanks.\n",
}

ACCOUNT = """---
# Source: demo/templates/account.yaml
kind: ServiceAccount
apiVersion: v1
metadata:
  name: r
"""
CONFIG = """---
# Source: demo/templates/config.yaml
kind: ConfigMap
apiVersion: v1
metadata:
  name: r
data:
  hello: world
"""
CHECK = """---
# Source: demo/templates/check.yaml
kind: Pod
apiVersion: v1
metadata:
  name: check
  annotations: {"helm.sh/hook": test}
"""


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    root = tmp_path / "demo"
    for name, text in CHART.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def helm(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = main(["helm", *(str(word) for word in words)])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ([], ACCOUNT + CONFIG + CHECK),
        (["--no-hooks"], ACCOUNT + CONFIG),
        (["--skip-tests"], ACCOUNT + CONFIG),
        (["--set", "name=moon", "--skip-tests"], ACCOUNT + CONFIG.replace("world", "moon")),
        (["-s", "templates/config.yaml"], CONFIG),
        (["-s", "templates/*count.yaml", "-s", "templates/check.yaml"], ACCOUNT + CHECK),
    ],
)
def test_template_prints_in_the_order_of_installation(
    chart: Path, capsys: pytest.CaptureFixture[str], flags: list[str], text: str
) -> None:
    assert helm(capsys, "template", "r", chart, *flags) == (0, text, "")


def test_definitions_come_first_when_asked(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = helm(capsys, "template", "r", chart, "--include-crds")
    assert out.startswith("---\n# Source: demo/crds/thing.yaml\napiVersion: apiextensions.k8s.io/v1\n")


def test_an_archive_renders_like_its_folder(chart: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "demo-0.1.0.tgz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(chart, "demo")
    assert helm(capsys, "template", "r", packed) == helm(capsys, "template", "r", chart)


def test_files_are_written_below_the_folder(chart: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = helm(capsys, "template", "r", chart, "--output-dir", tmp_path / "out")
    assert status == 0
    assert out.splitlines()[0] == f"wrote {tmp_path}/out/demo/templates/account.yaml"
    assert (tmp_path / "out/demo/templates/config.yaml").read_text() == CONFIG


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["template", "r", "nowhere"], 1, 'path "nowhere" not found'),
        (["template", "r", "{chart}", "-s", "templates/none.yaml"], 1, "could not find template templates/none.yaml"),
        (["template", "r", "{chart}", "--set", "a=1,a.b=2"], 1, "failed parsing --set data"),
        (["template", "r", "{chart}", "-f", "none.yaml"], 1, "none.yaml"),
        (["template", "r", "{chart}", "--set-file", "a=none.txt"], 1, "open none.txt: no such file or directory"),
        (["template", "r", "{chart}", "more"], 64, "unexpected arguments: more"),
        (["template", "r", "{chart}", "--name-template", "x"], 64, "cannot set --name-template and also"),
        (["template", "R_x", "{chart}"], 1, "release name check failed"),
        (["template", "r" * 54, "{chart}"], 1, "must not be longer than 53"),
        (["template", "r", "{chart}", "--kube-version", "x"], 1, "invalid kube version"),
        (["template", "r", "{chart}", "--verify"], 1, "unpacked charts cannot be verified"),
        (["show", "shape", "{chart}"], 64, 'no subcommand "shape" of `kymatui helm show`'),
        (["dance"], 64, 'no subcommand "dance" of `kymatui helm`'),
    ],
)
def test_bad_input_names_what_is_wrong(
    chart: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int, message: str
) -> None:
    found, out, err = helm(capsys, *(word.replace("{chart}", str(chart)) for word in words))
    assert (found, out) == (status, "")
    assert message in err
    assert "Traceback" not in err


def test_a_template_can_name_the_release(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = helm(capsys, "template", "--name-template", '{{ upper "R" | lower }}', chart, "--skip-tests")
    assert (status, out) == (0, ACCOUNT + CONFIG)


def test_flags_of_installing_change_nothing(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    idle = ["--create-namespace", "--wait", "--timeout", "5m", "--description", "d", "--hide-notes", "--dry-run=client"]
    assert helm(capsys, "template", "r", chart, *idle) == (0, ACCOUNT + CONFIG + CHECK, "")


def test_what_is_no_yaml_is_shown_when_debugging(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (chart / "templates/config.yaml").write_text("a: b: c\n")
    status, out, err = helm(capsys, "template", "r", chart)
    assert (status, out) == (1, "")
    assert "YAML parse error on demo/templates/config.yaml: error converting YAML to JSON: yaml: mapping values" in err
    assert "Use --debug flag to render out invalid YAML" in err
    status, out, _ = helm(capsys, "template", "r", chart, "--debug")
    assert status == 1
    assert "---\n# Source: demo/templates/config.yaml\na: b: c\n" in out


def test_each_document_that_is_written_is_told(chart: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (chart / "templates/account.yaml").write_text("kind: ServiceAccount\n---\nkind: Role\n")
    folder = tmp_path / "out"
    flags = ["--output-dir", folder, "--release-name", "--include-crds", "--no-hooks"]
    status, out, _ = helm(capsys, "template", "r", chart, *flags)
    account, config = f"{folder}/r/demo/templates/account.yaml", f"{folder}/r/demo/templates/config.yaml"
    written = [f"{folder}/demo/crds/thing.yaml", account, config, account]
    assert (status, out) == (0, "".join(f"wrote {path}\n" for path in written) + "\n")
    source = "---\n# Source: demo/templates/account.yaml\n"
    assert Path(account).read_text() == f"{source}kind: ServiceAccount\n{source}kind: Role\n"


def test_show_prints_each_part(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metadata = 'apiVersion: v2\nappVersion: "7"\nname: demo\nversion: 0.1.0\n'
    assert helm(capsys, "show", "chart", chart)[1] == f"{metadata}\n"
    assert helm(capsys, "show", "values", chart)[1] == "name: world\nreplicas: 1\n\n"
    assert helm(capsys, "show", "readme", chart)[1] == "# demo\n\n"
    crds = f"---\n{CHART['crds/thing.yaml']}\n"
    assert helm(capsys, "show", "crds", chart)[1] == crds
    everything = f"{metadata}\n---\nname: world\nreplicas: 1\n\n---\n# demo\n\n{crds}"
    assert helm(capsys, "show", "all", chart)[1] == everything


def test_lint_accepts_a_good_chart(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = f"==> Linting {chart}\n[INFO] Chart.yaml: icon is recommended\n\n1 chart(s) linted, 0 chart(s) failed\n"
    assert helm(capsys, "lint", chart) == (0, report, "")


def test_lint_fails_a_bad_one_and_says_where(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (chart / "templates/config.yaml").write_text("data: {{ .Values.x.y }}\n")
    status, out, err = helm(capsys, "lint", chart)
    assert status == 1
    assert "[ERROR] templates/: demo/templates/config.yaml:1:16\n" in out
    assert err == "Error: 1 chart(s) linted, 1 chart(s) failed\n"


def test_lint_tells_which_template_is_no_yaml(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (chart / "templates/config.yaml").write_text("\na: b: c\n")
    status, out, _ = helm(capsys, "lint", chart)
    assert status == 1
    problem = "unable to parse YAML: error converting YAML to JSON: yaml: line 2: mapping values are not allowed"
    assert f"[ERROR] templates/config.yaml: {problem}" in out


def test_lint_looks_at_the_definitions_of_the_charts_below(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    below = chart / "charts/sub"
    (below / "crds").mkdir(parents=True)
    (below / "Chart.yaml").write_text("apiVersion: v2\nname: sub\nversion: 0.1.0\n")
    (below / "crds/inner.yaml").write_text("kind: Pod\n")
    _, out, _ = helm(capsys, "lint", chart)
    assert "[ERROR] crds/inner.yaml: apiVersion is not in 'apiextensions.k8s.io'\n" in out
    assert "[ERROR] crds/inner.yaml: object kind is not 'CustomResourceDefinition'\n" in out


def test_lint_renders_neither_an_installation_nor_an_upgrade(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (chart / "templates/config.yaml").write_text("{{ if or .Release.IsInstall .Release.IsUpgrade }}a: b: c{{ end }}\n")
    assert helm(capsys, "lint", chart)[0] == 0


def test_warnings_fail_only_when_strict(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (chart / "templates/config.yaml").write_text("kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: Not_A_Name\n")
    status, out, _ = helm(capsys, "lint", chart)
    assert status == 0
    assert "[WARNING] templates/config.yaml: object name does not conform to Kubernetes naming requirements" in out
    assert helm(capsys, "lint", "--strict", chart)[0] == 1


def test_a_hostile_archive_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "evil.tgz"
    with tarfile.open(packed, "w:gz") as archive:
        for name in ("evil/Chart.yaml", "evil/../../../escaped"):
            member = tarfile.TarInfo(name)
            member.size = 4
            archive.addfile(member, io.BytesIO(b"a: b"))
    status, out, err = helm(capsys, "template", "r", packed)
    assert (status, out) == (1, "")
    assert err
    assert not (tmp_path.parent / "escaped").exists()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing to a test's standard error."""


@pytest.fixture
def repository(chart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A repository with one chart, and no cache of another test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    served = tmp_path / "served"
    served.mkdir()
    with tarfile.open(served / "demo-0.1.0.tgz", "w:gz") as archive:
        archive.add(chart, "demo")
    (served / "index.yaml").write_text(
        "apiVersion: v1\nentries:\n  demo:\n  - {name: demo, version: 0.1.0, urls: [demo-0.1.0.tgz]}\n"
    )
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(served)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_chart_of_a_repository_renders_like_its_folder(
    chart: Path, repository: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = helm(capsys, "template", "r", chart)
    assert helm(capsys, "template", "r", "demo", "--repo", repository, "--version", "0.1.x") == folder
    assert helm(capsys, "template", "r", f"{repository}/demo-0.1.0.tgz") == folder
    assert helm(capsys, "show", "readme", "demo", "--repo", repository) == (0, "# demo\n\n", "")


def test_what_a_repository_has_not_is_named(repository: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = helm(capsys, "template", "r", "demo", "--repo", repository, "--version", "9")
    assert status == 1
    assert err.startswith(f'kymatui: chart "demo" version "9" not found in {repository} repository\n')
    status, _, err = helm(capsys, "template", "r", "other", "--repo", repository)
    assert status == 1
    assert err.startswith(f'kymatui: chart "other" not found in {repository} repository\n')


def test_pull_writes_the_archive_and_says_nothing(
    repository: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert helm(capsys, "pull", "demo", "--repo", repository, "-d", tmp_path / "there") == (0, "", "")
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["demo-0.1.0.tgz"]
    assert helm(capsys, "pull", "demo", "--repo", repository, "-d", tmp_path / "there", "--untar")[0] == 0
    assert (tmp_path / "there/demo/values.yaml").read_text() == CHART["values.yaml"]


def test_provenance_that_is_not_there_is_told(
    repository: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = helm(capsys, "pull", "demo", "--repo", repository, "-d", tmp_path / "there", "--prov")
    assert status == 0
    assert out.startswith(f"WARNING: Verification not found for {repository}/demo-0.1.0.tgz")
    status, _, err = helm(capsys, "pull", "demo", "--repo", repository, "-d", tmp_path / "nowhere", "--verify")
    assert (status, (tmp_path / "nowhere").exists()) == (1, False)
    assert "404" in err


class Asking(Quiet):
    def do_GET(self) -> None:
        if self.headers.get("Authorization") != "Basic dTpw":
            self.send_error(401)
        else:
            super().do_GET()


@pytest.mark.parametrize("flags", [[], ["--pass-credentials"]])
def test_other_hosts_get_the_password_only_when_asked(
    tmp_path: Path, repository: str, capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    """The index is on one host, the archives are on another, and both ask for a password."""
    served = tmp_path / "served"
    handler = functools.partial(Asking, directory=str(served))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        index = (served / "index.yaml").read_text()
        there = f"http://127.0.0.1:{server.server_port}"
        (served / "index.yaml").write_text(index.replace("demo-0.1.0.tgz", f"{there}/demo-0.1.0.tgz"))
        words = ["show", "readme", "demo", "--repo", repository, "--username", "u", "--password", "p", *flags]
        status, out, err = helm(capsys, *words)
        server.shutdown()
    assert (status, out) == ((0, "# demo\n\n") if flags else (1, ""))
    assert ("requires credentials, but none are configured" in err) is not bool(flags)


def test_a_certificate_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["template", "r", "http://127.0.0.1:9/x.tgz", "--cert-file", "nowhere.pem", "--key-file", "nowhere.key"]
    status, _, err = helm(capsys, *words)
    assert status == 1
    assert "--cert-file: nowhere.pem cannot be read" in err


def test_what_a_value_drops_is_a_warning_with_its_flag_and_without_the_value(
    chart: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (chart / "values.yaml").write_text("name: world\nsize: {cpu: 1}\nreplicaCount: 1\n")
    values = tmp_path / "own.yaml"
    values.write_text("replicaCont: 2\n")
    status, _, warnings = helm(capsys, "template", chart, "-f", values, "--set", "size.cpu.hunter=2")
    assert status == 0
    assert warnings.splitlines() == [
        "warning: the value size.cpu is a table, but the chart has a number there, which is dropped (--set)",
        f"warning: the chart has no value replicaCont; did you mean replicaCount? (-f {values})",
    ]


def test_values_come_from_standard_input_and_from_an_address(
    chart: Path, repository: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (chart / "templates" / "values.yaml").write_text("a: {{ .Values.a }}\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: one\n")))
    status, text, _ = helm(capsys, "template", chart, "-f", "-", "-s", "templates/values.yaml")
    assert (status, text.splitlines()[-1]) == (0, "a: one")
    (tmp_path / "served" / "own.yaml").write_text("a: two\n")
    status, text, _ = helm(capsys, "template", chart, "-f", f"{repository}/own.yaml", "-s", "templates/values.yaml")
    assert (status, text.splitlines()[-1]) == (0, "a: two")


def test_a_warning_names_standard_input_without_its_values(
    chart: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (chart / "values.yaml").write_text("name: world\npassword: x\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"pasword: hunter2\n")))
    status, _, warnings = helm(capsys, "template", chart, "-f", "-")
    meant = "the chart has no value pasword; did you mean password?"
    assert (status, warnings) == (0, f"warning: {meant} (-f standard input)\n")


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("type: library\n", "library charts are not installable: web"),
        ("dependencies: [{name: store, version: '*'}]\n", "missing in charts/ directory: store"),
    ],
)
def test_template_refuses_what_cannot_be_installed(
    chart: Path, capsys: pytest.CaptureFixture[str], metadata: str, message: str
) -> None:
    (chart / "Chart.yaml").write_text(f"apiVersion: v2\nname: web\nversion: 1.0.0\n{metadata}")
    status, text, problem = helm(capsys, "template", chart)
    assert (status, text) == (1, "")
    assert message in problem


def test_a_template_that_calls_itself_fails_in_three_lines(chart: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (chart / "values.yaml").write_text("again: '{{ tpl .Values.again . }}'\n")
    (chart / "templates" / "again.yaml").write_text("a: {{ tpl .Values.again . }}\n")
    status, text, problem = helm(capsys, "template", chart)
    assert (status, text) == (1, "")
    assert "templates/again.yaml:1:6" in problem
    assert len(problem.splitlines()) == 3


def test_a_hint_about_a_registry_without_tls_names_options_of_the_command(
    repository: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = repository.removeprefix("http://")
    for command in (["pull"], ["show", "chart"], ["template"]):
        status, _, err = helm(capsys, *command, f"oci://{host}/charts/demo", "--version", "0.1.0")
        assert (status, "no TLS connection" in err) == (1, True)
        with pytest.raises(SystemExit):
            main(["helm", *command, "--help"])
        offered = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
        named = set(re.findall(r"--[a-z-]+", err))
        assert named == {"--ca-file", "--plain-http"}
        assert named <= offered


# The table of usual mistakes in docs/helm.md: each of kymatui's messages is produced here.

META = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n"
VALUES = "image: {}\nport: 80\nname: web\nreplicaCount: 1\n"
PODS = "    metadata: {labels: {app: d}}\n    spec: {containers: [{name: c, image: x}]}\n"
WEB = ("template", "web", "./web")
INSTALL = ("install", "web", "--chart", "./web", "--yes")


def files_of(template: str = "  a: b\n", values: str = VALUES, **more: str) -> dict[str, str]:
    """Return the files of a chart with one template below the head of a ConfigMap."""
    return {"Chart.yaml": META, "values.yaml": values, "templates/map.yaml": MAP + template, **more}


MISTAKES: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "path": (files_of(), ("template", "web", "./wbe")),
    "no Chart.yaml": ({"values.yaml": "a: 1\n"}, WEB),
    "version": ({"Chart.yaml": "apiVersion: v2\nname: web\nversion: one\n"}, WEB),
    "dependency": ({"Chart.yaml": META + "dependencies: [{name: redis, version: 1.0.0}]\n"}, WEB),
    "library chart": ({"Chart.yaml": META + "type: library\n"}, WEB),
    "Kubernetes": ({"Chart.yaml": META + "kubeVersion: '>=9.0.0'\n"}, WEB),
    "indentation of values": (files_of(values="image:\n  tag: a\n   name: b\n"), WEB),
    "template in values": (files_of(values="name: {{ .Release.Name }}\n"), WEB),
    "open action": (files_of("  a: {{ .Values.name \n  b: c\n"), WEB),
    "open if": (files_of("  {{- if .Values.name }}\n  a: b\n"), WEB),
    "function": (files_of("  a: {{ .Values.name | qoute }}\n"), WEB),
    "missing table": (files_of("  a: {{ .Values.imag.tag }}\n"), WEB),
    "field of a text": (files_of("  a: {{ .Values.name.first }}\n"), WEB),
    "include": (
        files_of('  a: {{ include "web.nam" . }}\n', **{"templates/_h.tpl": '{{ define "web.name" }}x{{ end }}'}),
        WEB,
    ),
    "arguments": (files_of("  a: {{ .Values.name | trunc }}\n"), WEB),
    "required value": (files_of('  a: {{ required "set host" .Values.host }}\n'), WEB),
    "rendered indentation": (files_of("  a: b\n   c: d\n"), WEB),
    "schema": (
        files_of(**{"values.schema.json": '{"type":"object","properties":{"port":{"type":"integer"}}}'}),
        (*WEB, "--set", "port=eighty"),
    ),
    "--set without value": (files_of(), (*WEB, "--set", "name")),
    "--set below a text": (files_of(), (*WEB, "--set", "name.first=a")),
    "value's name": (files_of(), (*WEB, "--set", "replicaCout=2")),
    "--set-json": (files_of(), (*WEB, "--set-json", "image={tag: 1}")),
    "values file": (files_of(**{"../prod.yaml": "port: 1\n"}), (*WEB, "-f", "prd.yaml")),
    "list of values": (files_of(**{"../prod.yaml": "- a\n- b\n"}), (*WEB, "-f", "prod.yaml")),
    "release name": (files_of(), ("template", "Web_1", "./web")),
    "registry": ({}, ("template", "web", "oci://127.0.0.1:9/charts/web", "--version", "1.0.0")),
}
WIDGET = "apiVersion: a.io/v1\nkind: Widget\nmetadata: {name: w}\n"
NO_SELECTOR = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n" + PODS
ON_CLUSTER: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "missing CRD": (files_of(**{"templates/map.yaml": WIDGET}), INSTALL),
    "other release": (files_of(), ("install", "two", *INSTALL[2:])),
    "invalid object": (files_of(**{"templates/map.yaml": NO_SELECTOR}), INSTALL),
    "no such release": (files_of(), ("upgrade", "nope", *INSTALL[2:])),
}


def mistakes() -> dict[str, str]:
    """Return kymatui's messages of the table in docs/helm.md by mistake."""
    text = (Path(__file__).parents[2] / "docs" / "helm.md").read_text()
    table = text.partition("| mistake |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]
    return {row[0]: plain(row[2].replace("<br>", " ")) for row in rows}


def plain(text: str) -> str:
    """Return a text in one line, without marks of code."""
    return " ".join(text.replace("`", "").split())


def produce(
    case: tuple[dict[str, str], tuple[str, ...]],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    """Make a mistake, and return what is printed about it in one line."""
    files, words = case
    for name, text in files.items():
        (path := folder / "web" / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(folder)
    main([*(["helm"] if words[0] == "template" else []), *words])
    return plain(capsys.readouterr().err)


def test_the_table_of_mistakes_has_thirty_which_are_all_made() -> None:
    assert len(mistakes()) == 30
    assert set(mistakes()) == {*MISTAKES, *ON_CLUSTER}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_as_the_table_says(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = produce(MISTAKES[mistake], tmp_path, monkeypatch, capsys)
    for part in mistakes()[mistake].split("…"):
        assert part.strip() in printed


def test_mistakes_on_a_cluster_are_answered_as_the_table_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with ready_sandbox("one") as running:
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
        produce((files_of(), ("install", "one", *INSTALL[2:], "--direct")), tmp_path / "first", monkeypatch, capsys)
        for mistake, (files, words) in ON_CLUSTER.items():
            printed = produce((files, (*words, "--direct")), tmp_path / mistake, monkeypatch, capsys)
            for part in mistakes()[mistake].split("…"):
                assert part.strip() in printed, mistake
