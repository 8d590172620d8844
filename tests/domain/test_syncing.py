"""What a runtime gets of the control plane's catalog, and what happens when its labels change."""

from __future__ import annotations

import pytest

from kymatui.domain.syncing import deleted_by_sync, is_synced, synced_catalog, uninstalled_by_labels
from tests.domain.builders import (
    Json,
    a_kyma,
    a_template,
    community_template,
    labels,
    meta,
    old_template,
    shelf,
    template,
)

KYMA = a_kyma()
BETA = a_kyma(labelled=labels(beta="True"))


def synced(*objects: Json, kyma: object = KYMA) -> dict[str, dict[str, str]]:
    found = synced_catalog(shelf(*objects), kyma)  # type: ignore[arg-type]
    return {entry.meta.module: dict(entry.channels) for entry in found.metas}


def test_13_only_channels_with_a_template_for_this_kyma_are_synced() -> None:
    objects = (
        meta("mod", {"regular": "1.0.0", "fast": "2.0.0", "experimental": "3.0.0"}),
        template("mod", "1.0.0"),
        template("mod", "2.0.0", labelled=labels(internal="true")),
    )
    assert synced(*objects) == {"mod": {"regular": "1.0.0"}}


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        ((meta("mod", {"regular": "1.0.0"}),), "no template"),
        ((meta("mod", mandatory={"version": "1.0.0"}), template("mod", "1.0.0")), "mandatory"),
        ((meta("mod", {"regular": "1.0.0"}), template("mod", "1.0.0", labelled=labels(internal="true"))), "internal"),
        ((meta("mod", {"regular": "1.0.0"}), template("mod", "1.0.0", name="odd")), "the name is not conventional"),
    ],
)
def test_13_a_module_without_any_channel_left_is_absent(objects: tuple[Json, ...], why: str) -> None:
    assert synced(*objects) == {}, why


def test_beta_modules_go_to_beta_kymas() -> None:
    objects = (meta("mod", {"regular": "1.0.0"}), template("mod", "1.0.0", labelled=labels(beta="true")))
    assert synced(*objects) == {}
    assert synced(*objects, kyma=BETA) == {"mod": {"regular": "1.0.0"}}


@pytest.mark.parametrize(
    ("value", "there"), [("false", False), ("FALSE", False), ("no", True), ("true", True), ("", True)]
)
def test_15_the_old_sync_label(value: str, there: bool) -> None:
    found = a_template(old_template("mod-regular", "mod", "regular", "1.0.0", labelled=labels(sync=value)))
    assert is_synced(found, KYMA) is there


def test_old_templates_are_synced_by_themselves() -> None:
    found = synced_catalog(shelf(old_template("mod-regular", "mod", "regular", "1.0.0")), KYMA)
    assert [entry.meta.name for entry in found.templates] == ["mod-regular"]


def test_14_only_what_the_sync_wrote_is_deleted_by_it() -> None:
    written = template("gone", "1.0.0")
    written["metadata"]["managedFields"] = [{"manager": "catalog-sync"}]
    applied = community_template("own", "1.0.0", namespace="kyma-system")
    kept = a_template(template("mod", "1.0.0"))
    there = [a_template(written), a_template(applied), kept]
    assert [entry.meta.name for entry in deleted_by_sync(there, [kept])] == ["gone-1.0.0"]


@pytest.mark.parametrize(
    ("new", "gone"),
    [
        pytest.param({}, ("mod",), id="12 without the beta label"),
        pytest.param(labels(beta="false"), ("mod",), id="12 with the label at false"),
        pytest.param(labels(beta="TRUE"), (), id="12 with the label in any case"),
    ],
)
def test_12_taking_the_beta_label_away_uninstalls_beta_modules(new: dict[str, str], gone: tuple[str, ...]) -> None:
    where = shelf(
        meta("mod", {"regular": "1.0.0"}),
        template("mod", "1.0.0", labelled=labels(beta="True")),
        meta("plain", {"regular": "1.0.0"}),
        template("plain", "1.0.0"),
    )
    owner = a_kyma([{"name": "mod"}, {"name": "plain"}], labelled=labels(beta="true"))
    assert uninstalled_by_labels(owner, where, new) == gone
