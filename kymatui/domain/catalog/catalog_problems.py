"""Problems of a catalog besides module states: objects, lists, the Kyma, templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kymatui.domain.catalog.rows import NAMING_LISTS, CheckedResource, ModuleRow
from kymatui.domain.kubernetes.managed_fields import CATALOG_SYNC, created_by
from kymatui.domain.kubernetes.object_meta import LABEL_SKIP
from kymatui.domain.kyma import module_templates, template_index
from kymatui.domain.kyma.kyma_keeper import for_reader
from kymatui.domain.kyma.kymas import NO_CHANNEL, Kyma, read_kyma
from kymatui.domain.kyma.manifests import Manifest, is_reported
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.problems import EDIT_KYMA, Actor, Advice, AdviceKind, Problem, Severity, scale_up, unpause
from kymatui.domain.kyma.states import State, kyma_state
from kymatui.domain.kyma.template_index import ReleaseMeta
from kymatui.domain.modules.readiness import Readiness
from kymatui.domain.modules.risks import (
    kyma_deletion_advice,
    kyma_deletion_words,
    kyma_error_advice,
    kyma_error_words,
    taken_over_advice,
    taken_over_words,
)
from kymatui.domain.modules.state_checks import lint_rules
from kymatui.domain.ownership import ANNOTATIONS_OWNED_BY
from kymatui.domain.snapshot.cluster_index import INVENTORY_FEED, RELEASE_FEED, WORKLOAD_FEEDS, WORKLOADS, ClusterIndex
from kymatui.domain.snapshot.snapshots import CATALOG_FEED, PODS, RUNTIME_FEED, Feed, FeedState, followed_kind


def row_problems(
    module: str,
    offers: Sequence[ModuleTemplate],
    meta: ReleaseMeta | None,
    manifest: Manifest | None,
    checked: Sequence[CheckedResource],
    ready: Readiness | None,
) -> tuple[Problem, ...]:
    """Return the problems of a module's templates, release meta, Manifest, manager and module CRs."""
    return (*_row_problems(module, offers, meta, checked, ready), *_unreadable(module, manifest, checked, ready))


def _unreadable(
    module: str, manifest: Manifest | None, checked: Sequence[CheckedResource], ready: Readiness | None
) -> Iterator[Problem]:
    """Yield a problem for each field with the wrong type; a server without schemas accepts such objects."""
    flawed = [(manifest.ref, manifest.flaws, Actor.KLM)] if manifest is not None else []
    flawed += [(ready.ref, ready.flaws, Actor.CLUSTER)] if ready is not None and ready.ref is not None else []
    flawed += [(item.resource, item.flaws, Actor.MANAGER) for item in checked]
    for ref, flaws, actor in flawed:
        for flaw in flaws:
            yield Problem(Severity.WARNING, f"{ref} does not match its schema: {flaw}", actor, module, ref)


def _row_problems(
    module: str,
    offers: Sequence[ModuleTemplate],
    meta: ReleaseMeta | None,
    checked: Sequence[CheckedResource],
    ready: Readiness | None,
) -> Iterator[Problem]:
    for template in offers:
        if CATALOG_SYNC in template.meta.field_managers:
            yield from taken_over_problems(module, template)
        for flaw in module_templates.template_violations(template):
            message = f"{template.ref} does not match its schema: {flaw}"
            yield Problem(Severity.WARNING, message, Actor.CATALOG, module, template.ref)
        for finding in lint_rules(template.rules):
            message = f"{template.ref}: {finding}"
            severity = Severity.INFO if finding.harmless else Severity.WARNING
            yield Problem(severity, message, Actor.CATALOG, module, template.ref)
    if meta is not None:
        for flaw in template_index.release_meta_violations(meta):
            message = f"{meta.ref} does not match its schema: {flaw}"
            yield Problem(Severity.WARNING, message, Actor.CATALOG, module, meta.ref)
    for item in checked:
        if item.differs:
            yield Problem(Severity.WARNING, f"{item.resource}: {item.difference}", Actor.CATALOG, module, item.resource)
    if ready is not None and ready.ref is not None and ready.scaled_to_zero:
        message = f"{ready.ref} is scaled to zero, so it does not reconcile the module's objects"
        yield Problem(Severity.WARNING, message, Actor.YOU, module, ready.ref, scale_up(module))


def taken_over_problems(module: str, template: ModuleTemplate) -> Iterator[Problem]:
    """Yield the problem of a template that the catalog sync overwrites, if a user created it."""
    creator = created_by(template.raw)
    if creator not in ("", CATALOG_SYNC):
        message = taken_over_words(str(template.ref), creator)
        yield Problem(
            Severity.WARNING, message, Actor.YOU, module, template.ref, advice=taken_over_advice(template.ref)
        )


