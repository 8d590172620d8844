"""The ModuleTemplate resource: old style (channel, descriptor) and new style (module name, version).

The links of a module: documentation and repository, as its template names them.

Templates are written by others, so a link is opened and displayed only if it is an http or https address without
tricks: no control characters, no user before the host, no host that looks like another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final
from urllib.parse import quote, urlsplit, urlunsplit

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import Flaw, JsonReader
from kymatui.domain.kubernetes.object_meta import (
    ANNOTATION_MODULE_VERSION,
    LABEL_BETA,
    LABEL_INTERNAL,
    LABEL_MANAGED_BY,
    LABEL_MANDATORY,
    LABEL_MODULE_NAME,
    LABEL_SYNC,
    MalformedObject,
    ObjectMeta,
    WithRaw,
    read_kind,
    read_meta,
    read_ref,
    unusable,
)
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.patterns import deferred


class TemplateGeneration(StrEnum):
    """The generations of templates: found by channel, or by name from a ModuleReleaseMeta."""

    OLD = "channel"
    NEW = "version"


class StateCheckRule(Struct, frozen=True):
    """One entry of `customStateCheck`."""

    path: str
    value: str
    mapped_state: str


class ManagerRef(Struct, frozen=True):
    """The workload (or CRD) whose readiness shows that a module is installed; `namespace` may be ""."""

    kind: GroupVersionKind
    namespace: str
    name: str


class ResourceLink(Struct, frozen=True):
    """A named URL of a raw manifest or default CR."""

    name: str
    address: str


class DescriptorResource(Struct, frozen=True):
    """A resource of an embedded component descriptor; `image` is "" if it is no image."""

    name: str
    version: str
    type: str
    image: str


class ModuleTemplate(WithRaw, Struct, frozen=True):
    """A ModuleTemplate; `raw` is the whole object, including fields that are not read here.

    `outside` means that it is not in the cluster, so lifecycle-manager cannot find it.
    """

    meta: ObjectMeta
    channel: str
    spec_version: str
    spec_module: str
    mandatory: bool
    requires_downtime: bool
    data: Mapping[str, Any] | None
    component: str
    component_version: str
    descriptor_resources: tuple[DescriptorResource, ...]
    rules: tuple[StateCheckRule, ...]
    links: tuple[ResourceLink, ...]
    associated: tuple[GroupVersionKind, ...]
    manager: ManagerRef | None
    repository: str
    documentation: str
    flaws: tuple[Flaw, ...]
    raw: Mapping[str, Any]
    outside: bool = False

    @property
    def generation(self) -> TemplateGeneration:
        """Return NEW if spec.version is set, else OLD."""
        return TemplateGeneration.NEW if self.spec_version else TemplateGeneration.OLD

    @property
    def module(self) -> str:
        """Return the module's name from the content; the object's name is the last resort."""
        if self.spec_module:
            return self.spec_module
        labelled = self.meta.labels.get(LABEL_MODULE_NAME, "")
        if labelled:
            return labelled
        if self.component:
            return self.component.rpartition("/")[2]
        if self.channel and self.meta.name.endswith(f"-{self.channel}"):
            return self.meta.name.removesuffix(f"-{self.channel}")
        if self.spec_version and self.meta.name.endswith(f"-{self.spec_version}"):
            return self.meta.name.removesuffix(f"-{self.spec_version}")
        return self.meta.name

    @property
    def version(self) -> str:
        """Return the version of the spec, else of the descriptor, else of the annotation, else ""."""
        return self.spec_version or self.component_version or self.meta.annotations.get(ANNOTATION_MODULE_VERSION, "")

    @property
    def conventional_name(self) -> str:
        """Return the only name under which lifecycle-manager finds a new-style template."""
        return f"{self.spec_module or self.module}-{self.spec_version}"

    @property
    def follows_convention(self) -> bool:
        """Return whether lifecycle-manager finds it by name; old-style templates need no special name."""
        return self.generation is TemplateGeneration.OLD or self.meta.name == self.conventional_name

    @property
    def beta(self) -> bool:
        """Return whether only Kymas with the beta label get it."""
        return self.meta.label_is_true(LABEL_BETA)

    @property
    def internal(self) -> bool:
        """Return whether only Kymas with the internal label get it."""
        return self.meta.label_is_true(LABEL_INTERNAL)

    @property
    def synced(self) -> bool:
        """Return whether the old sync label allows it: every value but "false", in any case."""
        return self.meta.labels.get(LABEL_SYNC, "").lower() != "false"

    @property
    def managed_by_kyma(self) -> bool:
        """Return whether lifecycle-manager's catalog sync created it."""
        return self.meta.labels.get(LABEL_MANAGED_BY, "") == "kyma"

    @property
    def labelled_mandatory(self) -> bool:
        """Return whether the old-style label marks it as mandatory."""
        return self.meta.label_is_true(LABEL_MANDATORY)

    @property
    def resource_kind(self) -> GroupVersionKind | None:
        """Return the kind of the module CR, None if the template has no usable one."""
        kind = read_kind(self.data) if self.data is not None else None
        return kind if kind is not None and kind.kind and kind.version else None


