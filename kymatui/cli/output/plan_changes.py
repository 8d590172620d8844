"""Plans, removals and reports in words and as documents; values of Secrets are never in them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from kymatui.cli.output.printing import document, escaped, markdown, paragraph, table, wrapped
from kymatui.cli.output.terminal import accented
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.ownership import LABEL_PART_OF
from kymatui.domain.plans.plan_preview import summarize_actions
from kymatui.settings.config_file import load_settings

if TYPE_CHECKING:
    from kymatui.actions.modules.version_content import Affected
    from kymatui.actions.plans import Uninstall
    from kymatui.domain.catalog.effects import Effect
    from kymatui.domain.kyma_edit.label_edit import LabelProposal
    from kymatui.domain.kyma_edit.module_edit import EditProposal
    from kymatui.domain.plans.cluster_target import ClusterTarget
    from kymatui.domain.versions.version_diff import ValueChange
    from kymatui.engine.deletion.deletion_state import DeletionState
    from kymatui.engine.plans.plan import FieldDiff, Grant, Plan, Step


def plan_text(target: ClusterTarget, summary: str, text: str, form: str) -> str:
    """Return a plan for people (table, md): the cluster with the edited Kyma, the summary, then the tables."""
    if form == "md":
        head = [escaped(line) for line in (*target.lines, sanitize(summary))]
    else:
        head = [_in_accent(target, target.lines, sys.stdout) + "\n" + wrapped(sanitize(summary))]
    return "\n\n".join([*head, text] if text else head)


def question_text(target: ClusterTarget, action: str, consequence: str, keys: str, stream: TextIO) -> str:
    """Return a question below the line that every plan starts with: context, server, namespace and access.

    keys   the possible answers, such as `[y/N]`
    """
    head = _in_accent(target, [target.line], stream)
    return head + "\n" + wrapped(sanitize(f"{target.question(action, consequence)} {keys}"), stream)


def _in_accent(target: ClusterTarget, lines: Sequence[str], stream: TextIO) -> str:
    """Return the lines in the accent that the configuration file gives to the context."""
    return accented(load_settings(os.environ).context(target.context).accent, wrapped("\n".join(lines), stream))


def plan_document(target: ClusterTarget, value: Mapping[str, Any], form: str) -> str:
    """Return a plan as JSON or YAML; `target` names the cluster."""
    return document({"target": target.document, **value}, form)


_MOST_FIELDS = 12  # changed fields of one object; the others are counted
_LONGEST = 60  # characters of a value
_BEFORE = 20  # characters of what two values have in common, before what they have not


def changes_text(plan: Plan, form: str) -> str:
    """Return what will be done, object by object, with the fields that change; what stays as it is is only counted."""
    from kymatui.engine.deletion.prune_plan import describe_backup

    draw = markdown if form == "md" else table
    before = [step for step in plan.hooks if step.event.startswith("pre-")]
    after = [step for step in plan.hooks if not step.event.startswith("pre-")]
    changed = [step for step in plan.steps if step.action.value != "same"]
    first = [step for step in changed if step.part.value in ("namespace", "definition")]  # hooks may need them
    shown = (*first, *before, *(step for step in changed if step not in first), *after)
    rows = [row for step in shown for row in _rows(step, adopts=plan.intent.adopt)]
    parts = [draw(("ACTION", "OBJECT", "CHANGE"), rows)] if rows else []
    parts += ["\n".join(paragraph(line, form) for line in adopted)] if (adopted := _adopted(plan)) else []
    parts += ["\n".join(paragraph(line, form) for line in grant_lines(grant)) for grant in plan.grants]
    parts += (
        ["\n".join(paragraph(f"missing permission: {right}", form) for right in plan.missing)] if plan.missing else []
    )
    parts += [paragraph(f"note: {note}", form) for note in plan.notes]
    parts += [paragraph(saved, form)] if (saved := describe_backup(plan)) else []
    return "\n\n".join(parts)


def plan_summary(plans: Iterable[Plan]) -> str:
    """Return the summary of one plan, or of several together."""
    some = list(plans)
    hooks = sum(len(plan.hooks) for plan in some)
    summary = summarize_actions(step.action.value for plan in some for step in plan.steps)
    return summary + (f", {format_count(hooks, 'hook')} to run" if hooks else "")


def _adopted(plan: Plan) -> list[str]:
    """Return sentences on what an adoption changes besides the objects, none where nothing is adopted."""
    if not plan.intent.adopt or plan.changes_nothing:
        return []
    before, after = plan.intent.adopted_version, plan.bundle.version
    version = f" and upgrades it {before} → {after}" if before and before != after else ""
    same = sum(step.action.value == "change" and all(map(_is_mark, step.changes)) for step in plan.steps)
    return [
        f"kymatui adopts {plan.bundle.name}{version}: kymatui becomes the owner of its objects.",
        *([f"In {format_count(same, 'object')} only the owner changes."] if same else []),
        "The old owner is the tool that applied the object; it may not manage the object any more.",
        f"kymatui marks the objects that it owns with the label {LABEL_PART_OF}.",
    ]


def _is_mark(change: FieldDiff) -> bool:
    """Return whether a change only adds the label of kymatui's objects."""
    labels = change.after if isinstance(change.after, dict) else {}
    alone = change.path == "metadata.labels" and change.before is None and set(labels) == {LABEL_PART_OF}
    return alone or change.path == f"metadata.labels.{LABEL_PART_OF}"


