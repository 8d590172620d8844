"""Basic and bearer authentication, with scopes; anonymous pulls; the faults; and what listens where."""

from __future__ import annotations

import base64
import hashlib
import http.client
import re
from urllib.parse import quote

import pytest

from kymatui.errors import ConfigurationError
from kymatui.sandbox.registry.registry_access import PULL_ONLY, RegistryAccess, RegistryUser, Scheme, TokenScope
from kymatui.sandbox.registry.registry_server import RegistryFault, RegistryFaultKind, SandboxRegistry
from tests.sandbox.registry.conftest import Client, Serve, Served

CONTENT = b"secret content"
DIGEST = "sha256:" + hashlib.sha256(CONTENT).hexdigest()
USERS = {
    "dev": RegistryUser("dev-password"),
    "reader": RegistryUser("reader-password", actions=PULL_ONLY, repositories=("public/*",)),
}
CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def challenge(client: Client, method: str, path: str) -> dict[str, str]:
    answer = client.ask(method, path, b"" if method == "POST" else None)
    assert answer.status == 401, answer.body
    header = answer.headers["WWW-Authenticate"]
    return {"scheme": header.split()[0], **dict(CHALLENGE.findall(header))}


def token(served: Served, scopes: list[str], name: str = "", password: str = "") -> str:
    query = "&".join(f"scope={quote(scope)}" for scope in scopes)
    path = f"/token?service=x&{query}"
    answer = (
        served.client.ask("GET", path, Authorization=basic(name, password)) if name else served.client.ask("GET", path)
    )
    assert answer.status == 200
    assert answer.json()["token"] == answer.json()["access_token"]
    return f"Bearer {answer.json()['token']}"


@pytest.fixture
def bearer(serve: Serve) -> Served:
    served = serve(access=RegistryAccess(Scheme.BEARER, USERS))
    served.registry.store.push_blob("public/module", CONTENT)
    served.registry.store.push_blob("private/module", CONTENT)
    return served


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", f"/v2/public/module/blobs/{DIGEST}", "repository:public/module:pull"),
        ("POST", "/v2/public/module/blobs/uploads/", "repository:public/module:pull,push"),
        ("DELETE", f"/v2/public/module/blobs/{DIGEST}", "repository:public/module:delete"),
        ("GET", "/v2/_catalog", "registry:catalog:*"),
        ("GET", "/v2/", None),
    ],
)
def test_the_challenge_names_realm_service_and_the_scope_that_is_needed(
    bearer: Served, method: str, path: str, scope: str | None
) -> None:
    found = challenge(bearer.client, method, path)
    assert found["scheme"] == "Bearer"
    assert found["realm"] == f"{bearer.registry.url}/token"
    assert found["service"] == "sandbox-registry"
    assert found.get("scope") == scope
    assert "error" not in found


def test_a_token_opens_what_it_was_asked_for_and_nothing_else(bearer: Served) -> None:
    bearer.client.authorization = token(bearer, ["repository:private/module:pull"], "dev", "dev-password")
    assert bearer.client.ask("GET", f"/v2/private/module/blobs/{DIGEST}").body == CONTENT
    pushing = challenge(bearer.client, "POST", "/v2/private/module/blobs/uploads/")
    assert (pushing["scope"], pushing["error"]) == ("repository:private/module:pull,push", "insufficient_scope")
    elsewhere = challenge(bearer.client, "GET", f"/v2/public/module/blobs/{DIGEST}")
    assert elsewhere["scope"] == "repository:public/module:pull"


def test_one_token_can_hold_several_scopes_so_that_a_mount_is_possible(bearer: Served) -> None:
    scopes = ["repository:private/copy:pull,push", "repository:private/module:pull"]
    bearer.client.authorization = token(bearer, scopes, "dev", "dev-password")
    mount = f"/v2/private/copy/blobs/uploads/?mount={DIGEST}&from=private/module"
    assert bearer.client.ask("POST", mount, b"").status == 201


def test_a_mount_from_where_the_token_does_not_reach_begins_an_upload(bearer: Served) -> None:
    bearer.client.authorization = token(bearer, ["repository:private/copy:pull,push"], "dev", "dev-password")
    mount = f"/v2/private/copy/blobs/uploads/?mount={DIGEST}&from=private/module"
    assert bearer.client.ask("POST", mount, b"").status == 202


def test_a_user_without_the_right_gets_a_token_without_the_scope(bearer: Served) -> None:
    wanted = ["repository:private/module:pull", "repository:public/module:pull,push"]
    bearer.client.authorization = token(bearer, wanted, "reader", "reader-password")
    assert bearer.client.ask("GET", f"/v2/public/module/blobs/{DIGEST}").status == 200
    assert challenge(bearer.client, "POST", "/v2/public/module/blobs/uploads/")["error"] == "insufficient_scope"
    assert challenge(bearer.client, "GET", f"/v2/private/module/blobs/{DIGEST}")["error"] == "insufficient_scope"


@pytest.mark.parametrize("made_up", ["Bearer nonsense", "Basic nonsense", "Bearer"])
def test_a_token_that_is_none_is_an_invalid_token(bearer: Served, made_up: str) -> None:
    bearer.client.authorization = made_up
    assert challenge(bearer.client, "GET", "/v2/")["error"] == "invalid_token"