def catalog_problems(world: ClusterIndex, rows: Sequence[ModuleRow]) -> tuple[Problem, ...]:
    """Return all problems including those of the rows, the worst first."""
    keeper = world.keeper
    of_kyma = (for_reader(problem, keeper, world.runtime, stopped=world.stopped) for problem in _kyma(world, rows))
    problems = [*_malformed(world), *_feeds(world), *of_kyma]
    for row in rows:
        if row.reason.severity is not Severity.INFO:
            reason = row.reason
            problems.append(
                Problem(reason.severity, reason.statement, reason.actor, row.name, reason.about or "", reason.advice)
            )
        problems += row.other_problems
    order = list(Severity)
    return tuple(sorted(dict.fromkeys(problems), key=lambda problem: order.index(problem.severity)))


def _malformed(world: ClusterIndex) -> Iterator[Problem]:
    for item in world.malformed:
        name = str(item.ref) if item.ref.name else f"a {item.ref.kind.kind or 'nameless object'}"
        yield Problem(
            Severity.ERROR,
            f"{name} is malformed: {item.reason}",
            Actor.CATALOG,
            "",
            item.ref if item.ref.name else name,
        )


def _feeds(world: ClusterIndex) -> Iterator[Problem]:
    feeds = dict(sorted(world.snapshot.feeds.items()))
    runtime = feeds.pop(RUNTIME_FEED, None)
    lost = {name: feed for name, feed in feeds.items() if feed.state in _LOST and not name.startswith(CATALOG_FEED)}
    if runtime is not None and runtime.state is FeedState.FAILED:  # report the runtime once, not each of its lists
        own = {name: lost.pop(name) for name in tuple(lost) if name not in NAMING_LISTS}
        yield _lost(own, "the runtime", runtime)
    if lost:
        reasons = sorted(lost.values(), key=lambda feed: (not feed.is_login_rejected, not feed.message))
        yield _lost(lost, "the server", reasons[0])
    for name, feed in feeds.items():
        detail = f": {feed.message}" if feed.message else ""
        if name.startswith(CATALOG_FEED):
            yield from _outside(name, feed, detail)
        elif feed.state is FeedState.FORBIDDEN and followed_kind(name) != PODS:  # a manager that fails says so
            use = f", so it is unknown {_TOLD_BY[name]}" if name in _TOLD_BY else ""
            severity = Severity.INFO if name in _RECORDS else Severity.WARNING
            yield Problem(severity, f"you may not list {name}{use}{detail}", Actor.CLUSTER, "", name)
        elif feed.state is FeedState.LIVE and detail:
            yield Problem(Severity.WARNING, f"{name}{detail}", Actor.CLUSTER, "", name)


_RECORDS: Final = {INVENTORY_FEED: "what kymatui installed", RELEASE_FEED: "what helm installed"}
"""Lists that most users may not read whole, and without which modules are known all the same."""
_LOST = (FeedState.STALE, FeedState.FAILED)
_MANAGERS = "whether managers of this kind are ready"
_TOLD_BY: Final = {
    **dict(
        zip(
            NAMING_LISTS,
            (
                "which modules and channels are requested",
                "which versions exist and how states are checked",
                "which versions channels have",
                "what lifecycle-manager installed",
            ),
            strict=True,
        )
    ),
    **{WORKLOAD_FEEDS[kind]: _MANAGERS for kind in WORKLOADS},
    WORKLOAD_FEEDS["CustomResourceDefinition"]: "which kinds modules manage",
    **_RECORDS,
}
"""What a list tells that rows alone do not say; the state of a module CR is said in its module's row."""


def _lost(feeds: Mapping[str, Feed], who: str, reason: Feed) -> Problem:
    """Return one problem for a server that does not answer, however many lists are affected."""
    detail = f": {reason.message}" if reason.message else ""
    if reason.is_login_rejected:
        advice = Advice(AdviceKind.LOG_IN, reason.login_advice)
        return Problem(Severity.WARNING, f"{who} rejects your login{detail}", Actor.YOU, advice=advice)
    if len(feeds) == 1:
        (name,) = feeds
        return Problem(Severity.WARNING, f"{who} does not return {name}{detail}", Actor.CLUSTER, "", name)
    fails = f"does not return {len(feeds)} lists" if feeds else "does not answer"
    return Problem(Severity.WARNING, f"{who} {fails}{detail}", Actor.CLUSTER)


def _outside(name: str, feed: Feed, detail: str) -> Iterator[Problem]:
    """Yield the problem of a catalog outside the cluster."""
    if feed.state is FeedState.FAILED:
        yield Problem(Severity.WARNING, f"the {name} cannot be read{detail}", Actor.YOU, "", name)
    elif feed.state is FeedState.STALE:
        yield Problem(
            Severity.WARNING, f"the {name} may be outdated; the last read failed{detail}", Actor.YOU, "", name
        )
    elif detail:
        yield Problem(Severity.INFO, f"the {name}{detail}", Actor.NOBODY, "", name)


