"""Tokens of the `oidc` auth-provider, refreshed by the official client and written back where they came from.

The other providers (gcp, azure) were taken out of Kubernetes clients in 1.26; plugins stand in their place.
"""

from __future__ import annotations

import copy
import os
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from kymatui.adapters.http.requests_import import load_requests
from kymatui.adapters.kube.auth.endpoint import entry_error
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError


def provider_token(user: KubeconfigEntry) -> tuple[str, float | None]:
    """The id-token and when it ends; refreshed first where it is over."""
    from kymatui.adapters.kube.auth.credentials import jwt_expiry

    provider = user.body["auth-provider"]
    name = provider.get("name") if isinstance(provider, Mapping) else None
    if name != "oidc":
        raise entry_error(
            user, "user", f"its auth-provider {name!r} is gone from Kubernetes since 1.26; use an exec plugin"
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
    if ends is not None and ends <= time.time():  # the official client goes on with it where the issuer refuses
        raise ConfigurationError(
            f"the OIDC token of the user {user.name!r} in {user.file} has expired, and its issuer "
            f"{settings.get('idp-issuer-url')} gave no other",
            hint="log in again",
        )
    return token, ends


def _refreshed(user: KubeconfigEntry, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Lets the official loader look at the token and refresh it; it works on a copy of the user alone."""
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
    except Exception as error:  # it raises what OAuth, HTTP and JSON libraries raise
        raise ConfigurationError(
            f"the OIDC token of the user {user.name!r} in {user.file} cannot be refreshed: {error}", hint="log in again"
        ) from error
    if not getattr(loader, "token", None):
        raise entry_error(user, "user", "its OIDC id-token is no usable token, and it could not be refreshed")
    users: Any = document["users"]
    found: dict[str, Any] = users[0]["user"]["auth-provider"]["config"]
    return found


def _write_back(user: KubeconfigEntry, settings: Mapping[str, Any]) -> None:
    """Refresh tokens are often good for one use only: the new one must be kept, atomically and for the owner alone."""
    import yaml

    try:
        document = yaml.safe_load(user.file.read_text(encoding="utf-8"))
        for item in document["users"]:
            if item["name"] == user.name:
                item["user"]["auth-provider"]["config"] = dict(settings)
        handle, name = tempfile.mkstemp(dir=user.file.parent, prefix=".kubeconfig-")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            yaml.safe_dump(document, stream, default_flow_style=False)
        os.replace(name, user.file.resolve())
    except (OSError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"the refreshed OIDC token cannot be written to {user.file}: {error_reason(error)}",
            hint="make the file writable",
        ) from error
