"""Options that subcommands of `bundle` share, and how they are read: components in registries, and channels."""

from __future__ import annotations

import argparse
import sys
from enum import StrEnum
from typing import Final

from msgspec import Struct

from kymatui.cli.cluster_options import add_option, add_options
from kymatui.cli.output.printing import print_text
from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.errors import UsageError
from kymatui.ocm.component_location import ComponentLocation, NameMapping, check_name, parse_location
from kymatui.ocm.errors import DescriptorError
from kymatui.publishing.disk_sources import DiskSources
from kymatui.publishing.release import ReleaseRequest, release_advice

_LARGEST_META: Final = 16 * 1024 * 1024
"""Bytes of a file with ModuleReleaseMetas: those of all modules of a control plane, with managed fields."""


def add_component(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "component REFERENCE", "component version: HOST[:PORT][/PATH]//COMPONENT:VERSION")


def add_mapping(parser: argparse._ActionsContainer) -> None:
    add_option(
        parser,
        "--mapping",
        "how component names map to repositories (default: urlPath)",
        choices=[str(mapping) for mapping in NameMapping],
        default=str(NameMapping.URL_PATH),
    )


def component_location(text: str, mapping: str = NameMapping.URL_PATH) -> ComponentLocation:
    """Return the component of an argument. Raises UsageError."""
    try:
        return parse_location(text, NameMapping(mapping))
    except DescriptorError as error:
        raise UsageError(str(error), hint=error.hint) from error


def located_component(text: str, mapping: str = NameMapping.URL_PATH) -> ComponentLocation:
    """Return the component of an argument that has to name its registry. Raises UsageError."""
    location = component_location(text, mapping)
    if not location.base:
        raise UsageError(f"{location} has no registry", hint=f"write HOST//{location}")
    return location


def image_location(text: str, mapping: str = NameMapping.URL_PATH) -> tuple[str, str]:
    """Return repository ("host/path") and tag or digest of an image or component. Raises UsageError."""
    plain = text.removeprefix("oci://")
    if "//" in plain:
        location = located_component(plain, mapping)
        return location.repository, location.tag
    image = parse_image(plain)
    if image is None or "/" not in plain:
        raise UsageError(f"{text!r} is not an image", hint="write HOST[:PORT]/REPOSITORY:TAG or …@sha256:DIGEST")
    return f"{image.registry}/{image.repository}", image.digest or image.tag or "latest"


def add_release(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("release")
    add_option(
        group, "--channel NAME…", "channel to offer the version in, see --release-meta; repeatable", dest="channels"
    )
    options = {
        "--release-meta FILE": "present ModuleReleaseMeta of the module, - for standard input: adds it after the "
        "template, with the version in --channel (default: print what to add to it)",
        "--first-release": "the module is in no channel yet: adds a ModuleReleaseMeta with --channel alone",
        "--legacy": "legacy ModuleTemplates, one for each channel, with the whole descriptor",
    }
    add_options(group, options)


def read_release(args: argparse.Namespace, sources: DiskSources) -> ReleaseRequest:
    """Return the request of the options. Raise ConfigurationError and UsageError."""
    meta, source = None, args.release_meta or ""
    if args.release_meta == "-":
        meta, source = sys.stdin.buffer.read(_LARGEST_META + 1), "standard input"
    elif args.release_meta is not None:
        meta = sources.read(source, "ModuleReleaseMeta", _LARGEST_META)
    request = ReleaseRequest(tuple(dict.fromkeys(args.channels)), meta, source, args.first_release, args.legacy)
    request.check()
    return request


def print_advice(request: ReleaseRequest, component: str, version: str) -> None:
    """Print on standard error what to add to the ModuleReleaseMeta, if anything."""
    if advice := release_advice(request, component, version):
        print_text(advice, sys.stderr)


class PlaceKind(StrEnum):
    REGISTRY = "registry"
    LAYOUT = "layout"
    ARCHIVE = "tar"


class ArtifactPlace(Struct, frozen=True):
    """A parsed place: `path` is the folder or file; `component` or `image` (repository, tag or digest), or neither."""

    kind: PlaceKind
    text: str
    path: str = ""
    base: str = ""
    component: ComponentLocation | None = None
    image: tuple[str, str] | None = None


def artifact_place(text: str, mapping: str = NameMapping.URL_PATH) -> ArtifactPlace:
    """Return a parsed place. Raises UsageError."""
    for kind in (PlaceKind.LAYOUT, PlaceKind.ARCHIVE):
        if text.startswith(f"{kind}:"):
            return _local(kind, text, mapping)
    plain = text.removeprefix("oci://")
    if "//" in plain:
        return ArtifactPlace(PlaceKind.REGISTRY, text, component=component_location(plain, mapping))
    last = plain.rpartition("/")[2]
    if "/" in plain and (":" in last or "@" in plain):
        return ArtifactPlace(PlaceKind.REGISTRY, text, image=image_location(plain))
    return ArtifactPlace(PlaceKind.REGISTRY, text, base=plain.strip("/"))


def _local(kind: PlaceKind, text: str, mapping: str) -> ArtifactPlace:
    path, _, name = text.removeprefix(f"{kind}:").partition("//")
    if not path:
        raise UsageError(f"{text!r} has no {'file' if kind is PlaceKind.ARCHIVE else 'folder'}")
    if not name:
        return ArtifactPlace(kind, text, path)
    repository, at, digest = name.partition("@")
    known, colon, tag = repository.rpartition(":")
    if at:
        return ArtifactPlace(kind, text, path, image=(repository, digest))
    if not colon:
        raise UsageError(f"{text!r} has no version or tag", hint=f"write {kind}:{path}//{name}:VERSION")
    try:
        check_name(known)
    except DescriptorError:  # no name of a component, so it is an image
        return ArtifactPlace(kind, text, path, image=(known, tag))
    return ArtifactPlace(kind, text, path, component=component_location(name, mapping))


def component_source(text: str) -> tuple[ComponentLocation, str]:
    """Return the component to install, and the folder of its image layout, "" in a registry. Raises UsageError."""
    location = artifact_place(text)
    if location.kind is PlaceKind.ARCHIVE:
        raise UsageError(
            f"{text} is an archive, which cannot be installed",
            hint=f"run `kymatui bundle copy {text} layout:DIR//…`, then install from the layout",
        )
    if location.component is None or not (location.component.base or location.path):
        raise UsageError(
            f"{text!r} is not a component in a registry or layout",
            hint="write HOST[:PORT][/PATH]//COMPONENT:VERSION, or layout:DIR//COMPONENT:VERSION",
        )
    return location.component, location.path
