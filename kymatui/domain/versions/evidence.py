"""Evidence of a module's deployed version, ordered by trust.

The manager's image comes first, because it is what runs. A tag that is no version (`latest`, a commit) is resolved
by comparing the image with those in the raw manifests of known versions. Labels and lifecycle-manager's reports
come last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from kymatui.domain.kubernetes.image_references import Image, parse_image
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.versions import parse_version, same_version, version_of_tag

LABEL_APP_VERSION = "app.kubernetes.io/version"


class EvidenceSource(StrEnum):
    """The sources of evidence, the most trusted first."""

    IMAGE = "image tag"
    IMAGE_MATCH = "image in a raw manifest"
    LABEL = "label app.kubernetes.io/version"
    POD_LABEL = "label app.kubernetes.io/version of the pods"
    VERSION_LABEL = "label version"
    MANIFEST = "Manifest spec.version"
    KYMA = "Kyma status"


class VersionSource(StrEnum):
    """The meanings of an installed version; the value appears on screen and in JSON."""

    RUNNING = "running"  # the manager's workload names it
    REPORTED = "reported"  # only lifecycle-manager names it, in the Manifest or the Kyma


class Evidence(Struct, frozen=True):
    """The evidence of one source; `version` is "" if `text` names none (`latest`, a digest, no tag).

    `disproved` means that this version's raw manifest has another image than the running one.
    """

    source: EvidenceSource
    version: str
    text: str
    where: ObjectRef | None = None
    disproved: bool = False


class DeployedVersion(Struct, frozen=True):
    """The deployed version, "" if unknown, and all evidence.

    `text` stands in for the version if only a tag such as `latest` is known.
    """

    version: str
    text: str
    evidence: tuple[Evidence, ...]


RawManifests = Mapping[str, Sequence[Mapping[str, Any]]]  # by version of one module


def pod_images(raw: object) -> tuple[tuple[str, str], ...]:
    """Return name and image of each container of a workload, in order."""
    spec = JsonReader(raw).child("spec").child("template").child("spec")
    return tuple((entry.text("name"), entry.text("image")) for entry in spec.children("containers"))


def manager_image(raw: object, known: Sequence[Image] = ()) -> str:
    """Return the image that identifies the module's version, "" if no container stands out.

    It is the container named manager, else one whose name contains it, else the only one, else one whose image is
    known from the descriptor or the raw manifests.
    """
    containers = pod_images(raw)
    for chosen in (
        [image for name, image in containers if name == "manager"],
        [image for name, image in containers if "manager" in name],
        [image for _, image in containers] if len(containers) == 1 else [],
        [image for _, image in containers if _is_known(image, known)],
    ):
        if chosen:
            return chosen[0]
    return ""


def _is_known(text: str, known: Sequence[Image]) -> bool:
    image = parse_image(text)
    return image is not None and any(
        image.repository == other.repository or image.name == other.name for other in known
    )


def manager_images(manifests: RawManifests) -> dict[str, tuple[Image, ...]]:
    """Return the images of all workloads in each version's raw manifest."""
    images = {}
    for version, resources in manifests.items():
        texts = [image for raw in resources for _, image in pod_images(raw)]
        images[version] = tuple(image for image in map(parse_image, texts) if image is not None)
    return images


def match_image(image: Image, images: Mapping[str, Sequence[Image]]) -> tuple[str, ...]:
    """Return the versions whose raw manifest has this image, else those with a copy of it."""
    exact = tuple(version for version, known in images.items() if any(image.is_same(other) for other in known))
    if exact:
        return exact
    return tuple(version for version, known in images.items() if any(image.is_copy(other) for other in known))


class ReportedVersions(Struct, frozen=True):
    """The versions that Manifest and Kyma status report, "" if none.

    `settled` means that the module is also reported Ready, so the version is more than an intention.
    """

    manifest: str = ""
    kyma: str = ""
    manifest_ref: ObjectRef | None = None
    kyma_ref: ObjectRef | None = None
    settled: bool = False


