"""The access of a control plane to a runtime: the Secret with its kubeconfig."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from msgspec import Struct

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.snapshot.snapshots import Object

KUBECONFIG_KEY = "config"


class RuntimeAccess(Struct, frozen=True):
    """The Secret and its kubeconfig, which the representation omits because it is confidential."""

    secret: ObjectRef
    kubeconfig: bytes

    def __repr__(self) -> str:
        return f"Access({self.secret})"


class AccessSecretMissing(Struct, frozen=True):
    """No Secret has the Kyma's name as label."""

    kyma: str


class AccessSecretAmbiguous(Struct, frozen=True):
    """More than one Secret has the Kyma's name as label."""

    kyma: str
    secrets: tuple[ObjectRef, ...]


class KubeconfigUnreadable(Struct, frozen=True):
    """The Secret has no `config`, or one that is empty or not base64."""

    secret: ObjectRef
    reason: str


def find_runtime_access(
    kyma: str, secrets: Sequence[Object]
) -> RuntimeAccess | AccessSecretMissing | AccessSecretAmbiguous | KubeconfigUnreadable:
    """Find the access Secret of a Kyma as lifecycle-manager does."""
    matching = [
        raw for raw in secrets if JsonReader(raw).child("metadata").labels("labels").get(LABEL_KYMA_NAME) == kyma
    ]
    if not matching:
        return AccessSecretMissing(kyma)
    if len(matching) > 1:
        return AccessSecretAmbiguous(kyma, tuple(map(read_ref, matching)))
    ref = read_ref(matching[0])
    text = JsonReader(matching[0]).child("data").text(KUBECONFIG_KEY)
    if not text:
        return KubeconfigUnreadable(ref, f"data.{KUBECONFIG_KEY} is missing")
    try:
        return RuntimeAccess(ref, base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return KubeconfigUnreadable(ref, f"data.{KUBECONFIG_KEY} is not base64")
