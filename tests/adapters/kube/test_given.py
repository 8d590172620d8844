"""Kubeconfigs out of Secrets: used where they are harmless, refused where they reach for this machine, never quoted."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kymatui.adapters.kube.given import LARGEST, connect_given
from kymatui.errors import ConfigurationError

WHERE = "Secret kcp-system/kubeconfig-one"
TOKEN = "the-secret-token"


def kubeconfig(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **more: Any) -> bytes:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://api.example.org", **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": TOKEN} if user is None else user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}],
        "current-context": "x",
        **more,
    }
    return yaml.safe_dump(document).encode()


def test_its_current_context_is_used() -> None:
    found = connect_given(kubeconfig(), WHERE)
    assert (found.endpoint.server, found.namespace, found.context) == ("https://api.example.org", "ns", WHERE)


def test_the_only_context_is_the_current_one() -> None:
    no_current: dict[str, Any] = {"current-context": ""}
    assert connect_given(kubeconfig(**no_current), WHERE).namespace == "ns"


@pytest.mark.parametrize(
    ("user", "cluster", "named"),
    [
        ({"exec": {"apiVersion": "v1", "command": "curl"}}, None, "user names exec"),
        ({"auth-provider": {"name": "oidc", "config": {}}}, None, "user names auth-provider"),
        ({"tokenFile": "/etc/passwd"}, None, "user names tokenFile"),
        ({"client-certificate": "a.pem", "client-key": "b.pem"}, None, "user names client-certificate, client-key"),
        (None, {"certificate-authority": "/etc/ssl/ca.pem"}, "cluster names certificate-authority"),
    ],
)
def test_nothing_of_this_machine_may_be_named(user: Any, cluster: Any, named: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{WHERE} is refused: its {named}"):
        connect_given(kubeconfig(user, cluster), WHERE)


@pytest.mark.parametrize(
    "content",
    [
        b"a: [" + TOKEN.encode(),
        f"- {TOKEN}".encode(),
        b"\xff\xfe" + TOKEN.encode(),
        b"x: " + TOKEN.encode() + b"\n" + b" " * LARGEST,
        b"users: " + TOKEN.encode(),
        kubeconfig(contexts=[]),
        b"",
    ],
)
def test_what_cannot_be_used_is_said_without_a_word_of_its_content(content: bytes) -> None:
    with pytest.raises(ConfigurationError) as caught:
        connect_given(content, WHERE)
    said = f"{caught.value} {caught.value.hint} {caught.value.__cause__!r}"
    assert WHERE in said
    assert TOKEN not in said
