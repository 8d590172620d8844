"""Pull Secrets that a Manifest names by their labels."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ConfigurationError
from kymatui.operator.manifests.standalone_context import pull_secrets


class Listing:
    """A cluster that tells what it was asked for."""

    def __init__(self, found: list[dict[str, Any]]) -> None:
        self.found = found
        self.asked: list[tuple[str, str, str]] = []

    def list(self, gvk: GroupVersionKind, namespace: str = "", *, labels: str = "") -> list[dict[str, Any]]:
        self.asked.append((gvk.kind, namespace, labels))
        return self.found


def ask(selector: dict[str, Any], found: list[dict[str, Any]]) -> Listing:
    cluster = Listing(found)
    assert pull_secrets(cast(Cluster, cluster), "kcp-system", selector) == found
    return cluster


@pytest.mark.parametrize(
    ("selector", "labels"),
    [
        ({"matchLabels": {"a": "b", "x.io/c": "d"}}, "a in (b),x.io/c in (d)"),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b", "c"]}]}, "a notin (b,c)"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist"}]}, "a,!b"),
    ],
)
def test_secrets_are_asked_for_by_their_labels_beside_the_manifest(selector: dict[str, Any], labels: str) -> None:
    assert ask(selector, [{"kind": "Secret"}]).asked == [("Secret", "kcp-system", labels)]


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ({"matchLabels": {"a": "b"}}, r"no auth secret found in kcp-system: no Secret is labelled a in \(b\)"),
        ({}, "credSecretSelector is empty"),
        ({"matchExpressions": [{"key": "a", "operator": "Odd"}]}, "credSecretSelector cannot be read"),
    ],
)
def test_selectors_that_name_no_secret(selector: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        ask(selector, [])
