"""`kymatui unpause NAME …`: remove the skip label, resume a paused rollout, start what is scaled to zero."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kymatui.actions.edits.unpause import Unpausing, plan_unpause, plan_unpause_kyma, require_unpause_right
from kymatui.cli.cluster_options import add_option, add_output
from kymatui.cli.options.batch_renderers import run_in_session
from kymatui.cli.options.direct_install import FORMATS, CommandContext, add_clusters, add_confirmation, open_context
from kymatui.cli.options.listing import add_list_timeout
from kymatui.cli.options.unknown_names import require_known
from kymatui.cli.output.batch_view import BatchQuestion
from kymatui.cli.output.object_edits import ObjectEditView
from kymatui.cli.output.printing import print_line
from kymatui.domain.rights import role_hint
from kymatui.errors import UsageError

if TYPE_CHECKING:
    from kymatui.actions.edits.object_edit import ObjectItem


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "names NAME", "modules that are paused", nargs="*")
    add_option(parser, "--kyma", "remove the skip label from the Kyma instead")
    add_confirmation(parser)
    add_output(parser, FORMATS)
    add_list_timeout(parser)
    add_clusters(parser)


def run(args: argparse.Namespace) -> int:
    names = tuple(dict.fromkeys(args.names))
    if args.kyma == bool(names):
        raise UsageError("give modules, or --kyma", hint="`kymatui unpause keda` or `kymatui unpause --kyma`")
    args.listed_within = args.timeout
    with open_context(args, once=True) as context:
        session, catalog = context.session, context.catalog
        require_known(session, names, None)
        rows = [context.require_row(catalog, name, "unpause", name) for name in names]
        items = plan_unpause_kyma(session, catalog) if args.kyma else plan_unpause(session, rows)
        if not items and args.output in ("table", "md"):
            print_line("no changes: nothing is paused")
            return 0
        view = _UnpauseView(context, ("unpause", *names), is_list=len(items) != 1)
        return run_in_session(items, Unpausing(session), view, session)


class _UnpauseView(ObjectEditView):
    """Edits that end a pause, in words and as documents."""

    def __init__(self, context: CommandContext, command: Sequence[str], *, is_list: bool) -> None:
        super().__init__(context.target, context.args, context.cluster, command, is_list=is_list)
        self._session = context.session

    def question(self, items: Sequence[ObjectItem]) -> BatchQuestion:
        return BatchQuestion(f"Unpause {', '.join(str(item.required_plan.ref) for item in items)}")

    def require_rights(self, items: Sequence[ObjectItem]) -> None:
        for item in items:
            require_unpause_right(self._session, item.required_plan.ref, role_hint(*self._command))
