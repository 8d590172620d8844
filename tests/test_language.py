"""No text for people has the words and forms that docs and screens once had; `tests/strings.py` collects the texts.

`python -m tests.test_language [SOURCE…]` prints what is left.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from functools import cache
from typing import Final

import pytest

from tests.strings import SOURCES, Text, error_texts

pytestmark = pytest.mark.xdist_group("language")  # texts are collected once

_TAKE: Final = r"(?:take|takes|taken|taking|took)"

BANNED: Final[tuple[tuple[str, str], ...]] = (
    # words of our own, where the field has one
    (r"\b(in|takes?) charge\b", "managed by; manager"),
    (r"\bin step\b", "up to date"),
    (r"\bwaits? (for )?(a |its |the )?window\b", "awaiting maintenance window"),
    (r"\b(held|holds?|holding) (it |them |this |that |the \w+ )?back\b", "newer than channel"),
    (r"\bgo(es)? (up|down)\b", "upgrade, downgrade"),
    (r"(?:\d|\{\}) runs?, ", "running 1.4.0, expected 1.5.0"),
    (r"\b(is|are|was|were|be) (not )?there\b", "available, exists, installed, found"),
    (r"\bYOU\b", "Action needed: …"),
    (rf"\b{_TAKE} (\S+ ){{0,3}}away\b", "delete, remove"),
    (rf"\b{_TAKE} (\S+ ){{0,2}}out\b", "delete, remove, leave out"),
    (r"\b(let|lets|letting) (\S+ ){0,2}go\b", "release, remove"),
    (rf"\b{_TAKE} (\S+ ){{0,3}}(over|up)\b(?! (the )?fields)", "adopt"),
    (rf"\b{_TAKE} (\S+ ){{0,3}}for (empty|missing|granted)\b", "assume, treat as"),
    (r"\bcarr(y|ies|ied|ying) (\S+ )?out\b", "apply"),
    (r"\b(go|goes|going|went|gone) on\b|\bgoes back\b", "continue, resume; back"),
    (r"(?-i:\b[Bb](egin|egins|egan|egun|eginning)\b)(?! with)", "start"),
    (r"\banew\b", "again; change options"),
    (r"\b(cut|cuts|cutting) off\b", "interrupted"),
    (r"\bmade (by|of|from|up)\b", "created by, owned by, generated from"),
    (r"\bput right\b", "repair (`--force`)"),
    (r"\b(there|here) before\b", "already exists"),
    (r"\bbefore that:", "say what to do: Tick the box first"),
    (r"\blooked (at|for|into)\b|\blook(s|ing)? (after|into|round)\b", "read, check, inspect"),
    (r"\bsights?\b(?! of)", "preview, snapshot"),
    (r"\b(told|tells|telling|untold)\b", "report, say"),
    (r"\bsaid\b", "reported; says"),
    (r"\b(its|own|such|few|private) words\b|\bwords are\b", "message, usage"),
    (r"\bkept (as|in) a (backup|file)\b|\bkept before\b", "saved, backup"),
    (r"\b(is|are|was|were|not) wanted\b|\bhow it stands\b", "requested"),
    (r"\bways? out\b", "options"),
    (r"\bat once\b", "at the same time, in parallel, immediately"),
    (r"\b(default|its) resources?\b|\bmodule's resource\b", "default CR, module CR"),
    (r"\b(?<!role )(?<!pipeline )(?<!-)definitions?\b", "CRD"),
    (r"\bguided\b", "step by step"),
    (r"\b(holds|held|hold|holding) (\S+ ){0,2}up\b|\bis held by\b", "block, blocked by"),
    (r"\bturn(s|ing)? (\S+ ){0,2}round\b", "reverse the order"),
    (r"\bagree(s|d)? (with|to) (space|what)\b", "Tick the box (Space)"),
    (r"\bKyma (asks|asked) for\b|\basked for\b", "requests, enabled"),
    (r"\banswers for\b", "accepted by"),
    (r"\bbear(s|ing)? (the|its|a) name\b", "has the name"),
    (r"\bhas not seen\b|\bnot yet seen\b", "rolling out; waiting for …"),
    (r"\bcan be asked here\b", "not a terminal; use --yes to confirm"),
    (r"\bmore than nothing\b", "greater than 0"),
    (r"\b(mend|mends|mended)\b", "fix, correct"),
    (r"\brehears", "dry run"),
    (r"\bguess", "assume; unknown"),
    (r"\b(leave|leaves|left|leaving) (\S+ ){0,4}away\b", "remove, leave out"),
    (r"\bolder generation\b", "legacy"),
    (r"\bat each save\b", "on every save"),
    (r"\b(alone|each) gives? a wrong picture\b", "is misleading"),
    (r"\bneed each other\b|\bthe other way round\b", "must be used together"),
    (r"\bunknown: unknown\b", "say what is unknown once, then why: UnknownFact.reason"),
    (r"\bcertificate is (of|for another key)\b", "issued to, belongs to"),
    (r"\breferred components?\b", "referenced component"),
    (r"\bwhat (hands|users) that know\b|\bhands that\b", "what you know from"),
    # pronouns and inverted sentences
    (r"\b(some|no|any|every)body\b|\bno one\b", "name who does it: lifecycle-manager, kymatui, you, another user"),
    (r"\bsomeone\b|\banyone\b|\beveryone\b", "name who does it"),
    (r"\b(whoever|whatever|wherever|whomever|whom|whose it)\b", "name it: you, the user, the module that …"),
    (r"\bthat which\b|\bof which\b|\bof whom\b|\bupon\b", "start a new sentence"),
    (r"\bof the (others|rest) (neither|why)\b|, neither\b", "no module was changed"),
    (r"\bwhat is (there|another|done|kept)\b(?! of)", "name the thing: the backup, the objects that …"),
    (r"\b(he|she|him|her|hers)\b|\bhis \w", "it, they, you"),
    (r"(?<!there )(?<!here )\bis no (?!longer|more|need|such)\w+", "is not a …"),
    (r"\b(something|anything|nothing) else than\b", "not JSON, or what is expected"),
    # numbers
    (
        r"(?<![\d.,:/v-])(?<!of )\b1 (?!(?:is|was|has|does|its|as|this|us|always)\b)"
        r"(?:[a-z-]+ )?[a-z]{3,}(?<!s)s\b(?! \d)",
        "1 runtime, 2 runtimes",
    ),
    (r"(?<![\d.,:])\b0 (conflicts?|to (create|change|delete|conflict))\b|\bdelete 0\b", "leave out counts of zero"),
    (r"[a-z]\((s|es|ies)\)", "the number with its noun: 1 object, 2 objects"),
)
"""Forms that no text may have, as regular expressions, each with what to write."""

PATTERNS: Final = [(re.compile(form, re.IGNORECASE if "YOU" not in form else 0), better) for form, better in BANNED]

ALLOWED: Final[dict[tuple[str, str], str]] = {
    ("kymatui/adapters/files/interrupted_runs.py", "let go"): "a word of the file format",
    ("kymatui/engine/deletion/module_deletion.py", "let go"): "a word of the file format",
    ("kymatui/publishing/scaffold.py", "mend"): "the name of a scanner",
    ("kymatui/adapters/kube/objects/decoder.py", "said"): "the name of a group in a regular expression",
}
"""Forms that stay, by file and match, each with its reason."""


def offences(texts: Iterable[Text]) -> list[str]:
    """Return each text that has a banned form, with what to write instead."""
    found = []
    for one in texts:
        text = " ".join(one.text.split())
        found += [
            f"{one.place}:{one.line} {match.group()!r} (write: {better}) in: {text[:300]}"
            for pattern, better in PATTERNS
            if (match := pattern.search(text)) and (one.place, match.group()) not in ALLOWED
        ]
    return found


# What is left of the old texts, exactly; the numbers only shrink.
LEFT: Final = {"literals": 0, "help": 0, "keys": 0, "commands": 0, "pictures": 0, "documents": 0}


@cache
def texts_of(source: str) -> tuple[Text, ...]:
    """Collect the texts of a source; collecting costs more than searching."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "100")
        return tuple(SOURCES[source]())


