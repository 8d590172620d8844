"""Tokens of the `oidc` auth-provider, refreshed at their issuer and written back to the file.

The refresh token and the client's secret go to the token endpoint that the issuer itself names: redirects are not
followed, and nothing is sent without TLS, except to an issuer on this machine. Kubernetes clients removed the other
providers (gcp, azure) in 1.26 in favour of exec plugins.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlunsplit

from msgspec.structs import replace

from kymatui.adapters.http.deadlines import answered_within
from kymatui.adapters.http.response_body import KIB, BodyError, read_body
from kymatui.adapters.http.web_session import origin_of, parts_of
from kymatui.adapters.kube.auth.connection_pool import open_pool
from kymatui.adapters.kube.auth.endpoint import Endpoint, entry_error, jwt_expiry, read_pem
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry, read_kubeconfig_file
from kymatui.adapters.oci.requester import innermost_reason
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.errors import ConfigurationError
from kymatui.json_input import read_json
from kymatui.own_files import write_file

_EARLY: Final = 10.0  # seconds before its end that a token is refreshed, as in client-go
_TIMEOUTS: Final = (5.0, 15.0)  # to connect, and between two pieces of an answer
_ALL_SECONDS: Final = 30.0  # for one whole answer
_LARGEST_ANSWER: Final = 256 * KIB  # bytes; tokens with many groups have some 50 KiB


class _IssuerError(Exception):
    """An issuer that did not answer as it has to; the message lacks the subject."""


def provider_token(user: KubeconfigEntry) -> tuple[str, float | None]:
    """Return the id-token and its expiry in Unix seconds, refreshed first if it expired."""
    provider = user.body["auth-provider"]
    name = provider.get("name") if isinstance(provider, Mapping) else None
    if name != "oidc":
        raise entry_error(
            user, "user", f"its auth-provider {name!r} was removed in Kubernetes 1.26; use an exec plugin"
        )
    settings = provider.get("config")
    if not isinstance(settings, Mapping) or not settings.get("id-token"):
        raise entry_error(user, "user", "its auth-provider oidc has no id-token")
    token = str(settings["id-token"])
    ends = jwt_expiry(token)
    if ends is None or ends - _EARLY > time.time():
        return token, ends
    fresh = _refreshed(user, settings)
    _write_back(user, fresh)
    token = str(fresh["id-token"])
    ends = jwt_expiry(token)
    if ends is not None and ends <= time.time():
        raise _failed(user, "its issuer answered with an expired one")
    return token, ends


def _failed(user: KubeconfigEntry, reason: str) -> ConfigurationError:
    message = f"the OIDC token of the user {user.name!r} in {user.file} has expired and cannot be refreshed: {reason}"
    return ConfigurationError(message, hint="log in again")


def _refreshed(user: KubeconfigEntry, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with the tokens that the issuer gives for the refresh token. Raise ConfigurationError."""
    issuer, client, refresh_token = (
        str(settings.get(key) or "") for key in ("idp-issuer-url", "client-id", "refresh-token")
    )
    if not (issuer and client and refresh_token):
        raise entry_error(user, "user", "its id-token has expired, and it has no issuer, client-id or refresh-token")
    authority = read_pem(replace(user, body=settings), "user", "idp-certificate-authority")
    try:
        about = _ask("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration", issuer, authority)
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        headers: dict[str, str] = {}
        secret = str(settings.get("client-secret") or "")
        if secret and not _posts_secret(about):  # RFC 6749 2.3.1
            login = base64.b64encode(f"{quote_plus(client)}:{quote_plus(secret)}".encode()).decode()
            headers["Authorization"] = f"Basic {login}"
        else:
            form |= {"client_id": client} | ({"client_secret": secret} if secret else {})
        answer = _ask("POST", str(about.get("token_endpoint") or ""), issuer, authority, form, headers)
    except (_IssuerError, BodyError) as error:
        raise _failed(user, f"its issuer {issuer} {error}") from None
    if not isinstance(answer.get("id_token"), str):
        raise _failed(user, f"its issuer {issuer} answered without an id_token")
    renewed = answer.get("refresh_token")  # many issuers keep the old one
    fresh = renewed if isinstance(renewed, str) and renewed else refresh_token
    return {**settings, "id-token": answer["id_token"], "refresh-token": fresh}


def _posts_secret(about: Mapping[str, Any]) -> bool:
    """Return whether the issuer takes the client's secret in the form only; without a word of it, in the header."""
    methods = about.get("token_endpoint_auth_methods_supported")
    return isinstance(methods, list) and "client_secret_basic" not in methods and "client_secret_post" in methods


def _ask(
    method: str,
    url: str,
    issuer: str,
    authority: str,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Mapping[str, Any]:
    """Return the JSON object that an address of the issuer answers."""
    from urllib3.exceptions import HTTPError

    parts, origin = parts_of(url), origin_of(url)
    endpoint = Endpoint(f"{parts.scheme}://{parts.netloc}", authority, origin=f"the issuer {issuer}")
    target = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    if origin is None or not (origin[0] == "https" or (endpoint.is_local and Endpoint(issuer).is_local)):
        raise _IssuerError(f"has an address without TLS: {url[:200]!r}")
    sent = {"Accept": "application/json", **(headers or {})}
    body = urlencode(form).encode() if form else None
    if body is not None:
        sent["Content-Type"] = "application/x-www-form-urlencoded"
    try:
        with answered_within(_ALL_SECONDS), closing(open_pool(endpoint, None)) as pool:
            response = pool.request(method, target, body, sent, _TIMEOUTS)
            content = read_body(response, _LARGEST_ANSWER)
    except (HTTPError, OSError, ValueError) as error:
        raise _IssuerError(f"cannot be reached: {innermost_reason(error)}") from None
    try:
        answer = read_json(content)
    except ValueError:
        answer = None
    if response.status != 200:
        code = answer.get("error") if isinstance(answer, dict) else None
        raise _IssuerError(f"answered HTTP {response.status}{f' {code}'[:200] if isinstance(code, str) else ''}")
    if not isinstance(answer, dict):
        raise _IssuerError("did not answer with a JSON object")
    return answer


def _write_back(user: KubeconfigEntry, settings: Mapping[str, Any]) -> None:
    """Write the new tokens to the kubeconfig, atomically and readable only by the owner.

    Many issuers accept a refresh token only once, so losing the new one would log the user out.
    """
    try:
        document = read_kubeconfig_file(user.file)
        for item in document["users"]:
            if item["name"] == user.name:
                item["user"]["auth-provider"]["config"] = dict(settings)
        text = dump_yaml(document)
        # The file of a link may be on another file system, where nothing is moved to.
        write_file(user.file.resolve(), text.encode(), private=True)
    except (OSError, KeyError, TypeError, ConfigurationError) as error:
        raise ConfigurationError(
            f"the refreshed OIDC token cannot be written to {user.file}: {error_reason(error)}",
            hint="make the file writable",
        ) from error
