"""What kubectl get shows."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.kubernetes.jsonpath import JsonPathError, find_values
from kymatui.sandbox.tables.builtin_cells import builtin_cells, human_duration
from kymatui.sandbox.tables.builtin_columns import builtin_columns, custom_cells, custom_columns


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "<invalid>"), (0, "0s"), (119, "119s"), (125, "2m5s"), (600, "10m"), (3 * 3600, "3h"), (90000, "25h"),
     (3 * 86400, "3d"), (3 * 86400 + 3600, "3d1h"), (400 * 86400, "400d"), (800 * 86400, "2y70d")],
)  # fmt: skip
def test_ages(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


OBJ: dict[str, Any] = {"a": {"b": [1, 2]}, "c": [{"t": "x", "v": "1"}, {"t": "y", "v": "2"}], "d.e": 5}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (".a.b", [[1, 2]]),
        ("{.a.b[0]}", [1]),
        (".a.b[-1]", [2]),
        (".a.b[*]", [1, 2]),
        (".c[?(@.t=='y')].v", ["2"]),
        ('.c[?(@.t=="x")].v', ["1"]),
        (r".d\.e", [5]),
        (".none.x", []),
        ("..v", ["1", "2"]),
    ],
)
def test_json_paths(path: str, values: list[Any]) -> None:
    assert find_values(path, OBJ) == values


def test_a_path_that_cannot_be_read() -> None:
    with pytest.raises(JsonPathError):
        find_values(".a[", OBJ)


def test_columns_of_custom_resources() -> None:
    printed = [
        {"name": "State", "type": "string", "jsonPath": ".status.state"},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    ]
    obj = {"metadata": {"name": "x", "creationTimestamp": "1970-01-01T00:00:00Z"}, "spec": {"size": 4}}
    assert [column["name"] for column in custom_columns(printed)] == ["Name", "State", "Size"]
    assert custom_cells(printed, obj, 60) == ["x", None, 4]
    assert custom_cells([], obj, 60) == ["x", "60s"]


def test_a_pod_that_cannot_pull() -> None:
    waiting = {"name": "c", "ready": False, "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    pod = {
        "metadata": {"name": "p", "creationTimestamp": "1970-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "c"}]},
        "status": {"phase": "Pending", "containerStatuses": [waiting]},
    }
    cells = builtin_cells(("", "v1", "Pod"), pod, 30)
    assert cells[:5] == ["p", "0/1", "ImagePullBackOff", "0", "30s"]
    assert len(cells) == len(builtin_columns(("", "v1", "Pod")))
