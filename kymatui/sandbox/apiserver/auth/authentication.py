"""Authentication: bearer tokens, then impersonation (k8s.io/apiserver/pkg/endpoints/filters)."""

from __future__ import annotations

from urllib.parse import unquote

from kymatui.sandbox.apimachinery.exchange import ANONYMOUS, RequestUser, ServerRequest
from kymatui.sandbox.apimachinery.statuses import bad_request, failure, unauthorized
from kymatui.sandbox.apiserver.auth.bearer_tokens import AUTHENTICATED, Tokens
from kymatui.sandbox.apiserver.auth.rbac_authorizer import Attributes, Authorizer

_EXTRA = "impersonate-extra-"


def authenticate(request: ServerRequest, tokens: Tokens) -> RequestUser:
    """Return the user of the request's token, the anonymous user without one. Raise StatusError 401."""
    scheme, _, token = request.header("authorization").strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        return ANONYMOUS
    user = tokens.user_of(token.strip())
    if user is None:
        raise unauthorized()
    return user


def impersonate(request: ServerRequest, user: RequestUser, authorizer: Authorizer) -> RequestUser:
    """Return the user to impersonate. Raise StatusError 400, 403, 500.

    Every part (user, group, uid, extra) needs the `impersonate` permission.
    """
    name = request.header("impersonate-user")
    groups = [group for group in request.header("impersonate-group").split("\n") if group]
    uid = request.header("impersonate-uid")
    extra = _extra(request)
    if not name:
        if groups or extra or uid:
            raise failure(
                500,
                "InternalError",
                "Internal error occurred: requested impersonation without impersonating a user",
                {"causes": [{"message": "requested impersonation without impersonating a user"}]},
            )
        return user
    _require_all(user, authorizer, name, groups, uid, extra)
    if name.startswith("system:serviceaccount:") and not groups:
        namespace = name.split(":")[2] if name.count(":") == 3 else ""
        if not namespace:
            raise bad_request(f"unable to parse service account name {name}")
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    if name == ANONYMOUS.name:
        groups = groups or list(ANONYMOUS.groups)
    elif AUTHENTICATED not in groups and "system:unauthenticated" not in groups:
        groups = [*groups, AUTHENTICATED]
    return RequestUser(name, tuple(groups), uid, extra)


def _extra(request: ServerRequest) -> dict[str, list[str]]:
    return {
        unquote(header.removeprefix(_EXTRA)).lower(): value.split("\n")
        for header, value in request.headers.items()
        if header.startswith(_EXTRA)
    }


def _require_all(
    user: RequestUser, authorizer: Authorizer, name: str, groups: list[str], uid: str, extra: dict[str, list[str]]
) -> None:
    parts = name.split(":")
    if len(parts) == 4 and name.startswith("system:serviceaccount:"):
        authorizer.require(
            user, Attributes("impersonate", resource="serviceaccounts", name=parts[3], namespace=parts[2])
        )
    else:
        authorizer.require(user, Attributes("impersonate", resource="users", name=name))
    for group in groups:
        authorizer.require(user, Attributes("impersonate", resource="groups", name=group))
    kind = "authentication.k8s.io"
    if uid:
        authorizer.require(user, Attributes("impersonate", group=kind, resource="uids", name=uid))
    for key, values in extra.items():
        for value in values:
            authorizer.require(
                user, Attributes("impersonate", group=kind, resource="userextras", subresource=key, name=value)
            )
