"""Options of every subcommand that names a component in a registry, and how they are read."""

from __future__ import annotations

import argparse

from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.errors import UsageError
from kymatui.ocm.component_location import ComponentLocation, NameMapping, parse_location
from kymatui.ocm.errors import DescriptorError


def add_component(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "component",
        metavar="REFERENCE",
        help="component version: HOST[:PORT][/PATH]//COMPONENT:VERSION",
    )


def add_mapping(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--mapping",
        choices=[str(one) for one in NameMapping],
        default=str(NameMapping.URL_PATH),
        help="how component names map to repositories (default: urlPath)",
    )


def component_location(text: str, mapping: str = NameMapping.URL_PATH) -> ComponentLocation:
    """Return the component of an argument. Raises UsageError."""
    try:
        return parse_location(text, NameMapping(mapping))
    except DescriptorError as error:
        raise UsageError(str(error), hint=error.hint) from error


def located_component(text: str, mapping: str = NameMapping.URL_PATH) -> ComponentLocation:
    """Return the component of an argument that has to name its registry. Raises UsageError."""
    found = component_location(text, mapping)
    if not found.base:
        raise UsageError(f"{found} has no registry", hint=f"write HOST//{found}")
    return found


def image_location(text: str, mapping: str = NameMapping.URL_PATH) -> tuple[str, str]:
    """Return repository ("host/path") and tag or digest of an image or component. Raises UsageError."""
    plain = text.removeprefix("oci://")
    if "//" in plain:
        found = located_component(plain, mapping)
        return found.repository, found.tag
    image = parse_image(plain)
    if image is None or "/" not in plain:
        raise UsageError(f"{text!r} is not an image", hint="write HOST[:PORT]/REPOSITORY:TAG or …@sha256:DIGEST")
    return f"{image.registry}/{image.repository}", image.digest or image.tag or "latest"