def _kyma(world: ClusterIndex, rows: Sequence[ModuleRow]) -> Iterator[Problem]:
    kyma = world.kyma
    if kyma is None:
        return
    name = str(kyma.ref)
    count = len(world.snapshot.kymas)
    if count > 1:
        message = f"the cluster has {count} Kymas; the rows are about {kyma.meta.namespace}/{kyma.meta.name}"
        yield Problem(Severity.INFO, message, Actor.NOBODY, "", kyma.ref)
    lease = world.snapshot.keeper_lease
    if lease is not None and lease.doubt:
        yield Problem(Severity.INFO, lease.doubt, Actor.CLUSTER)
    if world.stopped:
        message = f"{world.stopped}; changes of {name} have no effect until it runs"
        yield Problem(Severity.ERROR, message, Actor.CLUSTER, "", kyma.ref)
    if kyma.channel.lower() == NO_CHANNEL:
        yield Problem(
            Severity.ERROR, f"{name}: spec.channel is none, which is not a channel", Actor.YOU, "", kyma.ref, EDIT_KYMA
        )
    if kyma.meta.label_is_true(LABEL_SKIP) and not kyma.meta.deleting:  # a deletion ignores the label
        message = f"{name} has the skip label, so lifecycle-manager ignores it"
        yield Problem(Severity.WARNING, message, Actor.YOU, "", kyma.ref, unpause(""))
    own = read_kyma(world.snapshot.runtime_kyma)
    if isinstance(own, Kyma) and own.meta.deleting and not kyma.meta.deleting:
        yield _deletion(own, f"{own.ref} of the runtime", sorted(world.snapshot.runtime_only))
    if kyma.meta.deleting:
        yield _deletion(kyma, name, [module.name for module in kyma.modules if module.managed])
    elif words := kyma_error_words(kyma.state, kyma.operation, (report.state for report in kyma.reports)):
        severity = Severity.ERROR if kyma.state == State.ERROR else Severity.WARNING
        advice = kyma_error_advice(kyma.operation, kyma.meta.name)
        yield Problem(severity, f"{name}: {words}", Actor.YOU, "", kyma.ref, advice)
    for flaw in kyma.flaws:
        yield Problem(Severity.WARNING, f"{name} does not match its schema: {flaw}", Actor.YOU, "", kyma.ref)
    yield from _disagreements(kyma, rows)


def _deletion(kyma: Kyma, name: str, modules: Iterable[str]) -> Problem:
    """Return the problem of a Kyma that is being deleted.

    The control plane creates a runtime's Kyma again, and may not request these modules of it.
    """
    held = f" (finalizers: {', '.join(kyma.meta.finalizers)})" if kyma.meta.finalizers else ""
    if any(name in kyma.meta.annotations for name in ANNOTATIONS_OWNED_BY):
        known = tuple(modules)
        words, advice = kyma_deletion_words(known), kyma_deletion_advice(known)
        return Problem(Severity.WARNING, f"{name} is being deleted{held}: {words}", Actor.YOU, "", kyma.ref, advice)
    return Problem(Severity.WARNING, f"{name} is being deleted with all its modules{held}", Actor.KLM, "", kyma.ref)


def is_orphaned(module: str, manifest: Manifest | None, kyma: Kyma | None, *, mandatory: bool) -> bool:
    """Return whether a Kyma neither requests the module of a Manifest nor reports the Manifest.

    lifecycle-manager puts it into state Error after five minutes (`orphan_reason`).
    """
    if manifest is None or kyma is None or mandatory:
        return False
    return kyma.request(module) is None and not is_reported(manifest, module, kyma)


def _disagreements(kyma: Kyma, rows: Sequence[ModuleRow]) -> Iterator[Problem]:
    expected = kyma_state((r.state for r in kyma.reports), (c.status for c in kyma.conditions))
    if kyma.state and kyma.state != expected and not kyma.meta.deleting:
        message = f"{kyma.ref} reports {kyma.state}, but its modules and conditions imply {expected}"
        actor = Actor.YOU if kyma.meta.label_is_true(LABEL_SKIP) else Actor.KLM
        yield Problem(Severity.INFO, message, actor, "", kyma.ref)
    worse = [row.name for row in rows if row.managed and row.state is State.ERROR]
    if kyma.state == State.READY and worse:
        message = f"{kyma.ref} reports Ready, but these modules are in Error: {', '.join(worse)}"
        yield Problem(Severity.WARNING, message, Actor.YOU, "", kyma.ref)
    for row in rows:
        if words := row.disagreement:
            yield Problem(Severity.INFO, words, Actor.NOBODY, row.name)
