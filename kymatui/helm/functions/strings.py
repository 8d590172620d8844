"""Functions on text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kymatui.helm.functions.casting import print_value, to_text
from kymatui.helm.functions.declaring import declare, hold_list, hold_text, table
from kymatui.helm.govalues.budget import ELEMENT, charge, tick, watched
from kymatui.helm.govalues.quoting import quote as go_quote
from kymatui.helm.govalues.text import byte_length, from_bytes, is_valid, to_bytes
from kymatui.helm.govalues.types import Panic, TypedList, TypedMap, kind
from kymatui.helm.govalues.unicode import SPACES, is_space, lower, swapcase, title, untitle, upper

STRINGS: Final = "[]string"


def string_list(items: Iterable[str]) -> TypedList:
    typed_list = TypedList(STRINGS, items)
    charge(ELEMENT * len(typed_list))
    return typed_list


def cut(text: str, start: int, end: int | None = None) -> str:
    """Return text[start:end] by bytes."""
    return text[start:end] if text.isascii() else from_bytes(to_bytes(text)[start:end])


def trunc(count: int, text: str) -> str:
    """Return the first `count` bytes, or the last ones if it is negative."""
    length = byte_length(text)
    if count < 0 and length + count > 0:
        return cut(text, length + count)
    return cut(text, 0, count) if 0 <= count < length else text


def substr(start: int, end: int, text: str) -> str:
    """Return the bytes from `start` to `end`; a negative or too large end means the end of the text."""
    length = byte_length(text)
    if start < 0:
        if end > length:
            raise Panic(f"runtime error: slice bounds out of range [:{end}] with length {length}")
        if end < 0:
            raise Panic(f"runtime error: slice bounds out of range [:{end}]")
        return cut(text, 0, end)
    if end < 0 or end > length:
        end = length
    if start > end:
        raise Panic(f"runtime error: slice bounds out of range [{start}:{end}]")
    return cut(text, start, end)


def repeat(count: int, text: str) -> str:
    if count < 0:
        raise Panic("strings: negative Repeat count")
    hold_text(count * len(text), "repeat: the text")
    return text * count


def indent(spaces: int, text: str) -> str:
    """Indent every line, also empty ones."""
    pad = repeat(spaces, " ")
    if pad:
        hold_text(len(text) + (text.count("\n") + 1) * spaces, "indent: the text")
    return pad + text.replace("\n", "\n" + pad)


def nindent(spaces: int, text: str) -> str:
    return "\n" + indent(spaces, text)


def _all_valid(*texts: str) -> bool:
    return all(map(is_valid, texts))


def trim_suffix(suffix: str, text: str) -> str:
    if _all_valid(suffix, text):
        return text.removesuffix(suffix)
    return from_bytes(to_bytes(text).removesuffix(to_bytes(suffix)))


def trim_prefix(prefix: str, text: str) -> str:
    if _all_valid(prefix, text):
        return text.removeprefix(prefix)
    return from_bytes(to_bytes(text).removeprefix(to_bytes(prefix)))


def trim_all(characters: str, text: str) -> str:
    # Python looks for each character of the text in all of these.
    if len(characters) <= 64:
        return text.strip(characters) if characters else text
    cut_off = frozenset(characters)
    start = next((index for index, char in enumerate(watched(text)) if char not in cut_off), len(text))
    end = next((index for index in watched(range(len(text), start, -1)) if text[index - 1] not in cut_off), start)
    return text[start:end]


def contains(part: str, text: str) -> bool:
    return part in text if _all_valid(part, text) else to_bytes(part) in to_bytes(text)


def has_prefix(prefix: str, text: str) -> bool:
    if _all_valid(prefix, text):
        return text.startswith(prefix)
    return to_bytes(text).startswith(to_bytes(prefix))


def has_suffix(suffix: str, text: str) -> bool:
    if _all_valid(suffix, text):
        return text.endswith(suffix)
    return to_bytes(text).endswith(to_bytes(suffix))


def replace(old: str, new: str, text: str) -> str:
    growth = len(new) - len(old)
    if growth > 0:
        count = text.count(old) if old else len(text) + 1
        hold_text(len(text) + count * growth, "replace: the text")
    if not old or _all_valid(old, new, text):
        return text.replace(old, new)
    return from_bytes(to_bytes(text).replace(to_bytes(old), to_bytes(new)))


def nospace(text: str) -> str:
    """Remove white space; if there was any, every byte becomes its own character, as in goutils."""
    data = to_bytes(text)
    kept = [character for character in watched(data.decode("latin-1")) if not is_space(character)]
    return text if len(kept) == len(data) else "".join(kept)


def initials(text: str) -> str:
    """Return the first byte of every word as a character."""
    letters = []
    at_start = True
    for character in watched(to_bytes(text).decode("latin-1")):
        if is_space(character):
            at_start = True
        elif at_start:
            letters.append(character)
            at_start = False
    return "".join(letters)


def abbrev(width: int, text: str) -> str:
    return text if width < 4 else _abbreviate(to_bytes(text), 0, width)


def abbrevboth(left: int, right: int, text: str) -> str:
    if right < 4 or (left > 0 and right < 7):
        return text
    return _abbreviate(to_bytes(text), left, right)


def _abbreviate(data: bytes, offset: int, width: int) -> str:
    """Return goutils.AbbreviateFull: "..." at the cut sides, "" if the width is too small."""
    if len(data) <= width:
        return from_bytes(data)
    room = width - 3
    offset = min(offset, len(data))
    if len(data) - offset < room:
        offset = len(data) - room
    if offset <= 4:
        return from_bytes(data[:room] + b"...")
    if width < 7:
        return ""
    if offset + room < len(data):
        return "..." + ("" if room < 4 else _abbreviate(data[offset:], 0, room))
    return from_bytes(b"..." + data[-room:])


def wrap(width: int, text: str) -> str:
    return _wrap(text, width, "\n", cut_words=False)


def wrap_with(width: int, separator: str, text: str) -> str:
    return _wrap(text, width, separator or "\n", cut_words=True)


def _wrap(text: str, width: int, separator: str, *, cut_words: bool) -> str:
    """Return goutils.WrapCustom: lines of at most `width` bytes, broken at spaces."""
    data, break_ = to_bytes(text), to_bytes(separator)
    width = max(width, 1)
    hold_text(len(data) + len(data) // width * len(break_), "wrap: the text")
    lines: list[bytes] = []
    offset = 0
    while len(data) - offset > width:
        tick()
        if data[offset] == 0x20:
            offset += 1
            continue
        end = data.rfind(b" ", offset, offset + width + 1)
        following = end + 1
        if end < 0 and cut_words:
            end = following = offset + width
        elif end < 0:
            end = data.find(b" ", offset + width)
            following = end + 1
            if end < 0:
                break
        lines.append(data[offset:end])
        offset = following
    lines.append(data[offset:])
    return from_bytes(break_.join(lines))


def plural(singular: str, many: str, count: int) -> str:
    return singular if count == 1 else many


def quote(*values: Any) -> str:
    return _spaced(go_quote(to_text(value)) for value in values if value is not None)


def squote(*values: Any) -> str:
    return _spaced(f"'{print_value(value)}'" for value in values if value is not None)


def cat(*values: Any) -> str:
    return _spaced(print_value(value) for value in values if value is not None)


def _spaced(parts: Iterable[str]) -> str:
    return join_texts(" ", parts)


def join_texts(separator: str, parts: Iterable[str]) -> str:
    length, held = 0, []
    for part in parts:
        length += len(part) + len(separator)
        hold_text(length, "join: the text")
        held.append(part)
    return separator.join(held)


def to_strings(value: Any) -> TypedList:
    """Return the []string of a list (without nils) or of a single value."""
    if isinstance(value, TypedList) and value.go_type == STRINGS:
        return value
    if kind(value) in ("slice", "array"):
        return string_list(to_text(item) for item in value if item is not None)
    return string_list([] if value is None else [to_text(value)])


def join(separator: str, value: Any) -> str:
    return join_texts(separator, to_strings(value))


def split_list(separator: str, text: str) -> TypedList:
    return string_list(_split(separator, text, -1))


def _split(separator: str, text: str, count: int) -> list[str]:
    """Return strings.SplitN; a negative count means all."""
    if count == 0:
        return []
    if not separator:
        limit = len(text) if count < 0 else min(count, len(text))
        hold_list(limit, "split: the list")
        charge(ELEMENT * limit)
        return [*text[: limit - 1], text[limit - 1 :]] if limit else []
    if _all_valid(separator, text):
        hold_list(text.count(separator), "split: the list")
        charge(ELEMENT * text.count(separator) + len(text))
        return text.split(separator, count - 1 if count > 0 else -1)
    hold_list(to_bytes(text).count(to_bytes(separator)), "split: the list")
    charge(len(text) * 2)
    data = to_bytes(text).split(to_bytes(separator), count - 1 if count > 0 else -1)
    return [from_bytes(part) for part in data]


def _numbered(parts: list[str]) -> TypedMap:
    return TypedMap("map[string]string", {f"_{number}": part for number, part in enumerate(parts)})


def split(separator: str, text: str) -> TypedMap:
    return _numbered(_split(separator, text, -1))


def splitn(separator: str, count: int, text: str) -> TypedMap:
    return _numbered(_split(separator, text, count))


def sort_alpha(value: Any) -> TypedList:
    """Sort by bytes; a []string is sorted in place, as in Sprig."""
    if kind(value) not in ("slice", "array"):
        return string_list([to_text(value)])
    texts = to_strings(value)
    hold_text(sum(map(len, texts)), "sortAlpha: the list")
    texts.sort(key=to_bytes)
    return texts


def trim(text: str) -> str:
    return text.strip(SPACES)


FUNCTIONS: Final = table(
    (
        declare("hello()", lambda: "Hello!"),
        declare("abbrev(int, string)", abbrev),
        declare("abbrevboth(int, int, string)", abbrevboth),
        declare("trunc(int, string)", trunc),
        declare("trim(string)", trim),
        declare("upper(string)", upper),
        declare("lower(string)", lower),
        declare("title(string)", title),
        declare("untitle(string)", untitle),
        declare("swapcase(string)", swapcase),
        declare("substr(int, int, string)", substr),
        declare("repeat(int, string)", repeat),
        declare("trimall(string, string)", trim_all),
        declare("trimAll(string, string)", trim_all),
        declare("trimSuffix(string, string)", trim_suffix),
        declare("trimPrefix(string, string)", trim_prefix),
        declare("nospace(string)", nospace),
        declare("initials(string)", initials),
        declare("wrap(int, string)", wrap),
        declare("wrapWith(int, string, string)", wrap_with),
        declare("contains(string, string)", contains),
        declare("hasPrefix(string, string)", has_prefix),
        declare("hasSuffix(string, string)", has_suffix),
        declare("quote(...any)", quote),
        declare("squote(...any)", squote),
        declare("cat(...any)", cat),
        declare("indent(int, string)", indent),
        declare("nindent(int, string)", nindent),
        declare("replace(string, string, string)", replace),
        declare("plural(string, string, int)", plural),
        declare("toString(any)", to_text),
        declare("toStrings(any)", to_strings),
        declare("join(string, any)", join),
        declare("split(string, string)", split),
        declare("splitList(string, string)", split_list),
        declare("splitn(string, int, string)", splitn),
        declare("sortAlpha(any)", sort_alpha),
    )
)
