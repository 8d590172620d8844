"""Sentences: every refusal, drift, state source and broken convention has its own words."""

from __future__ import annotations

import inspect

import pytest

from kymatui.domain.kubernetes.terminal_text import first_of
from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.kyma.states import StateSource
from kymatui.domain.kyma.versions import Distance
from kymatui.domain.snapshot.missing_lists import ListGap, UnknownFact
from kymatui.domain.versions import refusals as r
from kymatui.domain.versions.drift import Drift, DriftKind
from kymatui.domain.versions.messages import drift_words, note_words, refusal_words, source_words, window_words
from kymatui.domain.versions.resolution import Convention, ConventionNote

SENTENCES: list[tuple[r.Refusal, str]] = [
    (r.ChannelIsNone("m", "spec.channel"), "spec.channel is none, which is not a channel"),
    (r.ChannelAndVersion("m", "fast", "1.0.0"), "spec.modules[] sets both channel fast and version 1.0.0"),
    (r.StatusWithoutTemplate("m"), "the Kyma's status lists the module without its ModuleTemplate"),
    (r.NoReleaseMeta("m", "ns"), "namespace ns has no ModuleReleaseMeta or old-format ModuleTemplate of the module"),
    (r.CatalogUnreadable("m", UnknownFact(ListGap.FORBIDDEN, ("a", "b"))), "catalog forbidden (you may not list a, b)"),
    (r.CatalogUnreadable("m", UnknownFact(ListGap.LOADING, ("a",))), "catalog loading (a)"),
    (
        r.ChannelUnknown("m", UnknownFact(ListGap.UNKNOWN, ("kymas",), "502")),
        "channel unknown (could not list kymas: 502)",
    ),
    (r.NoChannels("m"), "the ModuleReleaseMeta has no channels"),
    (r.ChannelMissing("m", "fast", ("a", "b")), "channel fast has no version of the module (available in: a, b)"),
    (r.TemplateMissing("m", "1.0.0", "m-1.0.0", "ns"), "ModuleTemplate ns/m-1.0.0 is missing"),
    (r.AmbiguousTemplates("m", "fast", ("a", "b")), "more than one ModuleTemplate in channel fast: a, b"),
    (r.NoTemplateInChannel("m", "fast", ("a",)), "channel fast has no ModuleTemplate of the module (available in: a)"),
    (r.TemplateWithoutChannel("m", "t"), "ModuleTemplate t has no channel"),
    (r.IsMandatory("m", "t"), "ModuleTemplate t is mandatory, so a Kyma cannot request the module"),
    (r.InternalOnly("m"), "it is an internal module, and the Kyma is not labelled internal"),
    (r.BetaOnly("m"), "it is a beta module, and the Kyma is not labelled beta"),
    (
        r.SelectorWithoutRestriction("m"),
        "its ModuleReleaseMeta has a kymaSelector, but the module is not configured as restricted",
    ),
    (r.RestrictedWithoutSelector("m"), "it is restricted, and its ModuleReleaseMeta has no kymaSelector"),
    (r.RestrictedToOthers("m"), "it is restricted to Kymas with other labels"),
    (r.SelectorInvalid("m", "why"), "the kymaSelector of its ModuleReleaseMeta is invalid: why"),
    (
        r.HeldBack("m", "regular", "2.0.0", "1.0.0"),
        "newer than channel regular (2.0.0 > 1.0.0), and never downgraded automatically",
    ),
    (
        r.InvalidVersion("m", "status", "main"),
        "the Kyma's status has the invalid version 'main', so upgrades are not possible",
    ),
    (r.WaitsForWindow("m", "1", "2", None), "awaiting maintenance window for the upgrade 1 → 2"),
    (r.WaitsForWindow("m", "", "2", None), "awaiting maintenance window for 2"),
    (r.WindowsUnreadable("m", "why"), "the upgrade needs a maintenance window, and why"),
]


@pytest.mark.parametrize(("refusal", "sentence"), SENTENCES)
def test_every_refusal_has_its_sentence(refusal: r.Refusal, sentence: str) -> None:
    assert refusal_words(refusal) == sentence


def test_no_refusal_is_forgotten() -> None:
    kinds = {kind for _, kind in inspect.getmembers(r, inspect.isclass) if issubclass(kind, r.Refusal)}
    assert kinds - {r.Refusal, r.NotAllowed, r.KeepsInstalled} == {type(refusal) for refusal, _ in SENTENCES}


@pytest.mark.parametrize(
    ("drift", "words"),
    [
        (Drift(DriftKind.UP_TO_DATE), "up to date"),
        (Drift(DriftKind.BEHIND, Distance(1, "minor")), "1 minor behind"),
        (Drift(DriftKind.AHEAD, Distance(2, "major")), "2 majors ahead"),
        (Drift(DriftKind.NEWER_THAN_CHANNEL), "newer than channel"),
        (Drift(DriftKind.AWAITING_WINDOW), "awaiting window"),
        (Drift(DriftKind.ROLLING_OUT), "rolling out"),
        (Drift(DriftKind.UNKNOWN), "unknown"),
        (Drift(DriftKind.NONE), ""),
    ],
)
def test_drift(drift: Drift, words: str) -> None:
    assert drift_words(drift) == words


@pytest.mark.parametrize("kind", DriftKind)
def test_documents_have_the_drift_of_tables(kind: DriftKind) -> None:
    assert drift_words(Drift(kind)).replace(" ", "-") == ("" if kind is DriftKind.NONE else kind.value)


def test_the_deprecated_key_of_drift_keeps_the_earlier_words() -> None:
    earlier = {kind.earlier_word for kind in DriftKind if kind.earlier_word != kind.value}
    assert earlier == {"in-sync", "channel-skew", "pending-maintenance"}


def test_the_rest() -> None:
    assert all(source_words(source) for source in StateSource)
    said = note_words(ConventionNote(Convention.TEMPLATE_NAME, "x", "mod-1.0.0"))
    assert said == "the template is x, but lifecycle-manager looks for mod-1.0.0 and does not find it"
    assert window_words(MaintenanceWindow(0.0, 3600.0)) == "the next window is Thu 1970-01-01 00:00 to Thu 01:00 UTC"


@pytest.mark.parametrize(
    ("items", "separator", "text"),
    [
        ([], ", ", ""),
        (["a", "b"], ", ", "a, b"),
        (["a", "b", "c", "d"], ", ", "a, b and 2 more"),
        (["a", "b", "c"], "; ", "a; b; and 1 more"),
    ],
)
def test_long_lists_name_their_first_items_and_count_the_rest(items: list[str], separator: str, text: str) -> None:
    assert first_of(items, 2, separator) == text
