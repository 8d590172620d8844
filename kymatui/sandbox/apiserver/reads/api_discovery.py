"""Discovery at /api and /apis: per group, and aggregated in one document."""

from __future__ import annotations

import base64
import hashlib

import msgspec

from kymatui.sandbox.apimachinery.exchange import ServerRequest, ServerResponse
from kymatui.sandbox.apimachinery.statuses import method_not_allowed, no_such_resource
from kymatui.sandbox.apiserver.encoding.content_negotiation import AcceptedForm, negotiate, parse_clauses
from kymatui.sandbox.apiserver.reads.object_reads import encode
from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource, Subresource
from kymatui.sandbox.apiserver.resources.resource_catalog import ResourceCatalog

AGGREGATED = "apidiscovery.k8s.io"
_AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"
NOT_FOUND = ServerResponse(404, b"404 page not found\n", "text/plain; charset=utf-8")


class ApiDiscovery:
    """Answers GET of /api, /apis and below, down to a group version."""

    def __init__(self, catalog: ResourceCatalog, address: str) -> None:
        self._catalog = catalog
        self._address = address
        self._aggregated: dict[tuple[str, str], tuple[int, ServerResponse]] = {}

    def answer(self, request: ServerRequest) -> ServerResponse | None:
        """Return None for a path outside discovery."""
        parts = [part for part in request.path.split("/") if part]
        if not parts or len(parts) > 3:
            return None
        if parts[0] == "api" and len(parts) <= 2:
            return self._legacy(request, parts)
        if parts[0] == "apis":
            return self._named(request, parts)
        return None

    def _legacy(self, request: ServerRequest, parts: list[str]) -> ServerResponse:
        if len(parts) > 1 and parts[1] != "v1":
            raise no_such_resource()
        only_read(request)
        if len(parts) == 1:
            aggregated = _aggregated_version(request)
            if aggregated:
                return self._aggregate("/api", aggregated)
            address = [{"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}]
            value = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": address}
            return encode(value, _plain(request))
        return encode(self._resources("", "v1"), _plain(request))

    def _named(self, request: ServerRequest, parts: list[str]) -> ServerResponse:
        """Return groups, versions or resources.

        A real server ignores the method for lists of groups and versions, and for versions of custom resources.
        """
        if len(parts) == 1:
            aggregated = _aggregated_version(request)
            if aggregated:
                return self._aggregate("/apis", aggregated)
            groups = [self._group(name) for name in self._catalog.groups()]
            return encode({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}, _plain(request))
        versions = self._catalog.group_versions(parts[1])
        if not versions:
            return NOT_FOUND
        if len(parts) == 2:
            head = {"kind": "APIGroup", "apiVersion": "v1"}
            return encode({**head, **self._group(parts[1])}, _plain(request))
        if parts[2] not in versions:
            if self._catalog.is_builtin(parts[1]):
                raise no_such_resource()
            return NOT_FOUND
        if self._catalog.is_builtin(parts[1]):
            only_read(request)
        return encode(self._resources(parts[1], parts[2]), _plain(request))

    def _group(self, name: str) -> Object:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version} for version in self._catalog.group_versions(name)
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _resources(self, group: str, version: str) -> Object:
        rows = [row for resource in self._catalog.of(group, version) for row in _rows(resource)]
        head: Object = {"kind": "APIResourceList"}
        if group:
            head["apiVersion"] = "v1"
        return {**head, "groupVersion": f"{group}/{version}" if group else version, "resources": rows}

    # -- aggregated

    def _aggregate(self, path: str, version: str) -> ServerResponse:
        known = self._aggregated.get((path, version))
        if known is None or known[0] != self._catalog.changes:
            names = [""] if path == "/api" else self._catalog.groups()
            items = [self._aggregated_group(name) for name in names]
            value = {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": f"{AGGREGATED}/{version}",
                "metadata": {},
                "items": items,
            }
            body = msgspec.json.encode(value)
            tag = hashlib.sha512(body).hexdigest().upper()
            response = ServerResponse(
                200, body, _AGGREGATED_TYPE.format(version), [("ETag", f'"{tag}"'), ("Vary", "Accept")]
            )
            known = self._aggregated[path, version] = (self._catalog.changes, response)
        return known[1]

    def _aggregated_group(self, name: str) -> Object:
        metadata = {"name": name} if name else {}
        versions = [
            {
                "version": version,
                "resources": [_aggregated_row(resource) for resource in self._catalog.of(name, version)],
                "freshness": "Current",
            }
            for version in self._catalog.group_versions(name)
        ]
        return {"metadata": metadata, "versions": versions}


def only_read(request: ServerRequest) -> None:
    """Raise StatusError 405 for every method except GET (also for HEAD), as the server's routes do."""
    if request.method != "GET":
        raise method_not_allowed()


def _plain(request: ServerRequest) -> AcceptedForm:
    return negotiate(request, transforms=False)


def _aggregated_version(request: ServerRequest) -> str:
    """Return "v2" if the client prefers the aggregated document."""
    for clause in parse_clauses(request.header("accept")):
        parameters = clause.parameters
        if clause.type == "application/json":
            if not parameters.get("as"):
                return ""
            if (parameters.get("g"), parameters.get("v"), parameters["as"]) == (
                AGGREGATED,
                "v2",
                "APIGroupDiscoveryList",
            ):
                return "v2"
    return ""


def _rows(resource: ServedResource) -> list[Object]:
    row: Object = {
        "name": resource.name,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    if resource.storage_hash:
        row["storageVersionHash"] = resource.storage_hash
    return [row, *(_subresource_row(resource, sub) for sub in resource.subresources.values())]


def _subresource_row(resource: ServedResource, sub: Subresource) -> Object:
    row: Object = {"name": f"{resource.name}/{sub.name}", "singularName": "", "namespaced": resource.namespaced}
    if sub.version:
        row["group"], row["version"] = sub.group, sub.version
    return {**row, "kind": sub.kind, "verbs": list(sub.verbs)}


def _kind(resource: ServedResource, kind: str) -> Object:
    """Return the kind; the group is left out for kinds of the same group, except for custom resources."""
    if resource.custom:
        return {"group": resource.group, "version": resource.version, "kind": kind}
    return {"group": "", "version": "", "kind": kind}


def _sub_kind(resource: ServedResource, sub: Subresource) -> Object:
    if sub.version:
        return {"group": sub.group, "version": sub.version, "kind": sub.kind}
    return _kind(resource, sub.kind)


def _aggregated_row(resource: ServedResource) -> Object:
    row: Object = {
        "resource": resource.name,
        "responseKind": _kind(resource, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": sorted(resource.verbs),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    if resource.subresources:
        row["subresources"] = [
            {"subresource": sub.name, "responseKind": _sub_kind(resource, sub), "verbs": sorted(sub.verbs)}
            for sub in resource.subresources.values()
        ]
    return row


def storage_hash(group: str, version: str, kind: str) -> str:
    """Return the storageVersionHash of discovery: the first 8 bytes of a SHA-256 in base64."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
