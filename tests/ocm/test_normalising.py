"""Normal forms and digests, as both implementations of the model make them."""

from __future__ import annotations

import copy
import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.ocm import ALGORITHMS, DescriptorError, digest_of, normalise, read_descriptor
from kymatui.ocm.normalisation import canonical_json, go_json
from tests.ocm.components import component, resource

V1, V2, V3, V4 = ALGORITHMS


def form(document: dict[str, Any], algorithm: str) -> Any:
    """The normal form as JSON."""
    return json.loads(normalise(read_descriptor(document), algorithm))


def part(document: dict[str, Any], algorithm: str) -> Any:
    return form(document, algorithm)["component"]


def test_the_vectors_of_the_model(shared: Path) -> None:
    vectors = json.loads((shared / "ocm" / "vectors.json").read_text())
    assert vectors
    for vector in vectors:
        descriptor = read_descriptor(vector["descriptor"])
        algorithm = vector["algorithm"]
        assert normalise(descriptor, algorithm).decode() == vector["normalised"], vector["name"]
        assert digest_of(descriptor, algorithm, "SHA-256") == vector["sha256"], vector["name"]
        assert digest_of(descriptor, algorithm, "SHA-512") == vector["sha512"], vector["name"]


def test_v1_is_lists_of_single_entries_with_forced_nulls() -> None:
    document = component(resources=[resource()], componentReferences=[{"name": "x", "componentName": "b.org/x"}])
    assert normalise(read_descriptor(document), V1).decode() == (
        '[{"component":[{"componentReferences":[[{"componentName":"b.org/x"},{"extraIdentity":null},{"name":"x"},'
        '{"version":""}]]},{"name":"acme.org/c"},{"provider":"acme"},{"resources":[[{"extraIdentity":null},'
        '{"name":"r"},{"relation":"local"},{"type":"yaml"},{"version":"1.0.0"}]]},{"version":"1.0.0"}]},'
        '{"meta":[{"schemaVersion":"v2"}]}]'
    )


def test_v3_is_canonical_json_with_empty_lists() -> None:
    assert normalise(read_descriptor(component()), V3).decode() == (
        '{"component":{"componentReferences":[],"name":"acme.org/c","provider":{"name":"acme"},"resources":[],'
        '"sources":[],"version":"1.0.0"}}'
    )


LABELS = [
    {"name": "a", "value": 1, "signing": True, "version": "v1", "merge": {"algorithm": "simple"}},
    {"name": "b", "value": 2},
    {"name": "c", "value": 3, "signing": False},
]


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        (V2, [{"name": "a", "value": 1, "signing": True, "version": "v1"}]),
        (V3, [{"name": "a", "value": 1, "signing": True, "version": "v1"}]),
        (V4, [{"name": "a", "value": 1, "signing": True}]),
    ],
)
def test_only_signed_labels_count(algorithm: str, expected: list[Any]) -> None:
    source = {"name": "s", "version": "1", "type": "git", "access": {"type": "gitHub"}, "labels": LABELS}
    found = part(component(labels=LABELS, resources=[resource(labels=LABELS)], sources=[source]), algorithm)
    assert found["labels"] == found["resources"][0]["labels"] == found["sources"][0]["labels"] == expected


def test_labels_that_are_all_left_out_leave_no_list() -> None:
    assert "labels" not in part(component(labels=LABELS[1:]), V3)


def test_labels_of_references_are_filtered_in_v1_alone() -> None:
    document = component(componentReferences=[{"name": "x", "version": "1", "componentName": "b", "labels": LABELS}])
    assert '"name":"b"' not in normalise(read_descriptor(document), V1).decode()
    for algorithm in (V2, V3):
        assert part(document, algorithm)["componentReferences"][0]["labels"] == [*LABELS[:2], {"name": "c", "value": 3}]
    assert [one["name"] for one in part(document, V4)["componentReferences"][0]["labels"]] == ["a", "b", "c"]


