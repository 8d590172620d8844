"""Request options (meta.k8s.io): parsed from the query, checked with the server's messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from kymatui.sandbox.apimachinery.exchange import ServerRequest
from kymatui.sandbox.apimachinery.statuses import bad_request, failure, invalid
from kymatui.sandbox.apiserver.requests.request_info import is_true
from kymatui.schemas.values.field_errors import quoted

Cause = dict[str, str]

_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan", "nil")
MANAGER_LENGTH = 128


class WriteOptions(Struct, frozen=True):
    """CreateOptions, UpdateOptions and PatchOptions in one."""

    dry_run: bool = False
    validation: str = "Warn"
    manager: str = "unknown"
    force: bool = False


class ListOptions(Struct, frozen=True):
    """Options of a list or watch; `version` is "" if none is given."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    continue_token: str = ""
    version: str = ""
    version_match: str = ""
    watch: bool = False
    bookmarks: bool = False
    send_initial_events: bool | None = None
    timeout: int = 0


class DeleteOptions(Struct, frozen=True):
    """Options of a deletion; `grace` None means the kind's default."""

    dry_run: bool = False
    grace: int | None = None
    policy: str = ""
    orphan: bool | None = None
    uid: str | None = None
    version: str | None = None


def unsupported(value: str, field: str, supported: Sequence[str]) -> Cause:
    choices = ", ".join(f'"{choice}"' for choice in supported)
    return {
        "reason": "FieldValueNotSupported",
        "message": f"Unsupported value: {value}: supported values: {choices}",
        "field": field,
    }


def not_allowed(text: str, field: str) -> Cause:
    return {"reason": "FieldValueForbidden", "message": f"Forbidden: {text}", "field": field}


def invalid_option(value: str, text: str, field: str) -> Cause:
    return {"reason": "FieldValueInvalid", "message": f"Invalid value: {value}: {text}", "field": field}


def _check(kind: str, causes: list[Cause]) -> None:
    if causes:
        raise invalid(f"{kind}.meta.k8s.io", "", causes)


