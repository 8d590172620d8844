"""The module config: what a module is made of, as modulectl 3 reads it. Older generations' fields stay readable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.module_templates import StateCheckRule
from kymatui.ocm.component_location import LONGEST_TAG, check_name, tag_of
from kymatui.ocm.errors import DescriptorError
from kymatui.publishing.config_reader import ConfigFields, ConfigReader, SourceProblem

_PRE: Final = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_SEMVER: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRE}(?:\.{_PRE})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_NAMESPACE: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAMESPACE: Final = 253

FIELDS: Final = (
    "name",
    "version",
    "manifest",
    "repository",
    "team",
    "documentation",
    "icons",
    "defaultCR",
    "security",
    "securityScanEnabled",
    "labels",
    "annotations",
    "manager",
    "associatedResources",
    "resources",
    "requiresDowntime",
    "internal",
    "beta",
)
OLD_FIELDS: Final = (
    "channel",
    "mandatory",
    "namespace",
    "resourceName",
    "customStateCheck",
    "moduleRepo",
    "moduleRepoTag",
)


class ConfigManager(Struct, frozen=True):
    """The object that reports whether the module is ready."""

    type: GroupVersionKind
    name: str
    namespace: str = ""


class ModuleConfig(Struct, frozen=True):
    """A module config; `lines` has the line of each top-level field, `state_checks` is of an older generation."""

    name: str
    version: str
    manifest: str
    repository: str
    team: str
    documentation: str
    icons: Mapping[str, str]
    default_cr: str = ""
    security: str = ""
    security_scan: bool = True
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    manager: ConfigManager | None = None
    associated_resources: tuple[GroupVersionKind, ...] = ()
    resources: Mapping[str, str] = field(default_factory=dict)
    requires_downtime: bool = False
    internal: bool = False
    beta: bool = False
    mandatory: bool = False
    state_checks: tuple[StateCheckRule, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def short_name(self) -> str:
        """Return the last part of the name, which is the name of the module."""
        return self.name.rpartition("/")[2]


def read_config(content: bytes, file: str) -> tuple[ModuleConfig, list[SourceProblem]]:
    """Return a module config and every problem of it; a wrong field reads as empty."""
    reader = ConfigReader(file)
    root = reader.load(content)
    if reader.problems and not root.nodes:
        return ModuleConfig("", "", "", "", "", "", {}), reader.problems
    scan = root.flag("securityScanEnabled", default=True)
    config = ModuleConfig(
        name=_name(root),
        version=_version(root),
        manifest=_file(root, "manifest", required=True),
        repository=_address(root, "repository"),
        team=_required(root, "team", " when security scan is enabled") if scan else root.text("team"),
        documentation=_address(root, "documentation"),
        icons=_icons(root),
        default_cr=_file(root, "defaultCR"),
        security=root.text("security"),
        security_scan=scan,
        labels=root.texts("labels"),
        annotations=root.texts("annotations"),
        manager=_manager(root),
        associated_resources=tuple(_type(resource) for resource in root.children("associatedResources")),
        resources=root.links("resources", _check_link),
        requires_downtime=root.flag("requiresDowntime"),
        internal=root.flag("internal"),
        beta=root.flag("beta"),
        mandatory=_old_flag(root, "mandatory"),
        state_checks=_state_checks(root),
        lines={name: line for name, (line, _) in root.nodes.items()},
    )
    return config, reader.problems


def is_address(text: str) -> bool:
    """Return whether a file of the config is a URL."""
    return bool(urlsplit(text).scheme) if _parses(text) else False


def module_name_problem(name: str) -> str:
    """Return what is wrong with the name of a module, "" if nothing."""
    if not name:
        return "must not be empty"
    if name != name.lower():
        return "must not have upper-case letters"
    try:
        check_name(name)
    except DescriptorError as error:
        return f"is invalid: {error}"
    return ""


def module_version_problem(version: str) -> str:
    """Return what is wrong with the version of a module, "" if nothing."""
    if not version:
        return "must not be empty"
    if len(tag_of(version)) > LONGEST_TAG:
        return f"makes a tag of more than {LONGEST_TAG} characters"
    return "" if _SEMVER.fullmatch(version) else f"is not a semantic version of three numbers: {version!r}"


def _name(root: ConfigFields) -> str:
    name = root.text("name")
    if problem := module_name_problem(name):
        root.report("name", problem)
    return name


def _version(root: ConfigFields) -> str:
    version = root.text("version")
    if problem := module_version_problem(version):
        root.report("version", problem)
    return version


def _required(root: ConfigFields, name: str, when: str = "") -> str:
    text = root.text(name)
    if not text:
        root.report(name, f"must not be empty{when}")
    return text


def _address(root: ConfigFields, name: str) -> str:
    text = _required(root, name)
    if text and (problem := _address_problem(text)):
        root.report(name, problem)
    return text


def _file(root: ConfigFields, name: str, *, required: bool = False) -> str:
    text = _required(root, name) if required else root.text(name)
    if not text:
        return text
    if not _parses(text):
        root.report(name, f"{text!r} is not a valid address")
    elif urlsplit(text).scheme:
        if problem := _address_problem(text):
            root.report(name, problem)
    elif text.startswith("/"):
        root.report(name, f"must not be an absolute path: {text}")
    return text


def _address_problem(text: str) -> str:
    if not _parses(text) or not is_valid_address(text):
        return f"{text!r} is not a valid address"
    parts = urlsplit(text)
    if parts.scheme != "https":
        return f"{text!r} is not an https address"
    return "" if parts.netloc else f"{text!r} is not a valid address: it names no host"


def _parses(text: str) -> bool:
    try:
        urlsplit(text)
    except ValueError:
        return False
    return True


def _icons(root: ConfigFields) -> dict[str, str]:
    icons = root.links("icons", _check_link)
    if not icons:
        root.report("icons", "must have at least one icon")
    return icons


def _check_link(fields: ConfigFields, at: str, name: str, link: str) -> None:
    if not name:
        fields.report("name", "must not be empty")
    if not link:
        fields.report(at, "must not be empty" if at == "link" else "has no link")
    elif problem := _address_problem(link):
        fields.report(at, problem)


def _type(fields: ConfigFields) -> GroupVersionKind:
    return GroupVersionKind(*(_required(fields, name) for name in ("group", "version", "kind")))


def _manager(root: ConfigFields) -> ConfigManager | None:
    fields = root.child("manager")
    if fields is None:
        return None
    namespace = fields.text("namespace")
    if namespace and (len(namespace) > _LONGEST_NAMESPACE or not _NAMESPACE.fullmatch(namespace)):
        fields.report("namespace", f"is not a name of a namespace: {namespace!r}")
    return ConfigManager(_type(fields), _required(fields, "name"), namespace)


def _old_flag(root: ConfigFields, name: str) -> bool:
    """Return a flag of an older generation; other values were never an error in this one."""
    return root.text(name).lower() == "true" if name in root.nodes else False


def _state_checks(root: ConfigFields) -> tuple[StateCheckRule, ...]:
    fields = root.children("customStateCheck") if "customStateCheck" in root.nodes else []
    return tuple(StateCheckRule(rule.text("jsonPath"), rule.text("value"), rule.text("mappedState")) for rule in fields)


_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST: Final = re.compile(r"(?:[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"\x80-\U0010ffff]|%25|%[89A-Fa-f][0-9A-Fa-f])*")
_USER: Final = re.compile(r"(?:[A-Za-z0-9\-._:~!$&'()*+,;=@]|%[0-9A-Fa-f]{2})*")
_PORT: Final = re.compile(r"(?::[0-9]*)?")


def is_valid_address(text: str) -> bool:
    """Return whether an address with a scheme has no control characters, and valid escapes, host and port."""
    if _CONTROL.search(text) or text != text.lstrip():
        return False
    rest, _, fragment = text.partition("#")
    rest, _, _ = rest.partition("?")  # a query may hold anything
    _, slashes, after = rest.partition("://")
    authority, _, path = after.partition("/") if slashes else ("", "", rest)
    user, _, host = authority.rpartition("@")
    if not _USER.fullmatch(user):
        return False
    closed = ""
    if host.startswith("["):
        inner, closed, port = host.rpartition("]")
        name = f"{inner}{closed}"
        if not closed:
            return False
    else:
        name, colon, port = host.rpartition(":")
        name, port = (name, colon + port) if colon else (host, "")
    if ":" in name and not closed:
        return False
    return bool(_HOST.fullmatch(name) and _PORT.fullmatch(port)) and not _ESCAPE.search(f"{path}\n{fragment}")
