"""Locations of component versions in registries: the reference syntax, repositories by name mapping, tags by version.

A reference is `HOST[:PORT][/PREFIX]//COMPONENT:VERSION`, as the ocm command writes it.
"""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import Final

from msgspec import Struct

from kymatui.ocm.errors import DescriptorError

COMPONENTS: Final = "component-descriptors"
LONGEST_NAME: Final = 255  # characters, by the schema of component descriptors
LONGEST_TAG: Final = 128  # characters of a tag, by the OCI distribution specification

_NAME: Final = re.compile(  # the pattern of the schema of component descriptors
    r"[a-z][-a-z0-9]*(?:\.[a-z][-a-z0-9]*)*\.[a-z]{2,}(?:/[a-z][-a-z0-9_]*(?:\.[a-z][-a-z0-9_]*)*)+"
)
_IDENTIFIER: Final = r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION: Final = re.compile(
    r"v?(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){0,2}"
    rf"(?:-{_IDENTIFIER}(?:\.{_IDENTIFIER})*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_BUILD: Final = ".build-"


class NameMapping(StrEnum):
    """How the name of a component becomes the path of its repository."""

    URL_PATH = "urlPath"
    SHA256 = "sha256-digest"


class ComponentLocation(Struct, frozen=True):
    """A component version in a registry; `base` is "host[:port][/prefix]", "" if unknown."""

    base: str
    name: str
    version: str
    mapping: NameMapping = NameMapping.URL_PATH

    @property
    def repository(self) -> str:
        """Return "host/path"."""
        return repository_of(self.base, self.name, self.mapping)

    @property
    def tag(self) -> str:
        return tag_of(self.version)

    def __str__(self) -> str:
        return f"{self.base}//{self.name}:{self.version}" if self.base else f"{self.name}:{self.version}"


def parse_location(text: str, mapping: NameMapping = NameMapping.URL_PATH) -> ComponentLocation:
    """Return the parsed `[HOST[:PORT][/PREFIX]//]COMPONENT:VERSION`. Raises DescriptorError naming the wrong part."""
    plain = text.rpartition("://")[2]
    base, _, rest = plain.rpartition("//")
    name, colon, version = rest.rpartition(":")
    if not colon:
        raise DescriptorError(f"{text!r} has no version", hint=f"write {rest or 'COMPONENT'}:VERSION")
    check_name(name)
    check_version(version)
    return ComponentLocation(base.strip("/"), name, version, mapping)


def check_name(name: str) -> None:
    """Raise DescriptorError unless this is the name of a component: a domain and at least one path segment."""
    if len(name) > LONGEST_NAME:
        raise DescriptorError(f"component name {name[:40]!r}… is longer than {LONGEST_NAME} characters")
    if not _NAME.fullmatch(name):
        raise DescriptorError(
            f"{name!r} is not a component name",
            hint="write DOMAIN/PATH in lower case, the domain ends in two letters or more: kyma-project.io/module/keda",
        )


def check_version(version: str) -> None:
    """Raise DescriptorError unless this is a version whose tag a registry accepts."""
    if len(tag_of(version)) > LONGEST_TAG:
        raise DescriptorError(f"version {version[:40]!r}… makes a tag of more than {LONGEST_TAG} characters")
    check_resource_version(version)


def check_resource_version(version: str) -> None:
    """Raise DescriptorError unless this is a version; those of resources are no tags and may be longer."""
    if not _VERSION.fullmatch(version):
        raise DescriptorError(f"{version[:200]!r} is not a semantic version", hint="for example: 1.2.3 or 1.2.3-rc.1")


def repository_of(base: str, name: str, mapping: NameMapping = NameMapping.URL_PATH) -> str:
    """Return the repository ("host/path") of a component.

    `base` is "host/path", with or without a scheme and the folder component-descriptors, "" in a layout. Only names as
    paths have that folder; digests stand directly below the base.
    """
    parts = [part for part in [base.rpartition("://")[2].strip("/")] if part]
    if mapping is NameMapping.SHA256:
        return "/".join([*parts, hashlib.sha256(name.encode()).hexdigest()])
    if COMPONENTS not in "/".join(parts).split("/"):
        parts.append(COMPONENTS)
    return "/".join([*parts, name])


def tag_of(version: str) -> str:
    """Return the tag of a version; a tag cannot hold `+`."""
    return version.replace("+", _BUILD)


def version_of(tag: str) -> str:
    return tag.replace(_BUILD, "+")
