"""The commit of a repository: loose and packed, on branches, detached, in worktrees; and what is none."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kymatui.errors import ConfigurationError
from kymatui.publishing.disk_sources import read_commit
from tests.bundle.sources import commit

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *words: str) -> str:
    who = {"NAME": "A", "EMAIL": "a@example.com", "DATE": "1700000000 +0100"}
    environment = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    command = ["git", "-c", "init.defaultBranch=main", "-C", str(folder), *words]
    return subprocess.run(
        command, env={**os.environ, **environment}, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "committer X <x> 1 +0000")
    return folder


def test_a_loose_commit_needs_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = commit(tmp_path)
    monkeypatch.setenv("PATH", "")
    assert (read_commit(tmp_path).hash, read_commit(tmp_path).time) == (found, 1_700_000_000)


@needs_git
@pytest.mark.parametrize("how", ["loose", "packed", "detached", "worktree", "branch with a slash", "symbolic"])
def test_the_commit_of_head_is_found(repository: Path, how: str) -> None:
    folder = repository
    if how == "packed":
        git(folder, "gc", "-q")
        assert (folder / ".git/packed-refs").exists()
        assert list((folder / ".git/objects/pack").glob("*.pack"))
    elif how == "detached":
        git(folder, "checkout", "-q", "--detach")
    elif how == "worktree":
        git(folder, "gc", "-q")
        git(folder, "worktree", "add", "-q", str(folder.parent / "other"))
        folder = folder.parent / "other"
    elif how == "branch with a slash":
        git(folder, "checkout", "-q", "-b", "a/b.c")
    elif how == "symbolic":
        git(folder, "symbolic-ref", "refs/heads/other", "refs/heads/main")
        git(folder, "symbolic-ref", "HEAD", "refs/heads/other")
    found = read_commit(folder)
    assert (found.hash, found.time) == (git(folder, "rev-parse", "HEAD"), 1_700_000_000)


def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "gone"):
        with pytest.raises(ConfigurationError, match="is not a git repository"):
            read_commit(folder)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("ref: refs/heads/new\n", "has no commit"),
        ("", "has no commit"),
        ("ref: refs/../../../etc/passwd\n", "is damaged"),
        ("ref: /etc/passwd\n", "is damaged"),
        ("ref: refs/heads/loop\n", "has no commit"),
        ("0" * 40, "cannot be read"),
        ("../" * 20, "has no commit"),
    ],
)
def test_a_damaged_repository_is_refused(tmp_path: Path, head: str, words: str) -> None:
    commit(tmp_path)
    (tmp_path / ".git/HEAD").write_text(head)
    (tmp_path / ".git/refs/heads/loop").write_text("ref: refs/heads/loop\n")
    with pytest.raises(ConfigurationError, match=words):
        read_commit(tmp_path)


def test_a_commit_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    import zlib

    found = commit(tmp_path)
    path = tmp_path / ".git/objects" / found[:2] / found[2:]
    path.write_bytes(zlib.compress(b"commit 1\0" + b"x" * (64 << 20)))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_commit(tmp_path)
