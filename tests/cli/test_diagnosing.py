"""`kymatui diagnose`: an archive that people can open, made on a cluster that is really there."""

from __future__ import annotations

import base64
import json
import re
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.commands.inspect.diagnose import _file_name, _named
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.objects.redaction_rules import RULES
from kymatui.engine.cluster.ports import PatchKind
from tests.browser import needs_browser, open_page
from tests.cli.test_fleet import run

pytestmark = pytest.mark.xdist_group("fleet")

ON_RUNTIME = ("--context", "skr")


@pytest.fixture(autouse=True)
def environment(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(two_clusters))
    monkeypatch.chdir(tmp_path)


def content(path: Path) -> dict[str, str]:
    """The files of an archive below its one folder."""
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        assert len({one.name.partition("/")[0] for one in members}) == 1
        assert all(one.isfile() and one.mode == 0o600 for one in members)
        found = {one.name.partition("/")[2]: archive.extractfile(one) for one in members}
        return {name: file.read().decode() for name, file in found.items() if file is not None}


@pytest.mark.parametrize("words", [ON_RUNTIME, ("--remote", "skr")], ids=["context", "remote"])
def test_a_module_is_gathered_from_every_side(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    target = tmp_path / "ticket.tgz"
    status, out, _ = run(capsys, "diagnose", "btp-operator", *words, "-o", str(target))
    assert status == 0
    assert out.startswith(f"wrote {target}: ")
    assert all(f"  {rule.name} " in out for rule in RULES)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    files = content(target)
    assert {"index.html", "catalog.json", "events.json", "rights.json", "versions.json", "redaction.json"} <= set(files)
    module = json.loads(files["modules/btp-operator.json"])
    assert module["name"] == "btp-operator"
    assert module["checks"]
    assert json.loads(files["versions.json"])["requests"]["reads"] > 0
    assert json.loads(files["versions.json"])["requests"]["writes"] == 0
    assert json.loads(files["events.json"])["events"]
    pod = next(name for name in files if name.startswith("objects/Pod/"))
    assert yaml.safe_load(files[pod])["kind"] == "Pod"
    assert any(name.startswith("logs/") and "configuration loaded" in text for name, text in files.items())
    if words == ("--remote", "skr"):
        assert any(name.startswith("objects/Manifest.operator.kyma-project.io/") for name in files)


def test_the_page_names_every_file_and_runs_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "ticket.tgz"
    assert run(capsys, "diagnose", "keda", *ON_RUNTIME, "-o", str(target))[0] == 0
    files = content(target)
    page = files.pop("index.html")
    assert all(f'<a href="{name}">' in page for name in files)
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert all(f">{rule.name}</td>" in page for rule in RULES)


@needs_browser
@pytest.mark.parametrize("width", [1280, 400])
def test_the_page_opens_in_a_browser_and_every_link_leads_to_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, width: int
) -> None:
    target = tmp_path / "ticket.tgz"
    assert run(capsys, "diagnose", "btp-operator", *ON_RUNTIME, "-o", str(target))[0] == 0
    with tarfile.open(target) as archive:
        archive.extractall(tmp_path / "ticket", filter="data")
    (index,) = (tmp_path / "ticket").rglob("index.html")
    page = open_page(index, tmp_path, width=width)
    assert page.messages == []
    links = re.findall(r'<a href="([^"#]+)"', page.document)
    assert len(links) > 10
    assert [name for name in links if not (index.parent / name).is_file()] == []
    assert page.picture.startswith(b"\x89PNG")


def test_all_modules_are_gathered_without_a_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = run(capsys, "diagnose", *ON_RUNTIME)
    (target,) = tmp_path.glob("kymatui-diagnose-skr-*.tgz")
    assert (status, out.partition(":")[0]) == (0, f"wrote {target.name}")
    files = content(target)
    rows = json.loads(files["catalog.json"])["modules"]
    assert {f"modules/{row['name']}.json" for row in rows} <= set(files)


def test_names_that_differ_in_unsafe_characters_alone_are_two_files() -> None:
    files = _named([("objects/a_b.yaml", "1"), ("objects/a_b.yaml", "2"), ("objects/a_b.yaml", "3")])
    assert files == {"objects/a_b.yaml": "1", "objects/a_b-2.yaml": "2", "objects/a_b-3.yaml": "3"}
    assert _file_name("../../etc/passwd") == "_.._etc_passwd"
    assert len(_file_name("x" * 999)) == 150


