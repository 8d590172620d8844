"""Preview of an installation or upgrade."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff

from kymatui.actions.modules.install_choices import InstallStatus, is_lower
from kymatui.actions.modules.manifest import ManifestProposal
from kymatui.domain.gitops import joined_changes
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.domain.plans.direct_install import is_lower_version
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine, git_consents
from kymatui.domain.rights import patching, role_hint
from kymatui.engine.apply.planner import group_reasons
from kymatui.engine.deletion.prune_plan import describe_backup
from kymatui.engine.plans.plan import Action, FieldDiff, Plan, Step
from kymatui.ui.presenters.module.yaml_documents import as_yaml

_MARKS = {
    Action.CREATE: PlannedChange.CREATE,
    Action.CHANGE: PlannedChange.CHANGE,
    Action.SAME: PlannedChange.SAME,
    Action.KEEP: PlannedChange.SAME,
    Action.DELETE: PlannedChange.DELETE,
    Action.CONFLICT: PlannedChange.CONFLICT,
    Action.BLOCKED: PlannedChange.CONFLICT,
}
_RIGHTS = "rbac.authorization.k8s.io"
_LONGEST = 160  # characters of a line, since an object may have a file on one line
_MOST = 200  # lines of one field; the others are counted


def install_title(plans: Sequence[Plan], installed: str = "") -> str:
    """Return a title such as `install keda 1.5.0` or `upgrade keda 1.4.0 → 1.5.0`.

    `installed` is the version before; several plans read `upgrade 3 modules`.
    """
    first = plans[0]
    verb = first.user_verb if first.intent.adopt else "install" if first.first else "upgrade"
    if len(plans) > 1:
        same = all((plan.intent.adopt, plan.first) == (first.intent.adopt, first.first) for plan in plans)
        return f"{verb if same else 'install and upgrade'} {len(plans)} modules"
    version = first.bundle.version
    installed = installed or first.intent.adopted_version
    if verb == "upgrade" and installed and installed == version:
        return f"install {first.bundle.name} {version} again"
    if verb == "upgrade" and is_lower_version(installed, version):
        verb = "downgrade"
    versions = f"{installed} → {version}" if installed and installed != version else version
    return f"{verb} {first.bundle.name} {versions}".strip()


def preview_install(
    plans: Sequence[Plan],
    standings: Sequence[InstallStatus],
    document: bytes | None = None,
    *,
    left_out: Sequence[str] = (),
    editable: bool = True,
) -> Preview:
    """Return several plans as one preview; `document` is the plan as a file, if there is one.

    `left_out` has the modules outside the plan with the reason; `editable` if the options can be changed.
    """
    known = standings[0].known
    words = install_title(plans, known.version if known is not None and not plans[0].first else "")
    several = len(plans) > 1
    return Preview(
        words,
        lines=tuple(_line(step, plan.bundle.name if several else "") for plan in plans for step in plan.steps),
        refusals=tuple(_refusals(plans, standings)),
        warnings=(*(f"not included: {words}" for words in left_out), *_warnings(plans, standings)),
        missing=tuple(dict.fromkeys(right for plan in plans for right in plan.missing)),
        role=role_hint(*(plans[0].command[:1] if len(plans) > 1 else plans[0].command)),
        grants=tuple(granted_rights(plans)),
        consents=(*_consents(plans, standings), *git_consents(joined_changes(plans))),
        question=f"{words[:1].upper()}{words[1:]}?",
        document=document,
        file_name=f"{install_title(plans).replace(' ', '-')}.json",
        editable=editable,
    )


def _line(step: Step, module: str) -> PreviewLine:
    name = f"{module}: {step.ref}" if module else str(step.ref)
    return PreviewLine(_MARKS[step.action], name, _note(step), tuple(object_diff(step)))


def _note(step: Step) -> str:
    if step.reason:
        return step.reason
    if step.conflicts:
        return f"owned by {', '.join(dict.fromkeys(conflict.manager for conflict in step.conflicts))}"
    return "already exists" if step.adopted else ""


def object_diff(step: Step) -> Iterator[str]:
    """Yield the changes of one object as lines that begin with `+ `, `- ` or `! `."""
    for conflict in step.conflicts:
        yield f"! {conflict.path} is owned by {conflict.manager}"
    yield from changed_fields(step.changes)


def changed_fields(changes: Iterable[FieldDiff]) -> Iterator[str]:
    """Yield the changes of fields as lines that begin with `+ ` or `- `."""
    for change in changes:
        if isinstance(change.before, str) and isinstance(change.after, str) and "\n" in change.before + change.after:
            yield from _texts(change.path, change.before, change.after)
            continue
        if change.before is not None:
            yield from (f"- {line}" for line in _field(change.path, change.before))
        if change.after is not None:
            yield from (f"+ {line}" for line in _field(change.path, change.after))


def _texts(path: str, before: str, after: str) -> Iterator[str]:
    """Yield the changes of a text of several lines, with context lines."""
    lines = list(unified_diff(before.split("\n"), after.split("\n"), lineterm=""))[2:]
    yield f"  {path}:"
    for line in lines[:_MOST]:
        yield "    …" if line.startswith("@@") else f"{line[:1]}   {_cut(line[1:])}"
    if len(lines) > _MOST:
        yield f"    … {format_count(len(lines) - _MOST, 'more line')}"


def _field(path: str, value: object) -> Iterator[str]:
    """Yield a field as YAML; a large value gets lines of its own to stay readable."""
    if isinstance(value, str) and "\n" in value:
        lines = [f"{path}: |", *(f"  {line}" for line in value.splitlines())]
    elif isinstance(value, (Mapping, list)) and value:
        lines = as_yaml({path: value}).splitlines()
    else:
        yield f"{path}: {_cut(json.dumps(value, ensure_ascii=False))}"
        return
    yield from map(_cut, lines[:_MOST])
    if len(lines) > _MOST:
        yield f"  … {format_count(len(lines) - _MOST, 'more line')}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _refusals(plans: Sequence[Plan], standings: Sequence[InstallStatus]) -> Iterator[str]:
    for standing in standings:
        yield from standing.refusals
    for plan in plans:
        if plan.changes_nothing:
            yield f"{plan.bundle.name}: no changes: everything is up to date"
        yield from group_reasons(plan.of(Action.BLOCKED))


def _warnings(plans: Sequence[Plan], standings: Sequence[InstallStatus]) -> Iterator[str]:
    for standing in standings:
        if standing.known is not None and standing.known.version:
            stays = "it is a Helm release" if standing.known_chart else "its default CR is not applied again"
            yield f"{standing.module} {standing.known.version} is installed; {stays}"
        if standing.known is not None and not (standing.known.finished or standing.known.is_deleting):
            yield f"an earlier run on {standing.module} was interrupted; this run completes it"
    for plan in plans:
        yield from plan.notes
        if saved := describe_backup(plan):
            yield f"{plan.bundle.name}: {saved}" if len(plans) > 1 else saved


def granted_rights(plans: Sequence[Plan]) -> Iterator[str]:
    """Yield the far-reaching permissions, if any permission changes."""
    for plan in plans:
        changes = any(step.ref.kind.group == _RIGHTS and step.action is not Action.SAME for step in plan.steps)
        for grant in plan.grants if changes else ():
            yield from (f"{grant.role}: {warning}" for warning in grant.warnings)


def _consents(plans: Sequence[Plan], standings: Sequence[InstallStatus]) -> Iterator[Consent]:
    for standing in standings:
        if standing.advanced:
            yield Consent(f"direct {standing.module}", f"install directly, outside of the Kyma: {standing.advanced}")
    for plan, standing in zip(plans, standings, strict=True):
        if is_lower(standing, plan.bundle.version) and standing.known is not None:
            words = f"downgrade {standing.known.version} → {plan.bundle.version}"
            yield Consent(f"lower {standing.module}", words)
        conflicts = plan.of(Action.CONFLICT)
        if conflicts:
            objects = format_count(len(conflicts), "object")
            yield Consent(
                f"force {standing.module}", f"become the owner of fields of {objects} that other field managers own"
            )


# Preview of a Manifest before kymatui writes it.


def manifest_title(proposal: ManifestProposal) -> str:
    """Return a title such as `install keda 1.5.0 by a Manifest`."""
    verb = "install" if proposal.live is None else "downgrade" if proposal.lower else "upgrade"
    return f"{verb} {proposal.module} {proposal.version} with a Manifest"


def preview_manifest(proposal: ManifestProposal, management: str) -> Preview:
    """Return the preview of the write, and who acts on it."""
    words = manifest_title(proposal)
    mark = (
        PlannedChange.CREATE
        if proposal.live is None
        else PlannedChange.SAME
        if proposal.changes_nothing
        else PlannedChange.CHANGE
    )
    what = (
        "the operator installs this version"
        if proposal.live is None
        else f"the operator {'downgrades' if proposal.lower else 'upgrades'} the module"
    )
    return Preview(
        words,
        lines=tuple(_lines(proposal, mark, what)),
        management=management,
        refusals=("no changes: the Manifest has this version already",) if proposal.changes_nothing else (),
        warnings=proposal.warnings,
        missing=() if proposal.allowed else (patching(proposal.ref),),
        consents=(*_manifest_consents(proposal), *git_consents(proposal.git)),
        question=f"{words[:1].upper()}{words[1:]}?",
        editable=True,
    )


def _lines(proposal: ManifestProposal, mark: PlannedChange, what: str) -> Iterator[PreviewLine]:
    """Yield one line for the Manifest; one per side if it is on a control plane."""
    if not proposal.sides:
        yield PreviewLine(mark, str(proposal.ref), what, proposal.diff)
        return
    control, runtime = proposal.sides
    yield PreviewLine(mark, f"on {control}: {proposal.ref}", "written by kymatui", proposal.diff)
    yield PreviewLine(mark, f"on {runtime}: {proposal.module}", what)


def _manifest_consents(proposal: ManifestProposal) -> Iterator[Consent]:
    if proposal.lower:
        yield Consent("lower", f"downgrade {proposal.lower} → {proposal.version}")
    if proposal.owners:
        yield Consent("force", f"become the owner of these fields: {'; '.join(proposal.owners)}")
