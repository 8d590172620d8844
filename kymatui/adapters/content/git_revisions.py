"""The files of a folder at a revision of a git repository, read with git's plumbing; the work tree is not touched.

git runs without network, pager, hooks and filters: a repository that someone else wrote starts no command.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.errors import ConfigurationError, UsageError
from kymatui.helm.yaml.limits import LARGEST_TEXT

MOST_FILES: Final = 5000  # manifests of one revision, as many as of a folder
LARGEST_TREE: Final = 64 * 1024 * 1024
"""The most bytes of a listing: about 500,000 files."""
GIT_SECONDS: Final = 60.0  # seconds until a git that hangs is killed
_INCOMPLETE: Final = "a partial or shallow clone lacks objects: fetch them first; `git fsck` finds damage"
_RANGE: Final = re.compile(r"(?P<base>[^-\s.][^\s]*?)?(?P<dots>\.{2,3})(?P<head>[^-\s.][^\s]*)?")
_FILES: Final = ("100644", "100755", "100664")
_UNREAD: Final = {"120000": "a symbolic link", "160000": "a submodule"}
_FOREIGN: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_CONFIG_PARAMETERS", "GIT_TRACE")
"""Variables of a hook or of another repository, which would name other files than the folder."""


class Revision(Struct, frozen=True):
    """A commit of a repository, and a folder in it: `path` from `root`, "" for all of `root`."""

    name: str
    commit: str
    root: Path
    path: str


class RevisionFile(Struct, frozen=True):
    """A file at a revision; `path` is below the folder, `size` None if the repository lacks the content.

    unread  why its content does not count: "a symbolic link"; "" for a regular file
    """

    path: str
    hash: str
    size: int | None
    unread: str = ""


def open_revisions(revisions: str, folder: str) -> tuple[Revision, Revision]:
    """Return both revisions of `BASE..HEAD`; `BASE...HEAD` starts where both part, an empty side is HEAD.

    Raises UsageError for a malformed or unknown revision, ConfigurationError without git or a repository.
    """
    match = _RANGE.fullmatch(revisions)
    if match is None or not (match["base"] or match["head"]) or ".." in (match["head"] or ""):
        raise UsageError(f"invalid --git {sanitize(revisions)!r}", hint="use BASE..HEAD, such as origin/main..HEAD")
    root, path = _place(Path(folder))
    if _git(root, "rev-parse", "--git-dir") is None:
        raise ConfigurationError(f"{folder} is not in a git repository", hint="use -f for files without history")
    names = match["base"] or "HEAD", match["head"] or "HEAD"
    base, head = (Revision(name, _commit(root, name), root, path) for name in names)
    if match["dots"] == "...":
        parted = _git(root, "merge-base", base.commit, head.commit)
        if parted is None:
            raise UsageError(f"{names[0]} and {names[1]} have no common commit", hint="fetch the whole history")
        base = Revision(base.name, parted.decode().strip(), root, path)
    return base, head


def list_files(revision: Revision) -> tuple[RevisionFile, ...]:
    """Return the files, links and submodules of the folder; none if the revision lacks the folder."""
    words = ("--", f"{revision.path}/") if revision.path else ()
    listed = _git(revision.root, "ls-tree", "-r", "-z", "-l", revision.commit, *words, largest=LARGEST_TREE)
    if listed is None:
        raise ConfigurationError(f"git cannot list the files of {revision.name}", hint=_INCOMPLETE)
    files = []
    for entry in listed.split(b"\0"):
        head, _, raw = entry.partition(b"\t")
        fields = head.decode("ascii", "replace").split()
        if len(fields) == 4 and (fields[0] in _FILES or fields[0] in _UNREAD):
            path = raw.decode("utf-8", "replace")
            below = path.removeprefix(f"{revision.path}/") if revision.path else path
            size = int(fields[3]) if fields[3].isdigit() else None  # git says BAD of content that is missing
            files.append(RevisionFile(below, fields[2], size, _UNREAD.get(fields[0], "")))
    return tuple(files)


def read_files(revision: Revision, files: Sequence[RevisionFile]) -> Iterator[tuple[RevisionFile, bytes]]:
    """Yield files with their contents. Raises ConfigurationError for too many, too large or damaged ones."""
    if len(files) > MOST_FILES:
        raise ConfigurationError(f"{revision.name} has more than {format_count(MOST_FILES, 'file')}")
    for file in files:
        if file.size is None:
            raise _unreadable(revision, file)
    size = sum(entry.size or 0 for entry in files)
    if size > LARGEST_TEXT:
        raise ConfigurationError(f"the files of {revision.name} are larger than {format_count(LARGEST_TEXT, 'byte')}")
    hashes = "".join(f"{entry.hash}\n" for entry in files).encode()
    output = _git(revision.root, "cat-file", "--batch", stdin=hashes, largest=size + 200 * (len(files) + 1))
    at = 0
    for file in files:
        line, _, _ = (output or b"")[at : at + 200].partition(b"\n")
        if output is None or line != f"{file.hash} blob {file.size}".encode():
            raise _unreadable(revision, file)
        at += len(line) + 1
        yield file, output[at : at + (file.size or 0)]
        at += (file.size or 0) + 1


def _unreadable(revision: Revision, file: RevisionFile) -> ConfigurationError:
    return ConfigurationError(f"git cannot read {revision.name}:{sanitize(file.path)}", hint=_INCOMPLETE)


def _place(folder: Path) -> tuple[Path, str]:
    """Return the nearest folder that exists, and the rest of the path: the work tree may lack the folder."""
    resolved = folder.resolve()
    root = next(ancestor for ancestor in (resolved, *resolved.parents) if ancestor.is_dir())
    return root, resolved.relative_to(root).as_posix() if resolved != root else ""


def _commit(root: Path, name: str) -> str:
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if commit is None:
        hint = "fetch it first: CI often clones one commit only (actions/checkout: fetch-depth: 0)"
        raise UsageError(f"git knows no revision {sanitize(name)!r}", hint=hint)
    return commit.decode("ascii", "replace").strip()


def git_environment() -> Mapping[str, str]:
    """Return the environment of a git that opens no connection and asks for nothing."""
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",  # a partial clone would fetch objects by the commands of its configuration
        "GIT_ALLOW_PROTOCOL": "none",  # the same for git before 2.45
        "GIT_NO_REPLACE_OBJECTS": "1",
    }


def _git(root: Path, *words: str, stdin: bytes = b"", largest: int = 1024 * 1024) -> bytes | None:
    """Return what git prints, None if it fails or prints more than `largest` bytes. Raises ConfigurationError."""
    command = ["git", "--no-pager", "-c", "core.fsmonitor=false", "-C", str(root), *words]
    with tempfile.TemporaryFile() as input_file:
        input_file.write(stdin)
        input_file.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 no shell; revisions follow --end-of-options
                command, env=git_environment(), stdin=input_file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            hint = "install git, or use -f with the files"
            raise ConfigurationError("git is not installed", hint=hint) from error
        timer = threading.Timer(GIT_SECONDS, process.kill)
        timer.start()
        try:
            assert process.stdout is not None  # a pipe
            output = process.stdout.read(largest + 1)
            if len(output) > largest:
                process.kill()
        finally:
            timer.cancel()
            process.communicate()
    return output if process.returncode == 0 and len(output) <= largest else None
