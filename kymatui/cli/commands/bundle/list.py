"""`kymatui bundle list`: prints the versions of a component, the tags of an image, or the names in a layout."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from kymatui.actions.components.component_facts import list_tags, list_versions
from kymatui.cli.cluster_options import add_fetching, add_option, add_output, fetch_options
from kymatui.cli.options.registry_options import add_mapping
from kymatui.cli.output.printing import document, print_line, print_text
from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.errors import UsageError
from kymatui.ocm.component_location import ComponentLocation, NameMapping, check_name
from kymatui.ocm.errors import DescriptorError
from kymatui.sessions.registries import open_registries, open_stored_layout


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "place PLACE", "HOST[/PATH]//COMPONENT, HOST/IMAGE, layout:DIR or tar:FILE")
    add_output(parser, ("text", "json", "yaml"))
    add_mapping(parser)
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    key, entries = _listed(args)
    if args.output == "text":
        for entry in entries:
            print_line(sanitize(entry))
    else:
        print_text(document({key: entries}, args.output))
    return 0


def _listed(args: argparse.Namespace) -> tuple[str, list[str]]:
    for kind in ("layout", "tar"):
        if args.place.startswith(f"{kind}:"):
            with ExitStack() as stack:
                path = args.place.removeprefix(f"{kind}:")
                return "names", open_stored_layout(path, stack, archive=kind == "tar")[1]
    store = open_registries(fetch_options(args))
    plain = args.place.removeprefix("oci://")
    base, slashes, name = plain.rpartition("//")
    if slashes:
        try:
            check_name(name)
        except DescriptorError as error:
            raise UsageError(str(error), hint="write HOST//COMPONENT without a version") from error
        return "versions", list_versions(store, ComponentLocation(base, name, "", NameMapping(args.mapping)))
    image = parse_image(plain)
    if image is None or image.tag or image.digest or "/" not in plain:
        raise UsageError(f"{args.place!r} has no versions to list", hint="write HOST//COMPONENT or HOST/IMAGE")
    return "tags", list_tags(store, f"{image.registry}/{image.repository}")
