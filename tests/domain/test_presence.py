"""Whether a module is there, and who brought it: the flowchart of the status, and what it leaves open."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kymatui.domain.modules.presence import ManagerVisibility, Presence, PresenceEvidence, determine_presence

FOUND, ABSENT = ManagerVisibility.FOUND, ManagerVisibility.ABSENT


@pytest.mark.parametrize(
    ("traces", "found"),
    [
        pytest.param(PresenceEvidence(), Presence.NOT_INSTALLED, id="nothing"),
        pytest.param(PresenceEvidence(requested=True), Presence.ENABLED, id="in the Kyma, and nothing there yet"),
        pytest.param(
            PresenceEvidence(requested=True, manager=FOUND, resources=1), Presence.ENABLED, id="in the Kyma, and there"
        ),
        pytest.param(
            PresenceEvidence(requested=True, managed=False, manager=FOUND), Presence.UNMANAGED, id="managed: false"
        ),
        pytest.param(PresenceEvidence(requested=True, manager=FOUND), Presence.NOT_CONFIGURED, id="41 no resource"),
        pytest.param(
            PresenceEvidence(requested=True, manager=FOUND, configurable=False),
            Presence.ENABLED,
            id="a module without resources",
        ),
        pytest.param(
            PresenceEvidence(requested=True, manager=FOUND, direct=True), Presence.CONFLICT, id="managed and direct"
        ),
        pytest.param(
            PresenceEvidence(reported="Ready", manager=FOUND, resources=1), Presence.DELETING, id="only in the status"
        ),
        pytest.param(
            PresenceEvidence(reported="Unmanaged", manager=FOUND, resources=1), Presence.ENABLED, id="let go of"
        ),
        pytest.param(
            PresenceEvidence(resources=1, resources_deleting=1, manager=FOUND), Presence.DELETING, id="its CR is going"
        ),
        pytest.param(
            PresenceEvidence(resources=2, resources_deleting=1, manager=FOUND), Presence.ENABLED, id="one of two is"
        ),
        pytest.param(
            PresenceEvidence(manifest=True, manifest_deleting=True), Presence.DELETING, id="its Manifest is going"
        ),
        pytest.param(
            PresenceEvidence(manager=FOUND, manager_deleting=True), Presence.DELETING, id="its manager is going"
        ),
        pytest.param(PresenceEvidence(resources=1, manager=FOUND), Presence.ENABLED, id="installed directly"),
        pytest.param(
            PresenceEvidence(resources=1, manager=ABSENT), Presence.ORPHAN, id="a resource without its manager"
        ),
        pytest.param(PresenceEvidence(manager=FOUND), Presence.NOT_CONFIGURED, id="a manager without resources"),
        pytest.param(
            PresenceEvidence(manager=FOUND, configurable=False), Presence.ENABLED, id="a manager that needs none"
        ),
        pytest.param(PresenceEvidence(mandatory=True, manifest=True), Presence.ENABLED, id="mandatory"),
        pytest.param(PresenceEvidence(manifest=True), Presence.ENABLED, id="a Manifest that no Kyma asks for"),
        pytest.param(
            PresenceEvidence(kyma_unreadable=True), Presence.UNKNOWN, id="a Kyma may ask for it without being seen"
        ),
        pytest.param(
            PresenceEvidence(manager=ManagerVisibility.UNREADABLE), Presence.UNKNOWN, id="workloads may not be read"
        ),
        pytest.param(PresenceEvidence(resources=None), Presence.UNKNOWN, id="resources may not be read"),
        pytest.param(PresenceEvidence(resources=None, manager=FOUND), Presence.ENABLED, id="but the manager is there"),
        pytest.param(
            PresenceEvidence(manager=ManagerVisibility.UNIDENTIFIED), Presence.NOT_INSTALLED, id="no trace at all"
        ),
        pytest.param(
            PresenceEvidence(manager=ManagerVisibility.UNIDENTIFIED, resources=1),
            Presence.ENABLED,
            id="a resource is a trace",
        ),
    ],
)
def test_presence(traces: PresenceEvidence, found: Presence) -> None:
    assert determine_presence(traces) is found


@settings(deadline=None)
@given(
    st.builds(
        PresenceEvidence,
        requested=st.just(False),
        reported=st.none(),
        manager=st.sampled_from([ManagerVisibility.UNREADABLE, ManagerVisibility.ABSENT]),
        resources=st.none(),
        configurable=st.just(True),
    )
)
def test_what_cannot_be_read_is_never_said_to_be_absent(traces: PresenceEvidence) -> None:
    assert determine_presence(traces) in (Presence.UNKNOWN, Presence.DELETING, Presence.ENABLED)