def test_an_existing_file_is_never_overwritten(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "ticket.tgz"
    target.write_text("mine")
    status, out, told = run(capsys, "diagnose", "keda", *ON_RUNTIME, "-o", str(target))
    assert (status, out) == (1, "")
    assert "already exists; not overwritten" in told
    assert target.read_text() == "mine"


def test_an_unknown_module_writes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, told = run(capsys, "diagnose", "kedaa", *ON_RUNTIME)
    assert status == 64
    assert "did you mean keda?" in told
    assert not list(tmp_path.glob("*.tgz"))


SECRET = GroupVersionKind("", "v1", "Secret")
UNREACHABLE = {
    "refused": "connection refused",
    "absent": "access secret not found",
    "expired": "does not accept the credentials",
}


@pytest.fixture
def control(two_clusters: Path) -> Iterator[KubeCluster]:
    found = KubeCluster(Client(Transport(connect(str(two_clusters), "kcp"))))
    yield found
    found.client.transport.close()


@pytest.fixture
def unreachable(request: pytest.FixtureRequest, control: KubeCluster) -> Iterator[tuple[str, str]]:
    """The name of a runtime that cannot be reached, and what is said of it."""
    secrets = {body["metadata"]["name"]: body for body in control.list(SECRET, "kcp-system")}
    name = next(name for name in sorted(secrets) if name != "kubeconfig-skr" and f"{name}-old" not in secrets)
    ref, runtime = read_ref(secrets[name]), name.removeprefix("kubeconfig-")
    mine = {key: value for key, value in secrets[name]["metadata"].items() if key in ("name", "namespace", "labels")}
    if request.param == "absent":
        control.delete(ref)
    elif request.param == "expired":
        config = yaml.safe_load(base64.b64decode(secrets["kubeconfig-skr"]["data"]["config"]))
        config["users"][0]["user"] = {"token": "expired-token-hunter2"}
        data = {"config": base64.b64encode(yaml.safe_dump(config).encode()).decode()}
        control.patch(ref, {"data": data}, PatchKind.MERGE)
    try:
        yield runtime, UNREACHABLE[request.param]
    finally:
        before = {"apiVersion": "v1", "kind": "Secret", "metadata": mine, "data": secrets[name]["data"]}
        control.apply(before, force=True)


@pytest.mark.parametrize("unreachable", list(UNREACHABLE), indirect=True)
def test_of_a_runtime_that_cannot_be_reached_the_control_plane_is_gathered(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, unreachable: tuple[str, str]
) -> None:
    runtime, why = unreachable
    target = tmp_path / "ticket.tgz"
    status, out, told = run(capsys, "diagnose", "--remote", runtime, "--context", "kcp", "-o", str(target))
    assert (status, out.startswith(f"wrote {target}: ")) == (3, True)
    assert told.endswith("kymatui: the runtime was not reached; the archive has what its control plane knows\n")
    files = content(target)
    unread = json.loads(files["not-read.json"])["notRead"]
    assert unread[0].startswith(f"runtime {runtime}: ")
    assert why in unread[0]
    assert f"objects/Kyma.operator.kyma-project.io/kcp-system_{runtime}.yaml" in files
    assert any(name.startswith("objects/Manifest.operator.kyma-project.io/") for name in files)
    assert json.loads(files["catalog.json"])["modules"], "as the Kyma on the control plane reports them"
    assert set(json.loads(files["versions.json"])["servers"]) == {"control plane"}
    assert "not reached: " in files["index.html"]
    assert not [name for name, text in files.items() if "hunter2" in text]


def test_one_module_of_an_unreachable_runtime(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, control: KubeCluster
) -> None:
    names = sorted(body["metadata"]["name"] for body in control.list(SECRET, "kcp-system"))
    runtime = next(name for name in names if name != "kubeconfig-skr").removeprefix("kubeconfig-")
    words = ("--remote", runtime, "--context", "kcp", "-o", str(tmp_path / "ticket.tgz"))
    status, _, told = run(capsys, "diagnose", "no-such-module", *words)
    assert status == 64, told
    assert not list(tmp_path.glob("*.tgz"))
    assert run(capsys, "catalog", "--remote", runtime, "--context", "kcp")[0] == 1, "other commands still need it"
