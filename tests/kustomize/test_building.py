"""Kustomizations: what belongs to them, what they may read, and what is refused by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kymatui.engine.sources import render_target
from kymatui.errors import SourceError
from kymatui.kustomize.model import resmap
from kymatui.kustomize.model.resmap import parse_requirements
from tests.engine.sources.fetching import StoredBlobs
from tests.engine.sources.packing import link, tar

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {volumes: [{name: v, configMap: {name: a}}]}\n"


def built(files: dict[str, str], folder: str = "") -> list[dict[str, Any]]:
    data = {name: text.encode() for name, text in files.items()}
    return list(render_target.from_files(data, "archive", name="m", folder=folder).objects)


def one(text: str, **files: str) -> list[dict[str, Any]]:
    return built({"kustomization.yaml": text, "a.yaml": MAP, **files})


def test_names_that_change_change_where_they_are_used() -> None:
    config_map, pod = one("resources: [a.yaml, p.yaml]\nnamePrefix: x-\n", **{"p.yaml": POD})
    assert config_map["metadata"]["name"] == "x-a"
    assert pod["spec"]["volumes"][0]["configMap"]["name"] == "x-a"


def test_generated_names_end_with_the_hash_of_their_content() -> None:
    text = "resources: [p.yaml]\nconfigMapGenerator: [{name: a, literals: [k=%s]}]\n"
    names = []
    for value in ("1", "1", "2"):
        config_map, pod = built({"kustomization.yaml": text % value, "p.yaml": POD})
        assert pod["spec"]["volumes"][0]["configMap"]["name"] == config_map["metadata"]["name"]
        names.append(config_map["metadata"]["name"])
    assert names[0] == names[1] != names[2]
    assert all(name.startswith("a-") and len(name) == 12 for name in names)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("openapi: {path: a.json}", "openapi is not supported"),
        ("helmCharts: [{name: A}]", "helmCharts is not supported"),
        ("generators: [g.yaml]", "generators is not supported"),
        ("transformers: [g.yaml]", "transformers: g.yaml is not a file"),
        ('transformers: ["{apiVersion: x/v1, kind: Magic, metadata: {name: m}}"]', "Magic is not supported"),
        ("validators: [g.yaml]", "validators is not supported"),
        ("crds: [g.yaml]", "crds is not supported"),
        ("openapi: {path: x}", "openapi is not supported"),
        ("buildMetadata: [originAnnotations]", "buildMetadata is not supported"),
        ("resources: ['https://x.io/a.yaml']", "'https://x.io/a.yaml' is a remote resource"),
        ("resources: ['github.com/a/b?ref=v1']", "is a remote resource"),
        ("resources: ['git@github.com:a/b.git']", "is a remote resource"),
        ("components: ['https://x.io/a']", "is a remote resource"),
        ("resourcs: [a.yaml]", "resourcs is not a known field"),
        ("resources: a.yaml", "resources is not a list"),
        ("resources: [1]", "resources is not a list of strings"),
        ("resources: ['']", "a path in the kustomization is empty"),
        ("resources: [nope.yaml]", "file or folder 'nope.yaml' not found"),
        ("namePrefix: 1", "namePrefix is not a string"),
        ("commonLabels: {a: 1}", "commonLabels has values that are not strings"),
        ("images: [{name: a, newTag: 1.0}]", r"images\[0\]: newTag is not a string"),
        ("labels: [{pairs: {a: b}, odd: 1}]", r"labels\[0\]: odd is not a known field"),
        ("apiVersion: v1", "apiVersion is 'v1', expected kustomize.config.k8s.io/v1beta1"),
        ("kind: List", "kind is 'List'"),
        ("a: [", "kustomization.yaml: line 3, column 1: did not find expected node content"),
        ("patches: [{patch: 'a: b'}]", "has no apiVersion|the object has no"),
        ("patches: [{}]", "needs exactly one of patch and path"),
        ("patches: [{path: a.yaml, target: {name: '['}}]", "is not a valid pattern"),
        ("patches: [{path: a.yaml, target: {labelSelector: '(('}}]", "is not a selector"),
        ("replicas: [{name: nope, count: 1}]", "workload not found: 'nope'"),
        ("sortOptions: {order: random}", "order is 'random', expected legacy or fifo"),
    ],
)
def test_what_is_wrong_or_not_supported_is_refused_by_name(text: str, words: str) -> None:
    if "resources" not in text and "kind" not in text:
        text = f"resources: [a.yaml]\n{text}"
    with pytest.raises(SourceError, match=words):
        one(text)


def test_an_error_names_the_file_the_document_and_the_line() -> None:
    with pytest.raises(SourceError, match=r"archive: a\.yaml: document 2, line 6: the object has no kind"):
        built({"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": MAP + "---\napiVersion: v1\n"})


def test_an_archive_may_have_one_folder_around_it_or_several_kustomizations() -> None:
    assert built({"root/kustomization.yaml": "resources: [a.yaml]\n", "root/a.yaml": MAP})
    many = {"x/kustomization.yaml": "resources: [../y]\n", "y/kustomization.yaml": "resources: [a.yaml]\n"}
    assert built({**many, "y/a.yaml": MAP}, folder="x")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"kustomization.yaml": "resources: [../../etc]\n"}, "file or folder .* not found|includes itself"),
        ({"x/kustomization.yaml": "resources: [../a.yaml]\n", "a.yaml": MAP}, "is outside the folder"),
        (
            {"x/kustomization.yaml": "configMapGenerator: [{name: g, files: [../a.yaml]}]\n", "a.yaml": MAP},
            "is outside the folder",
        ),
        ({"x/kustomization.yaml": "patches: [{path: ../a.yaml}]\n", "a.yaml": MAP}, "is outside the folder"),
        (
            {"x/kustomization.yaml": "resources: [sub]\n", "x/sub/kustomization.yaml": "resources: [..]\n"},
            "includes itself",
        ),
        ({"x/kustomization.yaml": "resources: [.]\n"}, "includes itself"),
        ({"x/kustomization.yaml": "a: b", "x/Kustomization": "a: b"}, "more than one"),
        ({"x/a.yaml": MAP}, "none of"),
    ],
)
def test_what_may_not_be_read(files: dict[str, str], words: str) -> None:
    with pytest.raises(SourceError, match=words):
        built(files, folder="x" if any(name.startswith("x/") for name in files) else "")


def test_archives_that_lead_out_are_refused() -> None:
    with pytest.raises(SourceError, match="leads out"):
        render_target.from_archive(tar({"kustomization.yaml": "", "../a.yaml": MAP}), "archive", name="m")
    with pytest.raises(SourceError, match="is a link"):
        render_target.from_archive(
            tar({"kustomization.yaml": "", "a.yaml": link("a.yaml", "/etc")}), "archive", name="m"
        )


def test_a_folder_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (tmp_path / "k" / "a.yaml").write_text(MAP)
    bundle = render_target.from_path(tmp_path / "k", name="m", namespace="shop")
    assert (bundle.name, bundle.namespace, bundle.origin.kind) == ("m", "shop", "kustomize")
    (tmp_path / "k.tgz").write_bytes(tar({"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": MAP}, packed=True))
    assert render_target.from_path(tmp_path / "k.tgz", name="m").objects == bundle.objects


def test_of_several_kustomizations_in_an_archive_one_has_to_be_named() -> None:
    files = {f"{name}/kustomization.yaml": f"resources: [m.yaml]\nnamePrefix: {name}-\n" for name in "ab"}
    data = tar({**files, "a/m.yaml": MAP, "b/m.yaml": MAP})
    with pytest.raises(SourceError, match="archive has several folders: a, b"):
        render_target.from_archive(data, "archive", name="m")
    blobs = StoredBlobs(urls={"https://x.io/k.tgz": data})
    made = render_target.from_address("https://x.io/k.tgz//b", blobs, name="m")
    assert made.objects[0]["metadata"]["name"].startswith("b-")
    with pytest.raises(SourceError, match=r"https://x\.io/k is not an archive"):
        render_target.from_address("https://x.io/k", blobs, name="m")


def test_links_do_not_lead_out_of_a_boundary(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(MAP)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (tmp_path / "in" / "a.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(SourceError, match="leads out of"):
        render_target.from_path(tmp_path / "in", name="m", boundary=tmp_path / "in")
    with pytest.raises(SourceError, match="is outside the folder"):
        render_target.from_path(tmp_path / "in", name="m")


def test_kustomizations_that_include_each_other_twice_do_not_grow_without_end() -> None:
    files = {f"{n}/kustomization.yaml": f"resources: [../{n}a, ../{n}b]\n" for n in range(30)}
    for n in range(30):
        for half in "ab":
            files[f"{n}{half}/kustomization.yaml"] = f"resources: [../{n + 1}]\nnamePrefix: {half}\n"
    files["30/kustomization.yaml"] = "configMapGenerator: [{name: g}]\n"
    with pytest.raises(SourceError, match="more than 1000 kustomizations"):
        built(files, folder="0")


def test_copies_within_an_object_do_not_grow_without_end() -> None:
    steps = "".join(f"    - {{op: copy, from: /data, path: /data/a{n}}}\n" for n in range(40))
    with pytest.raises(SourceError, match="operation 19, copy /data/a18: it has too many copies"):
        one(f"resources: [a.yaml]\npatches:\n- target: {{kind: ConfigMap}}\n  patch: |\n{steps}")


def test_the_digest_is_of_what_was_read(tmp_path: Path) -> None:
    for text in ("one", "two"):
        (tmp_path / text).mkdir()
        (tmp_path / text / "kustomization.yaml").write_text("resources: [a.yaml]\n")
        (tmp_path / text / "a.yaml").write_text(MAP)
        (tmp_path / text / "unused.txt").write_text(text)
    first, second = (render_target.from_path(tmp_path / text, name="m").origin.digest for text in ("one", "two"))
    assert first == second
    (tmp_path / "two" / "a.yaml").write_text(MAP.replace("k: v", "k: w"))
    assert render_target.from_path(tmp_path / "two", name="m").origin.digest != first


@pytest.mark.parametrize("module", ["kustomize", "template-operator", "watchers"])
def test_the_kustomizations_of_real_modules(shared: Path, module: str) -> None:
    for path in sorted((shared / "kyma" / module).rglob("kustomization.yaml")):
        assert render_target.from_path(path.parent, name="m").objects, path


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b,c!=d", {"a": "b"}, True),
        ("a=b,c!=d", {"a": "b", "c": "d"}, False),
        ("a in (b, c)", {"a": "c"}, True),
        ("a notin (b,c)", {"a": "c"}, False),
        ("a notin (b)", {}, True),
        ("a", {"a": ""}, True),
        ("!a , b", {"b": "x"}, True),
        ("x.io/a=b", {"x.io/a": "b"}, True),
    ],
)
def test_selectors(text: str, labels: dict[str, str], expected: bool) -> None:
    assert all(holds(labels) for holds in parse_requirements(text)) is expected


DOUBLED = {
    "copies": "patches:\n- target: {kind: ConfigMap}\n  patch: |\n"
    + "".join(f"    - {{op: copy, from: /data, path: /data/a{n}}}\n" for n in range(40)),
    "values": "patches:\n- target: {kind: ConfigMap}\n  patch: |\n    - &v {op: add, path: /x, value: ["
    + "[]," * 3000
    + "]}\n"
    + "    - *v\n" * 300,
    "replacements": "replacements:\n"
    + "- {source: {kind: ConfigMap, fieldPath: data}, targets: [{select: {kind: ConfigMap},"
    " fieldPaths: [data.b, data.c], options: {create: true}}]}\n" * 40,
    "depth": "replacements:\n"
    + "- {source: {kind: ConfigMap, fieldPath: data}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.b],"
    " options: {create: true}}]}\n" * 600,
    "deep paths": "replacements:\n- {sourceValue: x, targets: [{select: {kind: ConfigMap}, fieldPaths: [data"
    + ".a" * 5000
    + "], options: {create: true}}]}\n",
    "joined texts": "replacements:\n"
    + "- {source: {kind: ConfigMap, fieldPath: data.x}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x],"
    " options: {delimiter: '-', index: 9}}]}\n" * 60,
    "nodes": "a: &a [" + "x," * 900 + "]\nb: [" + "*a," * 2000 + "]\n",
}


@pytest.mark.parametrize("name", DOUBLED)
def test_a_build_is_bounded_in_what_it_reads_and_copies(name: str) -> None:
    with pytest.raises(SourceError) as caught:
        one(f"resources: [a.yaml]\n{DOUBLED[name]}")
    assert len(str(caught.value)) < 300


def test_a_build_is_bounded_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resmap, "MOST_SECONDS", -1.0)
    with pytest.raises(SourceError, match="takes longer than"):
        one("resources: [a.yaml]\n")


ANNOTATED = """apiVersion: v1
kind: Namespace
metadata:
  name: x
  annotations:
    empty:
    tilde: ~
    word: null
    number: 1.50
    hex: 0x10
    flag: true