def _rule(entry: JsonReader) -> StateCheckRule:
    return StateCheckRule(entry.text("jsonPath"), entry.text("value"), entry.text("mappedState"))


def _kind(entry: JsonReader) -> GroupVersionKind:
    return GroupVersionKind(entry.text("group"), entry.text("version"), entry.text("kind"))


def _manager(spec: JsonReader) -> ManagerRef | None:
    if not spec.has("manager"):
        return None
    entry = spec.child("manager")
    if not entry.text("kind") or not entry.text("name"):
        return None
    return ManagerRef(_kind(entry), entry.text("namespace"), entry.text("name"))


def _descriptor_resource(entry: JsonReader) -> DescriptorResource:
    # Other resource types have other fields under access; only a string imageReference is an image.
    image = entry.child("access").raw.get("imageReference")
    return DescriptorResource(
        entry.text("name"), entry.text("version"), entry.text("type"), image if isinstance(image, str) else ""
    )


def _component(descriptor: JsonReader) -> JsonReader:
    """Return the `component` of descriptor schema v2; v3alpha1 has `spec`, with the name in the metadata."""
    return descriptor.child("component") if descriptor.has("component") else JsonReader({})


def read_template(raw: object, *, outside: bool = False) -> ModuleTemplate | MalformedObject:
    """Read a ModuleTemplate of either generation; `outside` marks one that is not in the cluster."""
    reader = JsonReader(raw)
    meta = read_meta(reader)
    if reason := unusable(raw, meta.name):
        return MalformedObject(read_ref(raw), reason, raw)
    spec = reader.child("spec")
    descriptor = spec.child("descriptor")
    component, v3 = _component(descriptor), descriptor.child("metadata")
    resources = component if component.raw else descriptor.child("spec")
    info = spec.child("info")
    data = spec.child("data")
    for field in ("apiVersion", "kind"):
        data.text(field)  # reading records a wrong type as a flaw
    return ModuleTemplate(
        meta=meta,
        channel=spec.text("channel"),
        spec_version=spec.text("version"),
        spec_module=spec.text("moduleName"),
        mandatory=spec.flag("mandatory"),
        requires_downtime=spec.flag("requiresDowntime"),
        data=spec.mapping("data"),
        component=component.text("name") or v3.text("name"),
        component_version=component.text("version") or v3.text("version"),
        descriptor_resources=tuple(map(_descriptor_resource, resources.children("resources"))),
        rules=tuple(map(_rule, spec.children("customStateCheck"))),
        links=tuple(ResourceLink(entry.text("name"), entry.text("link")) for entry in spec.children("resources")),
        associated=tuple(map(_kind, spec.children("associatedResources"))),
        manager=_manager(spec),
        repository=info.text("repository"),
        documentation=info.text("documentation"),
        flaws=tuple(reader.flaws),
        raw=reader.raw,
        outside=outside,
    )


