"""`kymatui restart NAME …`: replace the Pods of a module's manager, or of all its workloads."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kymatui.actions.edits.restart import (
    Restart,
    Restarting,
    can_restart,
    plan_restarts,
    require_restart_right,
    restartable,
)
from kymatui.cli.cluster_options import add_option
from kymatui.cli.options.batch_renderers import run_in_session
from kymatui.cli.options.direct_install import (
    LISTED,
    CommandContext,
    ProgressPrinter,
    add_clusters,
    add_consent,
    open_context,
)
from kymatui.cli.options.unknown_names import no_manager, require_known
from kymatui.cli.output.batch_view import BatchQuestion
from kymatui.cli.output.object_edits import ObjectEditView
from kymatui.cli.output.printing import markdown, table
from kymatui.domain.catalog.module_events import module_objects
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.logs.log_sources import log_roots
from kymatui.domain.rights import role_hint
from kymatui.domain.snapshot.object_index import index_objects
from kymatui.domain.snapshot.snapshots import ReadCache
from kymatui.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from kymatui.actions.edits.object_edit import ObjectItem


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "names NAME", "modules whose managers to restart", nargs="+")
    add_option(parser, "--all", "restart every workload of the modules, not only their managers")
    add_option(parser, "--object KIND/NAME", "only this workload or Pod of them, e.g. Deployment/keda-operator")
    add_consent(parser, "time limit of the wait for the new Pods", git=False)
    add_clusters(parser)


def run(args: argparse.Namespace) -> int:
    names = tuple(dict.fromkeys(args.names))
    if args.all and args.object:
        raise UsageError("give --all or --object, not both", hint="--object restarts one workload or Pod")
    with open_context(args, once=True) as context:
        require_known(context.session, names, None)
        items = plan_restarts(context.cluster, _workloads(context, names), time.time())
        verb = Restarting(context.cluster, args.timeout if args.wait else 0.0, ProgressPrinter())
        view = RestartView(context.target, args, context.cluster, ("restart", *names), is_list=len(items) > 1)
        return run_in_session(items, verb, view, context.session)


def _workloads(context: CommandContext, names: Sequence[str]) -> dict[str, tuple[ObjectRef, ...]]:
    """Return the workloads of each module that the options name. Raise NotFoundError where a module has none."""
    args, session, catalog = context.args, context.session, context.catalog
    rows = {name: context.require_row(catalog, name, "restart", name) for name in names}
    has_all = bool(args.all or args.object)
    if has_all:
        session.follow_owned([ref for row in rows.values() for ref in module_objects(row)])
        session.wait_complete(LISTED)
    locations = index_objects(session.snapshot(), ReadCache())
    roots = {name: log_roots(row, locations, all_objects=has_all) for name, row in rows.items()}
    if args.object:
        return {name: (choose_object(refs, args.object, name),) for name, refs in roots.items()}
    workloads = {name: restartable(refs) for name, refs in roots.items()}
    for name, row in rows.items():
        if not workloads[name]:
            has_others = not has_all and module_objects(row)
            others = f"`kymatui restart {name} --all` restarts its other workloads" if has_others else ""
            raise no_manager(row, catalog.cluster, others)
    return workloads


def choose_object(refs: Iterable[ObjectRef], name: str, module: str) -> ObjectRef:
    """Return the workload or Pod of a module that `KIND/NAME`, or `KIND/NAMESPACE/NAME`, is.

    Raise UnknownNameError for none, UsageError for several.
    """
    choices = {f"{ref.kind.kind}/{ref.path}": ref for ref in refs if can_restart(ref)}
    names = {path: f"{ref.kind.kind}/{ref.name}" for path, ref in choices.items()}
    paths = [path for path in choices if name in (path, names[path])]
    if not paths:
        valid = dict.fromkeys(names.values())
        hint = f"valid: {', '.join(valid) or 'none'}"
        raise UnknownNameError.near("workload or Pod", name, valid, where=f"of {module}", hint=hint)
    if len(paths) > 1:
        raise UsageError(f'{module} has several "{name}"', hint=f"choose one: {', '.join(paths)}")
    return choices[paths[0]]


class RestartView(ObjectEditView):
    """Restarts in words and as documents."""

    heads = ("MODULE", "WORKLOAD", "PODS")
    noun = "workload"
    undone = "not restarted"
    again = "a second run restarts the others again; name what failed with --object KIND/NAME"

    def summary(self, items: Sequence[ObjectItem]) -> str:
        return f"{format_count(len([item for item in items if item.is_pending]), 'workload')} to restart"

    def row(self, item: ObjectItem) -> list[str]:
        if item.refusal is not None:
            return super().row(item)
        return [item.name, str(item.required_plan.ref), _restart(item).consequence]

    def item_text(self, item: ObjectItem, form: str) -> str:
        return (markdown if form == "md" else table)(self.heads, [self.row(item)])

    def is_detailed(self, item: ObjectItem) -> bool:
        return False

    def item_document(self, item: ObjectItem, outcome: str) -> dict[str, Any]:
        """Return `{"module", "pods", "object", "changes", "warnings", "outcome"}`."""
        return {"module": item.name, "pods": _restart(item).pods, **super().item_document(item, outcome)}

    def question(self, items: Sequence[ObjectItem]) -> BatchQuestion:
        pods = "; ".join(dict.fromkeys(_restart(item).consequence for item in items))
        return BatchQuestion(f"Restart {', '.join(str(item.required_plan.ref) for item in items)}", pods)

    def require_rights(self, items: Sequence[ObjectItem]) -> None:
        for item in items:
            require_restart_right(self._written, item.required_plan, role_hint(*self._command))

    def lines(self, items: Sequence[ObjectItem]) -> str:
        word = "restarted" if self.args.wait else "restarting"
        ended = (item for item in items if item.result is not None and item.error is None)
        return "\n".join(f"{item.required_plan.ref} {word}" for item in ended) or "no restart is complete"

    def outcome(self, items: Sequence[ObjectItem]) -> str:
        return "done" if self.args.wait else "accepted"


def _restart(item: ObjectItem) -> Restart:
    assert isinstance(item.plan, Restart)
    return item.plan
