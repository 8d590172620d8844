"""Which template a module resolves to, for both generations, and every way in which it may not."""

from __future__ import annotations

import pytest

from kymatui.domain.kubernetes.json_reader import Flaw
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma.template_index import ReleaseMeta, read_release_meta, release_meta_violations
from kymatui.domain.versions import refusals as r
from kymatui.domain.versions.resolution import ChannelSource, Resolution, resolve
from tests.domain.builders import API, Json, a_kyma, labels, meta, old_template, report, shelf, template

TWO = (meta("mod", {"regular": "1.0.0", "fast": "2.0.0"}), template("mod", "1.0.0"), template("mod", "2.0.0"))


def found(module: Json | None, *objects: Json, kyma: Json | None = None, restricted: str = "") -> Resolution:
    owner = a_kyma([module] if module else [], **(kyma or {}))
    return resolve("mod", owner, shelf(*objects), rules=ControllerSettings(restricted=frozenset([restricted])))


@pytest.mark.parametrize(
    ("module", "kyma", "version", "channel", "source"),
    [
        pytest.param({"name": "mod"}, {}, "1.0.0", "regular", ChannelSource.PREDEFINED, id="01 the Kyma's channel"),
        pytest.param(
            {"name": "mod", "channel": "fast"}, {}, "2.0.0", "fast", ChannelSource.OVERRIDDEN, id="02 overridden"
        ),
        pytest.param(
            {"name": "mod"}, {"channel": "fast"}, "2.0.0", "fast", ChannelSource.PREDEFINED, id="Kyma on fast"
        ),
        pytest.param(
            {"name": "mod"}, {"channel": ""}, "1.0.0", "regular", ChannelSource.DEFAULT, id="no channel at all"
        ),
        pytest.param(
            None,
            {"status": [report("mod", "2.0.0", channel="fast")]},
            "2.0.0",
            "fast",
            ChannelSource.STATUS,
            id="removed",
        ),
    ],
)
def test_channel_and_version(
    module: Json | None, kyma: Json, version: str, channel: str, source: ChannelSource
) -> None:
    result = found(module, *TWO, kyma=kyma)
    assert (result.version, result.channel, result.channel_source) == (version, channel, source)
    assert result.refusal is None
    assert not result.notes


def test_without_a_kyma_the_regular_channel_is_taken_and_nobody_is_refused() -> None:
    result = resolve("mod", None, shelf(TWO[0], template("mod", "1.0.0", labelled=labels(beta="true"))))
    assert (result.version, result.refusal, result.channel_source) == ("1.0.0", None, ChannelSource.DEFAULT)


