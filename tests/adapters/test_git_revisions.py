"""Manifests of two git revisions: what changed, went and moved; hostile names, links, sizes, and no git."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.content import git_revisions
from kymatui.adapters.content.change_files import ChangedFiles, read_change_files, read_git_change
from kymatui.errors import ConfigurationError, UsageError
from tests.adapters.test_git_commits import git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
API = "operator.kyma-project.io/v1beta2"


def meta(name: str, version: str = "1.0.0", **more: Any) -> str:
    channels = [{"channel": "fast", "version": version}]
    body = {"kind": "ModuleReleaseMeta", "metadata": {"name": name}, "spec": {"moduleName": name, "channels": channels}}
    return yaml.safe_dump({"apiVersion": API, **body, **more})


def kyma(name: str, **labels: str) -> str:
    body = {"kind": "Kyma", "metadata": {"name": name, "labels": labels}, "spec": {"channel": "fast"}}
    return yaml.safe_dump({"apiVersion": API, **body})


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        git(folder, "init", "-q")

    def commit(self, files: Mapping[str, str | None], tag: str) -> None:
        for name, content in files.items():
            path = self.folder / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", tag)
        git(self.folder, "tag", tag)

    def change(self, revisions: str = "old..new", folder: str = "catalog") -> ChangedFiles:
        return read_git_change(revisions, str(self.folder / folder), "kcp-system")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def names(found: ChangedFiles) -> list[str]:
    return [raw["metadata"]["name"] for raw in found.objects]


def test_objects_that_differ_are_the_change_and_those_that_went_are_deleted(repository: Repository) -> None:
    same = {"catalog/same.yaml": meta("same"), "other/nats.yaml": meta("nats")}
    repository.commit(same | {"catalog/keda.yaml": meta("keda"), "catalog/a/gone.yml": meta("gone")}, "old")
    changed = {"catalog/keda.yaml": meta("keda", "2.0.0"), "catalog/a/gone.yml": None, "other/nats.yaml": None}
    repository.commit(changed | {"catalog/istio.json": meta("istio")}, "new")
    (repository.folder / "catalog/keda.yaml").write_text("not committed: {")
    found = repository.change()
    assert sorted(names(found)) == ["istio", "keda"]
    assert found.deleted == {("ModuleReleaseMeta", "kcp-system", "gone")}
    assert found.objects[-1]["metadata"]["namespace"] == "kcp-system"


def test_an_object_in_a_renamed_file_is_no_change(repository: Repository) -> None:
    repository.commit({"catalog/a.yaml": meta("keda")}, "old")
    repository.commit({"catalog/a.yaml": None, "catalog/b/c.yaml": meta("keda")}, "new")
    assert repository.change() == ChangedFiles()


def test_an_empty_side_is_head_and_three_dots_start_where_the_branches_part(repository: Repository) -> None:
    repository.commit({"catalog/a.yaml": meta("keda")}, "old")
    git(repository.folder, "checkout", "-q", "-b", "feature")
    repository.commit({"catalog/a.yaml": meta("keda", "2.0.0")}, "new")
    git(repository.folder, "checkout", "-q", "main")
    repository.commit({"catalog/b.yaml": meta("nats")}, "later")
    assert names(repository.change("old..")) == ["nats"]
    assert names(repository.change("main...feature")) == ["keda"]
    assert repository.change("main...feature").deleted == frozenset()
    assert repository.change("main..feature").deleted == {("ModuleReleaseMeta", "kcp-system", "nats")}


def test_a_label_that_a_kyma_loses_is_removed_and_a_kyma_that_goes_is_named(repository: Repository) -> None:
    repository.commit({"catalog/a.yaml": kyma("a", beta="true"), "catalog/b.yaml": kyma("b")}, "old")
    repository.commit({"catalog/a.yaml": kyma("a", new="x"), "catalog/b.yaml": None}, "new")
    found = repository.change()
    assert found.objects[0]["metadata"]["labels"] == {"beta": None, "new": "x"}
    assert found.deleted == frozenset()
    assert found.deleted_kymas == ("kcp-system/b",)


def test_a_folder_that_one_revision_lacks_and_a_repository_without_files_are_read(repository: Repository) -> None:
    repository.commit({"README": "x"}, "old")
    repository.commit({"catalog/a.yaml": meta("keda")}, "new")
    assert names(repository.change()) == ["keda"]
    (repository.folder / "catalog/a.yaml").unlink()
    (repository.folder / "catalog").rmdir()
    assert repository.change("new..old").deleted == {("ModuleReleaseMeta", "kcp-system", "keda")}
    bare = repository.folder.parent / "bare.git"
    git(repository.folder, "clone", "-q", "--bare", ".", str(bare))
    assert names(read_git_change("old..new", str(bare), "kcp-system")) == ["keda"]


def test_kustomizations_are_named_and_links_modules_and_hidden_files_are_not_read(repository: Repository) -> None:
    repository.commit({"catalog/a.yaml": meta("keda")}, "old")
    (repository.folder / "catalog/link.yaml").symlink_to("/etc/passwd")
    (repository.folder / "catalog/folder").symlink_to("/etc")
    more = {"catalog/.hidden.yaml": "a: [", "catalog/.ci/x.yaml": "a: [", "catalog/notes.txt": "a: ["}
    repository.commit({"catalog/base/kustomization.yaml": "resources: [a.yaml]\n", **more}, "new")
    found = repository.change()
    assert (found.objects, found.kustomizations) == ((), ("new:base/kustomization.yaml",))


def test_hostile_names_are_names(repository: Repository) -> None:
    repository.commit({"catalog/x.yaml": meta("keda")}, "old")
    hostile = ["-rf.yaml", "a\nb\x1b[31m.yaml", "$(touch x).yaml", '"quoted".yaml', ":(exclude).yaml"]
    repository.commit({f"catalog/{name}": meta(f"m{at}") for at, name in enumerate(hostile)}, "new")
    assert sorted(names(repository.change())) == [f"m{at}" for at in range(len(hostile))]


@pytest.mark.parametrize("revisions", ["old", "..", "", "--output=x..new", "old..--all", "old..new..old", "old\n..new"])
def test_what_is_no_pair_of_revisions_is_a_usage_error(repository: Repository, revisions: str) -> None:
    repository.commit({"catalog/x.yaml": meta("keda")}, "old")
    with pytest.raises(UsageError):
        repository.change(revisions)


def test_an_unknown_revision_and_a_folder_without_repository_are_named(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"catalog/x.yaml": meta("keda")}, "old")
    with pytest.raises(UsageError, match="nowhere"):
        repository.change("old..nowhere")
    with pytest.raises(ConfigurationError, match="not in a git repository"):
        read_git_change("a..b", str(tmp_path), "kcp-system")
    with pytest.raises(ConfigurationError, match="neither"):
        repository.change("old..old", "elsewhere")


def test_commands_of_the_repository_configuration_do_not_run(repository: Repository) -> None:
    repository.commit({"catalog/x.yaml": meta("keda"), "catalog/.gitattributes": "*.yaml filter=evil diff=evil"}, "old")
    repository.commit({"catalog/x.yaml": meta("keda", "2.0.0")}, "new")
    proof = repository.folder.parent / "proof"
    for key in ("filter.evil.smudge", "diff.evil.textconv", "core.fsmonitor", "core.pager", "core.sshCommand"):
        git(repository.folder, "config", key, f"touch {proof}")
    assert names(repository.change()) == ["keda"]
    assert not proof.exists()


def test_limits_of_files_and_bytes_hold(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit({"catalog/x.yaml": meta("keda")}, "old")
    repository.commit({"catalog/x.yaml": meta("keda", "2.0.0"), "catalog/y.yaml": meta("nats")}, "new")
    with monkeypatch.context() as patch:
        patch.setattr(git_revisions, "MOST_FILES", 1)
        with pytest.raises(ConfigurationError, match="more than 1 file"):
            repository.change()
    with monkeypatch.context() as patch:
        patch.setattr(git_revisions, "LARGEST_TEXT", 100)
        with pytest.raises(ConfigurationError, match="larger than"):
            repository.change()
    with monkeypatch.context() as patch:
        patch.setattr(git_revisions, "LARGEST_TREE", 10)
        with pytest.raises(ConfigurationError, match="git cannot list the files of old"):
            repository.change()


def object_file(repository: Repository, name: str) -> Path:
    """Return the file of a loose object: `new:catalog/x.yaml` is a blob, `new:catalog` a tree."""
    found = git(repository.folder, "rev-parse", name).strip()
    return repository.folder / ".git/objects" / found[:2] / found[2:]


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ("new:catalog/x.yaml", "git cannot read new:x.yaml"),
        ("old:catalog/x.yaml", "git cannot read old:x.yaml"),
        ("new:catalog/deep", "git cannot list the files of new"),
        ("new:catalog", "git cannot list the files of new"),
        ("new:catalog/kustomization.yaml", "git cannot read new:kustomization.yaml"),
    ],
)
@pytest.mark.parametrize("is_damaged", [False, True])
def test_content_that_the_repository_lacks_is_an_error(
    repository: Repository, lost: str, message: str, is_damaged: bool
) -> None:
    repository.commit({"catalog/x.yaml": meta("keda"), "catalog/kustomization.yaml": "a: b\n"}, "old")
    more = {"catalog/deep/y.yaml": meta("nats"), "catalog/kustomization.yaml": "a: c\n"}
    repository.commit({"catalog/x.yaml": meta("keda", "2.0.0"), "catalog/notes.txt": "x", **more}, "new")
    assert sorted(names(repository.change())) == ["keda", "nats"]
    path = object_file(repository, lost)
    path.chmod(0o600)
    path.unlink()
    if is_damaged:
        path.write_bytes(b"damaged")
    with pytest.raises(ConfigurationError, match=r"^git cannot (read|list)") as error:
        repository.change()
    assert is_damaged or str(error.value) == message
    assert "partial or shallow clone" in error.value.hint


def test_content_that_is_no_manifest_may_be_missing(repository: Repository) -> None:
    repository.commit({"catalog/x.yaml": meta("keda"), "catalog/logo.png": "x"}, "old")
    repository.commit({"catalog/x.yaml": meta("keda", "2.0.0")}, "new")
    object_file(repository, "old:catalog/logo.png").unlink()
    assert names(repository.change()) == ["keda"]


@pytest.mark.parametrize("kept", ["blob:none", "tree:0", "blob:limit=1"])
def test_a_partial_clone_is_not_a_smaller_catalog(repository: Repository, kept: str, tmp_path: Path) -> None:
    repository.commit({"catalog/x.yaml": meta("keda")}, "old")
    repository.commit({"catalog/x.yaml": meta("keda", "2.0.0")}, "new")
    git(repository.folder, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    place = f"file://{repository.folder}"
    git(repository.folder, "clone", "-q", "--no-checkout", f"--filter={kept}", place, str(clone))
    with pytest.raises(ConfigurationError, match=r"^git cannot (read|list)"):
        read_git_change("old..new", str(clone / "catalog"), "kcp-system")


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 123\n"


def test_a_pointer_of_git_lfs_is_not_the_file(repository: Repository) -> None:
    repository.commit({"catalog/x.yaml": meta("keda")}, "old")
    repository.commit({"catalog/x.yaml": POINTER}, "new")
    with pytest.raises(ConfigurationError, match=r"^new:x\.yaml is a pointer of Git LFS"):
        repository.change()
    with pytest.raises(ConfigurationError, match=r"x\.yaml is a pointer of Git LFS"):
        read_change_files([str(repository.folder / "catalog")], "kcp-system")


@pytest.mark.parametrize("path", ["catalog/x.yaml", "catalog/deep"])
def test_a_manifest_that_becomes_a_link_is_not_deleted(repository: Repository, path: str) -> None:
    repository.commit({"catalog/x.yaml": meta("keda"), "catalog/deep/y.yaml": meta("nats")}, "old")
    git(repository.folder, "rm", "-q", "-r", path)
    (repository.folder / "catalog").mkdir(exist_ok=True)
    (repository.folder / path).symlink_to("../elsewhere")
    repository.commit({"elsewhere": meta("keda")}, "new")
    for revisions, name in (("old..new", "new"), ("new..old", "new")):
        with pytest.raises(ConfigurationError, match=f"^{name}:.* is a symbolic link, whose content is not read"):
            repository.change(revisions)


def test_two_files_of_a_revision_with_one_object_are_refused(repository: Repository) -> None:
    repository.commit({"catalog/x.yaml": meta("keda")}, "old")
    repository.commit({"catalog/y.yaml": meta("keda", "2.0.0")}, "new")
    with pytest.raises(ConfigurationError, match=r"new:x\.yaml and new:y\.yaml"):
        repository.change()


def test_without_git_the_error_says_so(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ConfigurationError, match="git is not installed"):
        repository.change("a..b", ".")