"""


def test_annotations_become_text_as_they_are_spelled() -> None:
    (namespace,) = one("resources: [n.yaml]\n", **{"n.yaml": ANNOTATED})
    assert namespace["metadata"]["annotations"] == {
        "empty": "",
        "tilde": "~",
        "word": "null",
        "number": "1.50",
        "hex": "0x10",
        "flag": "true",
    }


def test_annotations_of_a_patch_become_text_and_null_deletes() -> None:
    patch = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {n: 7, m: null}}\n"
    text = f"resources: [a.yaml]\ncommonAnnotations: {{m: x}}\npatches: [{{patch: {patch!r}}}]\n".replace("'", '"')
    (config_map,) = one(text)
    assert config_map["metadata"]["annotations"] == {"n": "7", "m": "x"}


JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: j, annotations: {internal.config.kubernetes.io/needsHashSuffix: enabled}}
spec: {template: {spec: {containers: [{name: c, image: "i:%s"}]}}}
"""


def test_an_object_that_is_marked_for_a_hash_gets_one() -> None:
    """kustomize's hash of a Job depends on its lines and comments; ours only on its content, and a note says so."""
    marked = MAP.replace(
        "{name: a}", "{name: a, annotations: {internal.config.kubernetes.io/needsHashSuffix: enabled}}"
    )
    (config_map, *_) = one("resources: [a.yaml]\n", **{"a.yaml": marked})
    (generated,) = built({"kustomization.yaml": "configMapGenerator: [{name: a, literals: [k=v]}]\n"})
    assert config_map == generated
    names = [one("resources: [j.yaml]\n", **{"j.yaml": JOB % tag})[0]["metadata"]["name"] for tag in "112"]
    assert names[0] == names[1] != names[2]
    assert names[0].startswith("j-")
    files = {"kustomization.yaml": b"resources: [j.yaml]\n", "j.yaml": (JOB % 1).encode()}
    (note,) = render_target.from_files(files, "archive", name="m").notes
    assert names[0] in note


