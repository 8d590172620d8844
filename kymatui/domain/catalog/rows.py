"""The catalog as data: one row a module, and what is wrong besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from kymatui.domain.kubernetes.json_reader import Flaw
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.problems import Actor, Problem, Reason
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.modules.presence import Presence
from kymatui.domain.modules.readiness import Readiness
from kymatui.domain.modules.risks import ModuleRisk
from kymatui.domain.modules.state_checks import Evaluation
from kymatui.domain.snapshot.missing_lists import ListGap, RowFact, UnknownFact, explain_missing, gap_of
from kymatui.domain.snapshot.snapshots import CATALOG_FEED, Feed, is_namespaced_feed
from kymatui.domain.versions.drift import Drift
from kymatui.domain.versions.evidence import Evidence, VersionSource, version_source
from kymatui.domain.versions.refusals import Refusal
from kymatui.domain.versions.resolution import Resolution

NAMING_LISTS = tuple(
    f"{plural}.operator.kyma-project.io" for plural in ("kymas", "moduletemplates", "modulereleasemetas", "manifests")
)
"""The lists that name modules."""


class CatalogOrigin(StrEnum):
    """Which catalog offers a module."""

    KYMA = "kyma"
    COMMUNITY = "community"


@dataclass(frozen=True, slots=True)
class Offer:
    """A template of the module: its version, where it stands, and which catalog it belongs to.

    `source` is the address that a community template was fetched from, "" where it does not say.
    """

    version: str
    template: ObjectRef
    origin: CatalogOrigin
    channels: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class CheckedResource:
    """One custom resource of the module, evaluated in both modes; `klm` and `strict` may differ.

    `message` is what the resource says in its own words; `status_state` the word itself where no rules stand above it;
    `flaws` are what could not be read.
    """

    resource: ObjectRef
    klm: Evaluation
    strict: Evaluation
    deleting: bool = False
    finalizers: tuple[str, ...] = ()
    message: str = ""
    status_state: str = ""
    flaws: tuple[Flaw, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether the two modes come to different states."""
        return self.klm.state is not self.strict.state


@dataclass(frozen=True, slots=True)
class StateReports:
    """What each one says of the module's state, "" where it says nothing, and whether they agree."""

    kyma: str = ""
    kyma_message: str = ""
    kyma_version: str = ""
    manifest: str = ""
    manifest_message: str = ""
    resource: str = ""
    manager: str = ""

    @property
    def disagree(self) -> bool:
        """Whether those who say something say different things."""
        return len({word for word in (self.kyma, self.manifest, self.resource) if word}) > 1


@dataclass(frozen=True, slots=True)
class ModuleRow:
    """One module.

    `channels` maps each channel that the module is in to its version. Versions are "" where there is none; `channel`
    is "" for community modules. `checked` holds every custom resource of the module, worst first; `evaluation` explains
    the first of them. `created` is when the module came into the cluster, in seconds of the Unix clock. `unknown` names
    the facts that a missing list leaves open: what the row says of them is no fact.
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

    @property
    def sources(self) -> tuple[str, ...]:
        """Where its community templates were fetched from, as far as they say."""
        return tuple(dict.fromkeys(offer.source for offer in self.offers if offer.source))

    @property
    def version_source(self) -> VersionSource | None:
        """Whether `installed` runs, or is only reported; None where there is none."""
        return version_source(self.evidence) if self.installed else None

    @property
    def installed_words(self) -> str:
        """The installed version; one that nothing but a report names has that word."""
        source = self.version_source
        label = f" ({source.value})" if source is VersionSource.REPORTED else ""
        return self.text(RowFact.INSTALLED, self.installed + label)

    @property
    def actor(self) -> Actor:
        """Who has to act next."""
        return self.reason.actor

    @property
    def template(self) -> ObjectRef | None:
        """The template that the module resolves to."""
        return self.resolution.template.ref if self.resolution.template is not None else None

    @property
    def refusal(self) -> Refusal | None:
        """Why lifecycle-manager would not install it. Nobody asks it for what only the community offers, nor for what
        is mandatory."""
        asked = self.managed or self.origin is CatalogOrigin.KYMA
        return self.resolution.refusal if asked and not self.mandatory else None

    def text(self, fact: RowFact, known: str) -> str:
        """Return the text of a fact, or the word for why it is not known."""
        why = self.unknown.get(fact)
        return known if why is None else why.gap.value

    def age(self, now: float) -> float | None:
        """How long the module has been there, in seconds; None where nothing says."""
        return None if self.created is None else max(0.0, now - self.created)


@dataclass(frozen=True, slots=True)
class KymaSummary:
    """The Kyma that the rows are about; `state` as it reports, `expected` as its modules and conditions give it."""

    ref: ObjectRef
    channel: str
    state: str
    expected: State
    deleting: bool
    skipped: bool


@dataclass(frozen=True)
class Catalog:
    """Everything the first screen shows; `taken_at` is when the snapshot was made, `feeds` how each list is doing."""

    cluster: str
    kyma: KymaSummary | None
    rows: tuple[ModuleRow, ...]
    problems: tuple[Problem, ...]
    taken_at: float = 0.0
    feeds: Mapping[str, Feed] = field(default_factory=dict)

    @property
    def modules_unknown(self) -> UnknownFact | None:
        """Why there may be modules without a row; None where every list came that names modules."""
        return explain_missing(self.feeds, NAMING_LISTS)

    @property
    def kyma_unknown(self) -> UnknownFact | None:
        """Why a Kyma may exist that is not seen; None where there is none, or it is `kyma`."""
        return explain_missing(self.feeds, NAMING_LISTS[:1]) if self.kyma is None else None

    @property
    def loading(self) -> UnknownFact | None:
        """The lists of the cluster that are loading, so that problems may still be added; None where none is."""
        return UnknownFact(ListGap.LOADING, names) if (names := _loading(self.feeds)) else None

    @property
    def problem_count(self) -> int:
        """How many problems there are, as the header, the list of problems and JSON say."""
        return sum(problem.counts for problem in self.problems)

    @cached_property
    def problem_modules(self) -> frozenset[str]:
        """The modules with a problem: those that the filter for problems shows."""
        return frozenset(problem.module for problem in self.problems if problem.counts and problem.module)

    @property
    def channels(self) -> tuple[str, ...]:
        """Every channel of any module: regular, fast and experimental first, in that order."""
        known = ("regular", "fast", "experimental")
        found = {channel for row in self.rows for channel in row.channels}
        return tuple(sorted(found, key=lambda name: (known.index(name) if name in known else len(known), name)))

    def row(self, name: str) -> ModuleRow | None:
        """The row of a module."""
        return next((row for row in self.rows if row.name == name), None)


def _loading(feeds: Mapping[str, Feed]) -> tuple[str, ...]:
    names = (name for name in feeds if not is_namespaced_feed(name) and not name.startswith(CATALOG_FEED))
    return tuple(name for name in names if gap_of(feeds[name]) is ListGap.LOADING)
