"""Preview of a Manifest before kymatui writes it."""

from __future__ import annotations

from collections.abc import Iterator

from kymatui.actions.modules.manifest import ManifestProposal
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine


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
        warnings=tuple(_warnings(proposal)),
        missing=() if proposal.allowed else (f"patch {proposal.ref}",),
        consents=tuple(_consents(proposal)),
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


def _warnings(proposal: ManifestProposal) -> Iterator[str]:
    if not proposal.operator.works:
        yield f"no effect until you start `kymatui operator` ({proposal.operator.message})"


def _consents(proposal: ManifestProposal) -> Iterator[Consent]:
    if proposal.lower:
        yield Consent("lower", f"downgrade {proposal.lower} → {proposal.version}")
    if proposal.owners:
        yield Consent("force", f"become the owner of these fields: {'; '.join(proposal.owners)}")