def gather_evidence(
    workload: object | None,
    claims: ReportedVersions,
    images: Mapping[str, Sequence[Image]],
    known: Sequence[Image] = (),
) -> tuple[Evidence, ...]:
    """Return all evidence, ordered by trust."""
    evidence: list[Evidence] = []
    if workload is not None:
        evidence += _of_workload(workload, images, known)
    running = parse_image(next((item.text for item in evidence if item.source is EvidenceSource.IMAGE), ""))
    for source, version, ref in (
        (EvidenceSource.MANIFEST, claims.manifest, claims.manifest_ref),
        (EvidenceSource.KYMA, claims.kyma, claims.kyma_ref),
    ):
        if version:
            evidence.append(Evidence(source, version, version, ref, _disproved(version, running, images)))
    return tuple(evidence)


def _disproved(version: str, running: Image | None, images: Mapping[str, Sequence[Image]]) -> bool:
    shipped = next((known for name, known in images.items() if same_version(name, version)), ())
    alike = [image for image in shipped if running is not None and image.name == running.name]
    return running is not None and bool(alike) and not any(running.is_copy(image) for image in alike)


def _of_workload(workload: object, images: Mapping[str, Sequence[Image]], known: Sequence[Image]) -> list[Evidence]:
    ref, reader = read_ref(workload), JsonReader(workload)
    every = (*known, *(image for group in images.values() for image in group))
    text = manager_image(workload, every)
    evidence = []
    if text:
        image = parse_image(text)
        tag = image.tag if image else ""
        evidence.append(Evidence(EvidenceSource.IMAGE, tag if version_of_tag(tag) else "", text, ref))
        if image is not None:
            evidence += [Evidence(EvidenceSource.IMAGE_MATCH, v, text, ref) for v in match_image(image, images)]
    labels = reader.child("metadata").labels("labels")
    pods = reader.child("spec").child("template").child("metadata").labels("labels")
    for source, value in (
        (EvidenceSource.LABEL, labels.get(LABEL_APP_VERSION)),
        (EvidenceSource.POD_LABEL, pods.get(LABEL_APP_VERSION)),
        (EvidenceSource.VERSION_LABEL, labels.get("version")),
    ):
        if value:
            evidence.append(Evidence(source, value if version_of_tag(value) else "", value, ref))
    return evidence


def deployed_version(evidence: Sequence[Evidence], desired: str, settled: bool = False) -> DeployedVersion:
    """Return the version that the evidence proves.

    An image that several versions ship, or that has the tag of another version, counts as the desired version if
    that one's raw manifest has it. Without raw manifests, a settled report of lifecycle-manager decides between a
    version with a suffix and its base release (`1.23.0-dev` ships the image `1.23.0`).
    """
    everything = tuple(evidence)
    matches = [item.version for item in everything if item.source is EvidenceSource.IMAGE_MATCH]
    if matches:
        return DeployedVersion(_chosen(matches, everything, desired), "", everything)
    first = next((item for item in everything if item.version and not item.disproved), None)
    text = next((item.text for item in everything if item.text), "")
    if first is None:
        return DeployedVersion("", _tag_or_text(text), everything)
    claimed = settled and any(same_version(item.version, desired) for item in everything if _is_claim(item))
    if claimed and first.source is EvidenceSource.IMAGE and _is_made_from(desired, first.version):
        return DeployedVersion(desired, "", everything)
    return DeployedVersion(first.version, "", everything)


def version_source(evidence: Sequence[Evidence]) -> VersionSource:
    """Return whether the evidence shows a running version or only a reported one."""
    named = [item for item in evidence if item.version and not item.disproved]
    return VersionSource.REPORTED if named and all(map(_is_claim, named)) else VersionSource.RUNNING


def _chosen(matches: Sequence[str], evidence: Sequence[Evidence], desired: str) -> str:
    """Return one of several versions with the same image: desired, reported, by tag, or first."""
    claims = [item.version for item in evidence if _is_claim(item)]
    tags = [item.version for item in evidence if item.source is EvidenceSource.IMAGE and item.version]
    for candidate in (desired, *claims, *tags):
        for version in matches:
            if same_version(version, candidate):
                return version
    return matches[0]


def _is_claim(item: Evidence) -> bool:
    return item.source in (EvidenceSource.MANIFEST, EvidenceSource.KYMA)


def _is_made_from(suffixed: str, release: str) -> bool:
    left, right = parse_version(suffixed), parse_version(release)
    if left is None or right is None:
        return False
    return left.core == right.core and bool(left.prerelease) and not right.prerelease


def _tag_or_text(text: str) -> str:
    image = parse_image(text)
    return image.tag if image is not None else ""
