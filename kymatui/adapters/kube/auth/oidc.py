"""Tokens of the `oidc` auth-provider, refreshed by the official client and written back to the file.

Kubernetes clients removed the other providers (gcp, azure) in 1.26 in favour of exec plugins.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from typing import Any

from kymatui.adapters.content.blob_cache import write_atomically
from kymatui.adapters.http.requests_import import load_requests
from kymatui.adapters.kube.auth.endpoint import entry_error
from kymatui.adapters.kube.auth.jwt import jwt_expiry
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError


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
    before = dict(settings)
    after = _refreshed(user, before)
    if after != before:
        _write_back(user, after)
    token = str(after["id-token"])
    ends = jwt_expiry(token)
    # The official client continues with an expired token if the issuer refuses.
    if ends is not None and ends <= time.time():
        raise ConfigurationError(
            f"the OIDC token of the user {user.name!r} in {user.file} has expired, and its issuer "
            f"{settings.get('idp-issuer-url')} did not renew it",
            hint="log in again",
        )
    return token, ends


def _refreshed(user: KubeconfigEntry, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Let the official loader refresh the token, on a copy that holds only this user."""
    load_requests()
    from kubernetes.config.kube_config import KubeConfigLoader

    document = {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "clusters": [{"name": "it", "cluster": {"server": "https://unused.invalid"}}],
        "users": [{"name": "it", "user": {"auth-provider": {"name": "oidc", "config": copy.deepcopy(dict(settings))}}}],
    }
    loader = KubeConfigLoader(document)
    try:
        loader._load_authentication()
    except Exception as error:  # it raises errors of OAuth, HTTP and JSON libraries
        raise ConfigurationError(
            f"the OIDC token of the user {user.name!r} in {user.file} cannot be refreshed: {error}", hint="log in again"
        ) from error
    if not getattr(loader, "token", None):
        raise entry_error(user, "user", "its OIDC id-token is invalid and could not be refreshed")
    users: Any = document["users"]
    found: dict[str, Any] = users[0]["user"]["auth-provider"]["config"]
    return found


def _write_back(user: KubeconfigEntry, settings: Mapping[str, Any]) -> None:
    """Write the new tokens to the kubeconfig, atomically and readable only by the owner.

    Many issuers accept a refresh token only once, so losing the new one would log the user out.
    """
    import yaml

    try:
        document = yaml.safe_load(user.file.read_text(encoding="utf-8"))
        for item in document["users"]:
            if item["name"] == user.name:
                item["user"]["auth-provider"]["config"] = dict(settings)
        text = yaml.safe_dump(document, default_flow_style=False)
        # The file of a link may be on another file system, where nothing is moved to.
        write_atomically(user.file.resolve(), text.encode())
    except (OSError, KeyError, TypeError, ConfigurationError) as error:
        raise ConfigurationError(
            f"the refreshed OIDC token cannot be written to {user.file}: {error_reason(error)}",
            hint="make the file writable",
        ) from error
