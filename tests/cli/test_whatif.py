"""`kymatui whatif` and `kymatui fleet export` on a control plane with a small fleet, on a single cluster, on a file."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from kymatui.actions.modules.version_content import Affected, VersionEffect, VersionReport, compare_templates
from kymatui.adapters.content import change_files
from kymatui.cli.commands.fleet import whatif
from kymatui.cli.main import main
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MODULE_NAME, LABEL_SKIP, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.versions.version_risks import VersionRisk, VersionRiskKind
from kymatui.engine.cluster.ports import PatchKind
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.adapters.test_git_commits import git
from tests.browser import needs_browser, open_page
from tests.documents import DOCUMENTS

pytestmark = pytest.mark.xdist_group("fleet")  # one sandbox for all tests of this group

Json = dict[str, Any]
API = "operator.kyma-project.io/v1beta2"


class Fleet:
    """Runs commands on the control plane, whose fleet and catalog it has exported."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.file = folder / "fleet.json"
        assert self.run("fleet", "export", str(self.file))[0] == 0
        self.document: Json = json.loads(self.file.read_text())

    def run(self, *words: str) -> tuple[int, str, str]:
        status = main(words)
        found = self.capsys.readouterr()
        return status, found.out, found.err

    def failure(self, *words: str, status: int) -> str:
        """Return the message of a command that fails with this status."""
        found, out, err = self.run(*words)
        assert (found, out) == (status, "")
        return err

    def answer(self, *words: str) -> Json:
        found: Json = json.loads(self.run("whatif", *words, "-o", "json")[1])
        return found

    def write(self, *objects: Json, name: str = "new.yaml") -> str:
        path = self.folder / name
        path.write_text(yaml.safe_dump_all(objects))
        return str(path)

    def meta(self, module: str) -> Json:
        (found,) = [
            one
            for one in self.document["catalog"]
            if one["kind"] == "ModuleReleaseMeta" and one["metadata"]["name"] == module
        ]
        return dict(found)

    def reported(self, module: str) -> dict[str, str]:
        """The version that each runtime reports, without those that do not follow their channel."""
        return {
            kyma["metadata"]["name"]: entry["version"]
            for kyma in self.document["kymas"]
            for entry in kyma["status"]["modules"]
            if entry["name"] == module
        }

    def with_channels(self, module: str, version: str) -> Json:
        meta = self.meta(module)
        channels = [{**one, "version": version} for one in meta["spec"]["channels"]]
        return {**meta, "spec": {**meta["spec"], "channels": channels}}


@pytest.fixture
def fleet(
    two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Fleet:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(two_clusters))
    return Fleet(tmp_path, capsys)


def runtimes_of(changes: Sequence[Json], outcome: str) -> set[str]:
    return {one["runtime"] for one in changes if one["outcome"] == outcome}


def test_a_version_without_a_template_is_an_error_in_every_runtime_that_has_the_module(fleet: Fleet) -> None:
    path = fleet.write(fleet.with_channels("keda", "9.9.9"))
    found = fleet.answer("-f", path)
    broken = [one for one in found["changes"] if one["module"] == "keda"]
    assert runtimes_of(broken, "error") == {one["runtime"] for one in broken}
    assert len(broken) > 1
    assert {one["then"]["reason"] for one in broken} == {"template-missing"}
    assert found["counts"]["error"] == len(broken)
    status, out, _ = fleet.run("whatif", "-f", path)
    assert status == 2
    assert out.splitlines()[0].split() == ["OUTCOME", "MODULE", "INSTALLED", "VERSION", "RUNTIMES", "WHY"]
    assert out.splitlines()[-1].startswith("kcp: ")
    assert fleet.run("whatif", "-f", path, "--fail-on", "never")[0] == 0
    assert fleet.run("whatif", "-f", path, "--fail-on", "upgrade")[0] == 0
    assert fleet.run("whatif", "-f", path, "--fail-on", "any")[0] == 2


def test_the_catalog_as_it_is_changes_nothing(fleet: Fleet) -> None:
    path = fleet.write(*fleet.document["catalog"])
    status, out, _ = fleet.run("whatif", "-f", path)
    assert (status, out.strip().rpartition(": ")[2]) == (0, "nothing changes")
    assert fleet.answer("-f", path)["changes"] == []


