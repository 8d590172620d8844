"""`kymatui rights [ACTION] [ARGUMENT …]`: what you may not, and the Role that would allow it.

What an action needs comes from the requests of its plan, and from the table in `domain/rights`. With --as the plan is
read with your own permissions, and the answer is about the other user. Exit status 2 where permissions are missing, 1
where that is not known of all.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from kymatui.actions.roles import KnownUser, ScopedRequest, by_namespace, granted_requests, role_name, user_of
from kymatui.cli.cluster_options import OF_ONE_CONTEXT, add_option, add_output
from kymatui.cli.options.direct_install import FORMATS, add_clusters
from kymatui.cli.options.reading import row_of
from kymatui.cli.output.printing import document, markdown, paragraph, print_text, table
from kymatui.cli.session_arguments import is_remote, open_chosen, remote_options_of
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.rights import ACTIONS, CATALOG, LIST_VERBS, GrantedRequest, Subject, role_manifests, role_rules
from kymatui.domain.snapshot.cluster_index import KYMA_FEED, RELEASE_FEED
from kymatui.domain.snapshot.snapshots import CATALOG_FEED, FeedState, is_namespaced_feed
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import NAMESPACE, Cluster
from kymatui.engine.cluster.request_scope import PermissionRecord, recorded_permissions
from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.errors import ClusterError, ForbiddenError, KymatuiError, RefusedError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from kymatui.sessions.cluster.catalog_session import CatalogSession
    from kymatui.sessions.control_plane.pair_session import PairSession

_LISTED = 20.0  # seconds
_KYMA_NAMESPACE = "kyma-system"
_GROUP = "operator.kyma-project.io"
_CONTROL_PLANE, _RUNTIME = _SIDES = ("control-plane", "runtime")
_PASSED_ON = ("kubeconfig", *OF_ONE_CONTEXT)


class Reviewer(KnownUser, Protocol):
    """The cluster that answers what a user may."""

    def permits(self, request: GrantedRequest, namespace: str = "") -> bool: ...


def configure(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(ACTIONS)
    add_option(parser, "action ACTION", f"{names} (default: {CATALOG})", nargs="?", default=CATALOG)
    add_option(parser, "arguments ARGUMENT", "arguments of that command", nargs="*")
    add_option(parser, "--options TEXT", "options of that command, e.g. --options '--chart ./keda'", default="")
    add_option(parser, "--secrets", "include the list of Secrets, which catalog needs for charts only")
    text = "with --remote: only what is missing on this cluster, e.g. for its administrator"
    add_option(parser, "--on", text, choices=_SIDES, default="")
    add_output(parser, FORMATS)
    add_clusters(parser)


class Findings(Struct, frozen=True):
    """What an action needs and the user lacks.

    optional        what the action can do without: parts of its plan are then unknown
    new_namespaces  namespaces of the Roles that do not exist yet
    unknown         why more may be missing, "" for nothing
    side            which cluster of a runtime it is about, "" for the only one; `cluster` is its name
    """

    user: str
    command: str
    needed: int
    missing: tuple[ScopedRequest, ...]
    optional: tuple[ScopedRequest, ...] = ()
    new_namespaces: tuple[str, ...] = ()
    unknown: str = ""
    side: str = ""
    cluster: str = ""

    @property
    def where(self) -> str:
        return f" on the {self.side.replace('-', ' ')} {self.cluster}" if self.side else ""

    @property
    def manifests(self) -> list[dict[str, Any]]:
        return role_manifests(
            role_name(self.command), by_namespace(self.missing), Subject(self.user), self.new_namespaces
        )


def run(args: argparse.Namespace) -> int:
    if args.action not in ACTIONS:
        raise UnknownNameError.near("action", args.action, ACTIONS, hint=f"valid: {', '.join(ACTIONS)}")
    if args.action == CATALOG and args.arguments:
        raise UsageError("catalog takes no arguments", hint="run `kymatui rights`")
    if args.on and not is_remote(args):
        raise UsageError("--on needs --remote", hint="without a control plane there is one cluster")
    findings = [side for side in _find(args) if args.on in ("", side.side)]
    if args.output == "json":
        print_text(document(_json(findings), args.output))
    elif args.output == "yaml":
        for side in findings:
            _print_manifests(side)
    else:
        print_text("\n\n".join(_text(side, args.output) for side in findings))
    missing, unknown = any(side.missing for side in findings), any(side.unknown for side in findings)
    return RefusedError.exit_code if missing else KymatuiError.exit_code if unknown else 0


def _find(args: argparse.Namespace) -> list[Findings]:
    """Return what is missing on the cluster; with --remote on the control plane, then on the runtime."""
    from kymatui.sessions.cluster.cluster_access import open_cluster

    own = argparse.Namespace(**{**vars(args), "as_user": None, "as_group": None, "as_uid": None})
    subject = open_cluster(remote_options_of(args)[0].control)
    try:
        opened = open_chosen(own, elsewhere=True, once=True)
    except ForbiddenError as error:  # the runtime is not found
        needs = _list_needs(f"kymas.{_GROUP}")
        return [_findings(args, (PermissionRecord(), str(error)), subject, subject, needs, _CONTROL_PLANE)]
    with contextlib.closing(opened) as session:
        session.start(lambda: None)
        record, unknown = _plan(args)
        try:
            session.wait_complete(_LISTED)
        except KymatuiError as error:
            if session.kyma is None:
                raise
            unknown = unknown or str(error)
        if session.kyma is None:
            return [_findings(args, (record, unknown), session.cluster, subject, _own_needs(args, session))]
        needs = _control_plane_needs(args, session.kyma[0])
        findings = [_findings(args, (record, unknown), session.home, subject, needs, _CONTROL_PLANE)]
        if session.is_connected:
            cluster, needs = session.cluster, _own_needs(args, session)
            findings.append(_findings(args, (record, unknown), cluster, cluster, needs, _RUNTIME))
        return findings


def _findings(
    args: argparse.Namespace,
    plan: tuple[PermissionRecord, str],
    cluster: Cluster,
    subject: Reviewer,
    own: Iterable[ScopedRequest],
    side: str = "",
) -> Findings:
    """Return what the user of `subject` lacks on a cluster: of the plan, and of its `own` needs."""
    recorded = plan[0].of_clusters({cluster.name, *([] if side == _CONTROL_PLANE else [""])})
    needed, optional = (granted_requests(cluster, permissions, plan[0].plurals) for permissions in recorded)
    requests = tuple(dict.fromkeys((*own, *needed)))
    missing = _refused(subject, requests)
    created = _new_namespaces(cluster, missing)
    if created:  # whoever creates the Roles creates the namespaces
        missing = tuple(scoped for scoped in missing if scoped != ("", _NEW_NAMESPACE))
    user = user_of(subject, args.as_user or "USER")
    words = ("kymatui", args.action, *args.arguments, args.options, args.remote and f"--remote {args.remote}")
    command, unseen = " ".join(filter(None, words)), _refused(subject, tuple(dict.fromkeys(optional)))
    return Findings(user, command, len(requests), missing, unseen, created, plan[1], side, cluster.name)


_NEW_NAMESPACE = GrantedRequest("", "namespaces", "create")


def _refused(subject: Reviewer, requests: Sequence[ScopedRequest]) -> tuple[ScopedRequest, ...]:
    """Return the requests that the user may not send."""
    allowed = run_for_each(requests, lambda scoped: subject.permits(scoped[1], scoped[0]), None)
    return tuple(scoped for scoped, may in zip(requests, allowed, strict=True) if not may)


def _new_namespaces(cluster: Cluster, requests: Iterable[ScopedRequest]) -> tuple[str, ...]:
    """Return the namespaces that do not exist; those that may not be read are taken for existing."""
    missing = []
    for namespace in sorted({namespace for namespace, _ in requests} - {""}):
        with contextlib.suppress(ClusterError):
            if cluster.get(ObjectRef(NAMESPACE, "", namespace)) is None:
                missing.append(namespace)
    return tuple(missing)


def _plan(args: argparse.Namespace) -> tuple[PermissionRecord, str]:
    """Plan the action without its output; return what it needed, and why that is not all."""
    from kymatui.cli.parser import build_parser

    record, unknown = PermissionRecord(), ""
    if not ACTIONS[args.action].is_planned:
        return record, unknown
    words = [args.action, *args.arguments, *shlex.split(args.options), "--dry-run"]
    for name in _PASSED_ON:
        words += [f"--{name.replace('_', '-')}", getattr(args, name)] if getattr(args, name, None) else []
    words += [word for source in args.catalog or () for word in ("--catalog", source)]
    parsed = build_parser(words).parse_args(words)
    with recorded_permissions() as record, _silence():
        try:
            parsed.command_module.run(parsed)
        except (UsageError, UnknownNameError):
            raise
        except KymatuiError as error:
            unknown = str(error)
    return record, unknown


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def _control_plane_needs(args: argparse.Namespace, namespace: str) -> Iterator[ScopedRequest]:
    """Yield what finding a runtime, reading its objects and its access Secret needs."""
    yield from _list_needs(f"kymas.{_GROUP}", namespace if "/" in (args.remote or "") else "")
    for plural in ("moduletemplates", "modulereleasemetas", "manifests"):
        yield from _list_needs(f"{plural}.{_GROUP}", namespace)
    if not (args.skr_kubeconfig or args.skr_context):
        yield from _list_needs("secrets", namespace)


def _own_needs(args: argparse.Namespace, session: CatalogSession | PairSession) -> Iterator[ScopedRequest]:
    """Yield what an action needs beside its plan."""
    needs, kymas = ACTIONS[args.action], [read_ref(raw) for raw in session.kymas]
    namespace = kymas[0].namespace if kymas else _KYMA_NAMESPACE
    if args.action == CATALOG:
        feeds = {name: feed.state for name, feed in session.feeds.items()}
        yield from _catalog_needs((name for name in feeds if feeds[name] is not FeedState.ABSENT), secrets=args.secrets)
    for plural in needs.lists:
        yield from _list_needs(f"{plural}.{_GROUP}", namespace)
    for feed in needs.cluster_lists:
        yield from _list_needs(feed)
    if needs.edits_kyma:
        plural, _, group = KYMA_FEED.partition(".")
        for verb in ("get", "patch"):
            yield namespace, GrantedRequest(group, plural, verb, kymas[0].name if kymas else "default")
    if needs.edits_cr or needs.reads_logs:
        yield from _module_needs(args, session)


def _module_needs(args: argparse.Namespace, session: CatalogSession | PairSession) -> Iterator[ScopedRequest]:
    """Yield what an action needs of the objects of one module: its CRs, or the Pods of its manager."""
    snapshot = session.snapshot()
    row = row_of(build_catalog(snapshot, snapshot.taken_at), args.arguments[0] if args.arguments else "")
    if ACTIONS[args.action].reads_logs:
        namespace = row.manager.namespace if row.manager is not None else ""
        for plural in ("pods", "replicasets.apps"):
            yield from _list_needs(plural, namespace)
        yield namespace, GrantedRequest("", "pods/log", "get")
        return
    refs = [read_ref(row.new_cr)] if row.new_cr is not None else [checked.resource for checked in row.checked]
    for ref in refs:
        served = session.cluster.kind(ref.kind)
        plural = served.resource if served is not None else ""
        yield from _list_needs(f"{plural}.{ref.kind.group}")
        for verb in ("create",) if row.new_cr is not None else ("get", "patch"):
            yield ref.namespace, GrantedRequest(ref.kind.group, plural, verb, "" if verb == "create" else ref.name)


def _catalog_needs(feeds: Iterable[str], *, secrets: bool) -> Iterator[ScopedRequest]:
    """Yield the lists that the catalog displays."""
    for feed in sorted(feeds):
        if feed.startswith(CATALOG_FEED) or is_namespaced_feed(feed) or (feed == RELEASE_FEED and not secrets):
            continue
        yield from _list_needs(feed)


def _list_needs(feed: str, namespace: str = "") -> Iterator[ScopedRequest]:
    """Yield the requests of a list, by its name."""
    plural, _, group = feed.partition(".")
    yield from ((namespace, GrantedRequest(group, plural, verb)) for verb in LIST_VERBS)


# printing


def _text(findings: Findings, form: str) -> str:
    draw = markdown if form == "md" else table
    parts = []
    if not findings.missing:
        count = format_count(findings.needed, "permission")
        parts.append(f"{findings.user} has the {count} of `{findings.command}`{findings.where}")
    else:
        count = format_count(len(findings.missing), "permission")
        heading = f"{findings.user} lacks {count} of `{findings.command}`{findings.where}:"
        parts += [heading, draw(_HEADER, _rows(findings.missing))]
    if findings.optional:
        parts += ["Without these, parts of the plan are unknown:", draw(_HEADER, _rows(findings.optional))]
    if findings.unknown:
        parts.append(paragraph(f"More may be missing: {findings.unknown}.", form))
    if findings.missing:
        parts.append("`-o yaml` prints the Role and its binding, which an administrator can apply.")
    return "\n\n".join(parts)


def _rows(requests: Iterable[ScopedRequest]) -> list[list[str]]:
    return [
        [", ".join(rule["verbs"]), _resource(rule, kind), namespace or "(all)"]
        for namespace, own in sorted(by_namespace(requests).items())
        for rule in role_rules(own)
        for kind in rule["resources"]
    ]


_HEADER = ("VERBS", "RESOURCE", "NAMESPACE")


def _resource(rule: dict[str, list[str]], kind: str) -> str:
    group = rule["apiGroups"][0]
    plain = f"{kind}.{group}" if group else kind
    names = rule.get("resourceNames")
    return f"{plain} {', '.join(names)}" if names else plain


def _json(findings: Sequence[Findings]) -> dict[str, Any]:
    """Return the document of a cluster, with --remote one with those of both."""
    if findings[0].side:
        sides = [{"side": side.side, "cluster": side.cluster, **_side_json(side)} for side in findings]
        return {"command": findings[0].command, "allowed": all(side["allowed"] for side in sides), "clusters": sides}
    return _side_json(findings[0])


def _side_json(findings: Findings) -> dict[str, Any]:
    return {
        "user": findings.user,
        "command": findings.command,
        "allowed": not findings.missing and not findings.unknown,
        "missing": [_request_json(*scoped) for scoped in findings.missing],
        "optional": [_request_json(*scoped) for scoped in findings.optional],
        "unknown": findings.unknown or None,
        "manifests": findings.manifests,
    }


def _print_manifests(findings: Findings) -> None:
    heading = [f"# Lets {findings.user} run `{findings.command}`{findings.where}."]
    if not findings.missing:
        heading = [f"# {findings.user} has every known permission of `{findings.command}`{findings.where}."]
    if findings.unknown:
        heading.append(f"# More may be missing: {findings.unknown}.")
    print_text("\n".join(map(sanitize, (*heading,))))
    if documents := "---\n".join(map(dump_yaml, findings.manifests)).rstrip("\n"):
        print_text(documents)


def _request_json(namespace: str, request: GrantedRequest) -> dict[str, str | None]:
    return {
        "verb": request.verb,
        "group": request.group,
        "resource": request.resource,
        "namespace": namespace or None,
        "name": request.name or None,
    }
