"""What a source is told of the cluster that its objects are for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kymatui.helm.capabilities import KUBE_VERSION

Lookup = Callable[[str, str, str, str], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class RenderTarget:
    """A cluster, as charts may ask for it.

    kube_version  "v1.34.2"
    served        "apps/v1" and "apps/v1/Deployment" for all it serves; None: what Helm takes for known
    lookup        (apiVersion, kind, namespace, name) → object, list or {}; None: nothing is ever found
    installed     the release is there: charts see an upgrade
    revision      of the release, from 1
    """

    kube_version: str = KUBE_VERSION
    served: tuple[str, ...] | None = None
    lookup: Lookup | None = field(default=None, compare=False)
    installed: bool = False
    revision: int = 1
