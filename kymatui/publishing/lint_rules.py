"""Rules of `bundle lint` beyond what a build refuses: what a registry, a scanner or lifecycle-manager would."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.problems import Severity
from kymatui.domain.kyma.versions import parse_version
from kymatui.domain.modules.state_checks import lint_rules
from kymatui.engine.bundles.yaml_objects import document_key
from kymatui.engine.cluster.ports import Object
from kymatui.errors import did_you_mean, nearest_names
from kymatui.publishing.config_reader import LONGEST_MESSAGE, SourceProblem
from kymatui.publishing.manifest_images import (
    ImageProblemError,
    ManifestImage,
    each_image,
    image_resource,
    image_text,
    pod_containers,
)
from kymatui.publishing.module_component import check_identities
from kymatui.publishing.module_config import FIELDS, OLD_FIELDS, ModuleConfig, module_version_problem
from kymatui.publishing.module_template import crd_of, manager_images, runs_version
from kymatui.schemas.customresources.crd_rules import validate_definition
from kymatui.schemas.customresources.custom_resource_rules import custom_errors
from kymatui.schemas.objects.pruning import read_custom
from kymatui.schemas.objects.schema_constraints import UNCHECKED
from kymatui.schemas.objects.structural_schemas import crd_schema
from kymatui.schemas.objects.typed_decoding import DecodeError


class ServerRules:
    """What an API server would refuse or drop of CRDs and custom resources."""

    def definition(self, crd: Object) -> Sequence[str]:
        """Return what the server would refuse of a CRD, after its defaults."""
        definition = copy.deepcopy(crd)
        spec = definition.get("spec")
        if definition.get("apiVersion") != "apiextensions.k8s.io/v1":
            return [f"apiVersion: {definition.get('apiVersion')} is not served; use apiextensions.k8s.io/v1"]
        if not isinstance(spec, dict):
            return ["spec: must be a map"]
        names = spec.get("names")
        if isinstance(names, dict) and isinstance(names.get("kind"), str):
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", f"{names['kind']}List")
        conversion = spec.setdefault("conversion", {})
        if isinstance(conversion, dict):
            conversion.setdefault("strategy", "None")
        try:
            return list(map(str, validate_definition(definition)))
        except (AttributeError, KeyError, TypeError, ValueError):  # a field of another type, which a decoder refuses
            return ["spec: a field has the wrong type"]

    def resource(self, crd: Object, custom_resource: Object) -> Sequence[FieldFault]:
        """Return what the server would refuse or drop of a custom resource of this CRD."""
        version = str(custom_resource["apiVersion"]).rpartition("/")[2]
        versions: list[dict[str, Any]] = crd["spec"].get("versions") or []
        served = {served_version["name"]: served_version for served_version in versions if served_version.get("served")}
        if version not in served:
            message = f"apiVersion: {version} is not served; the CRD serves {', '.join(served) or 'no version'}"
            return [FieldFault("apiVersion", message)]
        schema = crd_schema((served[version].get("schema") or {}).get("openAPIV3Schema"))
        try:
            pruned, unknown = read_custom(schema, copy.deepcopy(custom_resource))
        except DecodeError as error:
            return [FieldFault("", str(error))]
        errors = [
            FieldFault(fault.field, str(fault)) for fault in custom_errors(schema, pruned, None) if fault != UNCHECKED
        ]
        return [*errors, *(FieldFault(path, f"{path}: is not a field of the CRD") for path in unknown)]


LONGEST_VERSION: Final = 32  # characters, by the schema of the ModuleTemplate
LONGEST_KEY: Final = 253 + 1 + 63  # a label's key: a DNS name as prefix, a slash, a name
_TEMPLATE_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(-[a-zA-Z-][0-9a-zA-Z-]*)?")
_MODULE_NAME: Final = re.compile(r"[a-z]{3,}(-[a-z]{3,})*")
_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_KEY: Final = re.compile(
    r"(?:[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_OTHER_WORKLOADS: Final = ("DaemonSet", "ReplicaSet", "Job", "CronJob")


class FieldFault(Struct, frozen=True):
    """What is wrong with a field; `path` is "" where the whole object is, `message` names the field."""

    path: str
    message: str


class Problems:
    """The problems of one file; lines are found by the text that a problem is about."""

    def __init__(self, file: str, content: bytes = b"", lines: Mapping[str, int] | None = None) -> None:
        self.file = file
        self.found: list[SourceProblem] = []
        self._content = content.decode("utf-8", "replace").splitlines()
        self._lines = lines or {}

    def error(self, rule: str, message: str, *, at: str = "", text: str = "") -> None:
        self._add(Severity.ERROR, rule, message, at, text)

    def warning(self, rule: str, message: str, *, at: str = "", text: str = "") -> None:
        self._add(Severity.WARNING, rule, message, at, text)

    def _add(self, severity: Severity, rule: str, message: str, at: str, text: str) -> None:
        line = self._lines.get(at, 0) if at else self._line(text) if text else 0
        self.found.append(SourceProblem(self.file, line, sanitize(message[:LONGEST_MESSAGE]), rule, severity))

    def _line(self, text: str) -> int:
        return next((number for number, line in enumerate(self._content, 1) if text in line), 0)


def lint_config(config: ModuleConfig, problems: Problems) -> None:
    """Report what the config may say, but lifecycle-manager or Kubernetes does not accept."""
    for name in config.lines:
        if name in OLD_FIELDS:
            problems.warning("config.old", f"{name} is a legacy field; only --legacy uses it", at=name)
        elif name not in FIELDS:
            near = did_you_mean(nearest_names(name, (*FIELDS, *OLD_FIELDS)))
            problems.warning("config.unknown", f"unknown field {name}{near}", at=name)
    version = "" if module_version_problem(config.version) else config.version
    if version and (len(version) > LONGEST_VERSION or not _TEMPLATE_VERSION.fullmatch(version)):
        problems.warning(
            "template.version",
            f"version {config.version} is not accepted in a ModuleTemplate: at most {LONGEST_VERSION} characters, "
            "no build metadata, no dots in the pre-release",
            at="version",
        )
    if config.name and not _MODULE_NAME.fullmatch(config.short_name):
        problems.warning(
            "template.name",
            f"module name {config.short_name} is not accepted in a ModuleTemplate: each part between dashes needs "
            "3 letters or more",
            at="name",
        )
    _lint_metadata(config, problems)
    for finding in lint_rules(config.state_checks):
        report = problems.warning if finding.harmless else problems.error
        report("state-check", str(finding), at="customStateCheck")


def _lint_metadata(config: ModuleConfig, problems: Problems) -> None:
    for field, values in (("labels", config.labels), ("annotations", config.annotations)):
        for key, value in values.items():
            if len(key) > LONGEST_KEY or not _KEY.fullmatch(key):
                problems.error("template.metadata", f"{field}: {key!r} is not a valid key", at=field)
            if field == "labels" and not _LABEL_VALUE.fullmatch(value):
                problems.error("template.metadata", f"labels.{key}: {value!r} is not a valid label value", at=field)


def lint_images(objects: Sequence[Object], problems: Problems) -> list[ManifestImage]:
    """Report images without a fixed version or digest, or that a component cannot name; return the valid ones."""
    images: dict[str, ManifestImage] = {}
    for found_image in each_image(objects):
        if isinstance(found_image, ImageProblemError):
            problems.error("image", str(found_image), text=found_image.image)
        else:
            images.setdefault(found_image.text, found_image)
    resources = []
    for image in images.values():
        try:
            resources.append(image_resource(image))
        except ImageProblemError as error:
            problems.error("image.name", str(error), text=error.image)
        if not image.image.digest:
            problems.warning("image.digest", f"{image.where}: image {image.text!r} has no digest", text=image.text)
    try:
        check_identities(resources)
    except ImageProblemError as error:
        problems.error("image.name", str(error), text=error.image)
    for text, where in _other_images(objects):
        if text not in images:
            problems.warning("image.scan", f"{where}: image {text!r} is not a resource of the component", text=text)
    return list(images.values())


def unscanned_images(objects: Iterable[Object]) -> list[ManifestImage]:
    """Return the valid images of workloads that are no resources of the component."""
    images = {text: (where, parse_image(text)) for text, where in _other_images(objects)}
    return [ManifestImage(text, where, image) for text, (where, image) in images.items() if image is not None]


def _other_images(objects: Iterable[Object]) -> Iterator[tuple[str, str]]:
    """Yield the images of workloads that modulectl passes over, which no scanner sees."""
    for body in objects:
        if body["kind"] in _OTHER_WORKLOADS:
            for text in filter(None, map(image_text, pod_containers(body))):
                yield text, f"{body['kind']} {body['metadata']['name']}"


def lint_duplicates(objects: Iterable[Object], problems: Problems) -> None:
    """Report objects that appear twice: only the first is installed."""
    counts = Counter(map(document_key, objects))
    for (namespace, name, _, _, kind), count in counts.items():
        if count > 1:
            where = f" in namespace {namespace}" if namespace else ""
            problems.warning("manifest", f"{kind} {name}{where} appears {count} times", text=f"name: {name}")


def lint_crds(objects: Iterable[Object], problems: Problems, check: ServerRules) -> None:
    """Report CRDs that an API server would refuse."""
    for body in objects:
        if body["kind"] == "CustomResourceDefinition":
            name = body["metadata"]["name"]
            for message in check.definition(body):
                problems.error("crd", f"CRD {name}: {message}", text=f"name: {name}")


def lint_manager(config: ModuleConfig, objects: Sequence[Object], problems: Problems) -> None:
    """Report a manager that the manifest does not have, or that runs another version."""
    manager = config.manager
    if manager is None:
        problems.warning("manager", "there is no manager; the module counts as ready when its default CR is")
        return
    what = f"{manager.type.kind} {manager.name}"
    images = manager_images(objects, manager)
    if images is None:
        if any((body["kind"], body["metadata"]["name"]) == (manager.type.kind, manager.name) for body in objects):
            return
        problems.error("manager", f"the manifest has no {what}", at="manager")
    elif not module_version_problem(config.version) and not runs_version(images, config.version):
        shown = ", ".join(images) or "no image"
        problems.error("manager.version", f"version {config.version} differs from {what}: {shown}", at="version")
    for body in objects:
        same = (body["kind"], body["metadata"]["name"]) == (manager.type.kind, manager.name)
        namespace = body["metadata"].get("namespace") or ""
        if same and manager.namespace and namespace and namespace != manager.namespace:
            problems.error("manager", f"{what} is in namespace {namespace}, not {manager.namespace}", at="manager")


def lint_default_cr(custom_resource: Object, objects: Sequence[Object], problems: Problems, check: ServerRules) -> None:
    """Report a default CR that its CRD would refuse, if the CRD is in the manifest."""
    crd = crd_of(objects, custom_resource)
    kind = custom_resource["kind"]
    if crd is None:
        problems.warning("default-cr", f"the manifest has no CRD of {kind}; kymatui assumes that it is namespaced")
        return
    if check.definition(crd):
        return  # reported at the manifest
    for fault in check.resource(crd, custom_resource):
        name = fault.path.rpartition(".")[2]
        message = f"{kind} {custom_resource['metadata']['name']}: {fault.message}"
        problems.error("default-cr", message, text=name and f"{name}:")


def lint_security(document: object, config: ModuleConfig, images: Sequence[ManifestImage], problems: Problems) -> None:
    """Report a security config that does not fit the module: its name, and images that are not or wrongly scanned."""
    if not isinstance(document, dict):
        problems.error("security", "the security config must be a map")
        return
    name = document.get("module-name")
    if name not in (config.name, config.short_name):
        problems.error("security", f"module-name is {name!r}, not {config.short_name!r}", text="module-name")
    keys = [key for key in ("bdba", "protecode") if key in document]
    if not keys:
        return  # the scanners read the images from the component
    key = next((key for key in keys if document[key] is not None), keys[0])
    listed = [] if document[key] is None else document[key]
    if not isinstance(listed, list):
        problems.error("security", f"{key} must be a list of images", text=key)
        return
    for text in listed:
        parsed = parse_image(text) if isinstance(text, str) else None
        if parsed is None:
            problems.error("security", f"{key}: {text!r} is not an image reference", text=str(text))
        elif not parsed.digest and parse_version(parsed.tag) is None:
            tag = parsed.tag or "latest"
            problems.warning(
                "security", f"{key}: the tag {tag} of {text} is not a version, so its image changes", text=text
            )
    for image in images:
        if image.text not in listed:
            problems.warning("security", f"{key} does not list {image.text}, so it is not scanned", text=key)
