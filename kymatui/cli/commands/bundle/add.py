"""`kymatui bundle add`: makes a new image of an existing one with more layers and other metadata."""

from __future__ import annotations

import argparse
import csv
import re
from pathlib import Path
from typing import Final

from kymatui.cli.cluster_options import add_fetching, add_option, fetch_options
from kymatui.cli.options.registry_options import image_location
from kymatui.cli.output.printing import print_line
from kymatui.cli.output.transfers import transfer_bars, transfer_line
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.errors import UsageError
from kymatui.publishing.add_layers import AddRequest, add_layers, parse_pairs
from kymatui.publishing.disk_sources import DiskSources
from kymatui.publishing.image_layers import ImageMetadata, NewLayer, new_layer
from kymatui.publishing.places import open_sources
from kymatui.sessions.registries import open_registries

LARGEST_LAYER: Final = 16 * 1024**3  # bytes of a file, which is read in chunks
_MEDIA_TYPE: Final = re.compile(r"[a-z]+/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*")


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "image IMAGE", "base: HOST[:PORT]/REPOSITORY:TAG or …@sha256:DIGEST")
    add_option(parser, "-t --target IMAGE", "where to push to: HOST[:PORT]/REPOSITORY:TAG", required=True)
    add_option(
        parser,
        "--layer FILE[:TYPE]…",
        "tar to append as a layer, or a file with its media type; repeatable",
        dest="layers",
    )
    for option, what in (("annotation", "of the manifest"), ("label", "of the image"), ("env", "for its processes")):
        add_option(parser, f"--{option} KEY=VALUE…", f"{option} {what}; repeatable")
    add_option(parser, "--entrypoint WORDS…", "separated by commas")
    add_option(parser, "--cmd WORDS…", "arguments, separated by commas")
    add_option(parser, "--user USER", "user of its processes", dest="image_user", default="")
    add_option(parser, "--workdir DIR", "working folder of its processes", default="")
    add_option(parser, "--base-annotations", "set the annotations with name and digest of the base")
    add_option(parser, "--overwrite", "move the tag if it names another image")
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    metadata = ImageMetadata(
        labels=parse_pairs(args.label, "--label"),
        annotations=parse_pairs(args.annotation, "--annotation"),
        env=parse_pairs(args.env, "--env"),
        entrypoint=_split_values(args.entrypoint),
        cmd=_split_values(args.cmd),
        user=args.image_user,
        workdir=args.workdir,
    )
    options = fetch_options(args)
    files = open_sources(options)
    layers = tuple(_layer(text, files) for text in args.layers)
    request = AddRequest(
        image_location(args.image), image_location(args.target), layers, metadata, args.base_annotations, args.overwrite
    )
    with transfer_bars() as report:
        image = add_layers(open_registries(options, report), request)
    images = f" to {format_count(image.images, 'image')}" if image.images > 1 else ""
    print_line(f"base      {image.base}")
    print_line(f"added     {format_count(len(layers), 'layer')}{images}")
    print_line(f"blobs     {transfer_line(image.transfers)}")
    print_line(f"pushed    {image.repository}:{image.tag}@{image.digest}")
    return 0


def _layer(text: str, files: DiskSources) -> NewLayer:
    path, colon, media_type = text.rpartition(":")
    if not colon or not _MEDIA_TYPE.fullmatch(media_type) or Path(text).exists():
        path, media_type = text, ""
    if not path:
        raise UsageError(f"--layer {text!r} has no file", hint="write --layer FILE or --layer FILE:MEDIATYPE")
    return new_layer(lambda: files.chunks(path, "--layer", LARGEST_LAYER), path, media_type)


def _split_values(texts: list[str]) -> tuple[str, ...]:
    return tuple(word for line in csv.reader(texts) for word in line)
