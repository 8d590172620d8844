"""Finding what a person asks for: the module, the version, or a refusal that says what there is instead."""

from __future__ import annotations

import pytest

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import NAMING_LISTS
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.plans.cluster_management import ClusterManager
from kymatui.domain.plans.direct_install import InstallChoice, choose_template, install_refusals, unknown_lists
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from tests.domain.builders import NOW, community_template, kyma, meta, shelf, template


@pytest.fixture
def offers() -> TemplateIndex:
    return shelf(
        community_template("mod", "0.9.0"),
        community_template("mod", "11.1.0-rc1"),
        community_template("mod", "1.0.0"),
        community_template("mod", "1.0.0", namespace="team"),
        community_template("other-mod", "1.0.0"),
        community_template("both", "1.0.0", namespace="team"),
        template("both", "1.0.0"),
        template("both", "1.1.0"),
    )


@pytest.mark.parametrize(
    ("module", "version", "namespace", "found"),
    [
        pytest.param("mod", "0.9.0", "", "default/mod-0.9.0", id="a version"),
        pytest.param("mod", "v0.9.0", "", "default/mod-0.9.0", id="with a leading v"),
        pytest.param("mod", "", "default", "default/mod-1.0.0", id="62 the newest release"),
        pytest.param("mod", "", "team", "team/mod-1.0.0", id="in one namespace"),
        pytest.param(
            "mod",
            "1.1.0",
            "",
            "no version 1.1.0 of mod in the catalog; available: 11.1.0-rc1, 1.0.0, 0.9.0",
            id="59 a part of a version is none",
        ),
        pytest.param(
            "mo",
            "",
            "",
            "no module mo in the catalog; did you mean mod, other-mod?",
            id="61 an unknown module, and names like it",
        ),
        pytest.param("mod", "1.0.0", "", "default/mod-1.0.0", id="the same in two places"),
        pytest.param("both", "1.0.0", "", "team/both-1.0.0", id="what somebody put beside Kyma's own is meant"),
        pytest.param("both", "1.0.0", "kyma-system", "kyma-system/both-1.0.0", id="unless Kyma's own is named"),
        pytest.param("both", "1.1.0", "", "kyma-system/both-1.1.0", id="Kyma's own alone"),
    ],
)
def test_offers(module: str, version: str, namespace: str, found: str, offers: TemplateIndex) -> None:
    assert shown(choose_template(offers, module, version, namespace, from_component=True)) == found


def shown(chosen: InstallChoice | str) -> str:
    return chosen if isinstance(chosen, str) else chosen.template.ref.path


def test_61_an_unknown_module_is_not_found(offers: TemplateIndex) -> None:
    assert choose_template(offers, "nothing-like-it") == "no module nothing-like-it in the catalog"
    assert choose_template(offers, "") == "no module  in the catalog"


@pytest.mark.parametrize(
    ("links", "found"),
    [
        (("one", "one"), "default/mod-1.0.0"),
        (("one", "other"), "several different templates of mod 1.0.0: default/mod-1.0.0, team/mod-1.0.0"),
    ],
)
def test_which_of_several_is_asked_only_where_that_makes_a_difference(links: tuple[str, str], found: str) -> None:
    places = zip(("default", "team"), links, strict=True)
    offered = [
        community_template("mod", "1.0.0", namespace=place, resources=[{"name": "rawManifest", "link": link}])
        for place, link in places
    ]
    chosen = choose_template(shelf(*offered), "mod")
    said = (
        f"{chosen.template.meta.namespace}/{chosen.template.meta.name}" if isinstance(chosen, InstallChoice) else chosen
    )
    assert said.startswith(found)


@pytest.mark.parametrize(
    ("keeper", "said"),
    [
        (ClusterManager.LIFECYCLE_MANAGER, "lifecycle-manager manages this cluster"),
        (ClusterManager.OPERATOR, "`:manifest keda` on the screen"),
    ],
)
def test_who_is_in_charge_says_how_what_kyma_offers_comes(keeper: ClusterManager, said: str) -> None:
    feeds = {
        f"{name}.operator.kyma-project.io": Feed(FeedState.LIVE)
        for name in ("kymas", "moduletemplates", "modulereleasemetas", "manifests")
    }
    offered = Snapshot(
        "c",
        kymas=(kyma(()),),
        templates=(template("keda", "1.0.0"),),
        release_metas=(meta("keda", {"regular": "1.0.0"}),),
        feeds=feeds,
    )
    seen = build_catalog(offered, NOW)
    (found,) = install_refusals(seen, "keda", seen.row("keda"), feeds, direct=False, keeper=keeper)
    assert said in found
    assert list(install_refusals(seen, "keda", seen.row("keda"), feeds, direct=True, keeper=keeper)) == []


def test_unread_lists_have_a_name_and_a_reason() -> None:
    """A reason may have brackets of its own, and the name is not cut out of a sentence."""
    seen = [Feed(FeedState.FORBIDDEN, message="denied (by policy (7))"), Feed(FeedState.FAILED)]
    feeds = {name: Feed(FeedState.LIVE) for name in NAMING_LISTS} | dict(zip(NAMING_LISTS[:2], seen, strict=True))
    first, second = (name.partition(".")[0] for name in NAMING_LISTS[:2])
    assert list(unknown_lists(feeds)) == [(first, "denied (by policy (7))"), (second, "the server did not answer")]
