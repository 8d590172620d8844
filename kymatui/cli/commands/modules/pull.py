"""`kymatui pull [NAME…]`: ModuleTemplates of a catalog outside of the cluster, as the kyma CLI pulls them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from kymatui.actions.edits.object_edit import ObjectEditing, ObjectItem, plan_pulls
from kymatui.cli.cluster_options import add_option, add_output
from kymatui.cli.options.batch_renderers import run_in_session
from kymatui.cli.options.direct_install import FORMATS, add_clusters, add_confirmation, open_context
from kymatui.cli.options.unknown_names import require_known
from kymatui.cli.output.batch_view import BatchQuestion
from kymatui.cli.output.object_edits import ObjectEditView
from kymatui.domain.kyma.module_templates import ModuleTemplate, read_template
from kymatui.domain.kyma.problems import shell_command
from kymatui.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "names NAME", "module of a catalog of --catalog; several names make one plan", nargs="*")
    add_option(parser, "--all", "pull every module of the catalogs, in its newest version")
    add_option(parser, "--version VERSION", "version to pull (default: newest stable)", default="")
    add_confirmation(parser)
    add_output(parser, FORMATS)
    add_clusters(parser)


def run(args: argparse.Namespace) -> int:
    names = list(dict.fromkeys(args.names))
    if args.all == bool(names):
        raise UsageError("use either module names or --all", hint="run `kymatui pull NAME --catalog SOURCE`")
    if args.version and len(names) != 1:
        raise UsageError("--version works with one module only", hint="run the command once for each module")
    with open_context(args, once=True) as context:
        require_known(context.session, names, None)
        cluster, namespace = context.cluster, context.namespace or "default"
        items = plan_pulls(cluster, context.session.snapshot(), names, args.version, namespace)
        view = PullView(context.target, args, cluster, ("pull", *names), is_list=len(names) != 1)
        return run_in_session(items, ObjectEditing(cluster), view, context.session, skips_refused=args.all)


class PullView(ObjectEditView):
    """Templates of catalogs."""

    list_key = "templates"

    def item_document(self, item: ObjectItem, outcome: str) -> dict[str, Any]:
        """Return the document of an edit with the module's name and version."""
        template = read_template(item.required_plan.desired)
        version = template.version if isinstance(template, ModuleTemplate) else None
        return {"name": item.name, "version": version, **super().item_document(item, outcome)}

    def is_detailed(self, item: ObjectItem) -> bool:
        return item.is_pending and item.required_plan.before is not None

    def question(self, items: Sequence[ObjectItem]) -> BatchQuestion:
        names, edit = ", ".join(item.name for item in items), items[0].required_plan
        return BatchQuestion(f"Pull {names} into namespace {edit.ref.namespace}")

    def hints(self, items: Sequence[ObjectItem]) -> list[str]:
        wanted = ("--version", self.args.version) if self.args.version else ()
        commands = (shell_command("kymatui", "install", item.name, *wanted) for item in items if item.result)
        return [f"run `{command}` to install it" for command in commands if not items[1:]]
