"""How the control plane reaches a runtime: the Secret with its kubeconfig."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

from kymatui.domain.objects import LABEL_KYMA_NAME, read_ref
from kymatui.domain.reading import Reader
from kymatui.domain.refs import ObjectRef
from kymatui.domain.snapshots import Object

KUBECONFIG_KEY = "config"


@dataclass(frozen=True, slots=True)
class Access:
    """The Secret, and the kubeconfig in it, which is a secret: it does not show in a representation."""

    secret: ObjectRef
    kubeconfig: bytes

    def __repr__(self) -> str:
        return f"Access({self.secret})"


@dataclass(frozen=True, slots=True)
class NoSecret:
    """No Secret is labelled with the Kyma's name."""

    kyma: str


@dataclass(frozen=True, slots=True)
class SeveralSecrets:
    """More than one Secret is labelled with the Kyma's name."""

    kyma: str
    secrets: tuple[ObjectRef, ...]


@dataclass(frozen=True, slots=True)
class NoKubeconfig:
    """The Secret has no `config`, or one that is not base64 or empty."""

    secret: ObjectRef
    reason: str


def find_access(kyma: str, secrets: Sequence[Object]) -> Access | NoSecret | SeveralSecrets | NoKubeconfig:
    """The access of a Kyma among Secrets, as lifecycle-manager looks for it."""
    found = [raw for raw in secrets if Reader(raw).child("metadata").labels("labels").get(LABEL_KYMA_NAME) == kyma]
    if not found:
        return NoSecret(kyma)
    if len(found) > 1:
        return SeveralSecrets(kyma, tuple(map(read_ref, found)))
    ref = read_ref(found[0])
    text = Reader(found[0]).child("data").text(KUBECONFIG_KEY)
    if not text:
        return NoKubeconfig(ref, f"data.{KUBECONFIG_KEY} is missing")
    try:
        return Access(ref, base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return NoKubeconfig(ref, f"data.{KUBECONFIG_KEY} is not base64")
