"""The documented JSON of the catalog, key by key and type by type."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import catalog_json_schema, catalog_to_json
from tests.domain.builders import NOW, deployment, gvk, kyma, meta, report, resource, snapshot, template

RULES = [
    {"jsonPath": "status.health", "value": "green", "mappedState": "Ready"},
    {"jsonPath": "status.sync", "value": "done", "mappedState": "Ready"},
    {"jsonPath": "status.health", "value": "red", "mappedState": "Error"},
]
KEYS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "origin": str,
    "channels": dict,
    "channel": (str, type(None)),
    "channelSource": (str, type(None)),
    "desired": (str, type(None)),
    "installed": (str, type(None)),
    "installedSource": (str, type(None)),
    "newest": (str, type(None)),
    "drift": str,
    "state": str,
    "stateSource": (str, type(None)),
    "presence": str,
    "managed": bool,
    "mandatory": bool,
    "beta": bool,
    "internal": bool,
    "checks": list,
    "reason": str,
    "cause": str,
    "effect": (str, type(None)),
    "blockedBy": list,
    "advice": (str, type(None)),
    "adviceKind": (str, type(None)),
    "command": (str, type(None)),
    "actor": (str, type(None)),
    "installedBy": (str, type(None)),
    "installation": (dict, type(None)),
    "unknown": dict,
}
TOP = ["cluster", "kyma", "modules", "problems", "counts", "unknown", "lists"]


def listed() -> dict[str, Any]:
    healthy = {**resource("mod", None), "status": {"health": "green"}}
    return catalog_to_json(
        build_catalog(
            snapshot(
                kymas=[kyma([{"name": "mod"}], status=[report("mod", "1.0.0")])],
                templates=[template("mod", "1.0.0", customStateCheck=RULES)],
                release_metas=[meta("mod", {"regular": "1.0.0"})],
                workloads=[deployment("mod", "1.0.0")],
                module_resources={gvk("mod"): (healthy,)},
            ),
            NOW,
        )
    )


def test_the_keys_and_their_types() -> None:
    found = listed()
    assert list(found) == TOP
    assert found["kyma"] == {"name": "default", "namespace": "kyma-system", "channel": "regular", "state": "Ready"}
    (module,) = found["modules"]
    assert list(module) == list(KEYS)
    for key, kind in KEYS.items():
        assert isinstance(module[key], kind), key
    for problem in found["problems"]:
        assert list(problem) == ["severity", "module", "object", "message", "advice", "adviceKind", "command", "actor"]


def test_the_values() -> None:
    (module,) = listed()["modules"]
    assert {key: module[key] for key in ("desired", "installed", "newest", "drift", "state", "stateSource")} == {
        "desired": "1.0.0",
        "installed": "1.0.0",
        "newest": "1.0.0",
        "drift": "up-to-date",
        "state": "Ready",
        "stateSource": "customStateCheck",
    }


def test_the_checks() -> None:
    checks = listed()["modules"][0]["checks"]
    assert [check["result"] for check in checks] == ["match", "skipped", "no match"]
    assert checks[0] == {
        "resource": "Mod kyma-system/default",
        "path": "status.health",
        "wanted": "green",
        "found": "green",
        "result": "match",
        "mapsTo": "Ready",
        "state": "Ready",
    }


def test_an_empty_cluster() -> None:
    nothing: dict[str, Any] = {
        "kyma": None,
        "modules": [],
        "problems": [],
        "counts": {"modules": 0, "problems": 0, "updates": 0, "releases": 0},
        "unknown": {},
        "lists": {},
    }
    assert catalog_to_json(build_catalog(snapshot(), NOW)) == {"cluster": "test", **nothing}


def test_the_schema_is_one_and_names_the_documented_keys_and_no_other() -> None:
    schema = catalog_json_schema()
    Draft202012Validator.check_schema(schema)
    assert list(schema["properties"]) == TOP
    module = schema["properties"]["modules"]["items"]
    assert module["required"] == list(KEYS)
    assert list(module["properties"]) == [*KEYS, "signature"]  # the last one only with --signed
    assert all(part.get("description") for part in (*schema["properties"].values(), *module["properties"].values()))


def test_what_is_listed_is_valid() -> None:
    assert list(Draft202012Validator(catalog_json_schema()).iter_errors(listed())) == []


@pytest.mark.parametrize("key", KEYS)
def test_a_row_without_a_key_is_not_valid(key: str) -> None:
    listing = listed()
    del listing["modules"][0][key]
    assert not Draft202012Validator(catalog_json_schema()).is_valid(listing)
