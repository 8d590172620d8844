"""`kymatui bundle scaffold`: writes a module config and the files that it names."""

from __future__ import annotations

import argparse
import posixpath
import shlex

from kymatui.cli.commands.bundle.create import CONFIG as CREATED_CONFIG
from kymatui.cli.output.printing import print_line
from kymatui.publishing.places import open_sources
from kymatui.publishing.scaffold import SCAFFOLDED_CONFIG, ScaffoldRequest, scaffold_module
from kymatui.sessions.fetching import FetchOptions

MANIFEST = "manifest.yaml"
DEFAULT_CR = "default-cr.yaml"
SECURITY = "sec-scanners-config.yaml"
NAME = "kyma-project.io/module/mymodule"
VERSION = "0.0.1"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--module-team", default="", metavar="TEAM", help="team that is responsible: kyma/TEAM (required)"
    )
    parser.add_argument("--module-name", default=NAME, metavar="NAME", help=f"name of the module (default: {NAME})")
    parser.add_argument(
        "--module-version", default=VERSION, metavar="VERSION", help=f"version of the module (default: {VERSION})"
    )
    parser.add_argument("-d", "--directory", default=".", metavar="DIR", help="folder to write to (default: .)")
    parser.add_argument(
        "-c",
        "--config-file",
        default=SCAFFOLDED_CONFIG,
        metavar="NAME",
        help=f"module config (default: {SCAFFOLDED_CONFIG})",
    )
    parser.add_argument("-o", "--overwrite", action="store_true", help="replace an existing module config")
    parser.add_argument(
        "--gen-manifest", default=MANIFEST, metavar="NAME", help=f"manifest, kept if it exists (default: {MANIFEST})"
    )
    parser.add_argument(
        "--gen-default-cr",
        nargs="?",
        const=DEFAULT_CR,
        default="",
        metavar="NAME",
        help=f"also name a default CR, kept if it exists (without NAME: {DEFAULT_CR})",
    )
    parser.add_argument(
        "--gen-security-config",
        nargs="?",
        const=SECURITY,
        default="",
        metavar="NAME",
        help=f"also name a security config, kept if it exists (without NAME: {SECURITY})",
    )


def run(args: argparse.Namespace) -> int:
    request = ScaffoldRequest(
        folder=args.directory,
        config=args.config_file,
        manifest=args.gen_manifest,
        name=args.module_name,
        version=args.module_version,
        team=args.module_team,
        default_cr=args.gen_default_cr,
        security=args.gen_security_config,
        overwrite=args.overwrite,
    )
    files = scaffold_module(request, open_sources(FetchOptions()))
    for outcome, paths in (("kept", files.kept), ("written", files.written)):
        for path in paths:
            print_line(f"{outcome:<10}{path}")
    config = posixpath.normpath(files.written[-1])
    lint = "kymatui bundle lint" + ("" if config == CREATED_CONFIG else f" -c {shlex.quote(config)}")
    print_line(f"next      fill in the files until `{lint}` finds no errors")
    return 0
