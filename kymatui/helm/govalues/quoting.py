"""Go's quoted strings and characters: strconv.Quote, Unquote and related functions."""

from __future__ import annotations

import re
from typing import Final

from kymatui.helm.govalues.budget import watched
from kymatui.helm.govalues.text import from_bytes, normalize

_NAMED: Final = {7: "\\a", 8: "\\b", 12: "\\f", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v", 92: "\\\\"}
_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*\Z")


def is_print(char: str) -> bool:
    """Return strconv.IsPrint: letters, marks, numbers, punctuation, symbols, and the ASCII space."""
    return char.isprintable()


def quote(text: str, *, ascii_only: bool = False) -> str:
    """Return strconv.Quote (%q), or QuoteToASCII (%+q)."""
    if _PLAIN.match(text):
        return f'"{text}"'
    return '"' + "".join([_escaped(c, '"', ascii_only) for c in watched(normalize(text))]) + '"'


def quote_rune(rune: int, *, ascii_only: bool = False) -> str:
    """Return strconv.QuoteRune (%q of a number); an invalid rune is U+FFFD."""
    if not 0 <= rune <= 0x10FFFF or 0xD800 <= rune <= 0xDFFF:
        rune = 0xFFFD
    return "'" + _escaped(chr(rune), "'", ascii_only) + "'"


def _escaped(char: str, mark: str, ascii_only: bool) -> str:
    code = ord(char)
    if char == mark:
        return "\\" + char
    if code in _NAMED:
        return _NAMED[code]
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if char.isprintable() and (code < 0x7F or not ascii_only):
        return char
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def can_backquote(text: str) -> bool:
    """Return strconv.CanBackquote: one valid UTF-8 line without control characters, backquote or BOM."""
    return not any(
        c == "`" or (c < " " and c != "\t") or c == "\x7f" or c == "\ufeff" or "\udc80" <= c <= "\udcff" for c in text
    )


_SIMPLE: Final = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34}
_CODED: Final = {"x": 2, "u": 4, "U": 8}


def unquote(text: str) -> str:
    """Return strconv.Unquote of a string in double or back quotes. Raise ValueError "invalid syntax"."""
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "`\"'":
        raise ValueError("invalid syntax")
    mark, body = text[0], text[1:-1]
    if mark == "`":
        if "`" in body:
            raise ValueError("invalid syntax")
        return body.replace("\r", "")
    if "\n" in body or (mark == '"' and re.search(r'(?<!\\)(?:\\\\)*"', body)):
        raise ValueError("invalid syntax")
    return body if "\\" not in body else _unescape(body, mark)


def _unescape(body: str, mark: str) -> str:
    out: list[bytes] = []
    position = 0
    while position < len(body):
        start = body.find("\\", position)
        if start != position:
            end = start if start >= 0 else len(body)
            out.append(body[position:end].encode("utf-8", "surrogateescape"))
            position = end
            continue
        code, is_byte, position = unquote_char(body, position, mark)
        out.append(bytes((code,)) if is_byte else chr(code).encode())
    return from_bytes(b"".join(out))


def unquote_char(text: str, position: int, mark: str) -> tuple[int, bool, int]:
    r"""Return strconv.UnquoteChar: code, whether it is a byte (\x, octal), and the next position."""
    failure = ValueError("invalid syntax")
    if position >= len(text) or (text[position] == mark and mark in "'\""):
        raise failure
    char = text[position]
    if char != "\\":
        return ord(char), False, position + 1
    escape = text[position + 1 : position + 2]
    if escape in _SIMPLE:
        if escape in "'\"" and escape != mark:
            raise failure
        return _SIMPLE[escape], False, position + 2
    if escape and escape in "01234567":
        digits = text[position + 1 : position + 4]
        if not re.fullmatch("[0-3][0-7][0-7]", digits):
            raise failure
        return int(digits, 8), True, position + 4
    return _coded(text, position, escape)


def _coded(text: str, position: int, escape: str) -> tuple[int, bool, int]:
    width = _CODED.get(escape, 0)
    digits = text[position + 2 : position + 2 + width]
    if not width or not re.fullmatch(f"[0-9a-fA-F]{{{width}}}", digits):
        raise ValueError("invalid syntax")
    code = int(digits, 16)
    if escape != "x" and (code > 0x10FFFF or 0xD800 <= code <= 0xDFFF):
        raise ValueError("invalid syntax")
    return code, escape == "x", position + 2 + width
