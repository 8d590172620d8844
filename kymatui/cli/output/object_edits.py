"""Edits of whole objects in words and as documents."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kymatui.actions.edits.object_edit import ObjectEdit, ObjectItem, require_right
from kymatui.cli.output.batch_view import BatchQuestion, BatchView, reached_outcome
from kymatui.cli.output.plan_changes import fields_json, from_to
from kymatui.cli.output.printing import markdown, paragraph, table
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.plans.plan_preview import summarize_actions
from kymatui.domain.rights import role_hint
from kymatui.engine.cluster.ports import Cluster, Object

if TYPE_CHECKING:
    _View = BatchView[ObjectEdit, Object]
else:
    _View = BatchView


class ObjectEditView(_View):
    """Objects that are created or changed; `command` has the words of the action for `kymatui rights`."""

    heads = ("MODULE", "OBJECT", "CHANGE")

    def __init__(
        self,
        target: ClusterTarget,
        args: argparse.Namespace,
        cluster: Cluster,
        command: Sequence[str],
        *,
        is_list: bool = False,
    ) -> None:
        super().__init__(target, args, cluster.name, is_list=is_list)
        self._written, self._command = cluster, command

    def summary(self, items: Sequence[ObjectItem]) -> str:
        return summarize_actions(map(_action, items))

    def row(self, item: ObjectItem) -> list[str]:
        if item.refusal is not None:
            return [item.name, "", f"refused: {self.trouble(item)}"]
        return [item.name, str(item.required_plan.ref), _action(item)]

    def item_text(self, item: ObjectItem, form: str) -> str:
        edit, draw = item.required_plan, markdown if form == "md" else table
        rows = [(change.path, from_to(change.before, change.after)) for change in edit.changes]
        warnings = (paragraph(f"warning: {warning}", form) for warning in edit.warnings)
        return "\n\n".join((str(edit.ref), draw(("FIELD", "BEFORE → AFTER"), rows), *warnings))

    def unchanged(self, items: Sequence[ObjectItem]) -> str:
        edits = [item.required_plan for item in items]
        words = ("not created, the file was emptied" if edit.before is None else "no changes" for edit in edits)
        return "\n".join(sanitize(f"{edit.ref}: {text}") for edit, text in zip(edits, words, strict=True))

    def item_document(self, item: ObjectItem, outcome: str) -> dict[str, Any]:
        """Return `{"object", "changes", "warnings", "outcome"}`."""
        edit = item.required_plan
        ref = edit.ref
        return {
            "object": {
                "apiVersion": ref.kind.api_version,
                "kind": ref.kind.kind,
                "namespace": ref.namespace or None,
                "name": ref.name,
            },
            "changes": fields_json(edit.changes),
            "warnings": list(edit.warnings),
            "outcome": outcome,
        }

    def item_outcome(self, item: ObjectItem, outcome: str) -> str:
        return "failed" if item.error is not None else reached_outcome(item, outcome)

    def question(self, items: Sequence[ObjectItem]) -> BatchQuestion:
        return BatchQuestion(", ".join(f"{_action(item).capitalize()} {item.required_plan.ref}" for item in items))

    def require_rights(self, items: Sequence[ObjectItem]) -> None:
        for edit in (item.required_plan for item in items):
            require_right(self._written, edit.ref, role_hint(*self._command), is_new=edit.before is None)

    def lines(self, items: Sequence[ObjectItem]) -> str:
        done = [item.required_plan for item in items if item.result is not None]
        return "\n".join(f"{edit.ref} {edit.verb}d" for edit in done) or "no changes"


def _action(item: ObjectItem) -> str:
    if item.refusal is not None and item.plan is None:
        return "refused"
    return item.required_plan.verb if item.required_plan.changes else "same"
