"""Whether a module is there, and who brought it: the flowchart of the status, and what it leaves open."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kymatui.domain.presence import Presence, Sight, Traces, presence

FOUND, ABSENT = Sight.FOUND, Sight.ABSENT


@pytest.mark.parametrize(
    ("traces", "found"),
    [
        pytest.param(Traces(), Presence.NOT_INSTALLED, id="nothing"),
        pytest.param(Traces(requested=True), Presence.ENABLED, id="in the Kyma, and nothing there yet"),
        pytest.param(Traces(requested=True, manager=FOUND, resources=1), Presence.ENABLED, id="in the Kyma, and there"),
        pytest.param(Traces(requested=True, managed=False, manager=FOUND), Presence.UNMANAGED, id="managed: false"),
        pytest.param(Traces(requested=True, manager=FOUND), Presence.NOT_CONFIGURED, id="41 no resource"),
        pytest.param(
            Traces(requested=True, manager=FOUND, configurable=False), Presence.ENABLED, id="a module without resources"
        ),
        pytest.param(Traces(requested=True, manager=FOUND, direct=True), Presence.CONFLICT, id="managed and direct"),
        pytest.param(Traces(reported="Ready", manager=FOUND, resources=1), Presence.DELETING, id="only in the status"),
        pytest.param(Traces(reported="Unmanaged", manager=FOUND, resources=1), Presence.ENABLED, id="let go of"),
        pytest.param(Traces(resources=1, resources_deleting=1, manager=FOUND), Presence.DELETING, id="its CR is going"),
        pytest.param(Traces(resources=2, resources_deleting=1, manager=FOUND), Presence.ENABLED, id="one of two is"),
        pytest.param(Traces(manifest=True, manifest_deleting=True), Presence.DELETING, id="its Manifest is going"),
        pytest.param(Traces(manager=FOUND, manager_deleting=True), Presence.DELETING, id="its manager is going"),
        pytest.param(Traces(resources=1, manager=FOUND), Presence.ENABLED, id="installed directly"),
        pytest.param(Traces(resources=1, manager=ABSENT), Presence.ORPHAN, id="a resource without its manager"),
        pytest.param(Traces(manager=FOUND), Presence.NOT_CONFIGURED, id="a manager without resources"),
        pytest.param(Traces(manager=FOUND, configurable=False), Presence.ENABLED, id="a manager that needs none"),
        pytest.param(Traces(mandatory=True, manifest=True), Presence.ENABLED, id="mandatory"),
        pytest.param(Traces(manifest=True), Presence.ENABLED, id="a Manifest that no Kyma asks for"),
        pytest.param(Traces(kyma_unreadable=True), Presence.UNKNOWN, id="a Kyma may ask for it without being seen"),
        pytest.param(Traces(manager=Sight.UNREADABLE), Presence.UNKNOWN, id="workloads may not be read"),
        pytest.param(Traces(resources=None), Presence.UNKNOWN, id="resources may not be read"),
        pytest.param(Traces(resources=None, manager=FOUND), Presence.ENABLED, id="but the manager is there"),
        pytest.param(Traces(manager=Sight.UNIDENTIFIED), Presence.NOT_INSTALLED, id="no trace at all"),
        pytest.param(Traces(manager=Sight.UNIDENTIFIED, resources=1), Presence.ENABLED, id="a resource is a trace"),
    ],
)
def test_presence(traces: Traces, found: Presence) -> None:
    assert presence(traces) is found


@settings(deadline=None)
@given(
    st.builds(
        Traces,
        requested=st.just(False),
        reported=st.none(),
        manager=st.sampled_from([Sight.UNREADABLE, Sight.ABSENT]),
        resources=st.none(),
        configurable=st.just(True),
    )
)
def test_what_cannot_be_read_is_never_said_to_be_absent(traces: Traces) -> None:
    assert presence(traces) in (Presence.UNKNOWN, Presence.DELETING, Presence.ENABLED)
