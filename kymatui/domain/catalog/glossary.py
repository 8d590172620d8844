"""The words of tables and documents with their one meaning, and what an operator does about each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.modules.presence import Presence
from kymatui.domain.snapshot.missing_lists import ListGap
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.evidence import VersionSource


class Term(NamedTuple):
    """The meaning of one word, and what to do about it; "" where nothing has to be done."""

    meaning: str
    advice: str = ""


_MODULE: Final = "`kymatui module NAME` says why"

STATES: Final[Mapping[State, Term]] = {
    State.READY: Term("The module works."),
    State.PROCESSING: Term("A controller is working on the module."),
    State.WARNING: Term("The module works only in part, or you have to act.", _MODULE),
    State.ERROR: Term("The module does not work.", _MODULE),
    State.DELETING: Term("The module is being deleted.", "if it stays: `kymatui finalizers NAME`"),
    State.UNMANAGED: Term("The Kyma has `managed: false`: lifecycle-manager does not update or repair the module."),
    State.NOT_INSTALLED: Term("The catalog offers the module, but it is not installed."),
    State.UNKNOWN: Term(
        "No source reports the module's state.", "check your rights: `kymatui catalog -o json`, `unknown`"
    ),
}

STATE_SOURCES: Final[Mapping[StateSource, Term]] = {
    StateSource.RULES: Term("The rules of `customStateCheck`, evaluated on the module CR."),
    StateSource.STATUS: Term("`status.state` of the module CR."),
    StateSource.MANAGER: Term("The workload of the module's manager."),
    StateSource.KYMA: Term("The Kyma's status, as lifecycle-manager reports it."),
    StateSource.MANIFEST: Term("The Manifest's status."),
    StateSource.PRESENCE: Term("Derived from the installed objects, not from a reported state."),
    StateSource.NONE: Term("No source."),
}

PRESENCES: Final[Mapping[Presence, Term]] = {
    Presence.NOT_INSTALLED: Term("The cluster has no objects of the module."),
    Presence.ENABLED: Term("The module is installed and has a module CR, or needs none."),
    Presence.NOT_CONFIGURED: Term("The module's manager runs, but no module CR exists.", "create the module CR"),
    Presence.DELETING: Term("The module is being deleted.", "if it stays: `kymatui finalizers NAME`"),
    Presence.INSTALLING: Term("kymatui or helm is installing it now."),
    Presence.PARTIAL: Term(
        "Its installation or upgrade was interrupted. STATE is `partial`.",
        "`kymatui module NAME` has the commands that complete or delete it",
    ),
    Presence.DELETION_INTERRUPTED: Term("Its deletion was interrupted.", "`kymatui delete NAME` completes it"),
    Presence.UNMANAGED: Term("The Kyma lists the module with `managed: false`."),
    Presence.ORPHAN: Term(
        "Module CRs exist without the module's manager.", "install the module, or delete the module CRs"
    ),
    Presence.CONFLICT: Term(
        "lifecycle-manager and another tool both installed the module.", "delete one of the two installations"
    ),
    Presence.UNKNOWN: Term("The lists that show it are missing.", "ask for the right to list them"),
}

DRIFTS: Final[Mapping[DriftKind, Term]] = {
    DriftKind.UP_TO_DATE: Term('Displayed as "up to date": the expected version is running.'),
    DriftKind.BEHIND: Term(
        'Displayed as "1 minor behind": the running version is lower than the expected one.',
        "upgrade, or wait for the rollout",
    ),
    DriftKind.AHEAD: Term('Displayed as "1 minor ahead": the running version is higher than the expected one.'),
    DriftKind.NEWER_THAN_CHANNEL: Term(
        'Displayed as "newer than channel": the installed version is higher than the version in the channel, and '
        "lifecycle-manager never downgrades automatically.",
        "wait for the channel, or delete the module and enable it again",
    ),
    DriftKind.AWAITING_WINDOW: Term(
        'Displayed as "awaiting window": the upgrade starts in the next maintenance window.', "`kymatui windows`"
    ),
    DriftKind.ROLLING_OUT: Term('Displayed as "rolling out": the upgrade is in progress.'),
    DriftKind.INCOMPLETE: Term(
        "Its installation, upgrade or deletion was interrupted.", "`kymatui module NAME` has the commands that end it"
    ),
    DriftKind.UNKNOWN: Term("The running or the expected version is unknown.", "`kymatui module NAME`, evidence"),
    DriftKind.NONE: Term(
        "Displayed as `-`: nothing is compared, because the module is not installed or does not follow a channel."
    ),
}

ACTORS: Final[Mapping[Actor, Term]] = {
    Actor.NOBODY: Term("No action is needed."),
    Actor.YOU: Term("You: nothing changes until you act."),
    Actor.KLM: Term("lifecycle-manager is working on the module.", "if nothing changes, check lifecycle-manager"),
    Actor.OPERATOR: Term(
        "kymatui's own operator is working on the module.", "if nothing changes, check that the operator runs"
    ),
    Actor.MANAGER: Term("The module's manager is working on the module.", "if nothing changes, read its logs"),
    Actor.CATALOG: Term("The publisher of the ModuleTemplates has to correct them."),
    Actor.CLUSTER: Term("The cluster's administrator, who manages rights, nodes, quotas and connections."),
    Actor.UNKNOWN: Term(
        "The objects that tell were not read: a fleet reads Kymas alone.", "`kymatui module NAME --remote RUNTIME`"
    ),
}

GAPS: Final[Mapping[ListGap, Term]] = {
    ListGap.LOADING: Term("The list is loading."),
    ListGap.FORBIDDEN: Term("You may not list it.", "ask for the right, or name a namespace with -n"),
    ListGap.UNKNOWN: Term("The server did not return the list.", "ctrl-r on the screen retries"),
}

VERSION_SOURCES: Final[Mapping[VersionSource, Term]] = {
    VersionSource.RUNNING: Term("Read from the running workload."),
    VersionSource.REPORTED: Term("Reported by the Kyma or the Manifest only; the workload does not show it."),
}

GLOSSARY: Final[tuple[tuple[str, Sequence[tuple[StrEnum, Term]]], ...]] = (
    ("State (STATE, `state`)", tuple(STATES.items())),
    ("Source of a state (CHECKS, `stateSource`)", tuple(STATE_SOURCES.items())),
    ("Presence", tuple(PRESENCES.items())),
    ("Drift (DRIFT, `drift`)", tuple(DRIFTS.items())),
    ("Who acts (`actor`)", tuple(ACTORS.items())),
    ("Missing lists (`unknown`)", tuple(GAPS.items())),
    ("Source of a version (`installedSource`, `versionSource`)", tuple(VERSION_SOURCES.items())),
)


def glossary_words() -> Sequence[str]:
    """Return the words that the glossary explains."""
    return list(dict.fromkeys(word.value for _, terms in GLOSSARY for word, _ in terms if word.value))


def glossary_lines() -> Iterator[str]:
    """Yield the glossary as plain text, one line for each word."""
    for title, terms in GLOSSARY:
        yield f"{title.replace('`', '')}:"
        for word, term in terms:
            advice = f" ({term.advice.replace('`', '')})" if term.advice else ""
            yield f"  {word.value or '(empty)':27} {term.meaning.replace('`', '')}{advice}"
        yield ""
