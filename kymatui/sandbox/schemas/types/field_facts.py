"""How the tables of facts about built-in kinds read.

The names, types and descriptions of fields come from the models of the official client; `emptiness`, `fieldtypes` and
`merging` hold what those leave out. An entry reads `Type: field field`, or `word: Type.field Type.field`.
"""

from __future__ import annotations


def fields(text: str) -> frozenset[str]:
    """ "Type.field" of every entry; continued lines are indented further."""
    found: list[str] = []
    name = ""
    for line in text.splitlines():
        words = line.split()
        if words and words[0].endswith(":"):
            name, words = words[0][:-1], words[1:]
        found += [f"{name}.{word}" for word in words]
    return frozenset(found)


def named(text: str) -> dict[str, str]:
    """ "Type.field" to the word in front of its line."""
    found: dict[str, str] = {}
    word = ""
    for line in text.splitlines():
        words = line.split()
        if words and words[0].endswith(":"):
            word, words = words[0][:-1], words[1:]
        found.update(dict.fromkeys(words, word))
    return found
