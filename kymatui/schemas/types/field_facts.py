"""Parsers for the tables of facts about built-in kinds.

The names, types and descriptions of fields come from the models of the official client; `empty_fields`, `field_types`
and `merge_strategies` hold what those lack. An entry is `Type: field field`, or `word: Type.field Type.field`.
"""

from __future__ import annotations


def fields(text: str) -> frozenset[str]:
    """Return "Type.field" of every entry; continued lines are indented further."""
    names: list[str] = []
    name = ""
    for line in text.splitlines():
        words = line.split()
        if words and words[0].endswith(":"):
            name, words = words[0][:-1], words[1:]
        names += [f"{name}.{word}" for word in words]
    return frozenset(names)


def named(text: str) -> dict[str, str]:
    """Return "Type.field" mapped to the word in front of its line."""
    names: dict[str, str] = {}
    word = ""
    for line in text.splitlines():
        words = line.split()
        if words and words[0].endswith(":"):
            word, words = words[0][:-1], words[1:]
        names.update(dict.fromkeys(words, word))
    return names
