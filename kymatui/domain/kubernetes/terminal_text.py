"""Sanitization of cluster text for terminals.

Names, messages and labels come from servers and other users; a terminal would act on their control characters.
"""

from __future__ import annotations

from kymatui.first_use import deferred

# C0 and C1 controls, and Unicode marks that change the text direction
_UNSAFE = deferred("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def sanitize(text: str) -> str:
    """Return one line without control characters."""
    return _UNSAFE.sub(" ", text) if _UNSAFE.search(text) else text


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


def with_subject(subject: str, text: str) -> str:
    """Return the text with its subject in front, unless it begins with it."""
    return text if text.startswith(subject) else f"{subject}: {text}"


def to_sentence(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]
