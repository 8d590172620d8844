"""Who manages the modules: by what they write, whatever else is there."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.kyma.kyma_keeper import read_lease
from kymatui.domain.plans.cluster_management import ClusterManagement, ClusterManager, detect_management
from kymatui.domain.snapshot.missing_lists import ListGap
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER
from tests.domain import builders as b


def written_by(raw: dict[str, Any], *managers: str) -> dict[str, Any]:
    metadata = {**raw["metadata"], "managedFields": [{"manager": name} for name in managers]}
    return {**raw, "metadata": metadata}


def silent(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if key != "status"}


KYMA, MANIFEST = b.kyma(), b.manifest("keda", "1.6.0")
MANIFEST["status"] = {"state": "Ready"}
KLM, OPERATOR, NOBODY, UNKNOWN = ClusterManager


@pytest.mark.parametrize(
    ("kymas", "manifests", "keeper", "why"),
    [
        ((), (), NOBODY, "no Kyma found"),
        ((silent(KYMA),), (), NOBODY, "the Kyma has no status"),
        ((written_by(silent(KYMA), "kubectl"),), (), NOBODY, "the Kyma has no status"),
        ((KYMA,), (), KLM, "the Kyma has a status"),
        ((), (MANIFEST,), KLM, "Manifests have a status"),
        ((written_by(KYMA, "kubectl", "lifecycle-manager"),), (), KLM, "lifecycle-manager writes the Kyma"),
        (
            (),
            (written_by(MANIFEST, "declarative.kyma-project.io/applier"),),
            KLM,
            "declarative.kyma-project.io/applier writes Manifests",
        ),
        ((), (written_by(MANIFEST, "kymatui-operator"),), OPERATOR, "kymatui-operator writes Manifests"),
        ((KYMA,), (written_by(MANIFEST, "kymatui-operator"),), OPERATOR, "kymatui-operator writes Manifests"),
        (
            (written_by(KYMA, "lifecycle-manager"),),
            (written_by(MANIFEST, "kymatui-operator"),),
            KLM,
            "lifecycle-manager writes the Kyma",
        ),
    ],
)
def test_who_is_in_charge(kymas: tuple[Any, ...], manifests: tuple[Any, ...], keeper: ClusterManager, why: str) -> None:
    found = detect_management(Snapshot("test", kymas=kymas, manifests=manifests))
    assert found == ClusterManagement(keeper, why)


KYMAS, MANIFESTS = "kymas.operator.kyma-project.io", "manifests.operator.kyma-project.io"


@pytest.mark.parametrize("hidden", [KYMAS, MANIFESTS])
@pytest.mark.parametrize(
    ("state", "gap"),
    [
        (FeedState.SYNCING, ListGap.LOADING),
        (FeedState.FORBIDDEN, ListGap.FORBIDDEN),
        (FeedState.FAILED, ListGap.UNKNOWN),
        (FeedState.LIVE, None),
        (FeedState.STALE, None),
        (FeedState.ABSENT, None),
    ],
)
def test_the_manager_is_not_known_before_both_lists_came(hidden: str, state: FeedState, gap: ListGap | None) -> None:
    found = detect_management(Snapshot("test", feeds={hidden: Feed(state)}))
    assert (found.keeper is UNKNOWN, found.unknown.gap if found.unknown else None) == (gap is not None, gap)
    assert (found.word, found.short) == ((f"manager {gap}",) * 2 if gap else ("not managed",) * 2)
    assert hidden in found.why or gap is None
    known = detect_management(
        Snapshot("test", kymas=(written_by(KYMA, "lifecycle-manager"),), feeds={hidden: Feed(state)})
    )
    assert (known.keeper, known.unknown) == (KLM, None)
    # the operator's trace does not say that no lifecycle-manager writes a Kyma that is not listed
    operated = detect_management(
        Snapshot("t", manifests=(written_by(MANIFEST, "kymatui-operator"),), feeds={hidden: Feed(state)})
    )
    assert operated.keeper is (UNKNOWN if gap and hidden == KYMAS else OPERATOR)


def test_it_is_the_name_that_the_operator_writes_under() -> None:
    assert OPERATOR_FIELD_MANAGER == "kymatui-operator"


LEASE = {"spec": {"holderIdentity": "ann@host", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.5Z"}}
RENEWED = 1767225600.5


@pytest.mark.parametrize(
    ("lease", "age", "dead", "works", "words"),
    [
        (None, 0, False, False, "not running: it holds no Lease"),
        ({"spec": {"holderIdentity": ""}}, 0, False, False, "not running: it holds no Lease"),
        (
            {"spec": {"holderIdentity": "ann@host"}},
            0,
            False,
            False,
            "not running: ann@host holds its Lease, never renewed",
        ),
        (LEASE, 4, False, True, "ann@host holds its Lease, renewed 4s ago"),
        (LEASE, -20, False, True, "renewed 0s ago"),  # a clock that is ahead
        (LEASE, 74, False, True, "renewed 74s ago"),  # clocks that differ, and a server that is slow
        (LEASE, 7200, False, False, "not running: ann@host holds its Lease, renewed 2h ago"),
        (
            LEASE,
            4,
            True,
            False,
            "not running: ann@host holds its Lease, renewed 4s ago",
        ),  # a process that was killed here
    ],
)
def test_a_trace_does_not_say_that_the_operator_runs(
    lease: Any, age: float, dead: bool, works: bool, words: str
) -> None:
    operator = read_lease(lease, RENEWED + age, lambda _: dead)
    manifests = (written_by(MANIFEST, "kymatui-operator"),)
    found = detect_management(Snapshot("test", manifests=manifests, keeper_lease=operator))
    assert (found.keeper, operator.works, found.why.endswith(words)) == (OPERATOR, works, True), found.why
    assert ("until `kymatui operator` runs again" in found.way) is not works
