"""The entries of a Kyma's modules at the end of a reconciliation: what Manifests have become meanwhile."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.errors import CancelledError, KymatuiError, ServerError
from kymatui.operator.kymas.kyma_context import MANIFEST, KymaContext
from kymatui.operator.kymas.kyma_status import KymaStatusDraft
from kymatui.operator.kymas.module_reports import ModuleReports
from tests.domain import builders
from tests.domain.builders import NOW

CANCEL = threading.Event()
TRACKED = {
    "apiVersion": MANIFEST.api_version,
    "kind": "Manifest",
    "metadata": {"name": "one-keda", "namespace": "kcp-system"},
}


class Home:
    """A control plane with one Manifest, or an error in its place."""

    def __init__(self, state: str, error: KymatuiError | None = None) -> None:
        self._state, self._error = state, error

    def get(self, ref: object, *, cancel: threading.Event) -> dict[str, Any]:
        if self._error is not None:
            raise self._error
        return {**TRACKED, "status": {"state": self._state}}


def followed(home: Home, **entry: Any) -> str:
    kyma = read_kyma(builders.kyma(name="one", namespace="kcp-system", modules=[{"name": "keda"}]))
    assert isinstance(kyma, Kyma)
    draft = KymaStatusDraft(kyma, NOW, webhook=False)
    draft.put_module({"name": "keda", "manifest": TRACKED, **entry})
    ModuleReports(cast(KymaContext, SimpleNamespace(home=home))).follow(kyma, draft, CANCEL)
    return str(draft.modules[0]["state"])


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"state": ""}, "Ready"),
        ({"state": "Processing"}, "Ready"),
        ({"state": "Processing", "message": "awaits its window"}, "Processing"),
        ({"state": "Error"}, "Error"),
        ({"state": "", "manifest": None}, ""),
        ({"state": "Processing", "name": "removed"}, "Processing"),
    ],
)
def test_a_module_on_its_way_has_the_state_that_its_manifest_has_now(entry: dict[str, Any], expected: str) -> None:
    assert followed(Home("Ready"), **entry) == expected


def test_a_manifest_that_cannot_be_read_is_followed_by_the_next_reconciliation() -> None:
    assert followed(Home("Ready", ServerError("no answer", status=500)), state="") == ""
    with pytest.raises(CancelledError):
        followed(Home("Ready", CancelledError("stopped")), state="")
