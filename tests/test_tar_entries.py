"""Tar archives: what programs write is read as the standard library reads it, what attackers write ends at once."""

from __future__ import annotations

import io
import random
import struct
import tarfile

import pytest

from kymatui.tar_entries import (
    BLOCK,
    MOST_EXTENDED,
    TarEntry,
    TarFormatError,
    TarKind,
    has_tar_header,
    read_content,
    read_entries,
)

END = bytes(2 * BLOCK)
Read = list[tuple[TarEntry, bytes]]


def read(data: bytes) -> Read:
    file = io.BytesIO(data)
    return [(entry, read_content(file, entry)) for entry in read_entries(file)]


def header(kind: bytes, name: str, size: int = 0, **fields: bytes) -> bytes:
    """Return a header; `fields` has raw fields by name, before the checksum is added."""
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    block = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    for field, raw in fields.items():
        start = {"number": 124, "magic": 257, "prefix": 345, "link": 157}[field]
        block[start : start + len(raw)] = raw
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(content: bytes) -> bytes:
    return content.ljust(-(-len(content) // BLOCK) * BLOCK, b"\0")


def file(name: str = "a", content: bytes = b"content", kind: bytes = b"0") -> bytes:
    return header(kind, name, len(content)) + padded(content)


def pax(*records: bytes, kind: bytes = b"x") -> bytes:
    content = b""
    for record in records:
        size = len(record) + 2
        size += len(str(size + len(str(size))))
        content += b"%d %s\n" % (size, record)
    return header(kind, "pax", len(content)) + padded(content)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_what_the_standard_library_writes_is_read_as_it_reads_it(form: int) -> None:
    names = ["a", "a/" + "b" * 90, "c" * 60 + "/" + "d" * 90, "e.txt"]
    if form != tarfile.USTAR_FORMAT:
        names += ["x" * 300, "Grüße/日本.txt", "y/" * 150 + "z"]
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=form) as archive:
        for at, name in enumerate(names):
            info = tarfile.TarInfo(name)
            info.size, info.mtime = at * 300, 1_600_000_000
            archive.addfile(info, io.BytesIO(bytes([at]) * info.size))
        for kind, name in ((tarfile.DIRTYPE, "folder"), (tarfile.SYMTYPE, "s"), (tarfile.LNKTYPE, "l"), (b"6", "fifo")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "t" * 90 if kind in b"12" else ""
            archive.addfile(info)
    with tarfile.open(fileobj=io.BytesIO(written.getvalue())) as archive:
        wanted = [
            (member.name, member.linkname, member.size, (archive.extractfile(member) or io.BytesIO()).read())
            if member.isreg()
            else (member.name, member.linkname, 0, b"")
            for member in archive
        ]
    found = read(written.getvalue())
    assert [(one.name.rstrip("/"), one.target, one.size, content) for one, content in found] == wanted
    kinds = [TarKind.FILE] * len(names) + [TarKind.FOLDER, TarKind.SYMLINK, TarKind.LINK, TarKind.OTHER]
    assert [one.kind for one, _ in found] == kinds


FORMATS = {
    "v7, a folder": (header(b"\0", "a/", magic=bytes(8)), ("a/", TarKind.FOLDER, 0)),
    "v7, a file": (header(b"\0", "a", magic=bytes(8)), ("a", TarKind.FILE, 0)),
    "prefix of ustar": (header(b"0", "b", prefix=b"a"), ("a/b", TarKind.FILE, 0)),
    "times of GNU where ustar has the prefix": (
        header(b"0", "b", magic=b"ustar  \0", prefix=b"14000000000\0"),
        ("b", TarKind.FILE, 0),
    ),
    "size in base 256": (
        header(b"0", "a", number=b"\x80" + bytes(10) + b"\3") + padded(b"abc"),
        ("a", TarKind.FILE, 3),
    ),
    "size of pax": (pax(b"size=3") + header(b"0", "a") + padded(b"abc"), ("a", TarKind.FILE, 3)),
    "path of pax": (pax(b"path=b=c") + file("a", b"abc"), ("b=c", TarKind.FILE, 3)),
    "comment for all": (pax(b"comment=0123", kind=b"g") + file("a", b"abc"), ("a", TarKind.FILE, 3)),
    "long name of GNU": (
        header(b"L", "././@LongLink", 4) + padded(b"bcd\0") + file("a", b"abc"),
        ("bcd", TarKind.FILE, 3),
    ),
    "a sparse file of GNU": (header(b"S", "a", 3) + padded(b"abc"), ("a", TarKind.SPARSE, 3)),
    "a sparse file of pax": (pax(b"GNU.sparse.major=1") + file("a", b"abc"), ("a", TarKind.SPARSE, 3)),
    "a volume": (header(b"V", "a"), ("a", TarKind.OTHER, 0)),
    "a link with a size": (header(b"2", "a", number=b"00000010000\0", link=b"b"), ("a", TarKind.SYMLINK, 0)),
}


@pytest.mark.parametrize(("data", "wanted"), FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("end", [END, bytes(BLOCK), b""], ids=["two blocks", "one block", "none"])
def test_formats(data: bytes, wanted: tuple[str, TarKind, int], end: bytes) -> None:
    ((entry, content),) = read(data + end)
    assert entry[:3] == wanted
    assert content == b"abc"[: entry.size]


BAD = {
    "3,000 extended headers": pax(b"comment=x") * 3000 + file(),
    "extended headers of two kinds": (pax(b"comment=x") + header(b"L", "a")) * MOST_EXTENDED + file(),
    "headers for all, without end": pax(b"comment=x", kind=b"g") * 20 + file(),
    "an extended header of 2 MiB": header(b"x", "p", 2 << 20) + bytes(2 << 20) + file(),
    "an extended header of a petabyte": header(b"L", "p", number=b"\x80" + b"\0" * 4 + b"\x01" + b"\0" * 6) + file(),
    "a negative size": header(b"0", "a", number=b"\xff" * 12) + file(),
    "a negative size of an unknown kind": header(b"Z", "a", number=b"\xff" * 11 + b"\0") + file(),
    "a negative size of pax": pax(b"size=-512") + file(),
    "a size of pax that is none": pax(b"size=1_0") + file(),
    "a size of pax beyond all": pax(b"size=99999999999999999999") + file(),
    "a path for all": pax(b"path=/etc/passwd", kind=b"g") + file(),
    "a path with a NUL": pax(b"path=a\0b") + file(),
    "a record of length 0": header(b"x", "p", 8) + padded(b"0 a=b\n\n\n") + file(),
    "a record longer than its header": header(b"x", "p", 8) + padded(b"99 a=bc\n") + file(),
    "a record without a sign": header(b"x", "p", 5) + padded(b"5 ab\n") + file(),
    "a record of many digits": header(b"x", "p", 4000) + padded(b"1" * 4000) + file(),
    "a number with an underscore": header(b"0", "a", number=b"1_0\0") + file(),
    "no checksum": b"x" * BLOCK,
    "a damaged second header": file() + b"x" * BLOCK,
    "half a header": file() + file()[:100],
    "half a file": file("a", b"x" * 5000)[:3000],
    "a file that is skipped, cut": header(b"V", "a", number=b"00000010000\0"),
    "an extended header at the end": file() + pax(b"path=b") + END,
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_what_no_program_writes_is_refused(data: bytes) -> None:
    with pytest.raises(TarFormatError):
        read(data)


def test_headers_take_time_in_proportion_to_their_size() -> None:
    """Patterns of the standard library need hours for this megabyte (CVE-2024-6232)."""
    for content in (b"1" * 1_000_000, b"12 hdrcharset=" * 70_000, b" " * 1_000_000, b"6 a=b\n" * 170_000):
        with pytest.raises(TarFormatError):
            read(header(b"x", "p", len(content)) + padded(content) + pax(b"path=a\0") + file())


def test_damage_is_the_only_failure() -> None:
    source = pax(b"path=long", b"mtime=1.5") + file() + header(b"L", "n", 3) + padded(b"ab\0") + file("b") + END
    chosen = random.Random(3)
    damaged = 0
    for _ in range(3000):
        data = bytearray(source)
        for _ in range(chosen.randint(1, 4)):
            start = chosen.randrange(len(data) // BLOCK) * BLOCK
            data[start + chosen.choice((0, 100, 124, 125, 135, 156, 257, chosen.randrange(BLOCK)))] = chosen.randrange(
                256
            )
            if chosen.random() < 0.9:  # or the checksum is the first to fail
                data[start + 148 : start + 156] = b" " * 8
                data[start + 148 : start + 156] = b"%06o\0 " % sum(data[start : start + BLOCK])
        try:
            read(bytes(data))
        except TarFormatError:
            damaged += 1
    assert 100 < damaged < 3000


def test_a_header_is_known_by_its_checksum() -> None:
    assert has_tar_header(file())
    assert has_tar_header(bytes(BLOCK))
    assert not has_tar_header(b"apiVersion: v1\n".ljust(BLOCK, b"#"))
    assert not has_tar_header(b"")
    signed = bytearray(header(b"0", "Grüße"))
    signed[148:156] = b" " * 8
    signed[148:156] = b"%06o\0 " % sum(struct.unpack("512b", signed))
    assert has_tar_header(bytes(signed))
