"""The catalog's data types: rows, offers, reports and the catalog itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cached_property, cmp_to_key
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.domain.installed import FLUX, InstallationRun, RecordedInstallation
from kymatui.domain.kubernetes.json_reader import Flaw
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.problems import Actor, AdviceKind, Problem, Reason, Severity
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.kyma.versions import parse_version, same_version
from kymatui.domain.modules.presence import UNFINISHED, Presence
from kymatui.domain.modules.readiness import Readiness
from kymatui.domain.modules.risks import ModuleRisk
from kymatui.domain.modules.state_checks import Evaluation
from kymatui.domain.snapshot.cluster_index import INVENTORY_FEED, RELEASE_FEED
from kymatui.domain.snapshot.missing_lists import ListGap, RowFact, UnknownFact, explain_missing, gap_of
from kymatui.domain.snapshot.snapshots import CATALOG_FEED, Feed, FeedState, is_namespaced_feed
from kymatui.domain.versions.drift import Drift
from kymatui.domain.versions.evidence import Evidence, VersionSource, version_source
from kymatui.domain.versions.messages import source_words
from kymatui.domain.versions.refusals import Refusal
from kymatui.domain.versions.resolution import Resolution

NAMING_LISTS = tuple(
    f"{plural}.operator.kyma-project.io" for plural in ("kymas", "moduletemplates", "modulereleasemetas", "manifests")
)
"""The lists that name modules."""


EVERYBODY: Final = "all"
"""Stands for everybody who may have installed something."""
_PRESENCE_WORDS: Final[Mapping[Presence, str]] = {
    Presence.NOT_INSTALLED: "not installed",
    Presence.NOT_CONFIGURED: "unconfigured",
    Presence.ORPHAN: "orphan",
    Presence.CONFLICT: "managed twice",
    Presence.DELETING: State.DELETING.value,
    Presence.INSTALLING: Presence.INSTALLING.value,
    Presence.PARTIAL: "partial",
    Presence.DELETION_INTERRUPTED: Presence.DELETION_INTERRUPTED.value,
}


class CatalogOrigin(StrEnum):
    """The catalog that offers a module."""

    KYMA = "kyma"
    COMMUNITY = "community"
    NONE = "none"  # installed from elsewhere


class OfferMark(StrEnum):
    """What an offered version is in the cluster."""

    INSTALLED = "installed"
    DESIRED = "desired"


class Offer(Struct, frozen=True):
    """A template of a module: its version, reference and catalog.

    `source` is the address that a community template was fetched from, "" if not recorded. A `superseded` one names a
    channel that its module's release meta defines: lifecycle-manager ignores it.
    """

    version: str
    template: ObjectRef
    origin: CatalogOrigin
    channels: tuple[str, ...] = ()
    source: str = ""
    superseded: bool = False


def newest_first(offers: Iterable[Offer]) -> list[Offer]:
    """Return the offers by version, the newest first; those without a readable version come last."""
    return sorted(offers, key=cmp_to_key(_by_version))


def _by_version(offer: Offer, other: Offer) -> int:
    left, right = parse_version(offer.version), parse_version(other.version)
    if left is None or right is None:
        return (left is None) - (right is None)
    return (left < right) - (right < left)


class CheckedResource(Struct, frozen=True):
    """A module CR, evaluated in both modes; `klm` and `strict` may differ.

    `set_by_hand` names who set the finalizers where only people did, `message` is the CR's own message,
    `status_state` its status.state if no rules apply, `flaws` its unreadable fields.
    """

    resource: ObjectRef
    klm: Evaluation
    strict: Evaluation
    deleting: bool = False
    finalizers: tuple[str, ...] = ()
    set_by_hand: tuple[str, ...] = ()
    message: str = ""
    status_state: str = ""
    flaws: tuple[Flaw, ...] = ()

    @property
    def differs(self) -> bool:
        """Return whether the two modes give different states."""
        return self.klm.state is not self.strict.state

    @property
    def difference(self) -> str:
        """Return what the two modes say, where they differ."""
        return (
            f"lifecycle-manager says {self.klm.state}, by the documentation of customStateCheck it is "
            f"{self.strict.state}. The module's publisher should repair the rule"
        )


class StateReports(Struct, frozen=True):
    """The state of a module according to each source, "" if the source reports none."""

    kyma: str = ""
    kyma_message: str = ""
    kyma_version: str = ""
    manifest: str = ""
    manifest_message: str = ""
    resource: str = ""
    manager: str = ""

    @property
    def disagree(self) -> bool:
        """Return whether the sources report different states."""
        return len({word for word in (self.kyma, self.manifest, self.resource) if word}) > 1


class ModuleRow(Struct, frozen=True):
    """One module.

    `channels` maps each channel of the module to its version. A missing version is ""; `channel` is "" for
    community modules. `checked` holds every module CR, the worst first; `evaluation` explains the first of them.
    `created` is when the module came into the cluster, in seconds of the Unix clock. `unknown` names the facts that
    depend on a missing list; their values in the row are not facts. `keeper` is what works on the Kyma. `interrupted`
    is the job on this module that a machine's journal says was interrupted, such as "deletion"; "" for none.
    `shown` is the template that describes the module: what the Kyma requests, else what is installed, else the newest.
    `installation` is the record of kymatui or helm in the cluster, `run` its state, and `workloads` are those with its
    marks. `new_cr` is the module CR to create where an installed module has none. `applied_by` is the tool without
    records, such as kubectl, that wrote the module's manager.
    """

    name: str
    origin: CatalogOrigin
    channels: Mapping[str, str]
    channel: str
    desired: str
    installed: str
    newest: str
    drift: Drift
    state: State
    state_source: StateSource
    presence: Presence
    managed: bool
    mandatory: bool
    beta: bool
    internal: bool
    reason: Reason
    resolution: Resolution
    shown: ModuleTemplate | None = None
    evaluation: Evaluation | None = None
    checked: tuple[CheckedResource, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    readiness: Readiness | None = None
    reports: StateReports = StateReports()
    offers: tuple[Offer, ...] = ()
    policy: str = ""
    manager: ObjectRef | None = None
    manifest: ObjectRef | None = None
    created: float | None = None
    problems: tuple[Problem, ...] = ()
    foreseen: tuple[ModuleRisk, ...] = ()
    unknown: Mapping[RowFact, UnknownFact] = field(default_factory=dict)
    keeper: Actor = Actor.KLM
    interrupted: str = ""
    installation: RecordedInstallation | None = None
    run: InstallationRun | None = None
    workloads: tuple[ObjectRef, ...] = ()
    new_cr: Mapping[str, Any] | None = None
    applied_by: str = ""

    @property
    def source_kind(self) -> str:
        """Return what the module comes from: the catalog that offers it, else what it was installed from."""
        source = self.installation.source if self.installation is not None else None
        return source.value if self.origin is CatalogOrigin.NONE and source is not None else self.origin.value

    @property
    def installed_by(self) -> str:
        """Return who installed it, "" if nothing is installed or neither records nor its objects say so."""
        if self.presence is Presence.NOT_INSTALLED:
            return ""
        if self.managed or self.manifest is not None:
            return self.keeper.value
        if self.installation is None or (self.installation.installer == FLUX and self.applied_by):
            return self.applied_by
        return self.installation.installer

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the addresses that community templates were fetched from, as far as recorded."""
        return tuple(dict.fromkeys(offer.source for offer in self.offers if offer.source))

    @property
    def version_source(self) -> VersionSource | None:
        """Return whether `installed` is running or only reported; None if there is no installed version."""
        return version_source(self.evidence) if self.installed else None

    @property
    def base_offer(self) -> Offer | None:
        """Return what versions are compared with: the installed version, else the desired, else the newest."""
        offers = newest_first(self.offers)
        for version in (self.installed, self.desired):
            for offer in offers if version else ():
                if same_version(offer.version, version):
                    return offer
        return offers[0] if offers else None

    def offer_marks(self, offer: Offer) -> tuple[OfferMark, ...]:
        """Return what a version is here: installed, desired, both or neither."""
        here = ((OfferMark.INSTALLED, self.installed), (OfferMark.DESIRED, self.desired))
        return tuple(mark for mark, version in here if version and same_version(offer.version, version))

    @property
    def installed_words(self) -> str:
        """Return the installed version, labelled if it is only reported."""
        source = self.version_source
        label = f" ({source.value})" if source is VersionSource.REPORTED else ""
        label = " (partial)" if self.presence is Presence.PARTIAL and self.installed else label
        return self.text(RowFact.INSTALLED, self.installed + label)

    @property
    def state_words(self) -> str:
        """Return the text of STATE, on the screen and in tables: what is partial or interrupted precedes the state.

        But an Error is never hidden, and of an unknown state it is the reason.
        """
        partial = _PRESENCE_WORDS.get(self.presence)
        if self.interrupted and self.presence not in UNFINISHED:  # the cluster knows more than a journal
            partial = f"{self.interrupted} interrupted"
        partial = partial if self.state is not State.ERROR else None
        return self.text(RowFact.STATE, partial or self.state.value)

    @property
    def other_problems(self) -> tuple[Problem, ...]:
        """Return the problems that the reason does not say."""
        return tuple(problem for problem in self.problems if problem.message != self.reason.cause)

    @property
    def disagreement(self) -> str:
        """Return what the sources of the state say, and which state is displayed; "" where they agree."""
        if not (self.managed and self.reports.disagree):
            return ""
        states = {"Kyma": self.reports.kyma, "Manifest": self.reports.manifest, "module CR": self.reports.resource}
        words = ", ".join(f"the {who} says {word}" for who, word in states.items() if word)
        why = "the worst state counts"
        if self.state.value not in states.values() or self.state_source is StateSource.PRESENCE:
            why = f"{source_words(self.state_source)} decide"
        elif self.state is not State.ERROR and State.ERROR in (self.reports.kyma, self.reports.manifest):
            why = f"an Error of {self.keeper} counts once the manager has started"
        return f"{words}. {self.state} is displayed: {why}"

    @property
    def actor(self) -> Actor:
        """Return who has to act next."""
        return self.reason.actor

    @property
    def namespaces(self) -> frozenset[str]:
        """Return the namespaces of the module's CRs and manager."""
        objects = (
            *(resource.resource for resource in self.checked),
            *((self.manager,) if self.manager is not None else ()),
        )
        own = {self.installation.namespace} if self.installation is not None else set()
        return frozenset(ref.namespace for ref in objects if ref.namespace) | own

    @property
    def template(self) -> ObjectRef | None:
        """Return the template that describes the module."""
        return self.shown.ref if self.shown is not None else None

    @property
    def refusal(self) -> Refusal | None:
        """Return why lifecycle-manager would not install the module.

        None for unmanaged community modules and for mandatory modules, which are never requested.
        """
        asked = self.managed or self.origin is CatalogOrigin.KYMA
        return self.resolution.refusal if asked and not self.mandatory else None

    def text(self, fact: RowFact, known: str) -> str:
        """Return `known`, or the word for why the fact is unknown."""
        why = self.unknown.get(fact)
        return known if why is None else why.gap.value

    def age(self, now: float) -> float | None:
        """Return the module's age in seconds, None if unknown."""
        return None if self.created is None else max(0.0, now - self.created)


