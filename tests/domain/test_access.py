"""The Secret through which the control plane reaches a runtime."""

from __future__ import annotations

import base64
from typing import Any

from kymatui.sessions.control_plane.runtime_clients import (
    AccessSecretAmbiguous,
    AccessSecretMissing,
    KubeconfigUnreadable,
    RuntimeAccess,
    find_runtime_access,
)
from tests.domain.builders import Json, labels


def secret(name: str, data: Any, owner: str = "runtime-1") -> Json:
    metadata = {"name": name, "namespace": "kcp-system", "labels": labels(kyma_name=owner)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


GOOD = {"config": base64.b64encode(b"apiVersion: v1").decode()}


def test_57_one_secret_with_a_kubeconfig() -> None:
    found = find_runtime_access("runtime-1", [secret("a", GOOD, "other"), secret("b", GOOD)])
    assert isinstance(found, RuntimeAccess)
    assert (found.secret.name, found.kubeconfig) == ("b", b"apiVersion: v1")
    assert "apiVersion" not in repr(found), "a kubeconfig does not show in a message"


def test_57_no_secret_and_several() -> None:
    assert find_runtime_access("runtime-1", [secret("a", GOOD, "other")]) == AccessSecretMissing("runtime-1")
    found = find_runtime_access("runtime-1", [secret("a", GOOD), secret("b", GOOD)])
    assert isinstance(found, AccessSecretAmbiguous)
    assert [ref.name for ref in found.secrets] == ["a", "b"]


def test_57_a_secret_without_a_usable_kubeconfig() -> None:
    for data in ({}, {"config": ""}, {"kubeconfig": GOOD["config"]}, {"config": 3}, None):
        found = find_runtime_access("runtime-1", [secret("a", data)])
        assert isinstance(found, KubeconfigUnreadable)
        assert found.reason == "data.config is missing"
    broken = find_runtime_access("runtime-1", [secret("a", {"config": "no base64!"})])
    assert isinstance(broken, KubeconfigUnreadable)
    assert broken.reason == "data.config is not base64"