def test_images_turn_lists_without_a_value_into_empty_ones() -> None:
    spec = "spec:\n  initContainers:\n  containers: [{name: c, image: i}]\n"
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\n{spec}"
    (same,) = one("resources: [p.yaml]\n", **{"p.yaml": pod})
    assert same["spec"]["initContainers"] is None
    (changed,) = one("resources: [p.yaml]\nimages: [{name: other, newTag: '2'}]\n", **{"p.yaml": pod})
    assert changed["spec"]["initContainers"] == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("apiGroup: rbac.authorization.k8s.io", "apiGroup is not a known field"),
        ("apiVersion: v1", "apiVersion is not a known field"),
        ("path: data/*", r"data/\*: a path cannot have \*"),
    ],
)
def test_configurations_are_read_strictly(fields: str, words: str) -> None:
    variables = "vars: [{name: V, objref: {apiVersion: v1, kind: ConfigMap, name: a}}]\n"
    text = f"resources: [a.yaml]\nconfigurations: [c.yaml]\n{variables}"
    config = f"varReference:\n- kind: ConfigMap\n  path: data/k\n- {{kind: ConfigMap, {fields}}}\n"
    with pytest.raises(SourceError, match=words):
        one(text, **{"c.yaml": config})


@pytest.mark.parametrize("text", ["", "{}\n", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"])
@pytest.mark.parametrize("more", ["", "resources:\n", 'namePrefix: ""\n'])
def test_a_kustomization_without_a_field_is_empty(text: str, more: str) -> None:
    with pytest.raises(SourceError, match="is empty"):
        one((text if text != "{}\n" or not more else "") + more)
    assert one("resources: []\n") == []