def test_a_manifest_with_the_skip_label_keeps_its_module_in_the_forecast(fleet: Fleet, two_clusters: Path) -> None:
    control = open_cluster(SessionOptions(str(two_clusters), context="kcp"))
    bodies = control.list(GroupVersionKind.of(API, "Manifest"), "kcp-system", labels=f"{LABEL_MODULE_NAME}=keda")
    ref = next(read_ref(body) for body in bodies if body["metadata"]["labels"][LABEL_KYMA_NAME] != "skr")
    name = next(body["metadata"]["labels"][LABEL_KYMA_NAME] for body in bodies if read_ref(body) == ref)
    path = fleet.write(fleet.with_channels("keda", "1.6.0-experimental"))
    before = {one["runtime"] for one in fleet.answer("-f", path)["changes"] if one["module"] == "keda"}
    assert name in before
    control.patch(ref, {"metadata": {"labels": {LABEL_SKIP: "true"}}}, PatchKind.MERGE)
    try:
        after = {one["runtime"] for one in fleet.answer("-f", path)["changes"] if one["module"] == "keda"}
        note = fleet.run("whatif", "-f", path)[2]
    finally:
        control.patch(ref, {"metadata": {"labels": {LABEL_SKIP: None}}}, PatchKind.MERGE)
    assert after == before - {name}
    assert re.search("keda does not change in .*: its Manifest has the skip label", note)


def test_a_version_below_the_installed_one_is_refused(fleet: Fleet) -> None:
    template = next(
        one
        for one in fleet.document["catalog"]
        if one["kind"] == "ModuleTemplate" and "keda" in one["metadata"]["name"]
    )
    older = {
        **template,
        "metadata": {**template["metadata"], "name": "keda-0.0.1"},
        "spec": {**template["spec"], "version": "0.0.1"},
    }
    found = fleet.answer("-f", fleet.write(fleet.with_channels("keda", "0.0.1"), older))
    held = runtimes_of(found["changes"], "downgrade-refused")
    assert held
    assert held <= {name for name, version in fleet.reported("keda").items() if version}
    assert {one["then"]["version"] for one in found["changes"] if one["outcome"] == "downgrade-refused"} == {"0.0.1"}


def test_runtimes_behind_a_number_are_listed_with_their_reasons(fleet: Fleet) -> None:
    path = fleet.write(fleet.with_channels("keda", "9.9.9"))
    _, out, _ = fleet.run("whatif", "-f", path, "--module", "keda")
    lines = out.splitlines()
    assert lines[0].split() == ["RUNTIME", "OUTCOME", "MODULE", "INSTALLED", "VERSION", "WHY"]
    assert all("keda-9.9.9 is missing" in " ".join(line.split()) for line in lines[1:-2])
    name = lines[1].split()[0]
    chosen = fleet.answer("-f", path, "--runtime", name)
    assert {one["runtime"] for one in chosen["changes"]} == {name}
    assert chosen["runtimes"] == 1
    names = fleet.run("whatif", "-f", path, "--each", "-o", "name")[1].split()
    assert set(names) == {one["runtime"] for one in fleet.answer("-f", path)["changes"]}


def test_runtimes_are_counted_in_groups(fleet: Fleet) -> None:
    path = fleet.write(fleet.with_channels("keda", "9.9.9"))
    groups = fleet.answer("-f", path, "--group", "plan")["groups"]
    assert sum(one["runtimes"] for one in groups) == len(fleet.answer("-f", path)["changes"])
    assert len({one["plan"] for one in groups}) > 1
    plan = groups[0]["plan"]
    only = fleet.answer("-f", path, "--plan", plan)
    assert len(only["changes"]) == sum(one["runtimes"] for one in groups if one["plan"] == plan)


def test_canaries_are_runtimes_that_edits_take(fleet: Fleet) -> None:
    path = fleet.write(fleet.with_channels("keda", "9.9.9"))
    canaries = fleet.answer("-f", path, "--canaries")["canaries"]
    assert sum(one["standsFor"] for one in canaries) == len(
        {one["runtime"] for one in fleet.answer("-f", path)["changes"]}
    )
    out = fleet.run("whatif", "-f", path, "--canaries")[1]
    assert f"--fleet --runtime {canaries[0]['runtime']}" in out


def test_without_a_channel_that_has_the_version_the_options_are_named(fleet: Fleet) -> None:
    found = fleet.answer("--delete", "ModuleReleaseMeta/keda", "--canaries")
    assert found["edits"] == []
    assert len(found["canaries"]) > 1


