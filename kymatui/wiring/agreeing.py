"""What a person agreed to before a deletion, what needs more than that, and the backup of what it takes away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kymatui.engine.departing import Charge, Departure, Way
from kymatui.errors import RefusedError

if TYPE_CHECKING:
    from kymatui.engine.ports import Cluster


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a person agreed to; `backup` is where what is deleted is kept first, None keeps nothing.

    `seen` is what was looked at: where something else is to be taken away by now, that is not agreed to.
    """

    cascade: bool = False
    accept_unknown: bool = False
    way: Way = Way.LET
    backup: Path | None = None
    timeout: float = 300.0
    seen: Departure | None = None


def refuse(seen: Departure, agreement: Agreement) -> None:
    """Raises RefusedError where the next turn needs more than was agreed to."""
    from kymatui.engine.clearing import Consent, refuse_unless_agreed

    if seen.refusal and seen.charge is not Charge.NOBODY:
        raise RefusedError(seen.refusal, hint="nothing was changed")
    agreed = seen.default if seen.way is Way.IGNORE else None
    asked = (
        seen.remaining.theirs if seen.charge is Charge.DIRECT else tuple(one for one in seen.theirs if one != agreed)
    )
    staying = (one for one in asked if one.deleted_at is None)  # what goes already is waited for without a yes
    left = replace(seen.remaining, instances=tuple(replace(one, ours=False) for one in staying))
    cascade = agreement.cascade or seen.way is Way.UNMANAGE
    refuse_unless_agreed(left, seen.module, Consent(cascade, agreement.accept_unknown))


def refuse_unseen(now: Departure, agreed: Departure) -> None:
    """Raises RefusedError where something has come to what would go, since it was looked at and agreed to.

    Whoever agrees to several deletions at once has the last of them carried out long after he looked.
    """
    from kymatui.engine.ordering import identity

    known = {identity(one.ref) for one in agreed.remaining.instances}
    come = [str(one.ref) for one in now.theirs if identity(one.ref) not in known]
    if come:
        more = f" and {len(come) - 3} more" if len(come) > 3 else ""
        words = f"somebody has made {', '.join(come[:3])}{more} since the deletion of {now.module} was agreed to"
        raise RefusedError(words, hint=f"{now.module} stays as it is; look at it again")


def keep(path: Path, seen: Departure, cluster: Cluster, manifests_on: Cluster) -> tuple[int, int]:
    """Writes what the deletion may take away; how many objects, and of how many Secrets the data is left out.

    A Manifest comes first: whoever restores it has the rest installed by its owner, and what users made waits for that.
    One on another cluster is kept in a file of its own, in the folder of that cluster.
    """
    from kymatui.wiring.backups import beside, write_backup

    own = [step.ref for step in seen.found.deletions] if seen.found is not None else []
    refs = [*(one.ref for one in seen.remaining.instances if not one.shared), *own]
    manifest = [seen.manifest] if seen.manifest is not None and seen.charge is Charge.MANIFEST else []
    if manifest and seen.control:
        heading = f"{seen.module} {seen.installed} in {seen.control}"
        written, _ = write_backup(beside(path, seen.control), manifest, manifests_on, (heading,))
        count, secrets = write_backup(path, dict.fromkeys(refs), cluster, _heading(seen))
        return count + written, secrets
    return write_backup(path, dict.fromkeys([*manifest, *refs]), cluster, _heading(seen))


def _heading(seen: Departure) -> tuple[str, ...]:
    if seen.charge is not Charge.KYMA:
        return (f"{seen.module} {seen.installed} in {seen.cluster}".strip(),)
    return (
        f"{seen.module} {seen.installed} in {seen.cluster}, installed by lifecycle-manager",
        f"`kymatui enable {seen.module}` asks the Kyma for it again; restore what is below after that",
    )
