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
    State.PROCESSING: Term("A controller is at work on the module."),
    State.WARNING: Term("The module works in part, or needs something from you.", _MODULE),
    State.ERROR: Term("The module does not work.", _MODULE),
    State.DELETING: Term("The module is being deleted.", "if it stays: `kymatui finalizers NAME`"),
    State.UNMANAGED: Term("The Kyma says `managed: false`: lifecycle-manager leaves the module alone."),
    State.NOT_INSTALLED: Term("The catalog offers the module, and the cluster does not have it."),
    State.UNKNOWN: Term("No source says how the module is.", "check your rights: `kymatui catalog -o json`, `unknown`"),
}

STATE_SOURCES: Final[Mapping[StateSource, Term]] = {
    StateSource.RULES: Term("The rules of `customStateCheck`, evaluated on the module CR."),
    StateSource.STATUS: Term("`status.state` of the module CR."),
    StateSource.MANAGER: Term("The workload of the module's manager."),
    StateSource.KYMA: Term("The Kyma's status, as lifecycle-manager reports it."),
    StateSource.MANIFEST: Term("The Manifest's status."),
    StateSource.PRESENCE: Term("What the cluster has of the module; no resource reports a state."),
    StateSource.NONE: Term("No source."),
}

PRESENCES: Final[Mapping[Presence, Term]] = {
    Presence.NOT_INSTALLED: Term("The cluster has nothing of the module."),
    Presence.ENABLED: Term("The module is installed and has a module CR, or needs none."),
    Presence.NOT_CONFIGURED: Term("The manager runs, and there is no module CR.", "create one"),
    Presence.DELETING: Term("The module is being deleted.", "if it stays: `kymatui finalizers NAME`"),
    Presence.UNMANAGED: Term("The Kyma lists the module with `managed: false`."),
    Presence.ORPHAN: Term("There are module CRs without their manager.", "install the module, or delete them"),
    Presence.CONFLICT: Term(
        "lifecycle-manager and another tool both installed the module.", "delete one of the two installations"
    ),
    Presence.UNKNOWN: Term("The lists that tell are missing.", "ask for the right to list them"),
}

DRIFTS: Final[Mapping[DriftKind, Term]] = {
    DriftKind.IN_SYNC: Term("The running version is the expected one."),
    DriftKind.BEHIND: Term("The running version is lower than the expected one.", "upgrade, or wait for the rollout"),
    DriftKind.AHEAD: Term("The running version is higher than the expected one."),
    DriftKind.CHANNEL_SKEW: Term(
        "The channel has a lower version than the one installed, and lifecycle-manager does not downgrade.",
        "wait for the channel, or delete the module and enable it again",
    ),
    DriftKind.PENDING_MAINTENANCE: Term("The upgrade waits for the next maintenance window.", "`kymatui windows`"),
    DriftKind.ROLLING_OUT: Term("The upgrade is under way."),
    DriftKind.UNKNOWN: Term("One of the two versions is not known.", "`kymatui module NAME`, evidence"),
    DriftKind.NONE: Term("Nothing is compared: the module is not installed, or does not follow a channel."),
}

ACTORS: Final[Mapping[Actor, Term]] = {
    Actor.NOBODY: Term("Nothing has to be done."),
    Actor.YOU: Term("You: nothing happens before a person acts."),
    Actor.KLM: Term("lifecycle-manager is at work, or has to be repaired."),
    Actor.OPERATOR: Term("kymatui's own operator is at work, or has to be started."),
    Actor.MANAGER: Term("The module's manager is at work; read its logs if that does not end."),
    Actor.CATALOG: Term("The publisher of the ModuleTemplates has to correct them."),
    Actor.CLUSTER: Term("The cluster's administrator: rights, nodes, quotas, connections."),
}

GAPS: Final[Mapping[ListGap, Term]] = {
    ListGap.LOADING: Term("The list is on its way."),
    ListGap.FORBIDDEN: Term("You may not list it.", "ask for the right, or name a namespace with -n"),
    ListGap.UNKNOWN: Term("The server did not answer for the list.", "ctrl-r on the screen asks again"),
}

VERSION_SOURCES: Final[Mapping[VersionSource, Term]] = {
    VersionSource.RUNNING: Term("Read from what runs in the cluster."),
    VersionSource.REPORTED: Term("Reported by the Kyma; what runs was not read."),
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


def glossary_lines(width: int = 24) -> Iterator[str]:
    """Yield the glossary as plain text, one line for each word."""
    for title, terms in GLOSSARY:
        yield f"{title.replace('`', '')}:"
        for word, term in terms:
            advice = f" ({term.advice.replace('`', '')})" if term.advice else ""
            yield f"  {word.value or '(empty)':{width}} {term.meaning.replace('`', '')}{advice}"
        yield ""
