"""The current commit of a git repository, read from its files; git itself only unpacks packed commits."""

from __future__ import annotations

import re
import subprocess
import zlib
from pathlib import Path
from typing import Final

from kymatui.adapters.content.git_revisions import git_environment
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError
from kymatui.publishing.module_component import GitCommit

LARGEST_COMMIT: Final = 1024 * 1024  # bytes of a commit that are read: the time is in its header
GIT_SECONDS: Final = 10.0  # after which the commit counts as unreadable
_HASH: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF: Final = re.compile(r"refs/[^\0\s\\]+")
_COMMITTER: Final = re.compile(rb"^committer [^\n]*> (\d{1,12}) [+-]\d{4}$", re.MULTILINE)


def read_commit(folder: Path) -> GitCommit:
    """Return the commit that HEAD names. Raise ConfigurationError if the folder is no git repository."""
    git = _git_folder(folder)
    commit = _head(git, folder)
    return GitCommit(commit, _time(git, commit, folder))


def _git_folder(folder: Path) -> Path:
    """Return the folder of the repository's files; worktrees and submodules name it in a file."""
    git_folder = folder / ".git"
    if git_folder.is_file():
        text = _text(git_folder)
        git_folder = folder / text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else git_folder
    if not git_folder.is_dir():
        raise ConfigurationError(
            f"{folder} is not a git repository", hint="use --sources DIR: the component names the commit of its sources"
        )
    return git_folder


def _head(git: Path, folder: Path) -> str:
    text = _text(git / "HEAD").strip()
    for _ in range(5):  # symbolic references may name others
        if not text.startswith("ref:"):
            break
        text = _reference(git, text.removeprefix("ref:").strip(), folder)
    if not _HASH.fullmatch(text):
        raise ConfigurationError(f"{folder} has no commit", hint="commit the sources of the module first")
    return text


def _reference(git: Path, name: str, folder: Path) -> str:
    if not _REF.fullmatch(name) or ".." in name:
        raise ConfigurationError(f"{folder}: HEAD of the git repository is damaged")
    for root in (git, _shared(git)):
        if (root / name).is_file():
            return _text(root / name).strip()
        for line in _text(root / "packed-refs").splitlines():
            commit, _, packed = line.partition(" ")
            if packed == name:
                return commit
    return ""


def _shared(git: Path) -> Path:
    """Return the folder that all worktrees of a repository share."""
    text = _text(git / "commondir").strip()
    return git / text if text else git


def _time(git: Path, commit: str, folder: Path) -> int:
    content = _loose(git, commit) or _unpacked(git, commit)
    match = _COMMITTER.search(content)
    if not match:
        raise ConfigurationError(
            f"{folder}: commit {commit} cannot be read",
            hint="install git, or set SOURCE_DATE_EPOCH to the creation time in seconds",
        )
    return int(match[1])


def _loose(git: Path, commit: str) -> bytes:
    try:
        packed = (_shared(git) / "objects" / commit[:2] / commit[2:]).read_bytes()
        content = zlib.decompressobj().decompress(packed, LARGEST_COMMIT)
    except (OSError, zlib.error):  # packed objects are no files of their own; git reads those
        return b""
    return content.partition(b"\0")[2] if content.startswith(b"commit ") else b""


def _unpacked(git: Path, commit: str) -> bytes:
    environment = {**git_environment(), "GIT_DIR": str(git.resolve())}
    try:
        done = subprocess.run(  # noqa: S603 (the hash is hexadecimal)
            ["git", "cat-file", "commit", commit],  # noqa: S607
            env=environment,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout[:LARGEST_COMMIT] if done.returncode == 0 else b""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace") if path.is_file() else ""
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error_reason(error)}") from error
