"""`kymatui helm template [NAME] CHART`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kymatui.cli.helm.options import add_source, add_values, load, read_values
from kymatui.errors import HelmError, UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="[NAME] CHART", help="the release's name, and the chart")
    parser.add_argument("-g", "--generate-name", action="store_true", help="make up a name")
    parser.add_argument("-n", "--namespace", default="default", help="the release's namespace")
    parser.add_argument("--kube-version", default="", metavar="VERSION", help="for .Capabilities.KubeVersion")
    parser.add_argument("-a", "--api-versions", action="append", default=[], help="for .Capabilities.APIVersions")
    parser.add_argument("--include-crds", action="store_true", help="print the files below crds/ too")
    parser.add_argument("--skip-crds", action="store_true", help="leave them out")
    parser.add_argument("--is-upgrade", action="store_true", help="render as for an upgrade")
    parser.add_argument("--no-hooks", action="store_true", help="leave hooks out")
    parser.add_argument("--skip-tests", action="store_true", help="leave test hooks out")
    parser.add_argument("--enable-dns", action="store_true", help="let getHostByName ask the network")
    parser.add_argument("--skip-schema-validation", action="store_true", help="do not check values.schema.json")
    parser.add_argument("-s", "--show-only", action="append", default=[], metavar="TEMPLATE", help="only these")
    parser.add_argument("--output-dir", default="", metavar="DIR", help="write files instead of printing")
    parser.add_argument(
        "--release-name", action="store_true", help="put the release's name into the path of --output-dir"
    )
    add_values(parser)
    add_source(parser)


def run(args: argparse.Namespace) -> int:
    from kymatui.helm.capabilities import KUBE_VERSION
    from kymatui.helm.language.environment import Environment
    from kymatui.helm.output import manifest_text, only
    from kymatui.helm.rendering import render
    from kymatui.wiring.charts import kept_templates

    name, reference = _names(args)
    rendered = render(
        load(args, reference),
        read_values(args),
        release_name=name,
        namespace=args.namespace or "default",
        is_upgrade=args.is_upgrade,
        kube_version=args.kube_version or KUBE_VERSION,
        api_versions=[one for line in args.api_versions for one in line.split(",") if one],
        include_crds=args.include_crds and not args.skip_crds,
        check_schema=not args.skip_schema_validation,
        environment=Environment(resolve=_resolve if args.enable_dns else None),
        cache=kept_templates(),
    )
    text = manifest_text(rendered, hooks=not args.no_hooks, tests=not args.skip_tests)
    if args.output_dir:
        return _write(args, name, rendered)
    sys.stdout.write(only(text, args.show_only) if args.show_only else text)
    return 0


def _names(args: argparse.Namespace) -> tuple[str, str]:
    """The release's name and the chart."""
    words = args.words
    if len(words) > 2:
        raise UsageError(f"too many words: {' '.join(words[2:])}", hint="kymatui helm template [NAME] CHART")
    if len(words) == 2:
        if args.generate_name:
            raise UsageError("cannot set --generate-name and also specify a name")
        return words[0], words[1]
    if args.generate_name:
        import time

        return f"{Path(words[0]).name.partition('.tgz')[0] or 'chart'}-{int(time.time())}", words[0]
    return "release-name", words[0]


def _resolve(host: str) -> str:
    import socket

    try:
        return socket.gethostbyname(host)
    except OSError:
        return ""


def _write(args: argparse.Namespace, name: str, rendered: object) -> int:
    """Writes one file a template, as helm does, and never outside of the folder."""
    from kymatui.helm.output import files, parts
    from kymatui.helm.rendering import Rendered

    assert isinstance(rendered, Rendered)
    root = Path(args.output_dir) / name if args.release_name else Path(args.output_dir)
    for path, text in files(parts(rendered, hooks=not args.no_hooks, tests=not args.skip_tests)).items():
        target = root / path
        if not target.resolve().is_relative_to(root.resolve()):
            raise HelmError(f"{path} leads out of {root}; nothing of it was written")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise HelmError(f"{target} cannot be written: {error.strerror or error}") from error
        print(f"wrote {target}")
    return 0
