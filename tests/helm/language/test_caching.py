"""Compiled templates are kept in memory and in a folder, and are never believed when they are not what was written."""

from __future__ import annotations

import hashlib
import marshal
import os
from pathlib import Path

import pytest

from kymatui.errors import HelmError
from kymatui.helm.language.caching import MOST_FILES, TemplateCache
from kymatui.helm.language.environment import Environment

FILES = {
    "c/templates/t.txt": '{{ include "h" . }}{{ range .l }}{{ . }}{{ end }}\n{{ .l.x }}',
    "c/templates/_h.tpl": '{{ define "h" }}<{{ len .l }}>{{ end }}{{ define "unused" }}{{ .a.b }}{{ end }}',
}


def run(cache: TemplateCache, root: dict[str, object]) -> str:
    return cache.get(FILES).execute("c/templates/t.txt", root, Environment())


def test_a_set_is_parsed_once() -> None:
    cache = TemplateCache({})
    assert cache.get(FILES) is cache.get(dict(FILES))


def test_the_least_used_set_is_forgotten() -> None:
    cache = TemplateCache({}, size=1)
    first = cache.get(FILES)
    cache.get({"a": "x"})
    assert cache.get(FILES) is not first


@pytest.mark.parametrize("kept", [False, True])
def test_code_from_the_folder_does_the_same_and_fails_the_same(tmp_path: Path, kept: bool) -> None:
    folder = tmp_path / "templates"
    root: dict[str, object] = {"l": {"x": "!"}}
    if kept:
        writer = TemplateCache({}, folder=folder)
        assert run(writer, root) == "<1>!\n!"
        writer.keep(writer.get(FILES))
        assert [path.stat().st_mode & 0o077 for path in folder.iterdir()] == [0]
    reader = TemplateCache({}, folder=folder)
    assert run(reader, root) == "<1>!\n!"
    with pytest.raises(HelmError, match=r"c/templates/t.txt:2:5\n.*<\.l\.x>:\n.*can't evaluate field x"):
        run(reader, {"l": ["a"]})


def test_what_compiles_later_is_kept_too(tmp_path: Path) -> None:
    cache = TemplateCache({}, folder=tmp_path)
    run(cache, {"l": {"x": 1}})
    cache.keep(cache.get(FILES))
    (path,) = tmp_path.iterdir()
    size = path.stat().st_size
    cache.get(FILES).execute("c/templates/_h.tpl", {}, Environment())
    cache.keep(cache.get(FILES))
    assert path.stat().st_size > size


def test_texts_given_to_tpl_are_kept_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"c/t.txt": "{{ tpl .text . }}"}
    text = '{{ define "own" }}<{{ .n }}>{{ end }}{{ include "own" . }}{{ if .bad }}{{ .bad.x }}{{ end }}'
    root: dict[str, object] = {"text": text, "n": 1}
    writer = TemplateCache({}, folder=tmp_path)
    assert writer.get(files).execute("c/t.txt", root, Environment()) == "<1>"
    writer.keep(writer.get(files))

    def parsed(*_: object) -> None:
        raise AssertionError("it was parsed again")

    reader = TemplateCache({}, folder=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("kymatui.helm.language.parsing.parse", parsed)
        assert reader.get(files).execute("c/t.txt", {**root, "n": 2}, Environment()) == "<2>"
    with pytest.raises(HelmError, match=r"<\.bad\.x>"):
        reader.get(files).execute("c/t.txt", {**root, "bad": [1]}, Environment())
    with pytest.raises(HelmError, match="unclosed left paren"):
        reader.get(files).execute("c/t.txt", {"text": "{{ ( }}"}, Environment())


@pytest.mark.parametrize("damage", [b"", b"x", b"\0" * 500])
def test_a_damaged_file_is_not_believed(tmp_path: Path, damage: bytes) -> None:
    cache = TemplateCache({}, folder=tmp_path)
    run(cache, {"l": {"x": 1}})
    cache.keep(cache.get(FILES))
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage)
    assert run(TemplateCache({}, folder=tmp_path), {"l": {"x": 1}}) == "<1>1\n1"


EVIL = marshal.dumps(({path: [(path, False, None)] for path in FILES}, {}))


def plant(folder: Path, key: str) -> Path:
    """A file that is whole, and whose code knows nothing of the definition `h`."""
    path = folder / key
    path.write_bytes(hashlib.sha256(EVIL).digest() + EVIL)
    path.chmod(0o600)
    return path


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
@pytest.mark.parametrize("way", ["ours", "folder", "file", "link", "linked folder", "owner"])
def test_code_that_others_could_have_written_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    folder = tmp_path / "templates"
    folder.mkdir(mode=0o700)
    cache = TemplateCache({}, folder=folder)
    path = plant(folder, cache.digest(FILES))
    if way == "folder":
        folder.chmod(0o777)
    elif way == "file":
        path.chmod(0o620)
    elif way == "link":
        path.symlink_to(path.rename(tmp_path / "elsewhere"))
    elif way == "linked folder":
        folder.symlink_to(folder.rename(tmp_path / "elsewhere"))
    elif way == "owner":
        owner = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if way == "ours":
        with pytest.raises(HelmError, match='no template "h"'):
            run(cache, {"l": {"x": 1}})
    else:
        assert run(cache, {"l": {"x": 1}}) == "<1>1\n1"


@pytest.mark.skipif(os.name != "posix", reason="rights of POSIX")
def test_a_folder_where_others_write_is_repaired_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    cache = TemplateCache({}, folder=tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("os.geteuid", lambda: os.getuid() + 1)  # the folder is another user's
        run(cache, {"l": {"x": 1}})
        cache.keep(cache.get(FILES))
        assert list(tmp_path.iterdir()) == []
    cache = TemplateCache({}, folder=tmp_path)
    run(cache, {"l": {"x": 1}})
    cache.keep(cache.get(FILES))
    assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("not a folder")
    cache = TemplateCache({}, folder=folder)
    run(cache, {"l": {"x": 1}})
    cache.keep(cache.get(FILES))


def test_the_folder_does_not_grow_without_end(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 5):
        path = tmp_path / f"old{number}"
        path.touch()
        os.utime(path, (number, number))
    cache = TemplateCache({}, folder=tmp_path)
    run(cache, {"l": {"x": 1}})
    cache.keep(cache.get(FILES))
    names = {path.name for path in tmp_path.iterdir()}
    assert len(names) == MOST_FILES
    assert "old0" not in names
    assert f"old{MOST_FILES + 4}" in names
