"""The doors through which foreign bytes come in: what reads them, and what stands for good input."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.benchmarks.door_samples import (
    CEL,
    CHART,
    CRDS,
    FILES,
    JSON_PATCHES,
    KUSTOMIZATIONS,
    PATCHES,
    RELEASE,
    SCHEMAS,
    TEMPLATES,
    TEXTS,
)

Read = Callable[[bytes], object]


class Door(NamedTuple):
    """One door: what reads it, what its input is written in, and samples that it accepts.

    language   yaml, json, tar, template, schema, cel, or text
    seconds    processor time that one input may take
    megabytes  memory that one input may take beyond what the process had before
    allowed    the errors that are documented, besides KymatuiError
    """

    read: Read
    language: str
    samples: tuple[bytes, ...]
    seconds: float = 10.0
    megabytes: int = 700
    allowed: tuple[type[Exception], ...] = ()


@contextmanager
def _file(content: bytes, name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="door-") as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        yield path


def _with_file(read: Callable[[Path], object], name: str) -> Read:
    def opened(content: bytes) -> object:
        with _file(content, name) as path:
            return read(path)

    return opened


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return a .tgz of these files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return gzip.compress(out.getvalue(), 1, mtime=0)


def _limits() -> Any:
    from kymatui.helm import Environment, Limits

    return Environment(limits=Limits(depth=100, steps=200_000, seconds=1.0, memory=100_000_000))


def _render(files: Mapping[str, bytes | str], values: Mapping[str, Any] | None = None) -> object:
    from kymatui.helm import Chart, render

    chart = Chart.from_files(dict(files))
    return render(chart, values or {}, release_name="r", namespace="d", include_crds=True, environment=_limits())


def _template(content: bytes) -> object:
    files: dict[str, bytes | str] = {
        "Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "templates/a.txt": content,
    }
    return _render({**files, "values.yaml": CHART["c/values.yaml"], "files/a": b"a: [1, 2]\n\xff\x00"})


def _chart(content: bytes) -> object:
    from kymatui.engine.sources.chart_source import chart_bundle, from_archive

    return chart_bundle(from_archive(content, "a"), name="r", environment=_limits())


def _schema(content: bytes) -> object:
    """Read a schema, and values that are the schema itself: they are as odd as it is."""
    from kymatui.helm.schemas.validating import validate

    try:
        values = json.loads(content)
    except (ValueError, RecursionError):
        values = {}
    return validate(values if isinstance(values, dict) else {"a": values}, content)


def _layer(content: bytes) -> object:
    from kymatui.engine.bundles.yaml_objects import read_objects
    from kymatui.engine.sources.oci_layers import Shape, raw_manifest, read_layer
    from kymatui.engine.sources.render_target import from_files

    layer = read_layer(content, "layer")
    if layer.shape is Shape.KUSTOMIZATION:
        return from_files(dict(layer.files or {}), "layer", name="a")
    if layer.shape is Shape.CHART:
        return _render(dict(layer.files or {}))
    return read_objects(raw_manifest(layer.manifest, "layer"), "layer")


def _kustomization(content: bytes) -> object:
    """Build a kustomization whose files stand in one text, each behind a line `# file: NAME`."""
    from kymatui.engine.sources.render_target import from_files

    files: dict[str, bytes] = {}
    for part in content.split(b"# file: ")[1:]:
        name, _, text = part.partition(b"\n")
        files[name.decode("utf-8", "replace").strip()] = text
    return from_files(files or {"kustomization.yaml": content}, "archive", name="a")


def _crd(content: bytes) -> object:
    """Check a CRD, and as its custom resource the second document."""
    from kymatui.engine.bundles.yaml_objects import read_objects
    from kymatui.publishing.lint_rules import ServerRules

    objects = read_objects(content, "crds")
    rules = ServerRules()
    problems = [rules.definition(one) for one in objects if one.get("kind") == "CustomResourceDefinition"]
    if not problems or problems[0]:
        return problems
    return [rules.resource(objects[0], one) for one in objects[1:] if "apiVersion" in one]


def _cel(content: bytes) -> object:
    from kymatui.schemas.cel.validation_rules import compiled, expression_problem

    text = content.decode("utf-8", "replace")
    if expression_problem(text):
        return None
    value = {"a": 1, "b": "text", "c": [1, 2, 3], "d": {"e": [{"f": "g"}] * 20}, "l": list(range(200)), "s": "a" * 2000}
    return compiled(text)({"self": value, "oldSelf": value})


def _json_patch(content: bytes) -> object:
    from kymatui.sandbox.patching.json_patch import apply_json_patch

    try:
        operations = json.loads(content)
    except (ValueError, RecursionError):
        return None
    body = {"a": {"b": [1, 2, {"c": "d"}]}, "e": "f"}
    return apply_json_patch(body, operations) if isinstance(operations, list) else None


def _patch_file(content: bytes) -> object:
    """Build a kustomization with this patch of a ConfigMap, of whichever kind of patch it is."""
    from kymatui.engine.sources.render_target import from_files

    kustomization = b"resources: [a.yaml]\npatches: [{path: p.yaml, target: {kind: ConfigMap}}]\n"
    files = {"kustomization.yaml": kustomization, "a.yaml": TEXTS["manifest"], "p.yaml": content}
    return from_files(files, "archive", name="a")


def _kubeconfig(path: Path) -> object:
    from kymatui.adapters.kube.auth.kubeconfig import read_kubeconfig

    return read_kubeconfig(str(path))


def _secret(content: bytes) -> object:
    from kymatui.adapters.kube.auth.secret_kubeconfig import connect_from_secret

    return connect_from_secret(content, "Secret a")


def _manifest(content: bytes) -> object:
    from kymatui.engine.bundles.yaml_objects import from_text

    return from_text(content, name="a")


def _plan(path: Path) -> object:
    from kymatui.adapters.files.plan_files import read_plan

    return read_plan(path)


def _catalog(path: Path) -> object:
    from kymatui.adapters.content.community_catalog import read_catalog

    return read_catalog(str(path))


def _fleet(path: Path) -> object:
    from kymatui.adapters.content.change_files import read_fleet_file

    return read_fleet_file(path)


def _policy(content: bytes) -> object:
    from kymatui.domain.kyma.maintenance_windows import read_policy

    return read_policy(content)


def _values(path: Path) -> object:
    from kymatui.helm import dump_yaml, merge_values

    return dump_yaml(merge_values(value_files=[str(path)]))


def _set(content: bytes) -> object:
    from kymatui.helm import merge_values

    text = content.decode("utf-8", "surrogateescape")
    return merge_values(set=[text], set_string=[text])


def _index(content: bytes) -> object:
    from kymatui.helm.charts.repositories import read_index

    return read_index(content.decode("utf-8", "replace"))


def _descriptor(content: bytes) -> object:
    from kymatui.ocm.descriptors import parse_descriptor

    return parse_descriptor(content)


def _image_manifest(content: bytes) -> object:
    from kymatui.adapters.oci.image_manifest import read_manifest
    from kymatui.adapters.oci.image_reference import ImageReference

    reference = ImageReference("registry.example", "a/b", "1.0.0")
    manifest = read_manifest(reference, content, "application/vnd.oci.image.manifest.v1+json")
    return [getattr(manifest, name, None) for name in ("layers", "config", "manifests", "annotations")]


def _release(content: bytes) -> object:
    from kymatui.helm.rendering.releases import decode_release

    return decode_release(base64.b64encode(gzip.compress(content, 1, mtime=0)))


def _release_secret(content: bytes) -> object:
    from kymatui.helm.rendering.releases import decode_release

    return decode_release(content)


def _journal(path: Path) -> object:
    from kymatui.engine.jobs.journal import read_journal

    return list(read_journal(path))


def _inventory(content: bytes) -> object:
    from kymatui.domain.inventories import read_document

    return read_document(content, "inventory")


def _module_config(content: bytes) -> object:
    from kymatui.publishing.module_config import read_config

    return read_config(content, "module-config.yaml")


def _install_config(content: bytes) -> object:
    from kymatui.engine.sources.manifest_installs import read_configs

    return read_configs(content, "config")


def _settings(path: Path) -> object:
    from kymatui.settings.config_file import load_settings

    return load_settings({"KYMATUI_CONFIG": str(path)})


def _edited(content: bytes) -> object:
    from kymatui.engine.cluster.yaml_output import parse_yaml

    return parse_yaml(content.decode("utf-8", "replace"))


def _keys(content: bytes) -> object:
    from kymatui.errors import KymatuiError
    from kymatui.ocm.cosign_signatures import read_image_key
    from kymatui.ocm.pem import read_private_key

    with suppress(KymatuiError):
        read_image_key(content)
    return read_private_key(content, lambda: b"")


def _archive(content: bytes) -> object:
    from kymatui.engine.bundles.tar_archives import read_tar
    from kymatui.errors import KymatuiError
    from kymatui.helm import load_archive

    with suppress(KymatuiError):
        load_archive(content)
    return read_tar(content, "archive")


def _layout(content: bytes) -> object:
    """Open an archive of a layout, which is not compressed."""
    from kymatui.adapters.files.image_layout import open_archive

    with suppress(zlib.error):
        content = zlib.decompressobj(wbits=31).decompress(content, 30_000_000)
    with _file(content, "layout.tar") as path, open_archive(path) as layout:
        named = [name.rpartition(":")[::2] for name in layout.names()]
        return [(layout.tags(name), layout.referrers(name, tag), layout.manifest(name, tag)) for name, tag in named]


def _lint(path: Path) -> object:
    from kymatui.helm.linting import lint

    return lint(path)


def _backup(path: Path) -> object:
    from kymatui.adapters.files.backups import read_backup, read_heading

    return read_heading(path), read_backup(path)


def _change(path: Path) -> object:
    from kymatui.adapters.content.change_files import read_change_files

    return read_change_files([str(path)], "kcp-system")


def _ignores(path: Path) -> object:
    from kymatui.cli.commands.inspect.audit import _ignores as read_ignore_file

    return read_ignore_file(str(path))


def _stored_descriptor(content: bytes) -> object:
    from kymatui.actions.components.stored_components import _document as read_descriptor

    return read_descriptor(content, "component")


def _pull_secret(content: bytes) -> object:
    from kymatui.adapters.oci.docker_credentials import SecretCredentials

    data = {".dockerconfigjson": base64.b64encode(content).decode()}
    return SecretCredentials([{"metadata": {"name": "a"}, "data": data}]).find("registry.example")


def _docker_config(path: Path) -> object:
    from kymatui.adapters.oci.docker_credentials import DockerCredentials

    return DockerCredentials((path,), run=lambda command, key: "").find("registry.example")


def _exec_answer(content: bytes) -> object:
    from kymatui.adapters.kube.auth.exec_plugin import _read as read_answer

    return read_answer("plugin", "client.authentication.k8s.io/v1", content)


def _server_answer(content: bytes) -> object:
    from kymatui.adapters.kube.objects.decoder import Decoder, read_object
    from kymatui.adapters.kube.transport.status_errors import status_object
    from kymatui.adapters.kube.transport.transport import Answer
    from kymatui.errors import KymatuiError

    answer = Answer(200, content, request="GET /a", server="https://a.example")
    for read in (lambda: Decoder().object(content), lambda: Decoder().page(answer), lambda: status_object(content)):
        with suppress(KymatuiError):
            read()
    return read_object(answer)


def _event(content: bytes) -> object:
    from kymatui.operator.watchers.runtime_events import read_event

    return read_event(content)


def _diagnosed(content: bytes) -> object:
    from kymatui.actions.diagnose import yaml_documents
    from kymatui.domain.objects.redaction import Redactor

    return Redactor(yaml_documents).text(content.decode("utf-8", "replace"))


def _provenance(content: bytes) -> object:
    from kymatui.helm.charts.provenance import verify

    return verify(b"", "c-1.0.0.tgz", content, b"")


def _cel_errors() -> tuple[type[Exception], ...]:
    from kymatui.schemas.cel.cel_values import CelError

    return (CelError,)


CHART_ARCHIVE: Final = packed({name: text.encode() for name, text in CHART.items()})
DESCRIPTORS: Final = (packed({"component-descriptor.yaml": TEXTS["descriptor"]}),)
_MANIFEST_DIGEST: Final = hashlib.sha256(TEXTS["image manifest"]).hexdigest()
_LAYOUT_INDEX: Final = {
    "schemaVersion": 2,
    "manifests": [
        {
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": f"sha256:{_MANIFEST_DIGEST}",
            "size": len(TEXTS["image manifest"]),
            "annotations": {"org.opencontainers.image.ref.name": "a/b:1.0.0"},
        }
    ],
}
LAYOUTS: Final = (
    packed(
        {
            "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
            "index.json": json.dumps(_LAYOUT_INDEX).encode(),
            f"blobs/sha256/{_MANIFEST_DIGEST}": TEXTS["image manifest"],
        }
    ),
)
LAYERS: Final = (CHART_ARCHIVE, packed({"kustomization.yaml": b"resources: [a.yaml]\n", "a.yaml": TEXTS["manifest"]}))


def doors() -> dict[str, Door]:
    """Return all doors by name."""
    yaml: dict[str, Read] = {
        "access Secret": _secret,
        "audit ignores": _with_file(_ignores, "ignores.yaml"),
        "backup": _with_file(_backup, "a.yaml"),
        "catalog": _with_file(_catalog, "catalog.yaml"),
        "change": _with_file(_change, "change.yaml"),
        "edited object": _edited,
        "index": _index,
        "install config": _install_config,
        "kubeconfig": _with_file(_kubeconfig, "config"),
        "layer": _layer,
        "manifest": _manifest,
        "module config": _module_config,
        "plan in YAML": _with_file(_plan, "plan.yaml"),
        "values": _with_file(_values, "values.yaml"),
    }
    json_: dict[str, Read] = {
        "descriptor": _descriptor,
        "docker config": _with_file(_docker_config, "config.json"),
        "event of a runtime": _event,
        "exec plugin": _exec_answer,
        "fleet": _with_file(_fleet, "fleet.json"),
        "image manifest": _image_manifest,
        "inventory": _inventory,
        "journal": _with_file(_journal, "journal.jsonl"),
        "plan": _with_file(_plan, "plan.json"),
        "policy": _policy,
        "pull Secret": _pull_secret,
        "release": _release,
        "server": _server_answer,
    }
    text: dict[str, Read] = {
        "diagnosis": _diagnosed,
        "keys": _keys,
        "provenance": _provenance,
        "release Secret": _release_secret,
        "set": _set,
        "settings": _with_file(_settings, "config.toml"),
    }
    found = {name: Door(read, "yaml", _samples(name)) for name, read in yaml.items()}
    found |= {name: Door(read, "json", _samples(name)) for name, read in json_.items()}
    found |= {name: Door(read, "text", _samples(name)) for name, read in text.items()}
    found["chart"] = Door(_chart, "tar", (CHART_ARCHIVE,))
    found["chart to lint"] = Door(_with_file(_lint, "c-1.0.0.tgz"), "tar", (CHART_ARCHIVE,))
    found["stored descriptor"] = Door(_stored_descriptor, "tar", DESCRIPTORS)
    found["archive"] = Door(_archive, "tar", LAYERS)
    found["packed layer"] = Door(_layer, "tar", LAYERS)
    found["image layout"] = Door(_layout, "tar", LAYOUTS)
    found["template"] = Door(_template, "template", TEMPLATES, seconds=4.0, megabytes=500)
    found["schema"] = Door(_schema, "schema", SCHEMAS, seconds=20.0)
    found["CRD"] = Door(_crd, "yaml", CRDS)
    found["CEL"] = Door(_cel, "cel", CEL, allowed=_cel_errors())
    found["JSON patch"] = Door(_json_patch, "json", JSON_PATCHES)
    found["patch file"] = Door(_patch_file, "yaml", PATCHES)
    found["kustomization"] = Door(_kustomization, "yaml", KUSTOMIZATIONS)
    return found


def _samples(name: str) -> tuple[bytes, ...]:
    inline = tuple(TEXTS[key] for key in dict.fromkeys((name, name.removesuffix(" in YAML"))) if key in TEXTS)
    if name == "release":
        inline = (RELEASE,)
    elif name == "release Secret":
        inline = (base64.b64encode(gzip.compress(RELEASE, 1, mtime=0)),)
    return (*inline, *FILES.get(name, ())) or (TEXTS["manifest"],)