class KymaSummary(Struct, frozen=True):
    """The Kyma of the catalog, and what works on it.

    `state` is reported, `expected` is computed from modules and conditions. `own_error` says why the Kyma itself, and
    no module of it, is in Error or Warning; "" if it is not. `stopped` says why what works on it does not run.
    """

    ref: ObjectRef
    channel: str
    state: str
    expected: State
    deleting: bool
    skipped: bool
    keeper: Actor = Actor.KLM
    stopped: str = ""
    own_error: str = ""


class Catalog(Struct, frozen=True, dict=True):
    """The catalog of one cluster; `taken_at` is the snapshot's time, `feeds` the status of each list.

    `is_control_plane` means that the rows are about one of the cluster's Kymas, whose modules run in another cluster.
    `unnamed_kymas` counts the Kymas among which `kyma` is an arbitrary one, 0 if there is no choice. `releases` are the
    Helm releases of other tools that are no module's.
    """

    cluster: str
    kyma: KymaSummary | None
    rows: tuple[ModuleRow, ...]
    problems: tuple[Problem, ...]
    taken_at: float = 0.0
    feeds: Mapping[str, Feed] = field(default_factory=dict)
    is_control_plane: bool = False
    unnamed_kymas: int = 0
    releases: tuple[ModuleRow, ...] = ()

    def installed_by(self, installer: str) -> Catalog:
        """Return the catalog of what one has installed, Helm releases included; of "all" everything there is."""
        every = (*self.rows, *self.releases)
        tool = f"{installer} ".lower()  # "flux" also has "Flux Kustomization apps/prod"
        rows = (
            every
            if installer == EVERYBODY
            else (row for row in every if f"{row.installed_by} ".lower().startswith(tool))
        )
        return replace(self, rows=tuple(sorted(rows, key=lambda row: row.name)))

    @property
    def keeper(self) -> Actor:
        """Return what works on the Kyma."""
        return self.kyma.keeper if self.kyma is not None else Actor.KLM

    @property
    def stopped(self) -> str:
        """Return why what works on the Kyma does not run, "" where it runs or nothing shows it."""
        return self.kyma.stopped if self.kyma is not None else ""

    @property
    def edit_warnings(self) -> tuple[str, ...]:
        """Return why an edit of the Kyma has no effect now."""
        return (f"{self.stopped}; the edit has no effect until it runs",) if self.stopped else ()

    @property
    def choice_refusal(self) -> str:
        """Return why `kyma` is not the one to work on, "" if it is the only one or a runtime's own."""
        return f"this cluster has {self.unnamed_kymas} Kymas, and none is named" if self.unnamed_kymas else ""

    @property
    def modules_unknown(self) -> UnknownFact | None:
        """Return why modules may lack a row, None if all lists that name modules are complete."""
        return explain_missing(self.feeds, NAMING_LISTS)

    @property
    def templates_unknown(self) -> UnknownFact | None:
        """Return why templates or release metas may exist unseen, None if both are listed."""
        return explain_missing(self.feeds, NAMING_LISTS[1:3])

    @property
    def kyma_unknown(self) -> UnknownFact | None:
        """Return why a Kyma may exist unseen; None if there is none, or if it is `kyma`."""
        return explain_missing(self.feeds, NAMING_LISTS[:1]) if self.kyma is None else None

    @property
    def installations_unknown(self) -> UnknownFact | None:
        """Return why installations of kymatui may be missing, None if all of its inventories are listed."""
        return explain_missing(self.feeds, [INVENTORY_FEED])

    @property
    def releases_unknown(self) -> UnknownFact | None:
        """Return why Helm releases may be missing, None if they are listed."""
        return explain_missing(self.feeds, [RELEASE_FEED])

    @property
    def loading(self) -> UnknownFact | None:
        """Return the lists that are still loading and may add problems, None if all are loaded."""
        return UnknownFact(ListGap.LOADING, names) if (names := _loading(self.feeds)) else None

    @property
    def problems_of_no_module(self) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
        """Return the problems of lists that you may not read, or not read whole, and the others, all without a module.

        Several lists are one problem: a user of one namespace knows why.
        """
        lists, others = self.problems_by_list
        return self._joined(lists), others

    @property
    def problems_by_list(self) -> tuple[Mapping[str, Problem], tuple[Problem, ...]]:
        """Return the problems of lists that you may not read, or not read whole, by list, and the others."""
        lists: dict[str, Problem] = {}
        others: list[Problem] = []
        for problem in self.problems:
            name = problem.about if isinstance(problem.about, str) else ""
            state = self.feeds[name].state if name in self.feeds and not name.startswith(CATALOG_FEED) else None
            if not problem.module and state in (FeedState.FORBIDDEN, FeedState.LIVE):
                lists[name] = problem
            elif not problem.module:
                others.append(problem)
        return lists, tuple(others)

    def _joined(self, lists: Mapping[str, Problem]) -> tuple[Problem, ...]:
        """Return several problems of lists as one."""
        if len(lists) < 2:
            return tuple(lists.values())
        from kymatui.domain.rights import LISTS_MISSING  # few commands have several such lists

        forbidden = [name for name in lists if self.feeds[name].state is FeedState.FORBIDDEN]
        narrowed = [name for name in lists if self.feeds[name].state is FeedState.LIVE]
        messages = {self.feeds[name].message for name in narrowed}
        parts = []
        if narrowed:
            reason = messages.pop() if len(messages) == 1 else "only a part may be read"
            parts.append(f"{reason} ({format_count(len(narrowed), 'list')})")
        if forbidden:
            parts.append(f"you may not list {forbidden[0] if len(forbidden) == 1 else f'{len(forbidden)} kinds'}")
        severity = min((problem.severity for problem in lists.values()), key=list(Severity).index)
        return (Problem(severity, f"{'; '.join(parts)}, {LISTS_MISSING}", Actor.CLUSTER),)

    @property
    def problem_count(self) -> int:
        """Return the number of problems as header, problem list and JSON show it."""
        return sum(problem.counts for problem in self.problems)

    @property
    def updates(self) -> tuple[ModuleRow, ...]:
        """Return the modules that you can upgrade, which is no problem."""
        advised = ((row, row.reason.advice) for row in self.rows)
        return tuple(row for row, advice in advised if advice is not None and advice.kind is AdviceKind.UPGRADE)

    @property
    def update_count(self) -> int:
        """Return the number of modules that you can upgrade."""
        return len(self.updates)

    @cached_property
    def problem_modules(self) -> frozenset[str]:
        """Return the modules with a problem, for the problems filter."""
        return frozenset(problem.module for problem in self.problems if problem.counts and problem.module)

    @property
    def channels(self) -> tuple[str, ...]:
        """Return every channel of any module; regular, fast and experimental come first."""
        known = ("regular", "fast", "experimental")
        channels = {channel for row in self.rows for channel in row.channels}
        return tuple(sorted(channels, key=lambda name: (known.index(name) if name in known else len(known), name)))

    def row(self, name: str) -> ModuleRow | None:
        """Return the row of a module or of a Helm release, None if there is none."""
        return next((row for row in (*self.rows, *self.releases) if row.name == name), None)


def _loading(feeds: Mapping[str, Feed]) -> tuple[str, ...]:
    names = (name for name in feeds if not is_namespaced_feed(name) and not name.startswith(CATALOG_FEED))
    return tuple(name for name in names if gap_of(feeds[name]) is ListGap.LOADING)
