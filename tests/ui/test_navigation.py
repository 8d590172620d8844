"""Back and forward as browsers have them."""

from __future__ import annotations

from kymatui.ui.navigation.history import ScreenStep, VisitHistory

HOME = (ScreenStep("modules"),)
KEDA = (*HOME, ScreenStep("module", "keda", "checks"))
ISTIO = (*HOME, ScreenStep("module", "istio"))


def test_back_and_forward_walk_along_what_was_visited() -> None:
    visits = VisitHistory(HOME)
    visits.visit(KEDA)
    visits.visit(ISTIO)
    assert [visits.move(-1), visits.move(-1), visits.move(1)] == [KEDA, HOME, KEDA]


def test_at_the_ends_there_is_nowhere_to_go() -> None:
    visits = VisitHistory(HOME)
    assert not visits.can_go(-1)
    assert not visits.can_go(1)
    assert visits.move(-1) == HOME


def test_a_new_way_forgets_what_lay_ahead() -> None:
    visits = VisitHistory(HOME)
    visits.visit(KEDA)
    visits.move(-1)
    visits.visit(ISTIO)
    assert not visits.can_go(1)
    assert visits.move(-1) == HOME


def test_two_places_are_looked_at_in_turns() -> None:
    visits = VisitHistory(HOME)
    assert not visits.can_toggle
    visits.visit(KEDA)
    visits.visit(ISTIO)
    assert [visits.toggle(), visits.toggle(), visits.toggle()] == [KEDA, ISTIO, KEDA]


def test_staying_is_no_visit() -> None:
    visits = VisitHistory(HOME)
    visits.visit(HOME)
    assert not visits.can_go(-1)


def test_coming_back_leads_to_the_tab_that_was_open() -> None:
    visits = VisitHistory(HOME)
    visits.visit(KEDA)
    visits.turn("events")
    visits.move(-1)
    assert visits.move(1)[-1].tab == "events"


def test_old_visits_are_forgotten_and_the_present_one_stays() -> None:
    visits = VisitHistory(HOME)
    for number in range(500):
        visits.visit((*HOME, ScreenStep("module", f"m{number}")))
    steps = 0
    while visits.can_go(-1):
        visits.move(-1)
        steps += 1
    assert 50 < steps < 150
    assert visits.current[-1].about == f"m{499 - steps}"
