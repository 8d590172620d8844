"""Sanitization of foreign text for terminals and logs.

Names, messages and labels come from servers and other users; a terminal would act on their control characters, and a
line break would forge a line of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kymatui.patterns import deferred

if TYPE_CHECKING:
    from re import Match

# C0 and C1 controls; marks that change the text direction; line and paragraph separators; characters without width,
# but for the joiners of emoji and of Persian; surrogates, which no terminal can encode
_FORMATS = (
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
)
_UNSAFE = deferred(f"[\x00-\x1f\x7f-\x9f{_FORMATS}]")
_UNSAFE_IN_LINES = deferred(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_FORMATS}]")


def sanitize(text: str) -> str:
    """Return one line without control characters."""
    return _UNSAFE.sub(" ", text) if _UNSAFE.search(text) else text


def sanitize_lines(text: str) -> str:
    """Return the same with line feeds and tabs, for a text that may have several lines."""
    return _UNSAFE_IN_LINES.sub(" ", text.replace("\r\n", "\n")) if _UNSAFE_IN_LINES.search(text) else text


def escape_json(text: str) -> str:
    """Return JSON text in which what a terminal acts on is escaped; its meaning stays."""
    return _UNSAFE_IN_LINES.sub(_json_escape, text) if _UNSAFE_IN_LINES.search(text) else text


def _json_escape(match: Match[str]) -> str:
    """Return the escape of a character, in UTF-16 as JSON has it."""
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def escape_yaml(text: str) -> str:
    """Return YAML text in which what a terminal acts on is escaped; it must stand within double quotes."""
    return _UNSAFE_IN_LINES.sub(_yaml_escape, text) if _UNSAFE_IN_LINES.search(text) else text


def _yaml_escape(match: Match[str]) -> str:
    return f"\\U{ord(match[0]):08X}"


_ERRNO = deferred(r"\[Errno -?\d+\] ")


def error_reason(error: BaseException) -> str:
    """Return the reason of an error without the errno: `No such file or directory`."""
    return str(getattr(error, "strerror", None) or _ERRNO.sub("", str(error)))


def cut_text(text: str, most: int) -> str:
    """Return the text, with an ellipsis at its end if it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def format_count(number: int, noun: str, plural: str = "") -> str:
    """Return the number with its noun: `1 runtime`, `2 runtimes`; `plural` is for irregular nouns."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def name_or_count(names: Sequence[str], noun: str) -> str:
    """Return the only name, or how many there are: `keda`, `2 modules`."""
    return format_count(len(names), noun) if names[1:] else "".join(names)


def first_of(items: Iterable[object], most: int, separator: str = ", ") -> str:
    """Return the first few items, and how many more there are: `a, b and 3 more`."""
    texts = [*map(str, items)]
    more = f"{separator.rstrip(', ')} and {len(texts) - most} more" if len(texts) > most else ""
    return separator.join(texts[:most]) + more


def with_subject(subject: str, text: str) -> str:
    """Return the text with its subject in front, unless it begins with it."""
    return text if text.startswith(subject) else f"{subject}: {text}"


def to_sentence(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]