REFUSED: list[object] = [
    pytest.param(
        {"name": "mod"},
        {"channel": "None"},
        TWO,
        r.ChannelIsNone("mod", "spec.channel"),
        id="03 the Kyma's channel is None",
    ),
    pytest.param(
        {"name": "mod", "channel": "none"},
        {},
        TWO,
        r.ChannelIsNone("mod", "spec.modules[].channel"),
        id="the module's channel is none",
    ),
    pytest.param(
        {"name": "mod", "channel": "fast", "version": "1.0.0"},
        {},
        TWO,
        r.ChannelAndVersion("mod", "fast", "1.0.0"),
        id="channel and version",
    ),
    pytest.param(
        {"name": "mod", "channel": "experimental"},
        {},
        TWO,
        r.ChannelMissing("mod", "experimental", ("regular", "fast")),
        id="04 the channel is not offered",
    ),
    pytest.param({"name": "mod"}, {}, (meta("mod", {}),), r.NoChannels("mod"), id="no channels at all"),
    pytest.param(
        {"name": "mod"},
        {},
        (meta("mod", {"regular": "1.1.0"}),),
        r.TemplateMissing("mod", "1.1.0", "mod-1.1.0", "kyma-system"),
        id="05 no template of the version",
    ),
    pytest.param({"name": "mod"}, {}, (), r.NoReleaseMeta("mod", "kyma-system"), id="nothing knows the module"),
    pytest.param(
        {"name": "mod"},
        {"status": [report("mod", "1.0.0")]},
        (),
        r.NoReleaseMeta("mod", "kyma-system", True),
        id="nothing knows the installed module any more",
    ),
    pytest.param(
        None, {"status": [report("mod", "1.0.0", template=None)]}, TWO, r.StatusWithoutTemplate("mod"), id="bare status"
    ),
    pytest.param(
        {"name": "mod", "channel": "fast"},
        {},
        (old_template("mod-fast", "mod", "fast", "1.0.0"), old_template("other", "mod", "fast", "1.1.0")),
        r.AmbiguousTemplates("mod", "fast", ("kyma-system/mod-fast", "kyma-system/other")),
        id="06 two old templates",
    ),
    pytest.param(
        {"name": "mod"},
        {},
        (old_template("mod-none", "mod", "", "1.0.0"),),
        r.TemplateWithoutChannel("mod", "mod-none"),
        id="07 an old template without channel",
    ),
    pytest.param(
        {"name": "mod"},
        {},
        (old_template("mod-regular", "mod", "regular", "1.0.0", mandatory=True),),
        r.IsMandatory("mod", "mod-regular"),
        id="07 an old template that is mandatory",
    ),
    pytest.param(
        {"name": "mod"},
        {},
        (old_template("mod-fast", "mod", "fast", "1.0.0"),),
        r.NoTemplateInChannel("mod", "regular", ("fast",)),
        id="an old template in another channel",
    ),
    pytest.param(
        {"name": "mod"},
        {},
        (meta("mod", mandatory={"version": "1.0.0"}), template("mod", "1.0.0")),
        r.IsMandatory("mod", "mod-1.0.0"),
        id="a mandatory module cannot be asked for",
    ),
    pytest.param(
        {"name": "mod"},
        {"status": [report("mod", "2.0.0", channel="fast")]},
        (meta("mod", {"regular": "1.9.9"}), template("mod", "1.9.9")),
        r.HeldBack("mod", "regular", "2.0.0", "1.9.9"),
        id="09 the channel is lower than what is installed",
    ),
    pytest.param(
        {"name": "mod"},
        {"status": [report("mod", "1.2.4-rc")]},
        (meta("mod", {"regular": "1.2.3"}), template("mod", "1.2.3")),
        r.HeldBack("mod", "regular", "1.2.4-rc", "1.2.3"),
        id="10 1.2.4-rc to 1.2.3",
    ),
    pytest.param(
        {"name": "mod"},
        {"status": [report("mod", "main")]},
        TWO,
        r.InvalidVersion("mod", "status", "main"),
        id="11 the status has no version",
    ),
    pytest.param(
        {"name": "mod"},
        {},
        (meta("mod", {"regular": "1.0.0"}), template("mod", "1.0.0", labelled=labels(beta="True"))),
        r.BetaOnly("mod"),
        id="12 beta",
    ),
    pytest.param(
        {"name": "mod"},
        {"labelled": labels(beta="true")},
        (meta("mod", {"regular": "1.0.0"}), template("mod", "1.0.0", labelled=labels(internal="true"))),
        r.InternalOnly("mod"),
        id="13 internal",
    ),
]


@pytest.mark.parametrize(("module", "kyma", "objects", "refusal"), REFUSED)
def test_refusals(module: Json | None, kyma: Json, objects: tuple[Json, ...], refusal: r.Refusal) -> None:
    assert found(module, *objects, kyma=kyma).refusal == refusal


@pytest.mark.parametrize(
    ("status", "offered"),
    [
        pytest.param("1.2.3-experimental", "1.2.3", id="10 a suffix is ignored"),
        pytest.param("1.2.3", "1.2.3-experimental", id="and the other way round"),
        pytest.param("1.2.3", "1.2.4", id="an upgrade"),
        pytest.param("v1.2.3", "1.2.3", id="a leading v"),
        pytest.param("1.2", "1.2.0", id="a short version"),
    ],
)
def test_versions_that_the_guard_lets_through(status: str, offered: str) -> None:
    objects = (meta("mod", {"regular": offered}), template("mod", offered))
    assert found({"name": "mod"}, *objects, kyma={"status": [report("mod", status)]}).refusal is None


def test_the_guard_needs_the_template_in_the_status() -> None:
    status = [report("mod", "9.0.0", template=None)]
    assert found({"name": "mod"}, *TWO, kyma={"status": status}).refusal is None


def test_the_old_generation_guards_only_changes_of_the_channel() -> None:
    objects = (old_template("mod-regular", "mod", "regular", "1.0.0"),)
    same_channel = found({"name": "mod"}, *objects, kyma={"status": [report("mod", "2.0.0")]})
    other_channel = found({"name": "mod"}, *objects, kyma={"status": [report("mod", "2.0.0", channel="fast")]})
    assert same_channel.refusal is None
    assert other_channel.refusal == r.HeldBack("mod", "regular", "2.0.0", "1.0.0")


def test_05_a_template_with_another_name_is_found_and_the_convention_noted() -> None:
    result = found({"name": "mod"}, meta("mod", {"regular": "1.1.0"}), template("mod", "1.1.0", name="mod-regular"))
    assert result.refusal is None
    assert result.template is not None
    assert result.template.meta.name == "mod-regular"
    assert [(note.actual, note.expected) for note in result.notes] == [("mod-regular", "mod-1.1.0")]


