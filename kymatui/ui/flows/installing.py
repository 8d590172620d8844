"""Direct installation and upgrade from the screen: version, resource or values, the plan, the job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from kymatui.domain.jobs import module_key
from kymatui.domain.previews import Verdict
from kymatui.errors import ConfigurationError, RefusedError
from kymatui.ui.presenters.installing import preview, title
from kymatui.ui.screens.choosing import ChoiceScreen, Option, Question
from kymatui.ui.screens.filling import FormScreen
from kymatui.ui.screens.plan import PlanScreen
from kymatui.wiring.directing import Directing, Standing, Wanted, newer
from kymatui.wiring.job_books import Purpose
from kymatui.wiring.jobs import Report, Work

if TYPE_CHECKING:
    from kymatui.engine.plans import Plan
    from kymatui.ui.app import KymatuiApp
    from kymatui.ui.desk import Again
    from kymatui.wiring.sessions import CatalogSession

_STAYS = "what is written stays; the same again finishes it"
_CREATE, _IGNORE, _EDIT = "create", "ignore", "edit"
_KEEP, _DELETE = "keep", "delete"


def directing_of(app: KymatuiApp) -> Directing:
    """The direct installations of the cluster on show. Raises ConfigurationError before it is connected."""
    session = app.view.writing
    if session is None:
        raise ConfigurationError("there is no connection to the cluster yet")
    return Directing(cast("CatalogSession", session))


def why_not(app: KymatuiApp, names: Sequence[str], *, upgrade: bool) -> str:
    """Why none of these can be installed, or upgraded; "" where one can. Asks the server what is installed."""
    directing, said = directing_of(app), []
    for name in names:
        standing = directing.standing(name)
        if standing.refusals:
            said.append(standing.refusals[0])
        elif upgrade and standing.known is None:
            said.append("it is not installed by kymatui")
        elif upgrade and not newer(standing):
            said.append("the newest version is installed")
        elif not upgrade and not standing.versions:
            said.append("no catalog offers it")
        else:
            return ""
    return said[0] if said else "there is no module"


# one module


async def install(app: KymatuiApp, name: str, *, chart: str = "", namespace: str = "") -> None:
    """From the choice to the job; `chart` is installed instead of the catalog's template."""
    directing = directing_of(app)
    standing = await app.desk.aside(lambda: directing.standing(name))
    if standing.refusals:
        raise RefusedError("; ".join(standing.refusals), hint="nothing was changed")
    first = Wanted(name, chart=chart, namespace=namespace)
    while True:
        wanted = await _choose(app, directing, standing, first)
        if wanted is None:
            return
        verdict = await _plan(app, directing, [wanted], partial(install, app, name, chart=chart, namespace=namespace))
        if verdict is not Verdict.EDITED:
            return


async def adopt(app: KymatuiApp, name: str) -> None:
    """What somebody else installed, or lifecycle-manager has let go of, becomes kymatui's; nothing is deleted."""
    directing = directing_of(app)
    wanted = await app.desk.aside(lambda: directing.adoption(name))
    await _plan(app, directing, [wanted], partial(adopt, app, name))


def why_not_adopted(app: KymatuiApp, names: Sequence[str]) -> str:
    """Why there is nothing to take over; "" where there is."""
    try:
        directing_of(app).adoption(names[0])
    except RefusedError as error:
        return str(error)
    return ""


async def _choose(app: KymatuiApp, directing: Directing, standing: Standing, first: Wanted) -> Wanted | None:
    questions = [_version(standing)] if not first.chart else []
    questions.append(_resource(standing, values=bool(first.chart)))
    if standing.known is not None:
        questions.append(_definitions())
    chosen = await app.push_screen_wait(ChoiceScreen(f"install {standing.module} directly", questions))
    if chosen is None:
        return None
    wanted = replace(
        first,
        version=chosen.get("version", ""),
        ignore=chosen["resource"] == _IGNORE,
        prune_definitions=chosen.get("definitions") == _DELETE,
    )
    if chosen["resource"] != _EDIT:
        return wanted
    fields, document = await app.desk.aside(lambda: directing.form(wanted))
    what = "values" if first.chart else "default resource"
    filled = await app.push_screen_wait(FormScreen(f"{what} of {standing.module}", fields, document))
    return replace(wanted, document=filled) if filled is not None else None