@pytest.mark.parametrize("algorithm", [V2, V3, V4])
@pytest.mark.parametrize("access", ["none", "None"])
def test_what_is_nowhere_has_no_digest(algorithm: str, access: str) -> None:
    digest = {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1", "value": "ab"}
    resources = [resource(digest=digest), resource("s", digest=digest, access={"type": access})]
    found = part(component(resources=resources), algorithm)["resources"]
    assert [one.get("digest") for one in found] == [digest, None]


@pytest.mark.parametrize(("algorithm", "told_apart"), [(V1, True), (V2, True), (V3, False), (V4, False)])
def test_resources_that_cannot_be_told_apart(algorithm: str, told_apart: bool) -> None:
    resources = [resource(version="1"), resource(version="2"), resource(version="3"), resource("other")]
    text = normalise(read_descriptor(component(resources=resources)), algorithm).decode()
    identity = '"extraIdentity":[{"version":"%s"}]' if algorithm == V1 else '"extraIdentity":{"version":"%s"}'
    assert [identity % number in text for number in "123"] == [told_apart, told_apart, False]


@pytest.mark.parametrize(
    ("provider", "name", "labels"),
    [
        ("acme", "acme", None),
        ('{"name":"acme"}', "acme", None),
        ('{"name":"acme","labels":[{"name":"a","value":1,"signing":true}]}', "acme", 1),
        ('{"name":"acme","labels":[{"name":"a","value":1}]}', "acme", None),
        ('"acme"', '"acme"', None),
    ],
)
def test_providers_are_names_or_json(provider: str, name: str, labels: int | None) -> None:
    found = part(component(provider=provider), V3)["provider"]
    assert found["name"] == name
    assert len(found.get("labels", ())) == (labels or 0)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2024-05-17T12:00:00Z", "2024-05-17T12:00:00Z"),
        ("2024-05-17T12:00:00+02:00", "2024-05-17T10:00:00Z"),
        ("2024-05-17T12:00:00.49Z", "2024-05-17T12:00:00Z"),
        ("2024-12-31T23:59:59.5Z", "2025-01-01T00:00:00Z"),
    ],
)
def test_the_time_of_creation_is_signed_in_utc_and_whole_seconds(written: str, expected: str) -> None:
    document = component(creationTime=written)
    assert part(document, V3)["creationTime"] == expected
    assert part(document, V4)["creationTime"] == written


@pytest.mark.parametrize("written", ["yesterday", "2024-05-17", "2024-05-17T12:00:00"])
def test_a_time_that_is_none(written: str) -> None:
    with pytest.raises(DescriptorError, match="creationTime"):
        normalise(read_descriptor(component(creationTime=written)), V3)


def test_nulls_within_values_are_left_out_of_the_newest_form_alone() -> None:
    document = component(labels=[{"name": "a", "signing": True, "value": {"x": None, "y": [None]}}])
    assert part(document, V3)["labels"][0]["value"] == {"x": None, "y": [None]}
    assert part(document, V4)["labels"][0]["value"] == {"y": [None]}


def test_references_have_a_digest_in_the_newest_form_even_where_there_is_none() -> None:
    document = component(componentReferences=[{"name": "x", "version": "1", "componentName": "b"}])
    assert "digest" not in part(document, V3)["componentReferences"][0]
    assert part(document, V4)["componentReferences"][0]["digest"]["value"] == ""


