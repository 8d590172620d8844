"""`kymatui bundle copy`: copies a component or image between registries, image layouts and archives."""

from __future__ import annotations

import argparse
from contextlib import ExitStack

from msgspec.structs import replace

from kymatui.cli.cluster_options import add_fetching, add_option, fetch_options
from kymatui.cli.options.registry_options import ArtifactPlace, PlaceKind, add_mapping, artifact_place
from kymatui.cli.output.printing import print_line, print_text
from kymatui.cli.output.transfers import transfer_bars, transfer_line
from kymatui.engine.sources.artifact_store import ArtifactStore
from kymatui.errors import UsageError
from kymatui.ocm.component_location import NameMapping
from kymatui.publishing.blob_transfer import Place
from kymatui.publishing.copy import copy_component
from kymatui.publishing.copy_images import CopyOptions, CopyResult, copy_image
from kymatui.sessions.fetching import FetchOptions
from kymatui.sessions.registries import open_archive_layout, open_layout, open_registries


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "source SOURCE", "HOST[/PATH]//COMPONENT:VERSION, IMAGE, layout:DIR//… or tar:FILE//…")
    add_option(
        parser,
        "target TARGET",
        "HOST[/PATH], layout:DIR or tar:FILE to keep the name, or a whole reference with another name",
    )
    add_option(parser, "--recursive", "also copy referenced components and images")
    add_option(parser, "--exact", "copy the descriptor unchanged: it still names the old registry")
    add_option(parser, "--signatures", "also copy signatures of cosign and other referrers")
    add_option(parser, "--overwrite", "replace an existing component or image with the same tag")
    add_mapping(parser)
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    source, target = artifact_place(args.source, args.mapping), artifact_place(args.target, args.mapping)
    options = fetch_options(args)
    if source.component is None and source.image is None:
        raise UsageError(
            f"{source.text!r} names no component or image", hint="write HOST//COMPONENT:VERSION or IMAGE:TAG"
        )
    with ExitStack() as stack:
        registries = open_registries(options, stack.enter_context(transfer_bars()))
        here = _store(source, registries, stack, write=False)
        target_store = _store(target, registries, stack, write=True)
        result = _copy(args, source, target, here, target_store, options, registries)
    print_copied(result)
    return 0


def print_copied(result: CopyResult, verb: str = "copied") -> None:
    """Print each artifact that was copied, and how its blobs came."""
    for name, digest in result.copied:
        print_text(f"{verb:<10}{name} {digest}" if digest not in name else f"{verb:<10}{name}")
    print_line(f"blobs     {transfer_line(result.count)}")


def _copy(
    args: argparse.Namespace,
    source: ArtifactPlace,
    target: ArtifactPlace,
    here: ArtifactStore,
    target_store: ArtifactStore,
    options: FetchOptions,
    registries: ArtifactStore,
) -> CopyResult:
    base = target.component.base if target.component is not None else target.base
    scheme = "http://" if base.partition("/")[0] in options.insecure else ""
    how = CopyOptions(args.overwrite, args.exact, args.recursive, args.signatures, scheme, registries)
    if source.component is not None:
        if target.image is not None:
            raise UsageError(
                f"{target.text!r} is an image, but the source is a component", hint="write HOST//COMPONENT:VERSION"
            )
        where = target.component or replace(source.component, base=base, mapping=NameMapping(args.mapping))
        if (where.name, where.version) != (source.component.name, source.component.version):
            raise UsageError("a component keeps its name and version", hint="leave them out of the target")
        return copy_component(here, source.component, target_store, where, how)
    if target.component is not None or source.image is None:
        raise UsageError(
            f"{target.text!r} is a component, but the source is an image", hint="write HOST/REPOSITORY:TAG"
        )
    repository, pointer = source.image
    name = repository.partition("/")[2] if source.kind is PlaceKind.REGISTRY else repository
    image = target.image or (f"{base}/{name}" if base else name, "" if ":" in pointer else pointer)
    if not image[1] or ":" in image[1]:
        raise UsageError(f"{target.text!r} has no tag", hint="write REPOSITORY:TAG")
    return copy_image(Place(here, repository), pointer, Place(target_store, image[0]), image[1], how)


def _store(location: ArtifactPlace, registries: ArtifactStore, stack: ExitStack, *, write: bool) -> ArtifactStore:
    if location.kind is PlaceKind.REGISTRY:
        return registries
    if location.kind is PlaceKind.LAYOUT:
        return open_layout(location.path)
    return stack.enter_context(open_archive_layout(location.path, write=write))
