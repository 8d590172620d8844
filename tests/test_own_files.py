"""What kymatui writes is its user's: modes whatever the umask, other users' folders and links, whole files only."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kymatui.own_files import (
    create_file,
    create_folder,
    open_own,
    own_folder,
    read_own,
    replaced,
    write_file,
    write_own,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and owners of POSIX")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o277], ids=lambda umask: f"umask {umask:03o}")
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def append(path: Path, content: bytes) -> None:
    descriptor = open_own(path)
    os.write(descriptor, content)
    os.close(descriptor)


OWN: dict[str, Callable[[Path], None]] = {
    "a whole file": lambda path: write_own(path, b"x"),
    "a journal": lambda path: append(path, b"x"),
}


@pytest.mark.parametrize("write", OWN.values(), ids=OWN)
def test_own_files_and_folders_are_for_the_user_only(write: Callable[[Path], None], tmp_path: Path, umask: int) -> None:
    if umask & 0o200 and os.geteuid():
        pytest.skip("only root writes into a folder without the right to")
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    path = home / ".local" / "state" / "kymatui" / "journals" / "one" / "a.jsonl"
    write(path)
    for folder in path.parents[:6]:
        assert not mode(folder) & 0o077 or folder == home
    assert mode(home) == 0o755
    assert not mode(path) & 0o077


@pytest.mark.parametrize("write", OWN.values(), ids=OWN)
def test_what_an_older_version_left_wider_is_repaired(write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "kymatui" / "kymatui" / "b" / "a"
    path.parent.mkdir(parents=True)
    path.write_text("old")
    for one in (path.parents[2], path.parents[1], path.parent, path):
        one.chmod(0o777)
    write(path)
    assert [mode(one) for one in (path.parents[1], path.parent, path)] == [0o700, 0o700, 0o600]
    assert mode(path.parents[2]) == 0o777, "only the last folder of that name is kymatui's for sure"


@pytest.mark.parametrize("write", OWN.values(), ids=OWN)
@pytest.mark.parametrize("level", [0, 1])
def test_a_folder_of_another_user_is_refused(
    write: Callable[[Path], None], level: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder such as /tmp, another user can be first."""
    path = tmp_path / "kymatui" / "backups" / "a"
    path.parents[1 - level].mkdir(parents=True)
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match="belongs to another user"):
        write(path)
    assert not path.exists()


@pytest.mark.parametrize("write", OWN.values(), ids=OWN)
def test_a_link_of_another_user_is_refused_and_an_own_one_followed(
    write: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "kymatui").symlink_to(disk)
    path = tmp_path / "kymatui" / "a"
    real = Path.lstat

    def of_another(self: Path) -> os.stat_result:
        status = real(self)
        is_link = stat.S_ISLNK(status.st_mode)
        return os.stat_result((*status[:4], status.st_uid + 1, *status[5:])) if is_link else status

    with monkeypatch.context() as patch:
        patch.setattr(Path, "lstat", of_another)
        with pytest.raises(PermissionError, match="belongs to another user"):
            write(path)
    assert list(disk.iterdir()) == []
    write(path)
    assert (disk / "a").read_bytes() == b"x"
    assert mode(disk) == 0o700


def test_a_journal_is_no_link_and_no_pipe(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises(OSError, match=r"Too many levels|symbolic"):
        open_own(tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PermissionError, match="not a regular file"):
        open_own(tmp_path / "pipe")
    assert victim.read_text() == "kept"


def test_a_whole_file_replaces_a_link_and_leaves_its_target(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "own").symlink_to(victim)
    write_own(tmp_path / "own", b"x")
    assert victim.read_text() == "kept"
    assert (tmp_path / "own").read_bytes() == b"x"


def test_what_another_user_could_have_written_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_own(path, b"content")
    assert read_own(path) == b"content"
    assert read_own(path, 3) == b"con"
    for wide in (0o620, 0o602):
        path.chmod(wide)
        with pytest.raises(PermissionError, match="other users can write it"):
            read_own(path)
    path.chmod(0o644)
    assert read_own(path) == b"content"
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match=r"Too many levels|symbolic"):
        read_own(tmp_path / "link")
    monkeypatch.setattr("os.geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError, match="belongs to another user"):
        read_own(path)


def test_what_a_person_names_is_writable_for_nobody_else(tmp_path: Path, umask: int) -> None:
    if umask & 0o200 and os.geteuid():
        pytest.skip("only root writes into a folder without the right to")
    path = tmp_path / "new" / "below" / "a"
    write_file(path, b"x", private=False)
    create_file(path.with_name("b"), b"x", private=False)
    write_file(path.with_name("c"), b"x", private=True)
    create_file(path.with_name("d"), b"x", private=True)
    create_folder(tmp_path / "folder")
    for folder in (path.parent, path.parent.parent, tmp_path / "folder"):
        assert mode(folder) == 0o755 & ~umask
    assert [mode(path.with_name(name)) & ~0o400 for name in "abcd"] == [
        0o644 & ~umask & ~0o400,
        0o644 & ~umask & ~0o400,
        0o600 & ~umask & ~0o400,
        0o600 & ~umask & ~0o400,
    ]


@pytest.mark.parametrize(("before", "after"), [(0o600, 0o600), (0o640, 0o640), (0o666, 0o644), (0o755, 0o755)])
def test_a_file_that_is_replaced_keeps_who_may_read_it(tmp_path: Path, before: int, after: int) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(before)
    write_file(path, b"new", private=False)
    assert (path.read_bytes(), mode(path)) == (b"new", after)
    write_file(path, b"new", private=True)
    assert mode(path) == 0o600


def test_folders_that_a_person_names_keep_their_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    write_file(shared / "plan.json", b"x", private=True)
    create_folder(shared)
    assert mode(shared) == 0o777


def test_an_existing_file_is_not_created_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("kept")
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "a", b"x", private=False)
    assert (tmp_path / "a").read_text() == "kept"


def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def fail() -> None:
        with replaced(path, 0o600) as descriptor:
            os.write(descriptor, b"half")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError):
        own_folder(tmp_path / "file" / "below")
    with pytest.raises(NotADirectoryError):
        create_folder(tmp_path / "file")


@pytest.mark.parametrize("is_link", [False, True])
@pytest.mark.parametrize("private", [False, True])
def test_a_pipe_that_a_person_names_is_written_to_and_stays(tmp_path: Path, is_link: bool, private: bool) -> None:
    pipe, named = tmp_path / "pipe", tmp_path / "named"
    os.mkfifo(pipe)
    if is_link:
        named.symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_file(named if is_link else pipe, b"content", private=private)
        assert os.read(reader, 100) == b"content"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert named.is_symlink() is is_link


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_a_file_that_the_system_names_is_written_to(tmp_path: Path) -> None:
    with (tmp_path / "output").open("wb") as output:
        write_file(Path(f"/proc/self/fd/{output.fileno()}"), b"content", private=False)
    assert (tmp_path / "output").read_bytes() == b"content"


def test_a_pipe_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PermissionError, match="not a regular file"), replaced(tmp_path / "pipe", 0o600):
        pass
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]
