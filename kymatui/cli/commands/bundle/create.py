"""`kymatui bundle create`: builds a module from its config and publishes it."""

from __future__ import annotations

import argparse
import os

from kymatui.cli.cluster_options import add_fetching, add_option, fetch_options
from kymatui.cli.options.registry_options import add_mapping, add_release, print_advice, read_release
from kymatui.cli.output.printing import print_line
from kymatui.errors import ConfigurationError, UsageError
from kymatui.publishing.create import CreateRequest, create_module
from kymatui.publishing.module_build import BuildRequest
from kymatui.publishing.places import open_destination, open_sources

CONFIG = "module-config.yaml"
TEMPLATE = "template.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "-c --config-file FILE", f"module config (default: {CONFIG})", default=CONFIG)
    add_option(
        parser,
        "-o --output FILE",
        f"file to write the ModuleTemplate to (default: {TEMPLATE})",
        dest="template",
        default=TEMPLATE,
    )
    add_option(
        parser,
        "--constructor --output-constructor-file FILE",
        "file to write the component constructor of ocm to",
        dest="constructor",
        default="",
    )
    add_option(
        parser,
        "--sources --module-sources-git-directory DIR",
        "git repository of the module; the component records its commit (default: .)",
        dest="sources",
        default=".",
    )
    add_option(
        parser,
        "--skip-version-validation",
        "do not compare the version with the tag of the manager's image (default: true)",
        nargs="?",
        const="true",
        default="true",
        choices=("true", "false"),
    )
    group = parser.add_argument_group("destination", "default: none, only files are written")
    add_option(group, "--registry HOST", "registry to push to: HOST[:PORT][/PATH]")
    add_option(group, "--layout DIR", "folder to write an OCI image layout to")
    add_option(group, "--overwrite", "replace a version that has other content")
    add_mapping(group)
    add_fetching(group)
    add_release(parser)


def run(args: argparse.Namespace) -> int:
    for option, value in (("--registry", args.registry), ("--layout", args.layout)):
        if value is not None and not value.strip():  # such as an unset variable of a pipeline
            raise UsageError(
                f"{option} is empty, so nothing would be published", hint="leave it out to write files only"
            )
    if args.registry and args.layout:
        raise UsageError("--registry and --layout exclude each other", hint="use one of them")
    build = BuildRequest(
        config=args.config_file,
        git=args.sources,
        template=args.template,
        constructor=args.constructor,
        epoch=source_date_epoch(),
        check_version=args.skip_version_validation == "false",
    )
    options = fetch_options(args)
    sources = open_sources(options)
    request = CreateRequest(build, read_release(args, sources), args.overwrite)
    destination = open_destination(args.registry or "", args.layout or "", args.mapping, options)
    created = create_module(request, sources, destination)
    if created.publication is not None:
        publication = created.publication
        location = (
            str(publication.location) if publication.location.base else f"{publication.location} in {args.layout}"
        )
        print_line(f"{publication.outcome:<10}{location} {publication.digest}")
    for path in created.files:
        print_line(f"{'written':<10}{path}")
    print_advice(request.release, created.module.config.name, created.module.config.version)
    return 0


def source_date_epoch() -> int | None:
    """Return the creation time that the environment demands, in seconds (reproducible-builds.org)."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise ConfigurationError(f"SOURCE_DATE_EPOCH is {text!r}, not a number of seconds", hint="unset it")
    return int(text)
