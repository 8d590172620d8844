"""Tones as Textual styles, for text outside tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.content import Content

STYLES: Mapping[str, str] = {
    "ready": "$text-success",
    "processing": "$state-processing",
    "warning": "$text-warning",
    "error": "$text-error",
    "deleting": "$state-deleting",
    "unmanaged": "$foreground-muted",
    "muted": "$foreground-muted",
    "accent": "$text-primary",
}


def with_tone(text: str, tone: str, *, bold: bool = False) -> Content:
    """Return `text` in a tone; markup in it is not parsed."""
    style = STYLES.get(tone, "")
    return Content.styled(text, f"bold {style}".strip() if bold else style)


def tone_lines(lines: Iterable[tuple[str, str]]) -> Content:
    """Return lines of text, each in its tone."""
    return Content("\n").join([with_tone(text, tone) for text, tone in lines])