@pytest.mark.parametrize("source", SOURCES)
def test_texts_are_in_plain_words(source: str) -> None:
    found = offences(texts_of(source))
    assert len(found) == LEFT[source], "\n".join(found[:40])


@pytest.mark.parametrize(("source", "least"), {"literals": 3000, "help": 250, "keys": 150, "pictures": 289}.items())
def test_texts_are_found_at_all(source: str, least: int) -> None:
    assert len(texts_of(source)) > least


def test_a_form_is_found_with_what_to_write() -> None:
    (found,) = offences([Text("here.py", 3, "deleting waits for YOU")])
    assert found.startswith("here.py:3 'YOU' (write: Action needed")
    assert offences([Text("here.py", 3, "Deletion blocked by 2 APIRules (a, b). Delete them to continue.")]) == []


# How an error may start with a capital: a kind or a name.
NAMES: Final = re.compile(
    r"[A-Z]+[a-z]*[A-Z_]|No changes made[.]|(Secret|Kyma|Kymas|Manifest|Manifests|Helm|Deployment|Namespace|Watcher)\b"
)


def test_errors_start_in_lower_case_and_have_no_full_stop() -> None:
    found = list(error_texts())
    assert len(found) > 500
    assert [str(one) for one in found if one.text[:1].isupper() and not NAMES.match(one.text)] == []
    assert [str(one) for one in found if one.text.endswith(".") and not one.text.endswith("No changes made.")] == []


def main() -> None:
    os.environ["COLUMNS"] = "100"
    for name in sys.argv[1:] or SOURCES:
        print(*offences(SOURCES[name]()), sep="\n")


if __name__ == "__main__":
    main()