def test_a_deleted_release_meta_is_an_error_and_an_unknown_one_is_refused(fleet: Fleet) -> None:
    found = fleet.answer("--delete", "modulereleasemeta/keda")
    assert {one["then"]["reason"] for one in found["changes"]} == {"no-release-meta"}
    assert re.search("did you mean keda", fleet.failure("whatif", "--delete", "ModuleReleaseMeta/kedaa", status=64))
    assert re.search("invalid --delete", fleet.failure("whatif", "--delete", "Kyma/a", status=64))


def test_a_fleet_file_gives_the_answer_of_the_control_plane(fleet: Fleet) -> None:
    path = fleet.write(fleet.with_channels("keda", "9.9.9"))
    packed = fleet.folder / "fleet.json.gz"
    assert fleet.run("fleet", "export", str(packed))[0] == 0
    assert json.loads(gzip.decompress(packed.read_bytes()))["kymas"] == fleet.document["kymas"]
    there = fleet.answer("-f", path)
    for file in (fleet.file, packed):
        here = fleet.answer("-f", path, "--fleet", str(file))
        assert (here["changes"], here["counts"]) == (there["changes"], there["counts"])


def test_an_exported_fleet_hashes_names_on_request(fleet: Fleet) -> None:
    path = fleet.folder / "hashed.json"
    assert fleet.run("fleet", "export", str(path), "--hash-ids")[0] == 0
    document = json.loads(path.read_text())
    names = {kyma["metadata"]["name"] for kyma in fleet.document["kymas"]}
    assert not names & {kyma["metadata"]["name"] for kyma in document["kymas"]}
    assert len(document["kymas"]) == len(names)
    assert path.stat().st_mode & 0o077 == 0


def test_a_single_cluster_is_a_fleet_of_one(fleet: Fleet) -> None:
    found = fleet.answer("--context", "skr", "--delete", "ModuleReleaseMeta/keda")
    assert (found["runtimes"], {one["module"] for one in found["changes"]}) == (1, {"keda"})


def test_a_check_of_a_pull_request_gets_sarif(fleet: Fleet) -> None:
    path = fleet.write(fleet.with_channels("keda", "9.9.9"))
    status, out, _ = fleet.run("whatif", "-f", path, "-o", "sarif")
    (log,) = json.loads(out)["runs"]
    assert status == 2
    assert [rule["id"] for rule in log["tool"]["driver"]["rules"]] == ["whatif.error"]
    assert {one["level"] for one in log["results"]} == {"error"}
    assert "keda-9.9.9" in log["results"][0]["message"]["text"]
    assert fleet.run("whatif", "-f", path, "-o", "md")[1].startswith("| OUTCOME | MODULE |")


def test_folders_are_read_and_an_object_that_two_files_have_is_refused(fleet: Fleet) -> None:
    folder = fleet.folder / "catalog" / "keda"
    folder.mkdir(parents=True)
    (folder / "kustomization.yaml").write_text("kind: Kustomization\n")
    (folder / "README.md").write_text("no YAML: {")
    (folder / "meta.yml").write_text(yaml.safe_dump(fleet.with_channels("keda", "9.9.9")))
    assert fleet.answer("-f", str(folder.parent))["counts"]["error"] > 1
    (folder / "twin.yaml").write_text(yaml.safe_dump(fleet.meta("keda")))
    assert re.search(r"meta.yml and .*twin.yaml", fleet.failure("whatif", "-f", str(folder.parent), status=1))


