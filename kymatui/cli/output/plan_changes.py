"""Plans, removals and reports in words and as documents; values of Secrets are never in them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kymatui.cli.output.printing import markdown, paragraph, table
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.ownership import LABEL_PART_OF
from kymatui.domain.plans.plan_preview import summarize_actions

if TYPE_CHECKING:
    from kymatui.engine.plans.diff import FieldDiff
    from kymatui.engine.plans.plan import Grant, Plan, Step

_MOST_FIELDS = 12  # changed fields of one object; the others are counted
_LONGEST = 60  # characters of a value
_BEFORE = 20  # characters of what two values have in common, before what they have not


def changes_text(plan: Plan, form: str) -> str:
    """Return what will be done, object by object, with the fields that change; what stays as it is is only counted."""
    from kymatui.engine.deletion.prune_plan import describe_backup

    draw = markdown if form == "md" else table
    before = [step for step in plan.hooks if step.event.startswith("pre-")]
    after = [step for step in plan.hooks if not step.event.startswith("pre-")]
    shown = (*before, *(step for step in plan.steps if step.action.value != "same"), *after)
    rows = [row for step in shown for row in _rows(step, adopts=plan.intent.adopt)]
    parts = [draw(("ACTION", "OBJECT", "CHANGE"), rows)] if rows else []
    parts += ["\n".join(paragraph(line, form) for line in adopted)] if (adopted := _adopted(plan)) else []
    parts += ["\n".join(paragraph(line, form) for line in grant_lines(grant)) for grant in plan.grants]
    parts += [paragraph(f"missing permission: {right}", form) for right in plan.missing]
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
    word = f"{step.event} hook" if step.event and step.action.value == "create" else step.action.value
    return [[word, str(step.ref), first], *[[" ", " ", line] for line in rest]]


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
        "changes": [{"path": change.path, "before": change.before, "after": change.after} for change in step.changes],
        "conflicts": [{"path": conflict.path, "manager": conflict.manager} for conflict in step.conflicts],
        "reason": step.reason or None,
    }


def _ref_json(step: Step) -> dict[str, str]:
    ref = step.ref
    return {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "namespace": ref.namespace, "name": ref.name}
