"""Previews: what a plan does to each object, and the consents that it needs.

A preview is plain text, for any plan: a Kyma edit, an installation, a deletion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.terminal_text import sanitize

if TYPE_CHECKING:
    from kymatui.domain.gitops import GitChange, GitChanges
    from kymatui.domain.rights import RequiredPermission


class PlannedChange(StrEnum):
    """The changes of one object, the most destructive first."""

    DELETE = "-"
    CONFLICT = "!"
    CHANGE = "~"
    CREATE = "+"
    SAME = "="

    @property
    def word(self) -> str:
        return self.name.lower()


class PreviewLine(Struct, frozen=True):
    """One object; `diff` has lines that begin with `+ `, `- ` or two spaces.

    counts_as  how the summary counts a line that is no object: `install`, `uninstall`, "" for not at all
    """

    mark: PlannedChange
    name: str
    note: str = ""
    diff: tuple[str, ...] = ()
    counts_as: str | None = None

    @property
    def action(self) -> str:
        """Return the action that the summary counts."""
        return self.mark.word if self.counts_as is None else self.counts_as


class Consent(Struct, frozen=True):
    """A required consent: a tick, or typing the text in `typed`, as "Type keda to delete it"; a message is a verb."""

    id: str
    message: str
    typed: str = ""


class Preview(Struct, frozen=True):
    """The preview of a plan.

    management manager of the cluster or module, and the consequence
    refusals   why the plan cannot be applied
    warnings   notes for the user
    missing    permissions that the user lacks
    grants     dangerous permissions that the plan grants to others
    consents   required consents
    question   the final question: "Enable keda?"
    document   the plan as a file named `file_name`; None if it cannot be saved
    editable   whether the options can be changed
    overview   replaces the summary of the lines
    kymas      namespace/name of the Kymas that the plan edits
    role       the command that prints the Role with what is missing, and more that it needs
    """

    title: str
    lines: tuple[PreviewLine, ...] = ()
    management: str = ""
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    missing: tuple[RequiredPermission, ...] = ()
    grants: tuple[str, ...] = ()
    consents: tuple[Consent, ...] = ()
    question: str = "Apply?"
    document: bytes | None = None
    file_name: str = ""
    editable: bool = False
    overview: str = ""
    kymas: tuple[str, ...] = ()
    role: str = ""

    @property
    def summary(self) -> str:
        """Return the summary of all lines: `2 to create, 1 to change, 1 to delete`."""
        return ", ".join(text for _, text in self.summary_parts)

    @property
    def summary_parts(self) -> tuple[tuple[PlannedChange, str], ...]:
        """Return the parts of the summary, each with its mark."""
        if self.overview:
            return ((PlannedChange.CHANGE, self.overview),)
        parts = summary_parts(line.action for line in self.lines if line.action)
        marks = {line.action: line.mark for line in self.lines}
        return tuple((marks[word], text) for word, text in parts) or ((PlannedChange.SAME, NO_CHANGES),)

    @property
    def is_refused(self) -> bool:
        return bool(self.refusals)

    def not_agreed(self, ticked: frozenset[str], typed: dict[str, str]) -> Iterator[Consent]:
        """Yield the missing consents; `typed` maps the consents' ids to the entered text."""
        for consent in self.consents:
            text = typed.get(consent.id, "").strip()
            agreed = text == sanitize(consent.typed).strip() if consent.typed else consent.id in ticked
            if not agreed:
                yield consent


def git_consents(changes: Iterable[GitChange]) -> Iterator[Consent]:
    """Yield the consent to change what comes from Git, for each source."""
    for source in dict.fromkeys(change.source for change in changes):
        yield Consent(f"gitops {source}", f"change here what {source} applies, until it applies it again")


def git_option(changes: GitChanges) -> dict[str, str]:
    """Return the option of an accepted plan's journal, whose `git_consents` were given."""
    return {"override_gitops": "true"} if changes else {}


def join_previews(title: str, parts: Mapping[str, Preview], left_out: Sequence[str] = ()) -> Preview:
    """Return one preview of several modules, with the module's name before each text.

    `left_out` are the excluded modules with their reasons.
    """

    def of(word: str) -> Iterator[str]:
        yield from (f"{name}: {text}" for name, preview in parts.items() for text in getattr(preview, word))

    managements = dict.fromkeys(preview.management for preview in parts.values() if preview.management)
    return Preview(
        title,
        tuple(replace(line, name=f"{name}: {line.name}") for name, preview in parts.items() for line in preview.lines),
        "; ".join(managements),
        tuple(of("refusals")),
        (*(f"not included: {words}" for words in left_out), *of("warnings")),
        tuple(dict.fromkeys(right for preview in parts.values() for right in preview.missing)),
        tuple(of("grants")),
        tuple(
            replace(consent, id=f"{consent.id} {name}", message=f"{name}: {consent.message}")
            for name, preview in parts.items()
            for consent in preview.consents
        ),
        f"{title[:1].upper()}{title[1:]}?",
    )


class PreviewVerdict(StrEnum):
    """The answers to a preview."""

    ACCEPTED = "accepted"
    EDITED = "edited"
    CANCELLED = "cancelled"


class PreviewAnswer(Struct, frozen=True):
    """The answer to a preview, with the ids of the given consents."""

    verdict: PreviewVerdict
    consents: frozenset[str] = frozenset()

    @property
    def is_yes(self) -> bool:
        return self.verdict is PreviewVerdict.ACCEPTED


# The summary of a plan: how many objects it creates, changes and deletes, and modules that it installs.


NO_CHANGES: Final = "no changes"
_PHRASES: Final = {
    "create": ("to create", "to create"),
    "install": ("module to install", "modules to install"),
    "change": ("to change", "to change"),
    "delete": ("to delete", "to delete"),
    "uninstall": ("module to uninstall", "modules to uninstall"),
    "keep": ("to keep", "to keep"),
    "conflict": ("conflict", "conflicts"),
    "blocked": ("blocked", "blocked"),
    "refused": ("refused", "refused"),
    "same": ("unchanged", "unchanged"),
}
"""What each action reads, for one object and for several, in the order of the summary."""


def summarize_actions(actions: Iterable[str]) -> str:
    """Return a summary such as `2 to create, 1 to change, 1 to delete`; zero counts are left out."""
    return ", ".join(part for _, part in summary_parts(actions)) or NO_CHANGES


def summary_parts(actions: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return each action of a plan with its part of the summary."""
    counts = Counter(actions)
    return tuple(
        (action, f"{counts[action]} {singular if counts[action] == 1 else many}")
        for action, (singular, many) in _PHRASES.items()
        if counts[action]
    )