def change_counts(plans: Iterable[Plan]) -> str:
    """Return how many objects change, and whether what is deleted is saved, for the question before it."""
    some = list(plans)
    changed = [step for plan in some for step in plan.steps if step.action.value != "same"]
    deleted = any(plan.deletion_count for plan in some)
    backup = ", backup saved" if any(plan.saved_count for plan in some) else ", no backup" if deleted else ""
    return summarize_actions(step.action.value for step in changed) + backup


def _rows(step: Step, *, adopts: bool) -> list[list[str]]:
    reasons = [step.reason] if step.reason else []
    reasons += [f"in {step.event}"] if step.event and step.action.value != "create" else []
    reasons += ["not checked: its CRD or namespace does not exist yet"] if step.unchecked and not step.reason else []
    reasons += ["already exists"] if step.adopted else []
    reasons += [f"{conflict.path} is owned by {conflict.manager}" for conflict in step.conflicts]
    if step.action.value != "create":
        shown = [change for change in step.changes if not (adopts and step.reason and _is_mark(change))]
        reasons += [f"{change.path}: {from_to(change.before, change.after)}" for change in shown]
    more = len(reasons) - _MOST_FIELDS
    reasons = [*reasons[:_MOST_FIELDS], f"and {more} more"] if more > 0 else reasons
    first, rest = (reasons[0] if reasons else ""), reasons[1:]
    return [[step_word(step), str(step.ref), first], *[[" ", " ", line] for line in rest]]


def step_word(step: Step) -> str:
    """Return the action of a step for a table; a hook that will run is named by its event."""
    return f"{step.event} hook" if step.event and step.action.value == "create" else step.action.value


def from_to(before: object, after: object) -> str:
    """Return two values, shortened so that what tells them apart stays."""
    texts = ["none" if value is None else json.dumps(value, ensure_ascii=False) for value in (before, after)]
    same = next((at for at, (char, other) in enumerate(zip(*texts, strict=False)) if char != other), 0)
    return " → ".join(_shortened(text, max(0, same - _BEFORE)) for text in texts)


def _shortened(text: str, begin: int) -> str:
    if len(text) <= _LONGEST:
        return text
    cut = f"…{text[begin:]}" if begin else text
    return cut if len(cut) <= _LONGEST else f"{cut[: _LONGEST - 1]}…"


def grant_lines(grant: Grant) -> list[str]:
    """Return what a role lets whom do: a line for the role, one for each of its rules, and what is alarming in them."""
    where = f"in {grant.namespace}" if grant.namespace else "in the whole cluster"
    subjects = ", ".join(grant.subjects) or "no subject yet"
    lines = [f"{grant.role} grants {subjects} {where}:"]
    for rule in grant.rules:
        groups = rule.get("apiGroups") or [""]
        things = [f"{name}.{group}" if group else name for group in groups for name in rule.get("resources") or ()]
        things += list(rule.get("nonResourceURLs") or ())
        lines.append(f"  {', '.join(rule.get('verbs') or ())}: {', '.join(things)}")
    return [*lines, *(f"  ! {warning}" for warning in grant.warnings)]


def plan_json(plan: Plan, outcome: str) -> dict[str, Any]:
    """Return `{"cluster", "name", "version", "steps": […], "hooks": […], "saved", "outcome"}`."""
    return {
        "cluster": plan.cluster,
        "name": plan.bundle.name,
        "namespace": plan.bundle.namespace,
        "version": plan.bundle.version or None,
        "adopt": plan.intent.adopt,
        "adoptedVersion": plan.intent.adopted_version or None,
        "origin": plan.bundle.origin.address,
        "digest": plan.bundle.origin.digest or None,
        "steps": [step_json(step) for step in plan.steps],
        "hooks": [{"event": step.event, "weight": step.wave, **step_json(step)} for step in plan.hooks],
        "grants": [
            {
                "role": grant.role,
                "subjects": list(grant.subjects),
                "namespace": grant.namespace or None,
                "rules": [dict(rule) for rule in grant.rules],
                "warnings": list(grant.warnings),
            }
            for grant in plan.grants
        ],
        "missing": [str(right) for right in plan.missing],
        "notes": list(plan.notes),
        "saved": plan.saved_count,
        "outcome": outcome,
    }