def test_a_token_ends(serve: Serve) -> None:
    now = 0.0
    served = serve(access=RegistryAccess(Scheme.BEARER, USERS, token_seconds=60, now=lambda: now))
    served.client.authorization = token(served, [], "dev", "dev-password")
    assert served.client.ask("GET", "/v2/").status == 200
    now = 61.0
    assert challenge(served.client, "GET", "/v2/")["error"] == "invalid_token"


def test_a_wrong_password_gets_no_token(bearer: Served) -> None:
    answer = bearer.client.ask("GET", "/token?scope=x", Authorization=basic("dev", "wrong"))
    assert (answer.status, answer.code) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize(("password", "status"), [("dev-password", 200), ("wrong", 401)])
def test_oauth2_asks_with_a_form(bearer: Served, password: str, status: int) -> None:
    form = f"grant_type=password&username=dev&password={password}&scope=repository:a:pull repository:b:pull"
    answer = bearer.client.ask("POST", "/token", form.encode(), Content_Type="application/x-www-form-urlencoded")
    assert answer.status == status


@pytest.mark.parametrize("scheme", [Scheme.BASIC, Scheme.BEARER])
def test_anonymous_pull_where_it_is_allowed_and_push_never(serve: Serve, scheme: Scheme) -> None:
    served = serve(access=RegistryAccess(scheme, USERS, anonymous_pull=True))
    served.registry.store.push_blob("r", CONTENT)
    if scheme is Scheme.BEARER:
        served.client.authorization = token(served, ["repository:r:pull,push"])
    assert served.client.ask("GET", f"/v2/r/blobs/{DIGEST}").body == CONTENT
    assert served.client.ask("POST", "/v2/r/blobs/uploads/", b"").status == 401


def test_basic_authentication(serve: Serve) -> None:
    served = serve(access=RegistryAccess(Scheme.BASIC, USERS))
    assert challenge(served.client, "GET", "/v2/")["scheme"] == "Basic"
    served.client.authorization = basic("dev", "wrong")
    assert challenge(served.client, "GET", "/v2/")["realm"] == "sandbox-registry"
    served.client.authorization = basic("dev", "dev-password")
    assert served.client.push("private/module", CONTENT, DIGEST).status == 201
    served.client.authorization = basic("reader", "reader-password")
    refused = served.client.ask("GET", f"/v2/private/module/blobs/{DIGEST}")
    assert (refused.status, refused.code) == (403, "DENIED")


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("repository:a/b:pull,push", TokenScope("repository", "a/b", frozenset({"pull", "push"}))),
        ("repository:host:5000/b:pull", TokenScope("repository", "host:5000/b", frozenset({"pull"}))),
        ("nonsense", None),
        ("repository::pull", None),
    ],
)
def test_scopes_are_read(text: str, scope: TokenScope | None) -> None:
    assert TokenScope.parse(text) == scope


# -- faults


def test_it_fails_as_often_as_it_was_told_to(served: Served) -> None:
    served.registry.store.push_blob("r", CONTENT)
    served.registry.faults.set(
        RegistryFault(RegistryFaultKind.STATUS, status=429, retry_after=7, times=2, path="/blobs/")
    )
    for _ in range(2):
        answer = served.client.ask("GET", f"/v2/r/blobs/{DIGEST}")
        assert (answer.status, answer.code, answer.headers["Retry-After"]) == (429, "TOOMANYREQUESTS", "7")
        assert served.client.ask("GET", "/v2/").status == 200
    assert served.client.ask("GET", f"/v2/r/blobs/{DIGEST}").status == 200


def test_a_truncated_body_breaks_off(served: Served) -> None:
    served.registry.store.push_blob("r", CONTENT)
    served.registry.faults.set(RegistryFault(RegistryFaultKind.TRUNCATE))
    with pytest.raises(http.client.IncompleteRead) as broken:
        served.client.ask("GET", f"/v2/r/blobs/{DIGEST}")
    assert CONTENT.startswith(broken.value.partial)
    assert len(broken.value.partial) < len(CONTENT)


def test_tampered_content_comes_under_the_right_digest(served: Served) -> None:
    served.registry.store.push_blob("r", CONTENT)
    served.registry.faults.set(RegistryFault(RegistryFaultKind.TAMPER))
    answer = served.client.ask("GET", f"/v2/r/blobs/{DIGEST}")
    assert answer.headers["Docker-Content-Digest"] == DIGEST
    assert answer.body != CONTENT
    assert len(answer.body) == len(CONTENT)


def test_a_dropped_connection_has_no_answer(served: Served) -> None:
    served.registry.faults.set(RegistryFault(RegistryFaultKind.DROP))
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        served.client.ask("GET", "/v2/")


def test_faults_without_an_end_are_cleared(served: Served) -> None:
    served.registry.faults.set(RegistryFault(RegistryFaultKind.STATUS, times=0, method="GET"))
    assert [served.client.ask("GET", "/v2/").status for _ in range(3)] == [500, 500, 500]
    served.registry.faults.clear()
    assert served.client.ask("GET", "/v2/").status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
def test_it_listens_on_loopback_only(host: str) -> None:
    with pytest.raises(ConfigurationError, match="does not listen"):
        SandboxRegistry(host=host)
