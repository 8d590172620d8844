"""Releases as Helm keeps them: read what Helm wrote, and write what reads back as the same."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kymatui.errors import HelmError
from kymatui.helm import Chart, render
from kymatui.helm.rendering.releases import (
    HookRun,
    Release,
    ReleaseHook,
    Status,
    chart_document,
    decode_release,
    deployed,
    encode_release,
    from_record,
    join_manifests,
    next_version,
    record_text,
    surplus,
    to_record,
)

# The data of a Secret that helm v4.1.4 wrote when it upgraded a release.
WRITTEN_BY_HELM = (
    "SDRzSUFBQUFBQUFDLzd4VmIyL2l1QlArS21oK2J4MUluSVVTUy91bS9CWVVydHZWTHBSL1IxVTVqa2xTSER1S0hRcXQ4dDFQRGky"
    "MDE5NUtlM2M2S1ZLY3ljdzh6OWpqZVo1QTBwd0RnUklEZ2t4dUZKQW4yR1NsTm5jeEw0UTY4QmdJWUJmM0hNOXpzRGQxTDRqZko5"
    "MmdIUVJCSC9kWGdFRFFuM29IeEhYYlBlejFlMzV3MGJNQk1kZXN6QXFUS1FrRWJvcWtwREZ2TVpVWGdoc09DTFNocHRKQTRKUVZn"
    "VlNHVzFQemJwVjRMYUZHd0ZKYUdzczU1NGJHMUZDN2ZxbUpBWUlkTC9VUngyMTdiUmNRMENLYm5ZdzczRmlLczhWcmV3M0Znc3VZ"
    "UzVaWjBOOVBPYWw0azlOcjd3RkJ5UXVsTTZQS0F4QUFCRnpTU05pdE1HWEZFVkNSVVgyTXJXOXJCRUt4TFJCWkNZSEE4THdRMUx3"
    "Rk9SazcxOSttWHladHN6ZVdVbE1kUkhuZ3JoWmZFKzdyNUVxTVJUU2FwUXpmVk5OOGFGYVR5MkR6WFgwR0JMbUtUZFprZTNkNG55"
    "N2FuN3I5bm8rRHZyK0NHbjJBeTlvSG1vc3o2SEp4V2N6eTJZRmhzWXZ1VlJMZmYvbU5ZbEd0L3ErUzd6aW9Wcm1RMC9ud1laQjdJ"
    "aDROdDh2RmovUmJkbmtSV1ZKVGxZVFNYSVNEN21RMTM0dmw0bHBjYmJ0cE5MOUpOZ3MzMjN3dlR2N0xzKzk4T2Q5N3E4WFhhbW1M"
    "bW95RFFmTDVueGVXL25lRkdUb0lkVGdhVnZiRWxvc2ZSWVM3anpZMnpGTVJqZHlLNFdSSFI4R09Ic0plT0JnL3NQekcwSG4zTVI0"
    "TmRUVFlOOS94NGxLeWZMaGRUVUlkRHNacU5kK2JLM210cm5DNmk3QTJNWjRWSzV5NjRiMUt3c3c5aE5sRDhqNi90N1g4NHRHTllh"
    "TkEwL2wxMS9vdjgxa2UrV054TlQvbVd2cGo4Y3p6MTd2b0ZzR09pc28yOGhOUUlGM2I5M2FkQ0JVMXF4ckJIb2hYSTRpc25RSEI3"
    "VzVkSTlBczVUbDl1UkhIcnpPdzY3cWUwenhUMXlYTlkyZklKaE1XNnhqekN6MEJUTWxObHB4WlBoNDU1VlJtRzY0TkVIQWNaeTMv"
    "MTVxb3FtU2N0RXJXYWFhTTdsRFIrZk1WV2N2ek9DR3RuYmVXMjB6R3BEVm9VTDdTWWkxZkpoTnBQZGwySkswMWxOalJWYlNHZWky"
    "Zi8reXQyV3NzNytIL0xkRFhnTlNhdW8wRkVLUktiZCtNb0JJN0tTQ3dlWUhBS1RFZ0tLaEptK0hhK2VCV3ZkckZ2N2t2NlJwUWkw"
    "cXBETFg2b0VucmFRMHBGM2xicHgxTGN3M1dzeWk1azBsdHFCRElycXVqaU5qZ3QrN09BOCtTMUJ5akhQeUJROHl0NmppRkVoazdX"
    "TCtJYjFUSm5lWW5LM25EbzY3dFhOOXhhZXcydllhM1czSW1BTGZQZWxoVzB2YVlOclEwUEw2ajVpK0VzZSs3dnV0N2dXZWIra1VD"
    "ZitiZjlRUHMrVDYyL2tWS3RUMnRTY1VZNXpHUGJZTWZDd2JpWUN0ak50MWRVOXRSeWVDajZ1QzJ1Yjh2c29aUjB3YTZvTXhtM3hy"
    "bmVBR2Nrb3RudlJTSHU1eWJWTm51MEpwQy9VY0FBQUQvL3g0QTBmVktDQUFB"
)
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def secret(data: str = WRITTEN_BY_HELM, **labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": "sh.helm.release.v1.r2.v2", "labels": {"owner": "helm", "team": "y", **labels}},
        "type": "helm.sh/release.v1",
        "data": {"release": data},
    }


def test_what_helm_wrote_is_read() -> None:
    release = from_record(secret())
    assert (release.name, release.namespace, release.version) == ("r2", "kt-charts-rel2", 2)
    assert (release.status, release.description) == (Status.DEPLOYED, "Upgrade complete")
    assert release.labels == {"team": "y"}
    assert release.config == {"a": 5, "z": 1}
    assert release.chart["metadata"]["name"] == "rc"
    assert [(one.hook.name, one.hook.weight, one.last_run.phase) for one in release.hooks] == [
        ("r2-h", -2, "Succeeded")
    ]
    assert release.manifest.startswith("---\n# Source: rc/charts/al/templates/c.yaml\napiVersion: v1\n")
    assert release.last_deployed is not None
    assert release.last_deployed.tzinfo is not None


def sample() -> Release:
    chart = Chart.from_files(
        {
            "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n"
            "dependencies: [{name: db, version: '*', alias: d}]",
            "values.yaml": "a: 1\nf: 2.5\n",
            "values.schema.json": "{}",
            "templates/a.yaml": "kind: ConfigMap\nmetadata: {name: é}",
            "templates/h.yaml": "kind: Job\nmetadata: {name: j, annotations: {helm.sh/hook: pre-install}}",
            "charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\n",
        }
    )
    rendered = render(chart, {}, release_name="web", namespace="shop")
    return Release(
        name="web",
        namespace="shop",
        version=3,
        status=Status.DEPLOYED,
        description="Install complete",
        notes="n",
        first_deployed=MOMENT,
        last_deployed=MOMENT,
        chart=chart_document(rendered.root),
        config={"x": 1, "list": [1.5, None, True]},
        manifest=join_manifests(rendered.manifests),
        hooks=tuple(ReleaseHook(one, HookRun("Succeeded", MOMENT, MOMENT)) for one in rendered.hooks),
        labels={"team": "z"},
        apply_method="ssa",
    )


def test_what_is_written_reads_back_as_the_same() -> None:
    release = sample()
    assert from_record(to_record(release, created_at=MOMENT)) == release


def test_the_secret_is_helms() -> None:
    made = to_record(sample(), created_at=MOMENT, modified_at=MOMENT)
    assert made["type"] == "helm.sh/release.v1"
    assert made["metadata"] == {
        "name": "sh.helm.release.v1.web.v3",
        "namespace": "shop",
        "labels": {
            "team": "z",
            "name": "web",
            "owner": "helm",
            "status": "deployed",
            "version": "3",
            "createdAt": "1767323045",
            "modifiedAt": "1767323045",
        },
    }
    body = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(made["data"]["release"]))))
    assert list(body) == [
        "name",
        "info",
        "chart",
        "config",
        "manifest",
        "hooks",
        "version",
        "namespace",
        "apply_method",
    ]
    assert body["info"]["first_deployed"] == "2026-01-02T03:04:05.678901Z"
    assert body["chart"]["values"] == {"a": 1, "f": 2.5, "d": {"global": {}}}
    assert body["chart"]["metadata"]["dependencies"] == [
        {"name": "d", "repository": "", "version": "*", "enabled": True, "alias": "d"}
    ]
    assert base64.b64decode(body["chart"]["templates"][0]["data"]).decode().endswith("{name: é}")


def test_a_release_from_before_compression_and_times_that_are_empty() -> None:
    body = {
        "name": "a",
        "version": 1,
        "info": {"status": "superseded", "deleted": "", "last_deployed": "0001-01-01T00:00:00Z"},
    }
    release = decode_release(base64.b64encode(json.dumps(body).encode()))
    assert (release.status, release.deleted, release.last_deployed) == (Status.SUPERSEDED, None, None)


def test_a_status_that_only_a_newer_helm_knows_is_refused() -> None:
    with pytest.raises(HelmError, match="its status 'pending-test' is not one of helm 3 and 4") as refused:
        decode_release(packed({"name": "a", "info": {"status": "pending-test"}}))
    assert refused.value.hint == "use the helm that wrote it, or a newer kymatui"


def test_fields_that_only_a_newer_helm_knows_stay_in_a_revision_that_is_written_again() -> None:
    document = {"name": "a", "version": 1, "info": {"status": "deployed", "rollback_revision": 3}, "sequence": [1]}
    release = decode_release(packed(document))
    superseded = decode_release(encode_release(replace(release, status=Status.SUPERSEDED)))
    assert (superseded.status, superseded.info, superseded.others) == (
        Status.SUPERSEDED,
        {"rollback_revision": 3},
        {"sequence": [1]},
    )


@pytest.mark.parametrize(
    "data",
    ["", "%", base64.b64encode(b"[]").decode(), base64.b64encode(b'{"hooks": 1}').decode(),
     base64.b64encode(b"\x1f\x8b\x08rest").decode()],
    ids=["empty", "no base64", "a list", "hooks that are none", "broken gzip"],
)  # fmt: skip
def test_what_is_no_release_is_refused(data: str) -> None:
    with pytest.raises(HelmError):
        decode_release(data)


def packed(document: object) -> str:
    return base64.b64encode(json.dumps(document).encode()).decode()


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"info": {"status": []}}, "info.status is not text"),
        ({"info": []}, "info is not a map"),
        ({"name": {}}, "name is not text"),
        ({"version": "1"}, "version is not a whole number"),
        ({"version": True}, "version is not a whole number"),
        ({"hooks": [1]}, "hooks[0] is not a map"),
        ({"hooks": [None]}, "hooks[0] is empty"),
        ({"hooks": [{"events": [{}]}]}, "hooks[0].events[0] is not text"),
        ({"hooks": [{"last_run": {"phase": []}}]}, "hooks[0].last_run.phase is not text"),
        ({"chart": "c"}, "chart is not a map"),
        ({"info": {"deleted": "soon"}}, "Invalid isoformat string: 'soon'"),
        ([], "it is not a JSON object"),
    ],
)
def test_a_damaged_release_names_the_field(document: object, reason: str) -> None:
    with pytest.raises(HelmError) as refused:
        decode_release(packed(document))
    assert str(refused.value) == f"a release cannot be read: {reason}"


def test_fields_of_a_release_may_be_null() -> None:
    names = ("name", "namespace", "version", "info", "chart", "config", "manifest", "hooks", "apply_method")
    release = decode_release(packed(dict.fromkeys(names)))
    assert (release.name, release.version, release.manifest, release.hooks) == ("", 0, "", ())
    assert decode_release(packed({"info": dict.fromkeys(("status", "deleted"))})).status is Status.UNKNOWN


def test_the_error_of_a_damaged_secret_names_it() -> None:
    damaged = secret()
    damaged["data"]["release"] = base64.b64encode(packed({"info": {"status": []}}).encode()).decode()
    with pytest.raises(HelmError) as refused:
        from_record(damaged)
    assert str(refused.value).startswith(f"Secret {damaged['metadata']['name']}: a release cannot be read")
    damaged["metadata"]["namespace"] = "ns"
    with pytest.raises(HelmError, match=f"Secret ns/{damaged['metadata']['name']}: "):
        from_record(damaged)


def test_a_bomb_is_refused() -> None:
    with pytest.raises(HelmError):
        decode_release(base64.b64encode(gzip.compress(b"\0" * (129 << 20), 1)).decode())


def test_a_release_in_a_config_map_is_stored_as_by_helm() -> None:
    """`HELM_DRIVER=configmap helm install`: no type, and base64 once instead of twice."""
    release = from_record(secret())
    record = to_record(release, config_map=True, texts={"inventory": "{}"})
    assert (record["kind"], "type" in record, record["data"]["inventory"]) == ("ConfigMap", False, "{}")
    assert record["metadata"] == to_record(release)["metadata"]
    assert json.loads(gzip.decompress(base64.b64decode(record["data"]["release"])))["name"] == release.name
    assert (from_record(record), record_text(record, "inventory")) == (release, "{}")


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
def test_a_newer_format_is_refused_with_what_reads_it(kind: str) -> None:
    record = {**secret(), "kind": kind}
    record["metadata"] = {**record["metadata"], "name": "sh.helm.release.v2.web.v1"}
    if kind == "Secret":
        record["type"] = "helm.sh/release.v2"
    with pytest.raises(HelmError, match=rf"{kind} sh.helm.release.v2.web.v1 is no release in the format of") as refused:
        from_record(record)
    assert refused.value.hint == "use the helm that wrote it, or a newer kymatui"


def test_a_secret_of_another_type_is_refused() -> None:
    with pytest.raises(HelmError, match="is no release"):
        from_record({**secret(), "type": "Opaque"})
    with pytest.raises(HelmError, match="has no release in it"):
        from_record({**secret(), "data": {}})


def revisions(*statuses: str) -> list[Release]:
    return [Release("a", "n", number, Status(word)) for number, word in enumerate(statuses, 1)]


def test_the_history_keeps_its_length_and_the_deployed_revision() -> None:
    history = revisions("deployed", "superseded", "failed", "failed")
    assert [one.version for one in surplus(history, 3)] == [2, 3]
    assert [one.version for one in surplus(history, 10)] == []
    assert [one.version for one in surplus(history, 0)] == []
    assert [one.version for one in surplus(revisions("failed", "failed"), 1)] == [1, 2]
    found = deployed(history)
    assert found is not None
    assert found.version == 1
    assert next_version(history) == 5
    assert next_version([]) == 1


def test_pending_revisions_say_so() -> None:
    assert [one for one in Status if one.is_pending] == [
        Status.PENDING_INSTALL,
        Status.PENDING_UPGRADE,
        Status.PENDING_ROLLBACK,
    ]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=3), st.text(max_size=40))
def test_any_values_and_texts_come_back(config: dict[str, Any], manifest: str) -> None:
    release = replace(sample_without_chart(), config=config, manifest=manifest)
    assert decode_release(encode_release(release)) == release


def sample_without_chart() -> Release:
    return Release("a", "n", 1, Status.FAILED)