def step_json(step: Step) -> dict[str, Any]:
    return {
        "action": step.action.value,
        **_ref_json(step),
        "changes": fields_json(step.changes),
        "conflicts": [{"path": conflict.path, "manager": conflict.manager} for conflict in step.conflicts],
        "reason": step.reason or None,
        "git": str(step.git) if step.git is not None else None,
    }


def fields_json(changes: Iterable[FieldDiff]) -> list[dict[str, Any]]:
    return [{"path": change.path, "before": change.before, "after": change.after} for change in changes]


def _ref_json(step: Step) -> dict[str, str]:
    ref = step.ref
    return {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "namespace": ref.namespace, "name": ref.name}


def edit_summary(edits: Iterable[tuple[EditProposal, bool]], uninstalls: Iterable[Uninstall]) -> str:
    """Return the summary of edits, each with whether it is refused: entries, modules, and objects to delete."""
    some = list(edits)
    effects = {(effect.module, effect.message): effect for proposal, _ in some for effect in proposal.effects}
    entries = ["refused" if refused else "same" if proposal.is_done else "change" for proposal, refused in some]
    return summarize_actions([*entries, *_effects(effects.values()), *_deleted_first(uninstalls)])


def label_summary(proposal: LabelProposal, uninstalls: Iterable[Uninstall]) -> str:
    """Return the summary of an edit of labels: the Kyma, modules, copies in the catalog, and objects to delete."""
    edit = proposal.edit
    kyma = "refused" if edit is None or proposal.refusal else "same" if edit.is_empty else "change"
    copies = [*("create" for _ in proposal.comes), *("delete" for _ in proposal.goes)]
    changed = ["change" for _ in proposal.changes]
    return summarize_actions([kyma, *_effects(proposal.effects), *_deleted_first(uninstalls), *copies, *changed])


def _effects(effects: Iterable[Effect]) -> Iterator[str]:
    for effect in effects:
        stays = "same" if effect.changes_nothing else "change"
        yield "uninstall" if effect.uninstalls else "install" if effect.installs else stays


def _deleted_first(uninstalls: Iterable[Uninstall]) -> Iterator[str]:
    """Yield the objects that kymatui deletes before the edit, and those that lifecycle-manager deletes."""
    for uninstall in uninstalls:
        if uninstall.state is not None:
            yield from ("delete" for _ in uninstall.state.deleted_objects)


def deletion_summary(states: Sequence[DeletionState], refused: int = 0) -> str:
    """Return the summary of deletions: what kymatui and lifecycle-manager delete, and what is kept.

    `refused` is the number of modules that the request does not allow to delete.
    """
    summary = summarize_actions(action for state in states for action in _deletion_actions(state))
    return summary + (f"; {format_count(refused, 'module')} refused" if refused else "")


def _deletion_actions(state: DeletionState) -> Iterator[str]:
    if state.refusal:
        return
    in_kyma = state.managed_by.name == "KYMA"
    if in_kyma and state.requested:
        yield "change"  # the Kyma
        if state.handling.name == "UNMANAGE":
            return
        yield "uninstall"
    refs = {deleted_object.ref for deleted_object in state.deleted_objects}
    refs |= {state.manifest} if state.manifest is not None and not in_kyma else set()
    if state.uninstall is not None:
        refs |= {step.ref for step in state.uninstall.deletions}
        yield from (step.action.value for step in state.uninstall.steps if step not in state.uninstall.deletions)
    yield from ("delete" for _ in refs)


def change_json(change: ValueChange) -> dict[str, Any]:
    return {"change": str(change.kind), "path": change.path, "before": change.before, "after": change.after}


def affected_json(affected: Affected) -> dict[str, Any]:
    return {
        "section": "affected",
        "effect": affected.effect.value,
        "crd": affected.crd,
        "what": affected.what or None,
        "count": len(affected.objects),
        "objects": [{"namespace": ref.namespace or None, "name": ref.name} for ref in affected.objects],
        "fieldManagers": list(affected.managers),
    }
