"""Loading files and folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.errors import ConfigurationError
from kymatui.sandbox.world.story.file_loader import LoadReport, load
from tests.sandbox.living import Living

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
THING = """
apiVersion: example.com/v1
kind: Thing
metadata: {name: first, namespace: shop}
spec: {when: 2024-01-01, ratio: 1}
status: {state: Ready}
"""


def loaded(living: Living, *paths: Path) -> LoadReport:
    report = load(living.client, living.server.store, paths)
    living.advance(6)
    assert report.done
    return report


def test_definitions_come_first_whatever_the_files_are_called(tmp_path: Path) -> None:
    (tmp_path / "a-thing.yaml").write_text(THING)
    (tmp_path / "z-definition.yaml").write_text(DEFINITION)
    living = Living()
    report = loaded(living, tmp_path)
    assert (report.loaded, report.failures) == (["CustomResourceDefinition things.example.com", "Thing shop/first"], [])
    thing = living.get("things.example.com", "first", "shop")
    assert thing["spec"] == {"when": "2024-01-01", "ratio": 1}
    assert thing["status"] == {"state": "Ready"}


def test_loading_again_changes_nothing_but_what_differs(tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: '1'}\n")
    living = Living()
    loaded(living, file)
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: '2'}\n")
    assert loaded(living, file).failures == []
    assert living.get("configmaps", "m")["data"] == {"a": "2"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("tab.yaml", "kind: A\n\tx: y\n", "tab.yaml"),
        (
            "unknown.yaml",
            "apiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: nobody}\n",
            "no matches for kind 'Nothing'",
        ),
        ("bad.json", "{", "bad.json"),
        ("invalid.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n", "Invalid value"),
    ],
)
def test_what_cannot_be_loaded_is_told_and_stops_nothing(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "good.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n")
    report = loaded(Living(), tmp_path)
    assert report.loaded == ["ConfigMap good"]
    assert len(report.failures) == 1
    assert words in report.failures[0]


def test_what_is_no_object_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("replicas: 3\n")
    report = loaded(Living(), tmp_path)
    assert (report.loaded, report.failures, len(report.skipped)) == ([], [], 1)


def test_lists_are_taken_apart(tmp_path: Path) -> None:
    items = "items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]"
    (tmp_path / "list.yaml").write_text(f"apiVersion: v1\nkind: List\n{items}\n")
    assert loaded(Living(), tmp_path).loaded == ["ConfigMap a"]


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        loaded(Living(), tmp_path / "nothing")
