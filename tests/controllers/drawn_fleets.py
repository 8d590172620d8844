"""Random fleets and changes for hypothesis: catalogs, Kymas with labels, channels and versions, settings."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st
from msgspec.structs import replace

from kymatui.domain.kyma.maintenance_windows import ControllerSettings, WindowPolicy, read_policy
from kymatui.domain.whatif.fleet_objects import CatalogChange
from tests.controllers.release_worlds import DrawnFleet
from tests.domain.builders import PREFIX, kyma, labels
from tests.domain.test_whatif import SPACE, a_meta, a_template, policy

REQUESTED = ("istio", "keda", "nats")
MANDATORY = "warden"
"""Requested by no Kyma: two controllers of lifecycle-manager would change its Manifest for ever."""
MODULES = (*REQUESTED, MANDATORY)
VERSIONS = ("1.0.0", "1.1.0", "2.0.0-rc", "2.0.0")
CHANNELS = ("regular", "fast")
Json = dict[str, Any]
_SATURDAYS = '{"rules": [], "default": {"days": ["Sat"], "begin": "00:00:00+00:00", "end": "23:59:00+00:00"}}'
flags = st.booleans()
versions = st.sampled_from(VERSIONS)


def open_windows() -> WindowPolicy:
    """A policy whose window is open at the time of the tests, a Saturday."""
    found = read_policy(_SATURDAYS)
    assert isinstance(found, WindowPolicy)
    return found


def one_in(number: int) -> st.SearchStrategy[bool]:
    return st.integers(1, number).map(lambda drawn: drawn == number)


@st.composite
def metas(draw: st.DrawFn, module: str) -> Json:
    if module == MANDATORY and draw(flags):
        return a_meta(module, None, mandatory={"version": draw(versions)})
    more: Json = {"kymaSelector": {"matchLabels": {"team": draw(st.sampled_from(("blue", "red")))}}}
    channels = draw(st.dictionaries(st.sampled_from(CHANNELS), versions, min_size=1))
    return a_meta(module, channels, **(more if draw(one_in(5)) else {}))


@st.composite
def templates(draw: st.DrawFn, module: str, version: str) -> Json:
    drawn = {name: "true" for name in ("beta", "internal") if draw(one_in(7))}
    return a_template(module, version, labelled=labels(**drawn), requiresDowntime=draw(one_in(4)))


@st.composite
def runtimes(draw: st.DrawFn, name: str) -> Json:
    modules = []
    for module in REQUESTED:
        if draw(flags):
            own: Json = {"name": module}
            if draw(one_in(5)):
                own |= draw(st.sampled_from(({"channel": "fast"}, {"version": "1.1.0"})))
            modules.append(own)
    labelled = {f"{PREFIX}{one}": "true" for one in ("beta", "internal") if draw(one_in(3))}
    labelled |= {"team": draw(st.sampled_from(("blue", "red")))}
    channel = draw(st.sampled_from(CHANNELS))
    return kyma(modules, name=name, namespace=SPACE, channel=channel, labelled=labelled)


restricted = st.sets(st.sampled_from(MODULES), max_size=2).map(frozenset)


@st.composite
def drawn_fleets(draw: st.DrawFn) -> DrawnFleet:
    catalog = [draw(metas(module)) for module in MODULES if not draw(one_in(8))]
    catalog += [draw(templates(module, version)) for module in MODULES for version in VERSIONS if not draw(one_in(8))]
    kymas = [draw(runtimes(f"r{number}")) for number in range(draw(st.integers(3, 8)))]
    return DrawnFleet(catalog, kymas, ControllerSettings(policy(), draw(restricted)))


@st.composite
def release_changes(draw: st.DrawFn) -> CatalogChange:
    objects = [draw(metas(module)) for module in MODULES if draw(one_in(2))]
    objects += [draw(templates(module, version)) for module in MODULES for version in VERSIONS if draw(one_in(6))]
    if draw(one_in(3)):
        objects.append(draw(runtimes("r1")))
    named = {one["metadata"]["name"] for one in objects}
    deleted = {("ModuleReleaseMeta", SPACE, module) for module in MODULES if draw(one_in(10)) and module not in named}
    deleted |= {
        ("ModuleTemplate", SPACE, f"{module}-{version}")
        for module in MODULES
        for version in VERSIONS
        if draw(one_in(12)) and f"{module}-{version}" not in named
    }
    labelled: dict[str, str | None] = {}
    if draw(one_in(4)):
        labelled[f"{PREFIX}{draw(st.sampled_from(('beta', 'internal')))}"] = draw(st.sampled_from(("true", None)))
    changed = draw(restricted) if draw(one_in(4)) else None
    windows = draw(st.sampled_from((None, None, None, open_windows())))
    return CatalogChange(tuple(objects), frozenset(deleted), labelled, windows, changed)


class DrawnStep(NamedTuple):
    """A change, and the modules of runtimes whose Manifests have the skip label while it is made."""

    change: CatalogChange
    skipped: frozenset[tuple[str, str]]


@st.composite
def release_steps(draw: st.DrawFn, most: int = 3) -> list[DrawnStep]:
    """Some changes, one after the other: templates that went may come back, skip labels come and go."""
    steps: list[DrawnStep] = []
    gone: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(1, most))):
        change = draw(release_changes())
        named = {raw["metadata"]["name"] for raw in change.objects} | {name for _, _, name in change.deleted}
        back = [pair for pair in gone if "-".join(pair) not in named and draw(flags)]
        gone = [pair for pair in gone if pair not in back]
        for kind, _, name in sorted(change.deleted):
            if kind == "ModuleTemplate":
                module, _, version = name.partition("-")
                gone.append((module, version))
        change = replace(change, objects=(*change.objects, *(draw(templates(*pair)) for pair in back)))
        pairs = [(f"r{number}", module) for number in range(4) for module in MODULES]
        steps.append(DrawnStep(change, frozenset(pair for pair in pairs if draw(one_in(8)))))
    return steps