def test_a_folder_that_is_too_deep_or_too_large_is_refused(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("whatif", "--fleet", str(fleet.file), "-f")
    deep = fleet.folder / "deep"
    (deep / "/".join("a" for _ in range(40))).mkdir(parents=True)
    assert "32 folders deep" in fleet.failure(*words, str(deep), status=1)
    flat = fleet.folder / "flat"
    flat.mkdir()
    for name in "abc":
        (flat / f"{name}.yaml").write_text(yaml.safe_dump(fleet.meta("keda")))
    monkeypatch.setattr(change_files, "MOST_FILES", 2)
    assert "more than 2 files" in fleet.failure(*words, str(flat), status=1)
    (flat / "loop").symlink_to(flat)
    (flat / "c.yaml").unlink()
    assert "more than once in" in fleet.failure(*words, str(flat), status=1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", r"bad.yaml: document 1"),
        ("kind: ModuleReleaseMeta\napiVersion: v1\n---\nb: {", r"bad.yaml: document"),
        (f"apiVersion: {API}\nkind: ModuleTemplate\nmetadata: {{}}\n", "bad.yaml"),
        (f"apiVersion: {API}\nkind: ModuleReleaseMeta\nmetadata: {{name: a}}\nspec: 7\n", "bad.yaml.*malformed"),
        (
            f"apiVersion: {API}\nkind: Kyma\nmetadata: {{name: skr}}\nspec: {{modules: keda}}\n",
            "bad.yaml: Kyma kcp-system/skr: spec.modules",
        ),
        ("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n", "bad.yaml has no ModuleReleaseMeta"),
        (f"apiVersion: {API}\nkind: ModuleReleaseMeta\nmetadata: {'[' * 600}\n", "bad.yaml: document 1"),
        ("", "bad.yaml has no"),
    ],
)
def test_what_is_no_catalog_is_refused_with_file_and_document(fleet: Fleet, content: str, message: str) -> None:
    path = fleet.folder / "bad.yaml"
    path.write_text(content)
    assert re.search(message, fleet.failure("whatif", "-f", str(path), "--fleet", str(fleet.file), status=1))


def test_a_file_that_is_no_fleet_is_refused(fleet: Fleet) -> None:
    for name, content in (
        ("a.json", b"{}"),
        ("b.json", b"["),
        ("c.json.gz", b"no gzip"),
        ("d.json.gz", b"\x1f\x8b\x08"),
    ):
        path = fleet.folder / name
        path.write_bytes(content)
        assert re.search(name, fleet.failure("whatif", "--label", "beta=true", "--fleet", str(path), status=1))
    assert re.search(
        "cannot read", fleet.failure("whatif", "--label", "beta=true", "--fleet", "/nowhere.json", status=1)
    )


def test_a_name_that_promises_zstd_is_refused_before_anything_is_read(fleet: Fleet) -> None:
    path = fleet.folder / "fleet.json.zst"
    assert re.search("zstd is not supported", fleet.failure("fleet", "export", str(path), status=1))
    assert not path.exists()
    assert re.search("zstd is not supported", fleet.failure("whatif", "--label", "a=b", "--fleet", str(path), status=1))


def test_no_change_and_no_file_are_usage_errors(fleet: Fleet) -> None:
    assert re.search("no change given", fleet.failure("whatif", status=64))
    assert re.search("missing FILE", fleet.failure("fleet", "export", status=64))
    assert re.search(
        "cannot be combined with --fleet FILE",
        fleet.failure("whatif", "--label", "beta=true", "--fleet", str(fleet.file), "-l", "a=b", status=64),
    )


def test_the_versions_of_an_upgrade_are_compared_on_request(fleet: Fleet) -> None:
    path = fleet.write(fleet.with_channels("istio", "1.12.0"))
    found = fleet.answer("-f", path, "--manifests")
    (move,) = [one for one in found["versions"] if one["from"] == "1.11.0"]
    upgraded = [one for one in found["changes"] if one["outcome"] in ("upgrade", "wait")]
    assert (move["module"], move["to"]) == ("istio", "1.12.0")
    assert move["runtimes"] == len([one for one in upgraded if one["installed"] == "1.11.0"])
    assert "versions" not in fleet.answer("-f", path)
    assert (len(move["differences"]["images"]) > 0, move["unread"]) == (True, [])
    for more in ((), ("--each",), ("--canaries",)):
        status, out, _ = fleet.run("whatif", "-f", path, "--manifests", *more)
        lines = [line.split() for line in out.splitlines()]
        assert status == 0
        assert ["MODULE", "FROM", "TO", "SECTION", "CHANGE", "WHAT", "VALUE"] in lines
        assert ["istio", "1.11.0", "1.12.0", "images"] in [line[:4] for line in lines]
    assert "cannot print SARIF" in fleet.failure("whatif", "-f", path, "--manifests", "-o", "sarif", status=64)