_CHANNEL = deferred(r"[a-z]{3,32}")
_MODULE = deferred(r"[a-z]{3,}(?:-[a-z]{3,})*")
_VERSION = deferred(r"(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:-[a-zA-Z-][0-9a-zA-Z-]*)?")
_MAPPED = frozenset({"", "Processing", "Deleting", "Ready", "Error", "Warning", "Unmanaged"})


def template_violations(template: ModuleTemplate) -> tuple[Flaw, ...]:
    """Return what the current CRD of ModuleTemplate would reject."""
    flaws = list(template.flaws)
    if template.channel and not _CHANNEL.fullmatch(template.channel):
        flaws.append(Flaw("spec.channel", "3 to 32 letters a to z", repr(template.channel)))
    if template.spec_module and not (_MODULE.fullmatch(template.spec_module) and len(template.spec_module) <= 64):
        expected = "words of at least three letters a to z, joined by dashes, 64 characters at most"
        flaws.append(Flaw("spec.moduleName", expected, repr(template.spec_module)))
    if template.spec_version and not (_VERSION.fullmatch(template.spec_version) and len(template.spec_version) <= 32):
        flaws.append(Flaw("spec.version", "a semantic version of 32 characters at most", repr(template.spec_version)))
    for index, rule in enumerate(template.rules):
        if rule.mapped_state not in _MAPPED:
            path = f"spec.customStateCheck[{index}].mappedState"
            flaws.append(Flaw(path, "one of the states of lifecycle-manager", repr(rule.mapped_state)))
    return tuple(flaws)


def associated_kinds(template: ModuleTemplate) -> tuple[GroupVersionKind, ...]:
    """Return the kinds that a template declares, plus the module CR's kind; never the Kyma."""
    own = template.resource_kind
    kinds = (*template.associated, *((own,) if own is not None else ()))
    return tuple(dict.fromkeys(kind for kind in kinds if kind.kind and kind.kind != "Kyma"))


LONGEST_LINK: Final = 2048  # characters; a longer text is not displayed as a link
_OLD_DOCUMENTATION: Final = "operator.kyma-project.io/doc-url"
_PATH: Final = "/%:@!$&'()*+,;=~-._"
_SCHEMES: Final = ("http", "https")


class ModuleLink(Struct, frozen=True):
    """A link that may be opened; `name` says where it leads."""

    name: str
    address: str


def module_links(template: ModuleTemplate) -> tuple[ModuleLink, ...]:
    """Return the usable links of a template, the documentation first, each address once."""
    links: dict[str, ModuleLink] = {}
    for name, text in _named(template):
        address = safe_address(text)
        if address:
            links.setdefault(address, ModuleLink(name, address))
    return tuple(links.values())


def _named(template: ModuleTemplate) -> Iterator[tuple[str, str]]:
    yield "documentation", template.documentation
    yield "documentation", template.meta.annotations.get(_OLD_DOCUMENTATION, "")
    yield "repository", template.repository


def safe_address(text: str) -> str:
    """Return the address as ASCII, "" for everything that is no plain http or https address."""
    if not text or len(text) > LONGEST_LINK or not text.isprintable() or any(char in text for char in ' "<>\\^`{|}'):
        return ""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        plain = host.encode("idna").decode("ascii") if not host.isascii() else host
    except (ValueError, UnicodeError):  # browsers may read a malformed address in another way
        return ""
    if parts.scheme not in _SCHEMES or not plain or "@" in parts.netloc:
        return ""
    public_host = f"[{plain}]" if ":" in plain else plain
    netloc = public_host if port is None else f"{public_host}:{port}"
    path, query, fragment = (quote(part, safe=f"{_PATH}?") for part in parts[2:])
    return urlunsplit((parts.scheme, netloc, path, query, fragment))
