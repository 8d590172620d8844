"""`kymatui bundle push`: everything that an image layout or its archive holds, to a registry."""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack

from kymatui.cli.cluster_options import add_fetching, add_option, fetch_options
from kymatui.cli.commands.bundle.copy import print_copied
from kymatui.cli.options.registry_options import PlaceKind, artifact_place
from kymatui.cli.output.transfers import transfer_bars
from kymatui.errors import UsageError
from kymatui.publishing.copy_images import CopyOptions
from kymatui.publishing.push import push_layout
from kymatui.sessions.registries import open_registries, open_stored_layout


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "source SOURCE", "folder with an OCI image layout, or a tar of one")
    add_option(parser, "target TARGET", "registry to push to: HOST[:PORT][/PATH]")
    add_option(parser, "--signatures", "also push signatures of cosign and other referrers")
    add_option(parser, "--overwrite", "replace components and images with the same tag")
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    path = args.source
    for kind in (PlaceKind.LAYOUT, PlaceKind.ARCHIVE):
        path = path.removeprefix(f"{kind}:")
    if "//" in path:
        raise UsageError(
            f"{args.source!r} is one component or image", hint=f"run `kymatui bundle copy {args.source} {args.target}`"
        )
    target = artifact_place(args.target)
    if target.kind is not PlaceKind.REGISTRY or not target.base:
        raise UsageError(f"{args.target!r} is not a registry", hint="write HOST[:PORT][/PATH]")
    options = fetch_options(args)
    scheme = "http://" if target.base.partition("/")[0] in options.insecure else ""
    how = CopyOptions(overwrite=args.overwrite, signatures=args.signatures, scheme=scheme)
    with ExitStack() as stack:
        layout, names = open_stored_layout(path, stack, archive=not os.path.isdir(path))
        if not names:
            raise UsageError(f"{args.source} holds nothing that has a name", hint="run `kymatui bundle list` with it")
        registries = open_registries(options, stack.enter_context(transfer_bars()))
        result = push_layout(layout, names, registries, target.base, how)
    print_copied(result, "pushed")
    return 0