def test_a_version_without_a_template_is_named_and_not_compared(fleet: Fleet) -> None:
    template = next(one for one in fleet.document["catalog"] if one["metadata"]["name"] == "istio-1.11.0")
    document = {**fleet.document, "catalog": [one for one in fleet.document["catalog"] if one is not template]}
    fleet.file.write_text(json.dumps(document))
    path = fleet.write(fleet.with_channels("istio", "1.12.0"))
    words = ("whatif", "-f", path, "--fleet", str(fleet.file), "--manifests")
    status, _, err = fleet.run(*words)
    assert status == 3
    assert "istio 1.11.0: no ModuleTemplate" in err


def test_risks_precede_the_differences_and_only_a_single_cluster_is_asked_who_is_affected(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def compared(reader: object, connect: Any, before: Any, after: Any) -> VersionReport:
        asked.append(connect().name if connect is not None else "")
        refs = (ObjectRef(GroupVersionKind("a.io", "v1", "Box"), "ns", "one"),)
        affected = (Affected(VersionEffect.FIELD_REMOVED, "boxes.a.io", "spec.a", refs),) if connect else ()
        risk = VersionRisk(VersionRiskKind.REFUSED, "Deployment ns/a", "spec.selector")
        return replace(compare_templates(before, after), risks=(risk,), affected=affected)

    monkeypatch.setattr(whatif, "compare_contents", compared)
    path = fleet.write(fleet.with_channels("istio", "1.12.0"))
    words = ("-f", path, "--manifests")
    expected = {"risk": "immutableField", "object": "Deployment ns/a", "what": "spec.selector"}
    assert all(one["risks"] == [expected] for one in fleet.answer(*words)["versions"])
    assert {*asked} == {""}
    lines = fleet.run("whatif", *words)[1].splitlines()
    head = [line.split() for line in lines].index(["MODULE", "FROM", "TO", "RISK", "OBJECT", "WHAT"])
    assert "refused: the field is immutable" in lines[head + 1]
    assert "<h2>Risks</h2>" in fleet.run("whatif", *words, "-o", "html")[1]
    asked.clear()
    words = ("-f", next_keda(fleet), "--manifests")
    assert len(fleet.answer(*words, "--context", "skr")["versions"][0]["affected"]) == 1
    assert asked == ["skr"]
    fleet.answer(*words, "--fleet", str(fleet.folder / "skr.json"))
    assert asked == ["skr", ""]


def next_keda(fleet: Fleet) -> str:
    """A file with a version of keda that is newer than the one in the runtime, whose fleet is `skr.json` then."""
    one = fleet.folder / "skr.json"
    assert fleet.run("fleet", "export", str(one), "--context", "skr")[0] == 0
    catalog = json.loads(one.read_text())["catalog"]
    meta = next(raw for raw in catalog if (raw["kind"], raw["metadata"]["name"]) == ("ModuleReleaseMeta", "keda"))
    template = next(raw for raw in catalog if raw["spec"].get("moduleName") == "keda" and raw["spec"].get("version"))
    meta["spec"]["channels"] = [{**channel, "version": "99.0.0"} for channel in meta["spec"]["channels"]]
    template["spec"]["version"], template["metadata"]["name"] = "99.0.0", "keda-99.0.0"
    return fleet.write(meta, template, name="next.yaml")


def guide_commands() -> list[str]:
    """The commands of the guide's page, without their comments."""
    found = re.findall(r"^```sh\n(.*?)^```$", DOCUMENTS["docs/guide/whatif.md"], re.MULTILINE | re.DOTALL)
    return [line.partition("  #")[0].strip() for block in found for line in block.splitlines()]


def commit_catalog(folder: Path) -> None:
    git(folder, "add", "catalog")
    git(folder, "commit", "-q", "-m", "catalog")


@pytest.mark.skipif(shutil.which("git") is None, reason="the guide uses git")
def test_the_commands_of_the_guide_work_as_written(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fleet.folder)
    (fleet.folder / "catalog").mkdir()
    fleet.write(fleet.with_channels("keda", "9.9.9"), name="keda.yaml")
    fleet.write(fleet.meta("keda"), name="catalog/keda.yaml")
    git(fleet.folder, "init", "-q")
    commit_catalog(fleet.folder)
    git(fleet.folder, "update-ref", "refs/remotes/origin/main", "HEAD")
    fleet.write(fleet.with_channels("keda", "9.9.9"), name="catalog/keda.yaml")
    commit_catalog(fleet.folder)
    (fleet.folder / "maintenance.json").write_text('{"rules": [], "default": {"days": ["Sun"], "begin": "04:00:00Z"}}')
    commands = guide_commands()
    exports = [line for line in commands if " export " in line]
    assert len(commands) > 10
    assert exports
    for line in sorted(commands, key=lambda one: one not in exports):
        program, *words = line.split()
        status, out, err = fleet.run(*words)
        assert program == "kymatui"
        assert (status in (0, 2), bool(out)) == (True, True), f"{line}: {err}"
        broken = ("keda.yaml" in line or "catalog/" in line) and "never" not in words
        assert (status == 2) == (broken or "--delete" in words or "--restricted" in words), line


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_two_revisions_of_a_folder_are_a_change(fleet: Fleet) -> None:
    repository = fleet.folder / "repository"
    catalog = repository / "catalog"
    catalog.mkdir(parents=True)
    git(repository, "init", "-q")
    (catalog / "keda.yaml").write_text(yaml.safe_dump(fleet.meta("keda")))
    (catalog / "istio.yaml").write_text(yaml.safe_dump(fleet.meta("istio")))
    (catalog / "kustomization.yaml").write_text("resources: [keda.yaml]\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "one")
    (catalog / "keda.yaml").write_text(yaml.safe_dump(fleet.with_channels("keda", "9.9.9")))
    (catalog / "istio.yaml").unlink()
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "two")
    words = ("--git", "HEAD~1..HEAD", str(catalog))
    found = fleet.answer(*words)["changes"]
    reasons = {(one["module"], one["then"]["reason"]) for one in found}
    assert reasons == {("keda", "template-missing"), ("istio", "no-release-meta")}
    status, _, err = fleet.run("whatif", *words)
    assert status == 2
    assert "HEAD:kustomization.yaml is not rendered" in err
    assert fleet.answer("--git", "HEAD..HEAD", str(catalog))["changes"] == []
    clash = fleet.failure("whatif", *words, "-f", str(catalog / "keda.yaml"), status=64)
    assert "ModuleReleaseMeta/kcp-system/keda is in -f and in --git" in clash
    assert "invalid --git" in fleet.failure("whatif", "--git", "HEAD", str(catalog), status=64)


def test_a_page_opens_the_runtimes_behind_each_number(fleet: Fleet) -> None:
    path = fleet.write(fleet.with_channels("keda", "9.9.9"))
    status, page, _ = fleet.run("whatif", "-f", path, "-o", "html")
    found = fleet.answer("-f", path)
    assert status == 2
    assert page.count("<details>") == len(found["groups"])
    assert all(f">{one['runtime']}</td>" in page for one in found["changes"])
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page
    assert "keda-9.9.9 is missing" in page
    assert not re.search(r"<script|<link|<img|src=|href=|@import|url\(", page)
    compared = fleet.write(fleet.with_channels("istio", "1.12.0"), name="istio.yaml")
    assert "<h2>Versions</h2>" in fleet.run("whatif", "-f", compared, "-o", "html", "--manifests")[1]
    assert "<h2>plan" in fleet.run("whatif", "-f", path, "-o", "html", "--group", "plan")[1].lower()


def test_a_page_without_a_change_says_so_and_names_run_nothing(fleet: Fleet) -> None:
    path = fleet.write(*fleet.document["catalog"])
    status, page, _ = fleet.run("whatif", "-f", path, "-o", "html")
    assert (status, "nothing changes" in page, "<details>" in page) == (0, True, False)
    evil = "</td><script>alert(1)</script>\x1b[31m&amp;"
    document = json.loads(json.dumps(fleet.document))
    for one in document["kymas"]:
        one["metadata"]["labels"]["kyma-project.io/region"] = evil
    fleet.file.write_text(json.dumps({**document, "cluster": evil}))
    broken = fleet.write(fleet.with_channels("keda", "9.9.9"))
    page = fleet.run("whatif", "-f", broken, "-o", "html", "--fleet", str(fleet.file), "--group", "region")[1]
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "\x1b" not in page


@needs_browser
def test_the_page_opens_in_a_browser_without_messages(fleet: Fleet) -> None:
    path = fleet.folder / "page.html"
    path.write_text(fleet.run("whatif", "-f", fleet.write(fleet.with_channels("keda", "9.9.9")), "-o", "html")[1])
    page = open_page(path, fleet.folder)
    assert "<details>" in page.document
    assert page.messages == []
