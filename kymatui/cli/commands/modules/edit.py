"""`kymatui edit MODULE`: the module CR, or with --kyma the Kyma, in an editor; what comes back is a plan.

A module without a CR has its default CR in the editor, which the edit creates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from kymatui.actions.edits.object_edit import ObjectEdit, apply_edit, editable_fields, plan_creation, plan_edit
from kymatui.adapters.files.object_editor import edit_in_editor
from kymatui.cli.cluster_options import add_option, add_output
from kymatui.cli.options.confirmation import confirm
from kymatui.cli.options.direct_install import (
    FORMATS,
    CommandContext,
    add_clusters,
    add_git_override,
    cancellable,
    open_context,
)
from kymatui.cli.options.git_review import GitReview
from kymatui.cli.options.listing import add_list_timeout
from kymatui.cli.options.unknown_names import require_known
from kymatui.cli.output.plan_changes import from_to, plan_document, plan_text
from kymatui.cli.output.printing import markdown, paragraph, print_line, print_text, table
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.gitops import git_changes
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.plans.direct_install import unknown_lists
from kymatui.domain.plans.plan_preview import summarize_actions
from kymatui.domain.rights import role_hint
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import (
    ForbiddenError,
    NotFoundError,
    RefusedError,
    UnknownNameError,
    UsageError,
    did_you_mean,
    nearest_names,
)


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "name NAME", "module whose module CR to edit, or to create if it has none", nargs="?")
    add_option(parser, "--kyma", "edit the Kyma instead of a module CR")
    add_option(parser, "--object [NS/]NAME", "module CR to edit, if the module has several")
    add_option(parser, "--dry-run", "print the plan, change nothing")
    add_option(parser, "--yes -y", "skip the confirmation")
    add_git_override(parser)
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
        self._git = self._review()

    def _review(self) -> GitReview:
        return GitReview(self._args, lambda: self._cluster)

    def run(self) -> int:
        if (initial := self._new_cr()) is not None:
            return self._create(initial)
        ref = self._ref()
        body = self._cluster.get(ref)
        if body is None:
            raise NotFoundError(f"{ref} no longer exists", status=404)
        self._require("patch", ref)
        if not self._args.dry_run and (refusal := self._review().refusal(ref.name, git_changes(body))) is not None:
            raise refusal  # before anything is rewritten in vain
        edit = edit_in_editor(editable_fields(body), ref.name, lambda desired: plan_edit(self._cluster, body, desired))
        if edit is None or not edit.changes:
            return self._answer(ref, edit, "unchanged", f"{ref}: no changes")
        return self._apply(edit)

    def _create(self, initial: Mapping[str, Any]) -> int:
        """Create the module CR of a module that has none."""
        ref = read_ref(initial)
        self._require("create", ref)
        edit = edit_in_editor(
            initial, ref.name, lambda desired: plan_creation(self._cluster, initial, desired), is_new=True
        )
        if edit is None:
            return self._answer(ref, edit, "unchanged", f"{ref}: not created, the file was emptied")
        return self._apply(edit)

    def _require(self, verb: str, ref: ObjectRef) -> None:
        """Raise ForbiddenError before anything is rewritten in vain."""
        name = ref.name if verb == "patch" else ""
        if not self._args.dry_run and not self._cluster.allowed(verb, ref.kind, ref.namespace, name):
            refused = f"you may not {verb} {ref} in {self._place.session.name}"
            raise ForbiddenError(refused, hint=self._role_hint(), status=403)

    def _role_hint(self) -> str:
        return role_hint("edit", self._args.name) if self._args.name else role_hint()

    def _apply(self, edit: ObjectEdit) -> int:
        refusal = self._git.refusal(edit.ref.name, edit.git)
        if self._args.dry_run and refusal is None:
            return self._answer(edit.ref, edit, "planned")
        if refusal is not None:
            self._answer(edit.ref, edit, "refused")
            raise refusal
        print_text(self._text(edit, "table"), sys.stderr)
        for notice in self._git.notices():
            print_line(notice, sys.stderr)
        confirm(self._place.target, f"{edit.verb.capitalize()} {edit.ref}", yes=self._args.yes)
        with cancellable() as cancel:
            apply_edit(self._cluster, edit, cancel)
        return self._answer(edit.ref, edit, "done", f"{edit.ref} {edit.verb}d")

    def _new_cr(self) -> Mapping[str, Any] | None:
        """Return the CR to create for a module that has none."""
        row = self._place.catalog.row(self._args.name) if not self._args.kyma else None
        return row.new_cr if row is not None and not self._args.object else None

    def _ref(self) -> ObjectRef:
        catalog = self._place.catalog
        if self._args.kyma:
            if catalog.kyma is None:
                raise NotFoundError(f"{self._place.session.name} has no Kyma", hint="`kymatui catalog`", status=404)
            if refusal := catalog.choice_refusal:
                raise RefusedError(refusal, hint="use --remote RUNTIME")
            return catalog.kyma.ref
        row = catalog.row(self._args.name)
        if row is None:
            lists = ", ".join(f"{kind} ({why})" for kind, why in unknown_lists(self._place.session.snapshot().feeds))
            refused = f"it is unknown whether {catalog.cluster} has the module {self._args.name}: {lists}"
            raise ForbiddenError(refused, hint=self._role_hint(), status=403)
        return self._module_cr(row)

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

    # printing

    def _answer(self, ref: ObjectRef, edit: ObjectEdit | None, outcome: str, words: str = "") -> int:
        form = self._args.output
        if form in ("json", "yaml"):
            print_text(
                plan_document(self._place.target, {**_json(ref, edit, outcome), "git": self._git.documents()}, form)
            )
        elif words and (form == "table" or edit is None):
            print_line(words)
        elif edit is not None:
            print_text(self._text(edit, form))
        return 0

    def _text(self, edit: ObjectEdit, form: str) -> str:
        draw = markdown if form == "md" else table
        rows = [(change.path, from_to(change.before, change.after)) for change in edit.changes]
        warnings = (paragraph(f"warning: {warning}", form) for warning in edit.warnings)
        text = "\n\n".join((str(edit.ref), draw(("FIELD", "BEFORE → AFTER"), rows), *warnings))
        return plan_text(self._place.target, summarize_actions([edit.verb]), self._git.below(text, form), form)


def _json(ref: ObjectRef, edit: ObjectEdit | None, outcome: str) -> dict[str, Any]:
    changes = edit.changes if edit is not None else ()
    return {
        "object": {
            "apiVersion": ref.kind.api_version,
            "kind": ref.kind.kind,
            "namespace": ref.namespace or None,
            "name": ref.name,
        },
        "changes": [{"path": change.path, "before": change.before, "after": change.after} for change in changes],
        "warnings": list(edit.warnings) if edit is not None else [],
        "outcome": outcome,
    }
