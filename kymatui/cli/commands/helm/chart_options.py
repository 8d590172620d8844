"""Flags that several of helm's commands share: values, and where a chart comes from."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kymatui.errors import HelmError

if TYPE_CHECKING:
    from kymatui.helm.charts.chart import Chart


def add_values(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("values")
    group.add_argument("-f", "--values", action="append", default=[], metavar="FILE", help="a file; several merge")
    for flag, text in (
        ("--set", "key1=val1,key2=val2"),
        ("--set-string", "the same, every value a string"),
        ("--set-json", "key=JSON, or one JSON object"),
        ("--set-file", "key=FILE, whose content is the value"),
        ("--set-literal", "key=text, taken as it is"),
    ):
        group.add_argument(flag, action="append", default=[], metavar="LINE", help=text)


def read_values(args: argparse.Namespace) -> dict[str, Any]:
    """The values of all flags, in helm's order of precedence."""
    from kymatui.helm.charts.values import merge_values

    return merge_values(
        value_files=_split(args.values),
        set=args.set,
        set_string=args.set_string,
        set_json=args.set_json,
        set_file=args.set_file,
        set_literal=args.set_literal,
    )


def _split(files: Iterable[str]) -> list[str]:
    """`-f a.yaml,b.yaml` names two files, as in helm."""
    return [name for one in files for name in one.split(",") if name]


def add_source(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where the chart comes from")
    group.add_argument("--repo", default="", metavar="URL", help="the repository that has the chart")
    group.add_argument("--version", default="", metavar="RANGE", help="which version; default: the newest stable")
    group.add_argument("--devel", action="store_true", help="pre-releases too; the same as --version '>0.0.0-0'")
    group.add_argument("--username", default="", help="for the repository or the registry")
    group.add_argument("--password", default="", help="better in the environment: KYMATUI_HELM_PASSWORD")
    group.add_argument("--ca-file", default=None, metavar="FILE", help="certificates to trust instead of the system's")
    group.add_argument("--cert-file", default="", metavar="FILE", help="your own certificate, for servers that ask")
    group.add_argument("--key-file", default="", metavar="FILE", help="its key")
    group.add_argument("--insecure-skip-tls-verify", action="store_true", help="trust whatever certificate comes")
    group.add_argument("--pass-credentials", action="store_true", help="to all hosts that the repository points to")
    group.add_argument("--plain-http", action="store_true", help="speak to an OCI registry without TLS")
    group.add_argument("--verify", action="store_true", help="refuse the chart unless its provenance is signed")
    group.add_argument("--keyring", default=None, metavar="FILE", help="certificates of signers, for --verify")


def wanted_version(args: argparse.Namespace) -> str:
    return args.version or (">0.0.0-0" if args.devel else "")


def fetch(args: argparse.Namespace, reference: str, *, provenance: bool = False) -> Any:
    """The packed chart that a reference means; see `kymatui.composition.chart_fetch.fetch_chart`."""
    from kymatui.composition.chart_fetch import fetch_chart

    fetched = fetch_chart(
        reference,
        version=wanted_version(args),
        repository=args.repo,
        username=args.username,
        password=args.password or os.environ.get("KYMATUI_HELM_PASSWORD", ""),
        ca=args.ca_file,
        plain_http=args.plain_http,
        certificate=_certificate(args),
        unverified=args.insecure_skip_tls_verify,
        everywhere=args.pass_credentials,
        provenance=provenance or args.verify,
    )
    if fetched.manifest:
        print(f"Pulled: {fetched.source.removeprefix('oci://')}\nDigest: {fetched.manifest}", file=sys.stderr)
    return fetched


def _certificate(args: argparse.Namespace) -> tuple[str, str] | None:
    if not args.cert_file and not args.key_file:
        return None
    for flag, file in (("--cert-file", args.cert_file), ("--key-file", args.key_file)):
        if not Path(file).is_file():
            raise HelmError(f"{flag}: {file or 'no file'} cannot be read", hint="name the certificate and its key")
    return args.cert_file, args.key_file


def load(args: argparse.Namespace, reference: str) -> Chart:
    """A chart from a path here, else from where the flags say; verified where that is asked."""
    from kymatui.helm.charts.chart import load_archive, load_chart

    path = Path(reference)
    if path.exists() and not args.repo:
        if args.verify:
            verify_file(path, args.keyring)
        return load_chart(path)
    if "://" not in reference and not args.repo:
        raise HelmError(f'path "{reference}" not found')
    fetched = fetch(args, reference)
    if args.verify:
        verify_bytes(fetched.content, fetched.filename, fetched.provenance, args.keyring)
    return load_archive(fetched.content)


def verify_file(path: Path, keyring: str | None) -> None:
    """The archive beside its `.prov`. Raises HelmError where the signature does not hold."""
    if path.is_dir():
        raise HelmError("unpacked charts cannot be verified")
    provenance = path.with_name(f"{path.name}.prov")
    if not provenance.is_file():
        raise HelmError(f"could not load provenance file {provenance}")
    verify_bytes(path.read_bytes(), path.name, provenance.read_bytes(), keyring)


def verify_bytes(content: bytes, filename: str, provenance: bytes | None, keyring: str | None) -> None:
    from kymatui.helm.charts.provenance import verify

    if keyring is None:
        raise HelmError("--verify needs a keyring", hint="name the signers' certificates with --keyring FILE")
    if provenance is None:
        raise HelmError(f"{filename} has no provenance")
    try:
        ring = Path(keyring).read_bytes()
    except OSError as error:
        raise HelmError(f"the keyring {keyring} cannot be read: {error.strerror or error}") from error
    verify(content, filename, provenance, ring)
