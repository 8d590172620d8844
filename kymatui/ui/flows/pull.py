"""ModuleTemplates of catalogs outside of the cluster: the version and the namespace, the plan, the job."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kymatui.actions.edits.object_edit import outside_templates, plan_pulls
from kymatui.actions.modules.install_plan import template_namespaces
from kymatui.domain.gitops import joined_changes
from kymatui.domain.kubernetes.terminal_text import name_or_count, with_subject
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.kyma.versions import newest_version, version_order
from kymatui.domain.plans.jobs import module_key
from kymatui.domain.plans.plan_preview import join_previews
from kymatui.errors import RefusedError
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.flows.batch_job import with_durations
from kymatui.ui.flows.flow_app import FlowApp
from kymatui.ui.flows.object_edit import outdated_edit, preview_object_edit, start_object_job
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question


def why_not_pullable(app: FlowApp, names: Sequence[str]) -> str:
    """Return why no template can be pulled; "" where a catalog outside of the cluster has one."""
    return _why_not(outside_templates(app.writing_session.snapshot()), names)


def _why_not(offers: TemplateIndex, names: Sequence[str]) -> str:
    return "" if any(name in offers.by_module for name in names) else "not in a catalog outside of the cluster"


async def pull(app: FlowApp, names: Sequence[str]) -> None:
    """Run the flow from the choice to a job for each template; of several modules the newest versions."""
    session, questions = app.writing_session, []
    offers = outside_templates(session.snapshot())
    if why := _why_not(offers, names):
        raise RefusedError(with_subject(name_or_count(names, "module"), why), unchanged=True)
    title = f"pull ModuleTemplate of {name_or_count(names, 'module')}"
    if not names[1:]:
        versions = sorted((offer.version for offer in offers.offers(names[0])), key=version_order, reverse=True)
        options = tuple(ChoiceOption(version, version) for version in versions)
        questions += [Question("version", "version", options, newest_version(versions))] if versions else []
    namespaces = template_namespaces(session.snapshot(), app.view.flow_memory)
    questions.append(Question("namespace", "namespace", tuple(ChoiceOption(name, name) for name in namespaces)))
    chosen = await app.push_screen_wait(ChoiceScreen(f"P{title[1:]}", questions))
    if chosen is None:
        return
    version, namespace = chosen.get("version", ""), chosen["namespace"]
    items = await app.jobs.in_thread(lambda: plan_pulls(session.cluster, session.snapshot(), names, version, namespace))
    left_out = [with_subject(item.name, str(item.refusal or "no changes")) for item in items if not item.is_pending]
    edits = {item.name: item.required_plan for item in items if item.is_pending}
    if not edits:
        raise RefusedError("; ".join(left_out), unchanged=True)
    parts = {name: preview_object_edit(edit) for name, edit in edits.items()}
    shown = next(iter(parts.values())) if not names[1:] else join_previews(title, parts, left_out)
    plan = PlanScreen(
        await with_durations(app, shown, joined_changes(edits.values())),
        lambda: "; ".join(filter(None, (outdated_edit(app, edit) for edit in edits.values()))),
    )
    if (await app.push_screen_wait(plan)).is_yes:
        for item in items:
            if item.is_pending:
                again = partial(pull, app, [item.name])
                start_object_job(app, session.cluster, item, frozenset({module_key(item.name)}), again)