def _integer(request: ServerRequest, name: str) -> int | None:
    text = request.first(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def write_options(request: ServerRequest, kind: str, *, apply: bool = False) -> WriteOptions:
    """Return the options of a write. Raise StatusError 422.

    `kind` is "CreateOptions", "UpdateOptions" or "PatchOptions".
    """
    causes: list[Cause] = []
    manager = request.first("fieldManager")
    forced = "force" in request.query
    if kind == "PatchOptions":
        if apply and not manager:
            causes.append(
                {
                    "reason": "FieldValueRequired",
                    "message": "Required value: is required for apply patch",
                    "field": "fieldManager",
                }
            )
        if not apply and forced:
            causes.append(not_allowed("may not be specified for non-apply patch", "force"))
    causes += _manager_causes(manager)
    causes += _dry_run_causes(request.query.get("dryRun", ()))
    validation = request.first("fieldValidation")
    if validation not in _VALIDATIONS:
        causes.append(unsupported(f'"{validation}"', "fieldValidation", _VALIDATIONS))
    _check(kind, causes)
    return WriteOptions(
        dry_run=bool(request.first("dryRun")),
        validation=validation or "Warn",
        manager=manager or agent_name(request.header("user-agent")),
        force=is_true(request.first("force")),
    )


def agent_name(user_agent: str) -> str:
    """Return the default field manager of a client: its user agent up to the first slash."""
    return "".join(char for char in user_agent.split("/")[0] if char.isprintable())[:MANAGER_LENGTH] or "unknown"


def _manager_causes(manager: str) -> list[Cause]:
    if len(manager.encode()) > MANAGER_LENGTH:
        message = f"Too long: may not be more than {MANAGER_LENGTH} bytes"
        return [{"reason": "FieldValueTooLong", "message": message, "field": "fieldManager"}]
    for position, char in enumerate(manager):
        if not char.isprintable():
            text = f"invalid character U+{ord(char):04X} (at position {position})"
            return [invalid_option(quoted(manager), text, "fieldManager")]
    return []


def _dry_run_causes(values: Sequence[str]) -> list[Cause]:
    if all(value in ("All", "") for value in values):
        return []
    listed = ",".join(f'"{value}"' for value in values)
    return [unsupported(f"[{listed}]", "dryRun", ("All",))]


def list_options(request: ServerRequest) -> ListOptions:
    """Return the options of a list or watch. Raise StatusError 400 and 422."""
    initial = request.first("sendInitialEvents")
    options = ListOptions(
        labels=request.first("labelSelector"),
        fields=request.first("fieldSelector"),
        limit=_integer(request, "limit") or 0,
        continue_token=request.first("continue"),
        version=request.first("resourceVersion"),
        version_match=request.first("resourceVersionMatch"),
        watch=is_true(request.first("watch")),
        bookmarks=is_true(request.first("allowWatchBookmarks")),
        send_initial_events=is_true(initial) if initial else None,
        timeout=_integer(request, "timeoutSeconds") or 0,
    )
    _check("ListOptions", _watch_causes(options) if options.watch else _list_causes(options))
    return options


def _list_causes(options: ListOptions) -> list[Cause]:
    match, field = options.version_match, "resourceVersionMatch"
    causes: list[Cause] = []
    if match:
        if options.continue_token:
            causes.append(not_allowed("resourceVersionMatch is forbidden with continue token", field))
        elif not options.version:
            causes.append(not_allowed("resourceVersionMatch is forbidden unless resourceVersion is provided", field))
        if match not in ("Exact", "NotOlderThan"):
            causes.append(unsupported(f'"{match}"', field, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and options.version == "0":
            causes.append(not_allowed('resourceVersionMatch "exact" is forbidden for resourceVersion "0"', field))
    if options.send_initial_events is not None:
        causes.append(not_allowed("sendInitialEvents is forbidden for list", "sendInitialEvents"))
    return causes


def _watch_causes(options: ListOptions) -> list[Cause]:
    match, field = options.version_match, "resourceVersionMatch"
    if options.send_initial_events is None:
        if match:
            text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            problems = [not_allowed(text, field)]
            return (
                problems
                if match == "NotOlderThan"
                else [*problems, unsupported(f'"{match}"', field, ("NotOlderThan",))]
            )
        if options.continue_token:
            return [not_allowed("resourceVersionMatch is forbidden when continue is provided", field)]
        return []
    causes: list[Cause] = []
    if match != "NotOlderThan":
        causes.append(not_allowed("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan", field))
        if match:
            causes.append(unsupported(f'"{match}"', field, ("NotOlderThan",)))
    if options.continue_token:
        text = "resourceVersionMatch is forbidden with continue token"
        causes.append(not_allowed(text, field))
    return causes


def delete_options(request: ServerRequest, body: Mapping[str, Any] | None) -> DeleteOptions:
    """Return the options from the body if there is one, else from the query. Raise StatusError 400, 422."""
    fields = dict(body) if body else _from_query(request)
    dry_run = fields.get("dryRun") or ()
    causes: list[Cause] = []
    policy, orphan = fields.get("propagationPolicy"), fields.get("orphanDependents")
    if policy is not None and orphan is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_option(f'"{policy}"', text, "propagationPolicy"))
    elif policy is not None and policy not in _POLICIES[:3]:
        causes.append(unsupported(f'"{policy}"', "propagationPolicy", _POLICIES))
    causes += _dry_run_causes(dry_run)
    _check("DeleteOptions", causes)
    preconditions = fields.get("preconditions") or {}
    return DeleteOptions(
        dry_run="All" in dry_run,
        grace=fields.get("gracePeriodSeconds"),
        policy=policy or "",
        orphan=orphan,
        uid=preconditions.get("uid"),
        version=preconditions.get("resourceVersion"),
    )


def _from_query(request: ServerRequest) -> dict[str, Any]:
    fields: dict[str, Any] = {"gracePeriodSeconds": _integer(request, "gracePeriodSeconds")}
    if "propagationPolicy" in request.query:
        fields["propagationPolicy"] = request.first("propagationPolicy")
    if "orphanDependents" in request.query:
        fields["orphanDependents"] = is_true(request.first("orphanDependents"))
    fields["dryRun"] = [value for value in request.query.get("dryRun", ()) if value]
    return fields


def version_number(text: str) -> int:
    """Return a resourceVersion as a number. Raise ValueError with the server's message."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def bad_list_version(text: str) -> int:
    """Return the version for a list, which reports an invalid one as 400."""
    try:
        return version_number(text)
    except ValueError as error:
        raise bad_request(f"invalid resource version: {error}") from None


def bad_watch_version(text: str) -> int:
    """Return the version for a watch or get, which report an invalid one as 500 without a reason."""
    try:
        return version_number(text)
    except ValueError as error:
        raise failure(500, "", str(error)) from None
