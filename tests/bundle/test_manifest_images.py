"""Images of manifests: which texts are images, what is refused, and the names that they get in a component."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.publishing.manifest_images import ImageProblemError, each_image, image_resource, manifest_images
from kymatui.publishing.module_component import check_identities
from tests.bundle.sources import workload

DIGEST = "0123456789abcdef" * 4


def images(*objects: dict[str, Any]) -> list[str]:
    return [one.text for one in manifest_images(objects)]


def test_images_are_those_of_deployments_and_statefulsets_once_each() -> None:
    found = images(
        workload("r.io/a:1.0.0"),
        workload("r.io/b:1.0.0", kind="StatefulSet"),
        workload("r.io/c:1.0.0", kind="DaemonSet"),
        workload("r.io/a:1.0.0", name="other"),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r.io/d:1.0.0"}},
    )
    assert found == ["r.io/a:1.0.0", "r.io/b:1.0.0"]


def test_init_containers_count_too() -> None:
    body = workload("r.io/a:1.0.0")
    body["spec"]["template"]["spec"]["initContainers"] = [{"name": "i", "image": "r.io/i:1.0.0"}]
    assert images(body) == ["r.io/a:1.0.0", "r.io/i:1.0.0"]


@pytest.mark.parametrize(
    ("value", "is_image"),
    [
        ("r.io/x:1.0.0", True),
        ("busybox:1.36", True),
        (f"r.io/x@sha256:{DIGEST}", True),
        ("r.io:5000/x:1", True),
        ("localhost:8080", False),
        ("redis:6379", False),
        ("http://backend:8080/x", False),
        ("backend:8080/path", False),
        ("a b:c", False),
        ("10:30:00", False),
        ("Some:Text", False),
        ("plain", False),
        ("", False),
        ("x:" + "1" * 260, False),
    ],
)
def test_a_variable_is_an_image_only_if_it_can_be_one(value: str, is_image: bool) -> None:
    found = images(workload("r.io/a:1.0.0", env=[{"name": "V", "value": value}, {"name": "W"}, "odd"]))
    assert found == ["r.io/a:1.0.0", *([value] if is_image else [])]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("r.io/a:latest", "has the tag latest"),
        ("r.io/a:Main", "has the tag Main"),
        ("r.io/a", "has no tag or digest"),
        ("r.io:5000/a", "has no tag or digest"),
        ("r.io/A:1.0.0", "is not an image reference"),
        ("r.io/a:1.0.0 ", "is not an image reference"),
        ("r.io/a@sha256:short", "is not an image reference"),
    ],
)
def test_an_image_without_a_fixed_version_is_refused(text: str, words: str) -> None:
    with pytest.raises(ImageProblemError, match=words) as refused:
        images(workload(text))
    assert str(refused.value).startswith("Deployment sample-manager, container manager: ")


def test_a_variable_with_a_moving_tag_is_refused() -> None:
    with pytest.raises(ImageProblemError, match=r"variable IMAGE: image 'r.io/x:latest'"):
        images(workload("r.io/a:1.0.0", env=[{"name": "IMAGE", "value": "r.io/x:latest"}]))


def test_what_a_sidecar_injector_replaces_is_not_an_image() -> None:
    assert images(workload("auto")) == []


def test_the_version_of_a_resource_may_be_longer_than_a_tag() -> None:
    (found,) = manifest_images([workload(f"r.io/app:{'a' * 128}")])
    assert image_resource(found).version == f"0.0.0-{'a' * 128}"


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("r.io/p/one:1.2.3", "one", "1.2.3"),
        ("r.io/p/two:v1.2.3", "two", "v1.2.3"),
        ("r.io:5000/three:2.0.0-rc.1", "three", "2.0.0-rc.1"),
        ("r.io/five:20240101-abcdef", "five", "0.0.0-20240101-abcdef"),
        ("r.io/six:release_7", "six", "0.0.0-release-7"),
        ("library/eight:8", "eight", "0.0.0-8"),
        ("r.io/nine:_.", "nine", "0.0.0-unknown"),
        (f"r.io/p/ten@sha256:{DIGEST}", "ten-01234567", "0.0.0+sha256.0123456789ab"),
        (f"r.io/two:1.2.3@sha256:{DIGEST}", "two-01234567", "1.2.3+sha256.0123456789ab"),
        (f"r.io/three:dev_1@sha256:{DIGEST}", "three-01234567", "0.0.0-dev-1+sha256.0123456789ab"),
        (f"r.io/x@sha512:{DIGEST * 2}", "x-01234567", "0.0.0+sha512.0123456789ab"),
    ],
)
def test_an_image_gets_its_name_and_version_from_its_reference(text: str, name: str, version: str) -> None:
    (one,) = manifest_images([workload(text)])
    found = image_resource(one)
    assert (found.name, found.version, found.reference) == (name, version, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("r.io/a:1.0.0", "the name 'a' must have at least 2 characters"),
        ("r.io/my.app:1.0.0", "the name 'my.app' must have"),
        ("r.io/app:007", "'0.0.0-007' is not a semantic version"),
        ("r.io/app:01.2.3", "'01.2.3' is not a semantic version"),
    ],
)
def test_an_image_that_ocm_would_refuse_is_refused_here(text: str, words: str) -> None:
    (one,) = manifest_images([workload(text)])
    with pytest.raises(ImageProblemError, match=words):
        image_resource(one)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["a.io/app:1.0.0", "b.io/app:1.0.0"], "would be one resource: app 1.0.0"),
        (["a.io/raw-manifest:9.0.0"], "has the name of a resource of the module: raw-manifest"),
        (["a.io/moduletemplate:9.0.0"], "has the name of a resource of the module: moduletemplate"),
    ],
)
def test_two_things_are_never_one_resource(texts: list[str], words: str) -> None:
    found = [image_resource(one) for text in texts for one in manifest_images([workload(text)])]
    with pytest.raises(ImageProblemError, match=words):
        check_identities(found)


KEYS = st.sampled_from(["spec", "template", "containers", "initContainers", "env", "image", "value"])
SCALARS = st.none() | st.booleans() | st.text(max_size=5)


@given(st.recursive(SCALARS, lambda below: st.lists(below) | st.dictionaries(KEYS, below)))
def test_no_form_of_a_workload_breaks_the_search(spec: Any) -> None:
    list(each_image([{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}]))
