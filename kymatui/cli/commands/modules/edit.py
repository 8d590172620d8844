"""`kymatui edit MODULE`: the module CR, or with --kyma the Kyma, in an editor; what comes back is a plan.

A module without a CR has its default CR in the editor, which the edit creates.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from functools import partial
from typing import Any

from kymatui.actions.edits.object_edit import (
    ObjectEdit,
    ObjectEditing,
    editable_fields,
    object_item,
    plan_object,
    require_right,
)
from kymatui.adapters.files.object_editor import edit_in_editor
from kymatui.cli.cluster_options import add_option, add_output
from kymatui.cli.options.batch_renderers import run_in_session
from kymatui.cli.options.direct_install import FORMATS, CommandContext, add_clusters, add_confirmation, open_context
from kymatui.cli.options.git_review import GitReview
from kymatui.cli.options.listing import add_list_timeout
from kymatui.cli.options.unknown_names import require_known
from kymatui.cli.output.object_edits import ObjectEditView
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.gitops import git_changes
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma_edit.module_edit import require_kyma
from kymatui.domain.rights import role_hint
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import NotFoundError, UnknownNameError, UsageError, did_you_mean, nearest_names


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "name NAME", "module whose module CR to edit, or to create if it has none", nargs="?")
    add_option(parser, "--kyma", "edit the Kyma instead of a module CR")
    add_option(parser, "--object [NS/]NAME", "module CR to edit, if the module has several")
    add_confirmation(parser)
    add_output(parser, FORMATS)
    add_list_timeout(parser)
    add_clusters(parser)


def run(args: argparse.Namespace) -> int:
    if args.kyma == bool(args.name) or (args.kyma and args.object):
        raise UsageError("give a module, or --kyma", hint="`kymatui edit keda` or `kymatui edit --kyma`")
    args.listed_within = args.timeout
    with open_context(args, once=True) as context:
        if not args.kyma:
            require_known(context.session, [args.name], None)
        return _Edit(context).run()


class _Edit:
    """One run of the command."""

    def __init__(self, context: CommandContext) -> None:
        self._place, self._args = context, context.args
        self._cluster: Cluster = context.cluster
        self._command = ("edit", self._args.name) if self._args.name else ()

    def run(self) -> int:
        initial = self._new_cr()
        ref = read_ref(initial) if initial is not None else self._ref()
        body = self._cluster.get(ref) if initial is None else None
        if body is None and initial is None:
            raise NotFoundError(f"{ref} no longer exists", status=404)
        if not self._args.dry_run:  # before anything is rewritten in vain
            require_right(self._cluster, ref, role_hint(*self._command), is_new=body is None)
            git = GitReview(self._args, lambda: self._cluster)
            if body is not None and (refusal := git.refusal(ref.name, git_changes(body))) is not None:
                raise refusal
        shown = editable_fields(body) if body is not None else initial or {}
        plan = partial(plan_object, self._cluster, body, shown)
        edit = edit_in_editor(shown, ref.name, plan, is_new=body is None) or ObjectEdit(ref, body, {}, (), {})
        view = ObjectEditView(self._place.target, self._args, self._cluster, self._command)
        return run_in_session([object_item(ref.name, edit)], ObjectEditing(self._cluster), view, self._place.session)

    def _new_cr(self) -> Mapping[str, Any] | None:
        """Return the CR to create for a module that has none."""
        row = self._place.catalog.row(self._args.name) if not self._args.kyma else None
        return row.new_cr if row is not None and not self._args.object else None

    def _ref(self) -> ObjectRef:
        catalog = self._place.catalog
        if self._args.kyma:
            return require_kyma(catalog)
        return self._module_cr(self._place.require_row(catalog, self._args.name, *self._command))

    def _module_cr(self, row: ModuleRow) -> ObjectRef:
        object_name = self._args.object
        resources = {resource.resource.path: resource.resource for resource in row.checked}
        if object_name:
            if object_name not in resources:
                words = (
                    f'{row.name} has no module CR "{object_name}"{did_you_mean(nearest_names(object_name, resources))}'
                )
                raise UnknownNameError(words, hint=f"module CRs: {', '.join(resources) or 'none'}")
            return resources[object_name]
        if not resources:
            hint = f"`kymatui module {row.name}` prints what it has"
            raise NotFoundError(f"{row.name} has no module CR to edit", hint=hint, status=404)
        if len(resources) > 1:
            hint = f"choose one with --object: {', '.join(resources)}"
            raise UsageError(f"{row.name} has {len(resources)} module CRs", hint=hint)
        (ref,) = resources.values()
        return ref
