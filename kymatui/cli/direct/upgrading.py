"""`kymatui upgrade --all`: everything that is outdated, as one plan; what fails keeps nothing else from going on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from kymatui.cli.asking import confirm
from kymatui.cli.direct.installing import planned
from kymatui.cli.direct.options import Place, Teller, cancellable
from kymatui.cli.direct.showing import counts, plan_json, plan_text
from kymatui.cli.printing import document, markdown, say, table
from kymatui.errors import CancelledError, KymatuiError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.engine.plans import Plan
    from kymatui.wiring.upgrading import Outdated


def upgrade_all(place: Place) -> int:
    """Plans all of them, asks once, and carries them out one after the other; 3 where some fail."""
    from kymatui.wiring.upgrading import left_out, outdated

    snapshot = place.session.snapshot()
    found, others = outdated(place.cluster, snapshot), left_out(place.cluster, snapshot)
    for one in others:
        say(f"left out: {one.name} {one.version}".rstrip() + f" in {one.namespace}: {one.reason}", sys.stderr)
    place.left_out = others
    plans, refused = _plans(place, found)
    form = place.args.output
    if not found:
        return _answer(place, {}, {}, "unchanged", _NEWEST)
    if place.args.dry_run:
        return _answer(place, plans, refused, "planned", "")
    if not plans:
        _answer(place, plans, refused, "refused", "")
        raise RefusedError("none of it can be upgraded", hint="nothing was changed")
    if form == "table":
        _show(plans, refused, "table", to_errors=True)
    versions = ", ".join(f"{name} to {plan.bundle.version}" for name, plan in plans.items())
    confirm(f"Upgrade {versions}?", yes=place.args.yes)
    failed = {**refused, **_apply(place, plans)}
    outcome = "unfinished" if failed else "done"
    done = [name for name in plans if name not in failed]
    _answer(place, plans, failed, outcome, f"{len(done)} upgraded: {', '.join(done)}" if done else "none is upgraded")
    if failed:
        said = "; ".join(f"{name}: {words}" for name, words in failed.items())
        raise PartlyDoneError(f"{len(failed)} of {len(found)} are not upgraded: {said}", hint="run it again to go on")
    return 0


_NEWEST = "everything that kymatui installed from the catalog is at the newest version"


def _plans(place: Place, found: tuple[Outdated, ...]) -> tuple[dict[str, Plan], dict[str, str]]:
    """The plans by name, and for those that cannot be carried out the reason."""
    plans: dict[str, Plan] = {}
    refused: dict[str, str] = {}
    for one in found:
        place.args.version = one.version
        try:
            made = planned(place, one.name, must_exist=True)
        except KymatuiError as error:
            refused[one.name] = str(error)
            continue
        if made.blockers:
            refused[one.name] = "; ".join(f"{step.ref}: {step.reason}" for step in made.blockers[:3])
        else:
            plans[one.name] = made
    return plans, refused


def _apply(place: Place, plans: dict[str, Plan]) -> dict[str, str]:
    """What failed, and why; a person who stops it stops all that has not begun."""
    from kymatui.engine.applying import apply
    from kymatui.engine.running import Limits, begin
    from kymatui.wiring.engine import journal_path

    seconds = place.args.timeout
    limits, failed = Limits(ready=seconds, hooks=seconds, gone=seconds), dict[str, str]()
    with cancellable() as cancel:
        for name, plan in plans.items():
            say(f"{name} {plan.bundle.version}", sys.stderr)
            journal = journal_path(plan.cluster, plan.bundle.namespace, plan.bundle.name)
            try:
                what = f"{plan.verb} {name} {plan.bundle.version}".rstrip()
                with begin(
                    place.cluster, cancel=cancel, journal=journal, tell=Teller(), limits=limits, purpose=what
                ) as run:
                    apply(plan, run, wait=place.args.wait)
            except CancelledError:
                raise
            except KymatuiError as error:
                failed[name] = str(error)
    return failed


def _answer(place: Place, plans: dict[str, Plan], failed: dict[str, str], outcome: str, words: str) -> int:
    form = place.args.output
    if form in ("json", "yaml"):
        made: dict[str, Any] = {
            "cluster": place.cluster.name,
            "plans": [plan_json(plan, "failed" if name in failed else outcome) for name, plan in plans.items()],
            "failed": [{"name": name, "reason": reason} for name, reason in failed.items()],
            "leftOut": [
                {"name": one.name, "namespace": one.namespace, "version": one.version or None, "reason": one.reason}
                for one in place.left_out
            ],
            "outcome": outcome,
        }
        say(document(made, form))
    elif words:
        say(words)
    else:
        _show(plans, failed, form)
    return 0


def _show(plans: dict[str, Plan], refused: dict[str, str], form: str, *, to_errors: bool = False) -> None:
    draw = markdown if form == "md" else table
    rows = [[name, plan.bundle.version, counts(plan.steps)] for name, plan in plans.items()]
    rows += [[name, "", f"refused: {reason}"] for name, reason in refused.items()]
    parts = [draw(("MODULE", "TO", "WHAT"), rows)]
    parts += [f"{name}:\n\n{plan_text(plan, form)}" for name, plan in plans.items()]
    say("\n\n".join(parts), sys.stderr if to_errors else sys.stdout)