def test_both_schemas_have_the_same_form_from_v2_on() -> None:
    label = {"name": "l", "value": {"b": 1, "a": [2.5]}, "signing": True}
    second = component(labels=[label], resources=[resource(extraIdentity={"arch": "arm"})])
    third = {
        "apiVersion": "ocm.software/v3alpha1",
        "kind": "ComponentVersion",
        "metadata": {"name": "acme.org/c", "version": "1.0.0", "provider": {"name": "acme"}, "labels": [label]},
        "spec": {"resources": [resource(extraIdentity={"arch": "arm"})]},
    }
    for algorithm in (V2, V3, V4):
        assert form(second, algorithm) == form(third, algorithm)
    assert normalise(read_descriptor(third), V1).decode() == (
        '[{"apiVersion":"ocm.software/v3alpha1"},{"kind":"ComponentVersion"},{"metadata":[{"labels":[[{"name":"l"},'
        '{"signing":true},{"value":[{"a":[2.5]},{"b":1}]}]]},{"name":"acme.org/c"},{"provider":[{"name":"acme"}]},'
        '{"version":"1.0.0"}]},{"spec":[{"resources":[[{"extraIdentity":[{"arch":"arm"}]},{"name":"r"},'
        '{"relation":"local"},{"type":"yaml"},{"version":"1.0.0"}]]}]}]'
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_may_change_on_a_transfer_does_not_count(algorithm: str) -> None:
    document = component(resources=[resource()])
    moved = copy.deepcopy(document)
    moved["component"]["resources"][0]["access"] = {"type": "ociArtifact", "imageReference": "b/c:1"}
    moved["component"]["resources"][0]["srcRefs"] = [{"identitySelector": {"name": "s"}}]
    moved["component"]["repositoryContexts"] = [{"type": "OCIRegistry", "baseUrl": "elsewhere"}]
    moved["signatures"] = [{"name": "s", "digest": {}, "signature": {}}]
    moved["nestedDigests"] = [{"name": "x"}]
    assert normalise(read_descriptor(document), algorithm) == normalise(read_descriptor(moved), algorithm)


@pytest.mark.parametrize(("algorithm", "hash_name"), [("jsonNormalisation/v9", "SHA-256"), (V3, "MD5")])
def test_what_is_not_known_is_refused_by_name(algorithm: str, hash_name: str) -> None:
    with pytest.raises(DescriptorError, match=f"{algorithm if hash_name == 'SHA-256' else hash_name}"):
        digest_of(read_descriptor(component()), algorithm, hash_name)


@pytest.mark.parametrize(("name", "length"), [("SHA-256", 64), ("sha256", 64), ("SHA-512", 128), ("sha512", 128)])
def test_hashes_by_their_old_and_new_names(name: str, length: int) -> None:
    descriptor = read_descriptor(component())
    expected = hashlib.new(f"sha{length * 4}", normalise(descriptor, V3)).hexdigest()
    assert digest_of(descriptor, V3, name) == expected


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123456789012345678901, "123456789012345680000"),
        (9007199254740993, "9007199254740992"),
        (0.000001, "0.000001"),
        (0.0000001, "1e-7"),
        (1.5e-9, "1.5e-9"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (333333333.33333329, "333333333.3333333"),
        ("\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/", '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
        ("<&>\u2028\x7f", '"<&>\u2028\x7f"'),
        ("\ud800", '"\ufffd"'),
        ({"\ufb33": 1, "\U0001f600": 2, "\u20ac": 3, "1": 4, "\r": 5}, '{"\\r":5,"1":4,"€":3,"😀":2,"\ufb33":1}'),
    ],
)
def test_canonical_json(value: Any, written: str) -> None:
    assert canonical_json(value).decode() == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("<a>&\u2028\u2029", '"\\u003ca\\u003e\\u0026\\u2028\\u2029"'),
        ("\b\f\n\r\t\x01", '"\\b\\f\\n\\r\\t\\u0001"'),
        (-0.0, "-0"),
        ({"\U0001f600": 1, "\ufb33": 2}, '{"\ufb33":2,"😀":1}'),
    ],
)
def test_json_as_go_writes_it(value: Any, written: str) -> None:
    assert go_json(value).decode() == written


@given(st.integers(0, 2**64 - 1))
def test_every_number_is_written_with_the_digits_that_bring_it_back(bits: int) -> None:
    number = struct.unpack("<d", struct.pack("<Q", bits))[0]
    if number in (float("inf"), float("-inf")) or number != number:
        with pytest.raises(DescriptorError):
            canonical_json(number)
    else:
        assert float(canonical_json(number)) == number


_json = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(_json)
def test_canonical_json_is_one_spelling_of_the_same_value(value: Any) -> None:
    written = canonical_json(value)
    assert canonical_json(json.loads(written)) == written


@pytest.mark.parametrize("writer", [canonical_json, go_json])
def test_values_that_are_nested_too_deeply(writer: Any) -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    with pytest.raises(DescriptorError, match="too deeply"):
        writer(value)
