"""What a person is shown before anything is written: objects with what happens to them, and what has to be agreed to.

A preview is words and signs alone; whatever is planned (an edit of a Kyma, an installation, a deletion) is put into it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class PlannedChange(StrEnum):
    """What happens to one object, the most destructive first."""

    DELETE = "-"
    CONFLICT = "!"
    CHANGE = "~"
    CREATE = "+"
    SAME = "="

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class PreviewLine:
    """One object. `note` stands beside it; `diff` has lines that begin with `+ `, `- ` or two spaces."""

    mark: PlannedChange
    name: str
    note: str = ""
    diff: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Consent:
    """Something that has to be agreed to by a tick, or by typing the word of `typed`."""

    id: str
    words: str
    typed: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """Everything that is shown of a plan.

    charge     who is in charge of the cluster or the module, and what follows from it
    refusals   why it cannot be carried out, whatever is agreed to
    warnings   what a person should know
    missing    rights that the user has not
    grants     what the plan lets others do, where that is far-reaching
    consents   what must be agreed to before it can be carried out
    question   what is asked at the end, "Enable keda?"
    document   the plan as a file, and `file_name` its name; None where it cannot be kept
    editable   whether the choices that led here can be made anew
    """

    title: str
    lines: tuple[PreviewLine, ...] = ()
    charge: str = ""
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    consents: tuple[Consent, ...] = ()
    question: str = "Go on?"
    document: bytes | None = None
    file_name: str = ""
    editable: bool = False

    @property
    def counts(self) -> tuple[tuple[PlannedChange, int], ...]:
        """How many objects each thing happens to: what destroys comes first and always, the rest where it occurs."""
        found = Counter(line.mark for line in self.lines)
        return tuple(
            (mark, found[mark])
            for mark in PlannedChange
            if found[mark] or mark in (PlannedChange.DELETE, PlannedChange.CONFLICT)
        )

    @property
    def is_refused(self) -> bool:
        return bool(self.refusals)

    def not_agreed(self, ticked: frozenset[str], typed: dict[str, str]) -> Iterator[Consent]:
        """The consents that are missing; `typed` has the texts by the consents' ids."""
        for one in self.consents:
            agreed = typed.get(one.id, "").strip() == one.typed if one.typed else one.id in ticked
            if not agreed:
                yield one


def join_previews(title: str, parts: Mapping[str, Preview], left_out: Sequence[str] = ()) -> Preview:
    """Previews of several modules as one; what is said and asked stands behind the module's name.

    `left_out` are modules that are not in it, each with the reason.
    """

    def of(word: str) -> Iterator[str]:
        yield from (f"{name}: {text}" for name, one in parts.items() for text in getattr(one, word))

    charges = dict.fromkeys(one.charge for one in parts.values() if one.charge)
    return Preview(
        title,
        tuple(replace(line, name=f"{name}: {line.name}") for name, one in parts.items() for line in one.lines),
        "; ".join(charges),
        tuple(of("refusals")),
        (*(f"left out: {words}" for words in left_out), *of("warnings")),
        tuple(dict.fromkeys(text for one in parts.values() for text in one.missing)),
        tuple(of("grants")),
        tuple(
            replace(consent, id=f"{consent.id} {name}", words=f"{name}: {consent.words}")
            for name, one in parts.items()
            for consent in one.consents
        ),
        f"{title[:1].upper()}{title[1:]}?",
    )


class PreviewVerdict(StrEnum):
    """What a person says to a preview."""

    ACCEPTED = "accepted"
    EDITED = "edited"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class PreviewAnswer:
    """The verdict, and the ids of the consents that were given."""

    verdict: PreviewVerdict
    consents: frozenset[str] = frozenset()

    @property
    def is_yes(self) -> bool:
        return self.verdict is PreviewVerdict.ACCEPTED
