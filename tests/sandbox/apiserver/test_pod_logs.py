"""Logs of the sandbox's Pods: present and previous instances, and the errors of a real server."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kymatui.sandbox.apimachinery.clock import SandboxClock
from kymatui.sandbox.apimachinery.exchange import ServerRequest
from kymatui.sandbox.apimachinery.object_store import ObjectStore
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.apiserver.reads.pod_logs import PodLogs

NOW = 1_772_366_400.0  # 2026-03-01T12:00:00Z
ENDED = {"terminated": {"startedAt": "2026-03-01T11:00:00Z", "finishedAt": "2026-03-01T11:00:07Z"}}
RUNNING = {"running": {"startedAt": "2026-03-01T11:59:50Z"}}


class StillClock:
    def now(self) -> float:
        return NOW


def log(status: dict[str, Any], **query: str) -> str:
    pod = {
        "metadata": {"name": "web-1", "namespace": "ns", "uid": "u"},
        "spec": {"containers": [{"name": "main"}]},
        "status": {"containerStatuses": [{"name": "main", "image": "web:1", **status}]},
    }
    request = ServerRequest("GET", "/", {name: [value] for name, value in query.items()})
    return PodLogs(ObjectStore(), cast("SandboxClock", StillClock())).answer(request, pod).body.decode()


def test_the_present_instance_is_the_default() -> None:
    lines = log({"state": RUNNING, "lastState": ENDED}).splitlines()
    assert lines[0] == 'level=info msg="starting" container=main image=web:1'
    assert lines[-1] == 'level=info msg="reconciled" loop=2'


def test_the_previous_instance_has_a_log_with_an_end() -> None:
    lines = log({"state": RUNNING, "lastState": ENDED}, previous="true", timestamps="true").splitlines()
    assert lines[0].startswith("2026-03-01T11:00:00")
    assert lines[-1] == '2026-03-01T11:00:07.000000Z level=info msg="finished"'


def test_without_a_restart_there_is_no_previous_instance() -> None:
    with pytest.raises(StatusError, match='previous terminated container "main" in pod "web-1" not found'):
        log({"state": RUNNING}, previous="true")


def test_a_container_that_waits_has_no_log() -> None:
    with pytest.raises(StatusError, match="is waiting to start: trying and failing to pull image"):
        log({"state": {"waiting": {"reason": "ImagePullBackOff"}}})
