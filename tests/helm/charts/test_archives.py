"""Packed charts: what is read, and what is refused before anything of it is used."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.errors import HelmError
from kymatui.helm import Chart, load_chart
from kymatui.helm.charts.archives import MAX_FILE, read_archive

CHART = b"apiVersion: v2\nname: web\nversion: 1.0.0\n"


def pack(entries: dict[str, bytes | tuple[bytes, str]]) -> bytes:
    """{name: content}, or {name: (type, target)} for links and the like, as a .tgz."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in entries.items():
            info = tarfile.TarInfo(name)
            if isinstance(content, tuple):
                info.type, info.linkname = content
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def test_paths_lose_their_root_and_files_their_byte_order_mark() -> None:
    packed = pack({"web/Chart.yaml": b"\xef\xbb\xbf" + CHART, "web/templates/a.yaml": b"a", "web/crds/": (b"5", "")})
    assert read_archive(packed) == [("Chart.yaml", CHART), ("templates/a.yaml", b"a")]


def test_a_packed_chart_is_a_chart_with_the_charts_packed_within_it() -> None:
    inner = pack({"db/Chart.yaml": b"apiVersion: v2\nname: db\nversion: 2.0.0\n", "db/values.yaml": b"x: 1"})
    chart = Chart.from_archive(pack({"web/Chart.yaml": CHART, "web/charts/db-2.0.0.tgz": inner}))
    assert [child.name for child in chart.dependencies] == ["db"]
    assert chart.dependencies[0].values == {"x": 1.0}


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"web/../../etc/passwd": b"x"}, "chart illegally references parent directory"),
        ({"web/a/../../../x": b"x"}, "chart illegally references parent directory"),
        ({"../web/Chart.yaml": CHART}, "chart illegally references parent directory"),
        ({"web//etc/passwd": b"x"}, "chart illegally contains absolute paths"),
        ({"/etc/passwd": b"x"}, "chart illegally contains absolute paths"),
        ({"web\\..\\..\\x": b"x"}, "chart illegally references parent directory"),
        ({"web/c:/x": b"x"}, "chart contains illegally named files"),
        ({"Chart.yaml": CHART}, "chart illegally contains content outside the base directory"),
        ({"Chart.yaml/x": CHART}, "chart yaml not in base directory"),
        ({"web/Chart.yaml": CHART, "other/x": b"x"}, "more than one root"),
        ({"web/Chart.yaml": CHART, "web/l": (tarfile.SYMTYPE, "/etc/passwd")}, "link that leads out"),
        ({"web/Chart.yaml": CHART, "web/l": (tarfile.SYMTYPE, "../../x")}, "link that leads out"),
        ({"web/Chart.yaml": CHART, "web/l": (tarfile.LNKTYPE, "../x")}, "link that leads out"),
        ({"web/Chart.yaml": CHART, "web/d": (tarfile.CHRTYPE, "")}, "irregular file"),
        ({"web/Chart.yaml": CHART, "web/p": (tarfile.FIFOTYPE, "")}, "irregular file"),
        ({}, "no files in chart archive"),
    ],
)  # fmt: skip
def test_what_reaches_out_of_the_chart_is_refused(entries: dict[str, bytes | tuple[bytes, str]], words: str) -> None:
    with pytest.raises(HelmError, match=words):
        read_archive(pack(entries))


def test_a_link_within_the_chart_is_an_empty_file_as_in_helm() -> None:
    packed = pack({"web/Chart.yaml": CHART, "web/l": (tarfile.SYMTYPE, "Chart.yaml")})
    assert read_archive(packed)[1] == ("l", b"")


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(HelmError, match="larger than the maximum file size"):
        read_archive(pack({"web/Chart.yaml": CHART, "web/x": b"\0" * (MAX_FILE + 1)}))


def test_an_archive_that_grows_out_of_proportion_is_refused() -> None:
    bomb = pack({f"web/x{number}": b"\0" * MAX_FILE for number in range(4)})
    with pytest.raises(HelmError, match="times its size"):
        read_archive(bomb)


def test_archives_within_archives_share_one_budget() -> None:
    inner = {"Chart.yaml": b"apiVersion: v2\nname: c\nversion: 1.0.0\n"}
    packed = pack({f"c/{name}": data for name, data in inner.items()})
    for _ in range(20):
        packed = pack({"c/Chart.yaml": inner["Chart.yaml"], "c/charts/c.tgz": packed})
    with pytest.raises(HelmError, match="nested too deeply"):
        Chart.from_archive(packed)


def test_a_size_in_a_header_that_lies_is_refused() -> None:
    info = tarfile.TarInfo("web/x")
    info.size = 1 << 40
    with pytest.raises(HelmError):
        read_archive(gzip.compress(info.tobuf() + b"\0" * 1024))


@given(st.binary(max_size=200))
def test_noise_is_refused(data: bytes) -> None:
    for packed in (data, gzip.compress(data), b"\x1f\x8b\x08" + data):
        with pytest.raises(HelmError):
            read_archive(packed)


@given(st.data())
def test_a_damaged_archive_is_read_or_refused(data: st.DataObject) -> None:
    packed = bytearray(gzip.decompress(pack({"web/Chart.yaml": CHART, "web/templates/a.yaml": b"a: b\n" * 20})))
    for _ in range(data.draw(st.integers(1, 6))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        files = read_archive(gzip.compress(bytes(packed)))
    except HelmError:
        return
    assert all(not name.startswith(("/", "..")) for name, _ in files)


def test_something_else_than_an_archive_says_what_it_seems_to_be(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("a: 1")
    with pytest.raises(HelmError, match="seems to be a YAML file, but expected a gzipped archive"):
        load_chart(tmp_path / "values.yaml")
    with pytest.raises(HelmError, match="cannot read chart"):
        load_chart(tmp_path / "nothing.tgz")
