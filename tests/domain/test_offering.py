"""Finding what a person asks for: the module, the version, or a refusal that says what there is instead."""

from __future__ import annotations

import pytest

from kymatui.domain.catalog import catalog
from kymatui.domain.charges import Keeper
from kymatui.domain.direct import Choice, choose, refusals
from kymatui.domain.offering import Found, NoSuchModule, NoSuchVersion, SeveralOffers, find_offer
from kymatui.domain.shelves import Shelf
from kymatui.domain.snapshots import Feed, FeedState, Snapshot
from kymatui.domain.templates import Template
from tests.domain.builders import NOW, community_template, kyma, meta, shelf, template


@pytest.fixture
def offers() -> Shelf:
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
        pytest.param("mod", "1.1.0", "", ("11.1.0-rc1", "1.0.0", "0.9.0"), id="59 a part of a version is none"),
        pytest.param("mo", "", "", ("mod", "other-mod"), id="61 an unknown module, and names like it"),
        pytest.param("mod", "1.0.0", "", ("default/mod-1.0.0", "team/mod-1.0.0"), id="in two places"),
        pytest.param("both", "1.0.0", "", "team/both-1.0.0", id="what somebody put beside Kyma's own is meant"),
        pytest.param("both", "1.0.0", "kyma-system", "kyma-system/both-1.0.0", id="unless Kyma's own is named"),
        pytest.param("both", "1.1.0", "", "kyma-system/both-1.1.0", id="Kyma's own alone"),
    ],
)
def test_offers(module: str, version: str, namespace: str, found: object, offers: Shelf) -> None:
    assert shown(find_offer(offers, module, version, namespace)) == found


def shown(found: Found) -> object:
    match found:
        case Template():
            return f"{found.meta.namespace}/{found.meta.name}"
        case NoSuchModule():
            return found.alike
        case NoSuchVersion():
            return found.offered
        case SeveralOffers():
            return found.places


def test_61_an_unknown_module_is_not_found(offers: Shelf) -> None:
    assert find_offer(offers, "nothing-like-it") == NoSuchModule("nothing-like-it", ())
    assert find_offer(offers, "") == NoSuchModule("", ())


@pytest.mark.parametrize(
    ("links", "found"),
    [
        (("one", "one"), "default/mod-1.0.0"),
        (("one", "other"), "mod 1.0.0 is offered in several places, which differ: default/mod-1.0.0, team/mod-1.0.0"),
    ],
)
def test_which_of_several_is_asked_only_where_that_makes_a_difference(links: tuple[str, str], found: str) -> None:
    places = zip(("default", "team"), links, strict=True)
    offered = [
        community_template("mod", "1.0.0", namespace=place, resources=[{"name": "rawManifest", "link": link}])
        for place, link in places
    ]
    chosen = choose(shelf(*offered), "mod")
    said = f"{chosen.template.meta.namespace}/{chosen.template.meta.name}" if isinstance(chosen, Choice) else chosen
    assert said.startswith(found)


@pytest.mark.parametrize(
    ("keeper", "said"),
    [
        (Keeper.LIFECYCLE_MANAGER, "this cluster is managed by lifecycle-manager"),
        (Keeper.OPERATOR, "`:manifest keda` on the screen"),
    ],
)
def test_who_is_in_charge_says_how_what_kyma_offers_comes(keeper: Keeper, said: str) -> None:
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
    seen = catalog(offered, NOW)
    (found,) = refusals(seen, "keda", seen.row("keda"), feeds, direct=False, keeper=keeper)
    assert said in found
    assert list(refusals(seen, "keda", seen.row("keda"), feeds, direct=True, keeper=keeper)) == []