def _version(standing: Standing) -> Question:
    known = standing.known.version if standing.known is not None else ""
    notes = {known: "installed"} if known else {}
    options = tuple(Option(one, one, notes.get(one, "")) for one in standing.versions)
    best = newer(standing) or next((one for one in standing.versions if "-" not in one), "")
    return Question("version", "version", options, known if known and not newer(standing) else best)


def _resource(standing: Standing, *, values: bool) -> Question:
    if values:
        given = (Option(_CREATE, "values as the chart has them"), Option(_EDIT, "fill in the values…"))
        return Question("resource", "values", given, _CREATE)
    if standing.known is not None:
        return Question("resource", "default resource", (Option(_CREATE, "as it is", "never applied again"),), _CREATE)
    options = (
        Option(_CREATE, "create it", "on the first installation only"),
        Option(_EDIT, "fill it in…", "a form, and YAML"),
        Option(_IGNORE, "leave it out", "the module is installed, and not configured"),
    )
    return Question("resource", "default resource", options, _CREATE)


def _definitions() -> Question:
    options = (
        Option(_KEEP, "keep them"),
        Option(_DELETE, "delete them", "and everything that was made of them"),
    )
    return Question("definitions", "definitions it no longer has", options, _KEEP)


# several modules


async def upgrade(app: KymatuiApp, names: Sequence[str]) -> None:
    """All of these that are outdated, to their newest versions, as one plan."""
    directing = directing_of(app)

    def found() -> list[Wanted]:
        standings = [directing.standing(name) for name in names]
        return [Wanted(one.module, newer(one)) for one in standings if not one.refusals and newer(one)]

    wanted = await app.desk.aside(found)
    if not wanted:
        raise RefusedError("the newest version is installed, or nothing is installed by kymatui")
    if len(wanted) == 1:
        await install(app, wanted[0].module)
    else:
        await _plan(app, directing, wanted, partial(upgrade, app, names))


async def _plan(app: KymatuiApp, directing: Directing, wanted: Sequence[Wanted], again: Again) -> Verdict:
    """Shows what it would do, and begins a job for each when that is accepted."""
    from kymatui.engine.documents import to_json

    desk = app.desk
    plans = [await desk.aside(partial(directing.plan, one)) for one in wanted]
    standings = [await desk.aside(partial(directing.standing, one.module)) for one in wanted]
    shown = preview(plans, standings, to_json(plans[0]) if len(plans) == 1 else None)
    answer = await app.push_screen_wait(PlanScreen(shown))
    if answer.is_yes:
        for plan, one in zip(plans, wanted, strict=True):
            made = plan
            if f"force {one.module}" in answer.consents:
                made = replace(plan, intent=replace(plan.intent, force=True))
            begin(app, directing, made, one, again)
    return answer.verdict


def begin(app: KymatuiApp, directing: Directing, plan: Plan, wanted: Wanted, again: Again) -> None:
    """Begins the job of a plan."""
    name = plan.bundle.name
    work = Work(
        title([plan]),
        partial(_carry_out, directing, plan),
        name,
        frozenset({module_key(name)}),
        ("apply",),
        _STAYS,
        Purpose(plan.verb, (name,), {"chart": wanted.chart, "namespace": wanted.namespace}),
    )
    app.desk.start(work, again)


def _carry_out(directing: Directing, plan: Plan, report: Report) -> str:
    report.step("apply")
    return directing.carry_out(plan, report)