def test_a_release_meta_with_another_name_is_found_and_the_convention_noted() -> None:
    renamed = meta("mod", {"regular": "1.0.0"})
    renamed["metadata"]["name"] = "other"
    result = found({"name": "mod"}, renamed, template("mod", "1.0.0"))
    assert (result.version, len(result.notes)) == ("1.0.0", 1)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("mod", id="the label"),
        pytest.param("kyma-system/odd-name", id="namespace and name"),
        pytest.param("odd-name", id="the object's name"),
        pytest.param("kyma-project.io/module/mod", id="the component's name"),
    ],
)
def test_old_templates_match_by(name: str) -> None:
    where = shelf(old_template("odd-name", "mod", "regular", "1.0.0"))
    result = resolve(name, a_kyma([{"name": name}]), where)
    assert (result.version, result.refusal) == ("1.0.0", None)


@pytest.mark.parametrize(
    ("spec", "flaw"),
    [
        pytest.param(
            {"mandatory": {"version": "1.0.0"}, "channels": [{"channel": "regular", "version": "1.0.0"}]}, "both"
        ),
        pytest.param({}, "neither"),
    ],
)
def test_08_a_release_meta_has_either_channels_or_a_mandatory_version(spec: Json, flaw: str) -> None:
    read = read_release_meta(
        {"apiVersion": API, "kind": "ModuleReleaseMeta", "metadata": {"name": "mod"}, "spec": spec}
    )
    assert isinstance(read, ReleaseMeta)
    assert release_meta_violations(read) == (Flaw("spec", "either channels or mandatory", flaw),)


MATCHING = {"matchLabels": {"tier": "gold"}}
RESTRICTED: list[object] = [
    pytest.param(MATCHING, "mod", None, id="16 the selector matches"),
    pytest.param({"matchLabels": {"tier": "iron"}}, "mod", r.RestrictedToOthers("mod"), id="16 it does not"),
    pytest.param({}, "mod", r.RestrictedWithoutSelector("mod"), id="16 it is empty"),
    pytest.param(None, "mod", r.RestrictedWithoutSelector("mod"), id="there is none"),
    pytest.param(MATCHING, "other", r.SelectorWithoutRestriction("mod"), id="a selector on an unrestricted module"),
    pytest.param(None, "other", None, id="an ordinary module"),
    pytest.param(
        {"matchExpressions": [{"key": "tier", "operator": "Near", "values": ["gold"]}]},
        "mod",
        r.SelectorInvalid("mod", "'Near' is not a label selector operator"),
        id="16 an operator that is none",
    ),
]


@pytest.mark.parametrize(("selector", "restricted", "refusal"), RESTRICTED)
def test_restricted_modules(selector: Json | None, restricted: str, refusal: r.Refusal | None) -> None:
    objects = (meta("mod", {"regular": "1.0.0"}, kymaSelector=selector), template("mod", "1.0.0"))
    result = found({"name": "mod"}, *objects, kyma={"labelled": {"tier": "gold"}}, restricted=restricted)
    assert result.refusal == refusal
    assert result.refusal is None or result.refusal.uninstalls


def test_12_the_label_counts_in_any_case() -> None:
    objects = (meta("mod", {"regular": "1.0.0"}), template("mod", "1.0.0", labelled=labels(beta="TRUE")))
    assert found({"name": "mod"}, *objects, kyma={"labelled": labels(beta="True")}).refusal is None


@pytest.mark.parametrize(
    ("refusal", "state", "keeps", "uninstalls"),
    [
        (r.ChannelMissing("m", "c", ()), State.ERROR, False, False),
        (r.NoReleaseMeta("m", "n"), State.ERROR, False, False),
        (r.NoReleaseMeta("m", "n", True), State.WARNING, True, False),
        (r.NoTemplateInChannel("m", "c", ()), State.WARNING, False, False),
        (r.IsMandatory("m", "t"), State.WARNING, False, False),
        (r.HeldBack("m", "b", "2", "1"), State.WARNING, True, False),
        (r.WaitsForWindow("m", "1", "2", None), State.WARNING, True, False),
        (r.WindowsUnreadable("m", "x"), State.ERROR, True, False),
        (r.BetaOnly("m"), State.ERROR, False, True),
    ],
)
def test_what_lifecycle_manager_makes_of_a_refusal(
    refusal: r.Refusal, state: State, keeps: bool, uninstalls: bool
) -> None:
    assert (refusal.state, refusal.keeps_installed, refusal.uninstalls) == (state, keeps, uninstalls)
