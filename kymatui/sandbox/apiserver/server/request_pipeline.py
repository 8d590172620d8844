"""The request pipeline: authentication, authorization, dispatch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from urllib.parse import unquote

from kymatui.sandbox.apimachinery.exchange import ANONYMOUS, RequestUser, ServerRequest, ServerResponse
from kymatui.sandbox.apimachinery.statuses import (
    StatusError,
    bad_request,
    failure,
    internal_error,
    method_not_allowed,
    method_not_supported,
    no_such_resource,
    not_found,
    unauthorized,
)
from kymatui.sandbox.apiserver.auth.access_reviews import AccessReviews
from kymatui.sandbox.apiserver.auth.bearer_tokens import AUTHENTICATED, Tokens
from kymatui.sandbox.apiserver.auth.rbac_authorizer import Attributes, Authorizer
from kymatui.sandbox.apiserver.encoding.body_decoding import check_kind, decode_body, decode_typed
from kymatui.sandbox.apiserver.encoding.content_negotiation import negotiate
from kymatui.sandbox.apiserver.http.server_faults import status_response
from kymatui.sandbox.apiserver.reads.api_discovery import NOT_FOUND, ApiDiscovery
from kymatui.sandbox.apiserver.reads.non_resource_paths import NonResourcePaths
from kymatui.sandbox.apiserver.reads.object_reads import ObjectReader, encode
from kymatui.sandbox.apiserver.requests.request_info import RequestInfo, request_info, without_watch_prefix
from kymatui.sandbox.apiserver.requests.request_options import write_options
from kymatui.sandbox.apiserver.resources.request_meta import check_namespace
from kymatui.sandbox.apiserver.resources.resource import ServedResource
from kymatui.sandbox.apiserver.resources.resource_catalog import ResourceCatalog
from kymatui.sandbox.apiserver.writes.object_deletion import ObjectDeleter
from kymatui.sandbox.apiserver.writes.object_writes import ObjectWriter
from kymatui.sandbox.apiserver.writes.scale_subresource import ScaleSubresource
from kymatui.sandbox.apiserver.writes.subresource_writes import Subresources

_log = logging.getLogger(__name__)
Serve = Callable[[ServerRequest, RequestInfo, ServedResource, RequestUser], ServerResponse]


class RequestPipeline:
    def __init__(
        self,
        *,
        tokens: Tokens,
        authorizer: Authorizer,
        catalog: ResourceCatalog,
        discovery: ApiDiscovery,
        paths: NonResourcePaths,
        reader: ObjectReader,
        writer: ObjectWriter,
        deleter: ObjectDeleter,
        subresources: Subresources,
        scaling: ScaleSubresource,
        reviews: AccessReviews,
    ) -> None:
        self._tokens = tokens
        self._authorizer = authorizer
        self._catalog = catalog
        self._discovery = discovery
        self._paths = paths
        self._reader = reader
        self._writer = writer
        self._deleter = deleter
        self._subresources = subresources
        self._scaling = scaling
        self._reviews = reviews
        self._objects: Mapping[str, Serve] = {
            "GET": lambda request, info, resource, _: reader.get(request, info, resource),
            "PUT": writer.update,
            "PATCH": writer.patch,
            "DELETE": deleter.delete,
        }
        self._collections: Mapping[str, Serve] = {
            "GET": lambda request, info, resource, _: reader.list_objects(request, info, resource),
            "POST": writer.create,
            "DELETE": deleter.delete_collection,
        }

    def handle(self, request: ServerRequest) -> ServerResponse:
        """Return the answer; never raises, since every failure becomes a Status."""
        try:
            response = self._answer(request)
        except StatusError as error:
            response = status_response(error)
        except Exception as error:  # noqa: BLE001 - a server answers 500 and lives on
            _log.exception("%s %s failed", request.method, request.path)
            response = status_response(internal_error(f"{type(error).__name__}: {error}"))
        return response

    def _answer(self, request: ServerRequest) -> ServerResponse:
        user = request.user or authenticate(request, self._tokens)
        if request.user is None:
            user = impersonate(request, user, self._authorizer)
        request = without_watch_prefix(request)
        info = request_info(request)
        self._authorizer.require(user, _attributes(info))
        if info.is_resource:
            return self._serve_resource(request, info, user)
        answer = self._discovery.answer(request) or self._paths.answer(request, user)
        return answer or NOT_FOUND

    def _serve_resource(self, request: ServerRequest, info: RequestInfo, user: RequestUser) -> ServerResponse:
        resource = self._catalog.find(info.group, info.version, info.resource)
        if resource is None:
            return self._unknown(info)
        if self._reviews.answers(resource.full_name):
            return self._review(request, info, resource, user)
        if info.subresource:
            return self._serve_subresource(request, info, resource, user)
        if not _fits_scope(request, info, resource):
            return self._misplaced(request, resource)
        named = info.in_path
        if named and resource.custom and request.method == "POST":
            named = False  # the custom resource handler only checks the method
        serve = (self._objects if named else self._collections).get(request.method)
        if serve is None or not _has_verb(resource, request.method, named=named):
            return self._no_method(request, info, resource)
        return serve(request, info, resource, user)

    def _unknown(self, info: RequestInfo) -> ServerResponse:
        if self._catalog.is_builtin_version(info.group, info.version) or not info.group:
            raise no_such_resource()
        if self._catalog.is_builtin(info.group):
            raise no_such_resource()
        return NOT_FOUND

    def _misplaced(self, request: ServerRequest, resource: ServedResource) -> ServerResponse:
        """Return the error of a namespaced resource without namespace, or the reverse."""
        if resource.custom:
            return NOT_FOUND
        if resource.namespaced and request.method in ("POST", "DELETE"):
            raise method_not_allowed()
        raise no_such_resource()

    def _no_method(self, request: ServerRequest, info: RequestInfo, resource: ServedResource) -> ServerResponse:
        if resource.custom and not info.name and request.method in ("PUT", "PATCH"):
            raise bad_request("name must be provided")
        raise method_not_allowed()

    # -- subresources

    def _serve_subresource(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        sub = resource.subresources.get(info.subresource)
        if sub is None or info.rest:
            if resource.custom:
                raise not_found(resource.full_name, info.name)
            raise no_such_resource()
        if not _fits_scope(request, info, resource):
            return self._misplaced(request, resource)
        special = self._subresources.find(resource, info.subresource, request.method)
        if special is not None:
            return special(request, info, resource, user)
        if sub.kind == "Scale":
            return self._scaling.serve(request, info, resource, user)
        serve = self._objects.get(request.method)
        verb = {"GET": "get", "PUT": "update", "PATCH": "patch"}.get(request.method, "")
        if serve is None or verb not in sub.verbs:
            raise _no_such_verb(request, resource)
        return serve(request, info, resource, user)

    # -- reviews

    def _review(
        self, request: ServerRequest, info: RequestInfo, resource: ServedResource, user: RequestUser
    ) -> ServerResponse:
        if request.method != "POST" or info.name:
            raise method_not_allowed()
        accepted = negotiate(request)
        options = write_options(request, "CreateOptions")
        review = decode_body(request, resource)
        check_kind(review, resource, self._catalog.registered, request.body)
        review, _ = decode_typed(review, resource, options.validation)
        check_namespace(review, info.namespace, resource)
        now = self._reader.clock.now()
        self._writer.ownership.created(resource, review, options.manager, now)
        if resource.name == "selfsubjectreviews":
            review["metadata"] = {}
        return encode(self._reviews.answer(resource.full_name, review, user, info.namespace, now), accepted, 201)


def _no_such_verb(request: ServerRequest, resource: ServedResource) -> StatusError:
    """Return the error of an unsupported verb; for custom resources it names the verb."""
    action = {"POST": "create", "DELETE": "delete"}.get(request.method)
    if resource.custom and action:
        return method_not_supported(resource.full_name, action)
    return method_not_allowed()


def _attributes(info: RequestInfo) -> Attributes:
    if not info.is_resource:
        return Attributes(info.verb, path=info.path)
    return Attributes(info.verb, info.namespace, info.group, info.version, info.resource, info.subresource, info.name)


def _fits_scope(request: ServerRequest, info: RequestInfo, resource: ServedResource) -> bool:
    # A namespace itself is read as an object in that namespace.
    in_namespace = bool(info.namespace) and (info.resource != "namespaces" or info.name != info.namespace)
    if resource.namespaced:
        return in_namespace or (not info.in_path and request.method == "GET" and "list" in resource.verbs)
    return not in_namespace


def _has_verb(resource: ServedResource, method: str, *, named: bool) -> bool:
    verb = {
        ("GET", True): "get",
        ("GET", False): "list",
        ("POST", False): "create",
        ("PUT", True): "update",
        ("PATCH", True): "patch",
        ("DELETE", True): "delete",
        ("DELETE", False): "deletecollection",
    }.get((method, named), "")
    return verb in resource.verbs


# Authentication: bearer tokens, then impersonation (k8s.io/apiserver/pkg/endpoints/filters).


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
