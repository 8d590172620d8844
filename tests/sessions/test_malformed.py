"""Any JSON in the place of any field of any object, as a server without schemas may send it: on the wire, in a session.

Nothing else is lost by it, the watch goes on, and the catalog is made and valid.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import catalog_json_schema, catalog_to_json
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.sessions.cluster.catalog_session import CatalogSession
from tests.adapters.clusters import Cluster, eventually
from tests.domain import builders
from tests.domain.test_any_input import JSON as WITH_INFINITY
from tests.domain.test_any_input import places, replaced
from tests.sessions.test_sessions import session_on
from tests.sessions.worlds import DEFINITIONS, KYMAS, MANIFESTS, METAS, NAMESPACE, OPERATOR, TEMPLATES, kyma_cluster

Json = dict[str, Any]
DEPLOYMENTS, MODULES = "deployments.apps", f"moduleaas.{OPERATOR}"
JSON = WITH_INFINITY.filter(lambda value: "Infinity" not in json.dumps(value))  # which is no JSON on a wire
VALID = Draft202012Validator(catalog_json_schema())
OBJECTS: dict[str, Json] = {
    KYMAS: builders.kyma([{"name": "mod"}], status=[builders.report("mod", "1.0.0")]),
    TEMPLATES: builders.template("mod", "1.0.0", customStateCheck=[{"jsonPath": "a", "value": "b"}]),
    METAS: builders.meta("mod", {"regular": "1.0.0"}, kymaSelector={"matchLabels": {"a": "b"}}),
    MANIFESTS: builders.manifest("mod", "1.0.0"),
    DEPLOYMENTS: builders.deployment("mod", "1.0.0", finalizers=["x/y"]),
    DEFINITIONS: {"metadata": {"name": "odds.example.org", "labels": {"a": "b"}}},
    MODULES: {**builders.resource("moduleaa", "Warning"), "apiVersion": f"{OPERATOR}/v1alpha1"},
}
SWEPT: list[Any] = [None, 5, "text", True, [], [None], {}, {"a": {"b": []}}, -1.5, 2**70, "\u0000\ud7ff\u202e"]


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    return kyma_cluster(1)


@pytest.fixture(scope="module")
def session(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CatalogSession]:
    with session_on(cluster, tmp_path_factory.mktemp("session")) as found:
        yield found


_numbers = count()


def flow(cluster: Cluster, session: CatalogSession, feed: str) -> None:
    """What is told now, behind everything else, arrives: the watch lives."""
    name = f"marker-{next(_numbers)}"
    marker = {"apiVersion": cluster.collections[feed].api_version, "kind": cluster.collections[feed].kind}
    marker["metadata"] = {"name": name, "namespace": NAMESPACE if feed != DEFINITIONS else "", "resourceVersion": "9"}  # type: ignore[assignment]
    cluster.tell(feed, "ADDED", marker)
    eventually(lambda: any(item["metadata"]["name"] == name for item in objects(session, feed)))
    cluster.tell(feed, "DELETED", marker)


def objects(session: CatalogSession, feed: str) -> list[Any]:
    found = session._feeds.objects(feed)
    return [item for item in found if isinstance(item.get("metadata"), dict) and "name" in item["metadata"]]


def told(cluster: Cluster, session: CatalogSession, feed: str, item: Any) -> None:
    cluster.tell(feed, "MODIFIED", item)
    flow(cluster, session, feed)
    assert session.feeds[feed].state is FeedState.LIVE
    listing = json.loads(json.dumps(catalog_to_json(build_catalog(session.snapshot(), builders.NOW))))
    assert list(VALID.iter_errors(listing)) == []
    assert "moduleaa" in [row["name"] for row in listing["modules"]], "the good one is still there"


@pytest.mark.parametrize("feed", OBJECTS)
def test_every_field_of_every_kind_with_other_types(cluster: Cluster, session: CatalogSession, feed: str) -> None:
    """One odd value after the other in every place; then whatever came of it is looked at."""
    for number, path in enumerate(places(OBJECTS[feed])):
        for odd in SWEPT[number % 3 :: 3]:
            cluster.tell(feed, "MODIFIED", replaced(OBJECTS[feed], path, copy.deepcopy(odd)))
    told(cluster, session, feed, OBJECTS[feed])


@given(st.data())
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_json_in_the_place_of_any_field(cluster: Cluster, session: CatalogSession, data: st.DataObject) -> None:
    feed = data.draw(st.sampled_from(list(OBJECTS)))
    path = data.draw(st.sampled_from(list(places(OBJECTS[feed]))))
    told(cluster, session, feed, replaced(OBJECTS[feed], path, data.draw(JSON)))


@pytest.mark.parametrize("feed", OBJECTS)
def test_lists_that_hold_such_objects(feed: str, tmp_path: Path) -> None:
    """A whole list of them, and nothing but them, at the start."""
    fresh = kyma_cluster(1)
    for number, odd in enumerate(SWEPT):
        fresh.collections[feed].objects["", f"odd-{number}"] = {"metadata": {"name": f"odd-{number}"}, "spec": odd}
        fresh.collections[feed].objects["", f"bare-{number}"] = odd
    with session_on(fresh, tmp_path) as session:
        assert session.feeds[feed].state is FeedState.LIVE
        listing = catalog_to_json(build_catalog(session.snapshot(), builders.NOW))
        assert VALID.is_valid(listing)
        assert "moduleaa" in [row["name"] for row in listing["modules"]]
