"""What a Kyma's modules resolve to in one reconciliation: Manifests, and refusals with their messages."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kyma.kymas import Kyma
from kymatui.domain.kyma.module_templates import ModuleTemplate, TemplateGeneration
from kymatui.domain.modules.module_outcomes import Outcome, WorkItem, outcome_of, reported_channel, work_list
from kymatui.domain.plans.kyma_manifest import ModuleContent, kyma_manifest
from kymatui.domain.versions import refusals
from kymatui.domain.versions.messages import refusal_words
from kymatui.domain.versions.resolution import Resolution, guard, resolve, strict_resolution
from kymatui.engine.sources.oci_layers import manifest_layer
from kymatui.errors import CancelledError, ConfigurationError, KymatuiError
from kymatui.ocm import DescriptorError, module_layers, read_descriptor
from kymatui.operator.kymas.kyma_context import KymaContext, installed_manifest


class PlannedModule(Struct, frozen=True):
    """One module of a Kyma.

    `body` is its Manifest, None if the module cannot be resolved; `message` is why; `channel` and `component` are those
    of a new status entry. `mandatory` means that the mandatory controller writes the Manifest. `installed` is the
    version that the report does not have.
    """

    item: WorkItem
    outcome: Outcome
    message: str = ""
    channel: str = ""
    component: str = ""
    template: ModuleTemplate | None = None
    body: Mapping[str, Any] | None = None
    mandatory: bool = False
    installed: str = ""


class ModulePlanner:
    """The planner of Kymas' modules."""

    def __init__(self, context: KymaContext) -> None:
        self._context = context

    def plan(self, kyma: Kyma, cancel: threading.Event) -> list[PlannedModule]:
        """Return the plan of each module that the Kyma requests or reports. Raises the errors of the cluster."""
        index = self._context.templates.read(cancel)
        now = self._context.clock.now()
        planned_modules = []
        for item in work_list(kyma):
            resolution = resolve(item.name, kyma, index, now=now, rules=self._context.settings)
            resolution, installed = strict_resolution(resolution), ""
            if resolution.refusal is None:
                installed = self._installed(kyma, item.name, cancel)
                resolution = _guarded(resolution, installed)
            planned_modules.append(replace(self._planned(kyma, item, resolution), installed=installed))
        return planned_modules

    def _installed(self, kyma: Kyma, module: str, cancel: threading.Event) -> str:
        """Return the version of a module whose report lost it with an earlier refusal, "" if there is none."""
        report = kyma.report(module)
        if report is None or report.version or report.template is not None:
            return ""
        manifest = installed_manifest(self._context.home, kyma, module, cancel)
        return manifest.version if manifest is not None else ""

    def _planned(self, kyma: Kyma, item: WorkItem, resolution: Resolution) -> PlannedModule:
        refusal, template = resolution.refusal, resolution.template
        mandatory = isinstance(refusal, refusals.IsMandatory) and template is not None and not template.mandatory
        outcome = outcome_of(None if mandatory else refusal, reported=kyma.report(item.name) is not None)
        message = refusal_words(refusal) if refusal is not None else ""
        if outcome not in (Outcome.ACCEPTED, Outcome.UNINSTALL) or template is None:
            return PlannedModule(item, outcome, message, reported_channel(refusal, resolution.channel))
        component = resolution.meta.component if resolution.meta is not None else ""
        try:
            content = module_content(self._context, template, component, resolution.version)
        except CancelledError:
            raise
        except (KymatuiError, DescriptorError) as error:
            return PlannedModule(item, Outcome.KEEP_FAILED, str(error), resolution.channel)
        body = kyma_manifest(kyma, item, template, content, resolution.channel, mandatory=False)
        return PlannedModule(item, outcome, message, resolution.channel, content.component, template, body, mandatory)


def _guarded(resolution: Resolution, installed: str) -> Resolution:
    """Refuse an older version; lifecycle-manager downgrades a module whose template was missing meanwhile."""
    refusal = guard(resolution.module, installed, (resolution.channel, resolution.version)) if installed else None
    return replace(resolution, refusal=refusal) if isinstance(refusal, refusals.HeldBack) else resolution


def module_content(context: KymaContext, template: ModuleTemplate, component: str, version: str) -> ModuleContent:
    """Return the content of a version: from the registry, or of an old-style template from its own descriptor.

    Raises RegistryError, DescriptorError, ConfigurationError.
    """
    if template.generation is TemplateGeneration.OLD:
        descriptor = read_descriptor((template.raw.get("spec") or {}).get("descriptor") or {})
    else:
        descriptor = context.components.component(component, version)
    layers = module_layers(descriptor, context.registry)
    raw = manifest_layer(descriptor, layers.raw_manifest, context.registry) if layers.raw_manifest else None
    if raw is None:
        raise ConfigurationError(f"component {descriptor.name}:{descriptor.version} has no layer raw-manifest")
    config = manifest_layer(descriptor, layers.config, context.registry) if layers.config else None
    return ModuleContent(descriptor.name, descriptor.version, raw, layers.images, config)
