"""An audit of a control plane's runtimes: eight at once, ten seconds each; what cannot be looked at is a finding."""

from __future__ import annotations

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kymatui.domain.audits.auditing import Report, findings, judged
from kymatui.domain.audits.fleets import differences, unreached
from kymatui.domain.catalog import catalog
from kymatui.domain.objects import LABEL_KYMA_NAME, read_ref
from kymatui.domain.pairs.comparing import side_by_side
from kymatui.domain.pairs.pair import Pair, joined
from kymatui.domain.reading import Reader
from kymatui.domain.snapshots import Feed, FeedState, Snapshot
from kymatui.domain.subjects import Settings
from kymatui.errors import ClusterError, KymatuiError
from kymatui.wiring.collecting import relax_collector
from kymatui.wiring.controllers import found_rules
from kymatui.wiring.engine import open_cluster
from kymatui.wiring.fleets import list_fixed
from kymatui.wiring.kinds import KYMA_KINDS, Fixed
from kymatui.wiring.runtime_sessions import GIVE_UP_SECONDS, RuntimeSession

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kymatui.adapters.kube.clusters import KubeCluster
    from kymatui.domain.audits.findings import Finding
    from kymatui.domain.audits.ignoring import Ignore
    from kymatui.domain.snapshots import Object
    from kymatui.wiring.options import SessionOptions
    from kymatui.wiring.remote import RemoteOptions

AT_ONCE: Final = 8
_KYMAS, _TEMPLATES, _METAS, _MANIFESTS = KYMA_KINDS


def audit_fleet(
    options: RemoteOptions, ignores: Sequence[Ignore] = (), *, give_up: float = GIVE_UP_SECONDS
) -> tuple[Report, tuple[str, ...]]:
    """The report on all runtimes, and what is not known of the control plane's configuration, in sentences.

    Raises what keeps the control plane from being listed. Nothing is written, whatever the options say.
    """
    relax_collector()
    control = replace(options.control, read_only=True, catalogs=())
    home = open_cluster(control)
    try:
        kymas = list_fixed(home.client, _KYMAS, control.namespace)
        sides, notes = _control_sides(home, control, kymas)
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="audit") as pool:
            tasks = [pool.submit(_look, home, control, side, give_up) for side in sides]
            try:
                found = [finding for task in tasks for finding in task.result()]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return judged(home.name, "", time.time(), found, ignores), notes
    finally:
        home.client.transport.close()


def _control_sides(
    home: KubeCluster, control: SessionOptions, kymas: Sequence[Object]
) -> tuple[list[Snapshot], tuple[str, ...]]:
    """Of each runtime what the control plane has; the catalog is listed once for all of them."""
    feeds: dict[str, Feed] = {_KYMAS.feed: Feed(FeedState.LIVE, time.time())}
    templates, metas, manifests = (_listed(home, kind, feeds) for kind in (_TEMPLATES, _METAS, _MANIFESTS))
    by_kyma: dict[tuple[str, str], list[Object]] = defaultdict(list)
    for manifest in manifests:
        metadata = Reader(manifest).child("metadata")
        by_kyma[metadata.text("namespace"), metadata.labels("labels").get(LABEL_KYMA_NAME, "")].append(manifest)
    notes: list[str] = []
    sides = []
    rules, catalogs = {}, {}
    for raw in kymas:
        ref = read_ref(raw)
        if ref.namespace not in rules:
            rules[ref.namespace], said = found_rules(home, ref.namespace, control)
            catalogs[ref.namespace] = (_within(templates, ref.namespace), _within(metas, ref.namespace))
            notes += said
        sides.append(
            Snapshot(
                cluster=home.name,
                kymas=(raw,),
                templates=catalogs[ref.namespace][0],
                release_metas=catalogs[ref.namespace][1],
                manifests=tuple(by_kyma.get((ref.namespace, ref.name), ())),
                feeds=feeds,
                taken_at=time.time(),
                rules=rules[ref.namespace],
            )
        )
    return sides, tuple(dict.fromkeys(notes))


def _within(objects: Sequence[Object], namespace: str) -> tuple[Object, ...]:
    return tuple(raw for raw in objects if read_ref(raw).namespace == namespace)


def _listed(home: KubeCluster, kind: Fixed, feeds: dict[str, Feed]) -> list[dict[str, object]]:
    try:
        found = list_fixed(home.client, kind)
    except ClusterError as error:
        state = {403: FeedState.FORBIDDEN, 404: FeedState.ABSENT}.get(error.status, FeedState.FAILED)
        feeds[kind.feed] = Feed(state, time.time(), str(error))
        return []
    feeds[kind.feed] = Feed(FeedState.LIVE, time.time())
    return found


def _look(home: KubeCluster, control: SessionOptions, side: Snapshot, give_up: float) -> list[Finding]:
    """One runtime; whatever it does costs itself only."""
    ref = read_ref(side.kymas[0])
    began = time.monotonic()
    looking = RuntimeSession(home, (ref.namespace, ref.name), control, give_up=give_up)
    try:
        session = looking.connect()
    except KymatuiError as error:
        return [unreached(ref.name, str(error))]
    try:
        session.tell_templates(side.templates)
        session.start(lambda: None)
        session.wait_complete(max(0.1, give_up - (time.monotonic() - began)))
        runtime = session.snapshot()
    except KymatuiError as error:
        return [unreached(ref.name, str(error))]
    finally:
        session.close()
    return _found(Pair(ref.name, side, runtime))


def _found(pair: Pair) -> list[Finding]:
    now, snapshot = time.time(), joined(pair)
    seen = catalog(snapshot, now, Settings(rules=pair.rules))
    own = [replace(finding, runtime=pair.name) for finding in findings(snapshot, seen, now)]
    return [*own, *differences(side_by_side(pair, now))]
