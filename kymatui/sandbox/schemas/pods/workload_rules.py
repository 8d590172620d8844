"""Validation of workloads (k8s.io/kubernetes/pkg/apis/apps/validation and batch/validation)."""

from __future__ import annotations

import json
import re
import zoneinfo
from collections.abc import Iterable
from typing import Any

from kymatui.sandbox.schemas.pods.pod_rules import validate_pod_spec
from kymatui.schemas.objects.object_meta_rules import (
    immutable,
    not_negative,
    one_of,
    selects,
    validate_annotations,
    validate_labels,
    validate_selector,
)
from kymatui.schemas.types.schema_node import Object
from kymatui.schemas.values.field_errors import ApiFieldError, forbidden, invalid_value, required, unsupported
from kymatui.schemas.values.name_rules import dns_label, percent

Errors = list[ApiFieldError]
_NO_MATCH = "`selector` does not match template `labels`"
_SUBJECTS = {"Deployment": "deployment", "StatefulSet": "statefulset", "DaemonSet": "daemonset"}


def validate_template(template: Object, at: str, claimed: Iterable[str] = ()) -> Errors:
    """Return the errors of a pod template; `claimed` as in `validate_pod_spec`."""
    metadata: Object = template.get("metadata") or {}
    return [
        *validate_labels(metadata.get("labels"), f"{at}.metadata.labels"),
        *validate_annotations(metadata.get("annotations"), f"{at}.metadata.annotations"),
        *validate_pod_spec(template.get("spec") or {}, f"{at}.spec", claimed),
    ]


def _selector(kind: str, spec: Object) -> Errors:
    """Return the errors of the selector itself."""
    selector = spec.get("selector")
    if selector is None:
        return [] if kind == "DaemonSet" else [required("spec.selector")]
    errors = validate_selector(selector, "spec.selector")
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        if kind == "ReplicaSet":
            errors.append(invalid_value("spec.selector", selector, "empty selector is invalid for deployment"))
        else:
            errors.append(invalid_value("spec.selector", selector, f"empty selector is invalid for {_SUBJECTS[kind]}"))
    return errors


def _matching(spec: Object) -> Errors:
    """Return the errors of template labels that the selector does not match."""
    selector, labels = spec.get("selector"), ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return []
    if selector is None or not selects(selector, labels or {}):
        return [invalid_value("spec.template.metadata.labels", labels, _NO_MATCH)]
    return []


def _has_bad_terms(spec: Object) -> bool:
    selector = spec.get("selector") or {}
    return bool(validate_selector(selector, ""))


def _template_unless_bad(kind: str, spec: Object) -> Errors:
    """Return the errors of the template, or only that of an invalid selector."""
    if _has_bad_terms(spec):
        return [invalid_value("spec.selector", spec.get("selector"), "invalid label selector")]
    return _template(kind, spec)


def _template(kind: str, spec: Object) -> Errors:
    errors = [] if _has_bad_terms(spec) else _matching(spec)
    template: Object = spec.get("template") or {}
    claims = (claim.get("metadata") or {} for claim in spec.get("volumeClaimTemplates") or ())
    errors += validate_template(template, "spec.template", [claim.get("name") or "" for claim in claims])
    pod: Object = template.get("spec") or {}
    policy = pod.get("restartPolicy")
    if policy in ("OnFailure", "Never"):
        errors.append(unsupported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if pod.get("activeDeadlineSeconds") is not None:
        named = "ReplicaSet" if kind in ("Deployment", "ReplicaSet") else kind
        text = f"activeDeadlineSeconds in {named} is not Supported"
        errors.append(forbidden("spec.template.spec.activeDeadlineSeconds", text))
    return errors


def validate_deployment(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors = not_negative(spec, "replicas", at="spec") + _selector("Deployment", spec)
    errors += _template_unless_bad("Deployment", spec)
    errors += _strategy(spec.get("strategy") or {}, "spec.strategy")
    errors += not_negative(spec, "minReadySeconds", "revisionHistoryLimit", at="spec")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        errors += not_negative(spec, "progressDeadlineSeconds", at="spec")
        if deadline <= (spec.get("minReadySeconds") or 0):
            errors.append(
                invalid_value("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
            )
    return errors


def _strategy(strategy: Object, at: str) -> Errors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        text = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden(f"{at}.rollingUpdate", text)] if rolling is not None else []
    if kind != "RollingUpdate":
        shown = {"Type": kind, "RollingUpdate": None}
        return [_unsupported_struct(at, shown, ("Recreate", "RollingUpdate"))]
    location = f"{at}.rollingUpdate"
    unavailable, surge = (rolling or {}).get("maxUnavailable", 0), (rolling or {}).get("maxSurge", 0)
    errors = int_or_percent(unavailable, f"{location}.maxUnavailable") + int_or_percent(surge, f"{location}.maxSurge")
    if not errors and _amount(unavailable) == 0 and _amount(surge) == 0:
        errors.append(invalid_value(f"{location}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return errors + _at_most_all(unavailable, f"{location}.maxUnavailable")


def _unsupported_struct(at: str, shown: Object, choices: tuple[str, ...]) -> ApiFieldError:
    """Return the error with an internal struct: Go's field names in order of declaration."""
    listed = ", ".join(f'"{choice}"' for choice in choices)
    text = f"Unsupported value: {json.dumps(shown, separators=(',', ':'))}: supported values: {listed}"
    return ApiFieldError("NotSupported", at, text)


def _amount(value: Any) -> int:
    text = str(value).removesuffix("%")
    return int(text) if text.isdigit() else -1


def int_or_percent(value: Any, at: str) -> Errors:
    """Return the errors of a non-negative number or a percentage."""
    if isinstance(value, str):
        return [invalid_value(at, value, problem) for problem in percent(value)]
    return [invalid_value(at, value, "must be greater than or equal to 0")] if value < 0 else []


def _at_most_all(value: Any, at: str) -> Errors:
    if isinstance(value, str) and not percent(value) and _amount(value) > 100:
        return [invalid_value(at, value, "must not be greater than 100%")]
    return []


def validate_replica_set(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors = not_negative(spec, "replicas", "minReadySeconds", at="spec") + _selector("ReplicaSet", spec)
    return errors + _template_unless_bad("ReplicaSet", spec)


def validate_stateful_set(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors: Errors = []
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        errors.append(invalid_value("spec.podManagementPolicy", policy or "", "must be 'OrderedReady' or 'Parallel'"))
    strategy: Object = spec.get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate")
    shown = {"Partition": (rolling or {}).get("partition", 0), "MaxUnavailable": (rolling or {}).get("maxUnavailable")}
    if strategy.get("type") == "OnDelete" and rolling is not None:
        errors.append(
            _wrong_struct("spec.updateStrategy.rollingUpdate", shown, "only allowed for updateStrategy 'RollingUpdate'")
        )
    elif strategy.get("type") == "RollingUpdate":
        errors += not_negative(rolling or {}, "partition", at="spec.updateStrategy.rollingUpdate")
    elif strategy.get("type") != "OnDelete":
        text = "must be 'RollingUpdate' or 'OnDelete'"
        errors.append(_wrong_struct("spec.updateStrategy", {"Type": strategy.get("type"), "RollingUpdate": None}, text))
    errors += not_negative(spec, "replicas", "minReadySeconds", at="spec") + _selector("StatefulSet", spec)
    if _has_bad_terms(spec):
        errors.append(ApiFieldError("Invalid", "spec.selector", _shown("spec.selector", spec.get("selector"))))
    if spec.get("serviceName"):
        errors += [
            invalid_value("spec.serviceName", spec["serviceName"], problem)
            for problem in dns_label(spec["serviceName"])
        ]
    return errors + _template("StatefulSet", spec)


def _shown(at: str, value: Any) -> str:
    return invalid_value(at, value, "").body.removesuffix(": ")


def _wrong_struct(at: str, shown: Object, text: str) -> ApiFieldError:
    return ApiFieldError("Invalid", at, f"Invalid value: {json.dumps(shown, separators=(',', ':'))}: {text}")


def validate_daemon_set(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors = _selector("DaemonSet", spec) + _template("DaemonSet", spec)
    errors += not_negative(spec, "minReadySeconds", at="spec")
    strategy: Object = spec.get("updateStrategy") or {}
    if strategy.get("type") == "RollingUpdate":
        rolling: Object = strategy.get("rollingUpdate") or {}
        location = "spec.updateStrategy.rollingUpdate"
        unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
        errors += int_or_percent(unavailable, f"{location}.maxUnavailable") + int_or_percent(
            surge, f"{location}.maxSurge"
        )
        if _amount(unavailable) and _amount(surge):
            errors.append(
                invalid_value(f"{location}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
            )
        if not _amount(unavailable) and not _amount(surge):
            errors.append(required(f"{location}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    elif strategy.get("type") != "OnDelete":
        shown = {"Type": strategy.get("type"), "RollingUpdate": None}
        errors.append(_unsupported_struct("spec.updateStrategy", shown, ("RollingUpdate", "OnDelete")))
    return errors + not_negative(spec, "revisionHistoryLimit", at="spec")


# -- updates


def validate_selector_update(new: Object, old: Object) -> Errors:
    """Return the error of a changed selector, which is immutable."""
    return immutable(new["spec"].get("selector"), old["spec"].get("selector"), "spec.selector")


_STATEFUL_FIELDS = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def validate_stateful_set_update(new: Object, old: Object) -> Errors:
    rest = {name: value for name, value in new["spec"].items() if name not in _STATEFUL_FIELDS}
    stored = {name: value for name, value in old["spec"].items() if name not in _STATEFUL_FIELDS}
    if rest == stored:
        return []
    listed = ", ".join(f"'{name}'" for name in _STATEFUL_FIELDS[:-1])
    text = f"updates to statefulset spec for fields other than {listed} and '{_STATEFUL_FIELDS[-1]}' are forbidden"
    return [forbidden("spec", text)]


# -- batch


def validate_job(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors = validate_job_spec(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        errors.append(required("spec.selector"))
    else:
        errors += validate_selector(selector, "spec.selector")
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        if not spec.get("manualSelector") and set(selector.get("matchLabels") or ()) - {
            "batch.kubernetes.io/controller-uid",
            "controller-uid",
        }:
            errors.append(invalid_value("spec.selector", selector, "`selector` not auto-generated"))
        if not selects(selector, labels):
            errors.append(invalid_value("spec.template.metadata.labels", labels, _NO_MATCH))
    return errors


def validate_job_spec(spec: Object, at: str) -> Errors:
    errors = not_negative(
        spec, "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished", at=at
    )
    errors += one_of(spec, "completionMode", ("NonIndexed", "Indexed"), at)
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        errors.append(required(f"{at}.completions", "when completion mode is Indexed"))
    errors += validate_template(spec.get("template") or {}, f"{at}.template")
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy in (None, "", "Always"):
        errors.append(required(f"{at}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"'))
    return errors


def validate_job_update(new: Object, old: Object) -> Errors:
    spec, stored = new["spec"], old["spec"]
    errors: Errors = []
    if spec.get("completionMode") != "Indexed":
        errors += immutable(spec.get("completions"), stored.get("completions"), "spec.completions")
    errors += immutable(spec.get("selector"), stored.get("selector"), "spec.selector")
    waits = stored.get("suspend") and not (old.get("status") or {}).get("startTime")
    template, before = spec.get("template") or {}, stored.get("template") or {}
    if waits:
        template, before = _unscheduled(template), _unscheduled(before)
    errors += immutable(template, before, "spec.template")
    return errors + immutable(spec.get("completionMode"), stored.get("completionMode"), "spec.completionMode")


_PLACEMENT = ("nodeSelector", "affinity", "tolerations", "schedulingGates")


def _unscheduled(template: Object) -> Object:
    """Return the immutable parts of a not started job's template: all but labels, placement and resources."""
    spec: Object = {name: value for name, value in template["spec"].items() if name not in _PLACEMENT}
    for field in ("containers", "initContainers"):
        if field in spec:
            spec[field] = [{**container, "resources": {}} for container in spec[field]]
    return {"spec": spec}


_CRON = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_WORDS: tuple[dict[str, int], ...] = (
    {},
    {},
    {},
    {n: i + 1 for i, n in enumerate(_MONTHS)},
    {n: i for i, n in enumerate(_DAYS)},
)
_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


def schedule_problem(text: str) -> str:
    """Return the error of a cron schedule, "" for a valid one."""
    if "TZ" in text:
        return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    if text.startswith("@"):
        if text in _MACROS or re.match(r"@every \S+\Z", text):
            return ""
        return f"unrecognized descriptor: {text}"
    fields = text.split()
    if len(fields) != 5:
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    for field, bounds, words in zip(fields, _CRON, _WORDS, strict=True):
        for part in field.split(","):
            problem = _part_problem(part, bounds, words)
            if problem:
                return problem
    return ""


def _part_problem(part: str, bounds: tuple[int, int], words: dict[str, int]) -> str:
    span, _, step = part.partition("/")
    if step and not step.isdigit():
        return f'failed to parse int from {step}: strconv.Atoi: parsing "{step}": invalid syntax'
    if span in ("*", "?"):
        return ""
    ends: list[int] = []
    for end in span.split("-"):
        if end.lower() in words:
            ends.append(words[end.lower()])
        elif end.isdigit():
            ends.append(int(end))
        else:
            return f'failed to parse int from {end}: strconv.Atoi: parsing "{end}": invalid syntax'
    low, high = ends[0], ends[-1]
    if low < bounds[0]:
        return f"beginning of range ({low}) below minimum ({bounds[0]}): {part}"
    if high > bounds[1]:
        return f"end of range ({high}) above maximum ({bounds[1]}): {part}"
    return f"beginning of range ({low}) beyond end of range ({high}): {part}" if low > high else ""


def validate_cron_job(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors: Errors = []
    schedule = spec.get("schedule") or ""
    if not schedule:
        errors.append(required("spec.schedule"))
    else:
        problem = schedule_problem(schedule)
        if problem:
            errors.append(invalid_value("spec.schedule", schedule, problem))
    errors += not_negative(spec, "startingDeadlineSeconds", at="spec")
    zone = spec.get("timeZone")
    if zone is not None and zone not in zoneinfo.available_timezones():
        errors.append(invalid_value("spec.timeZone", zone, f"unknown time zone {zone}"))
    errors += one_of(spec, "concurrencyPolicy", ("Allow", "Forbid", "Replace"), "spec")
    errors += validate_job_spec(spec["jobTemplate"]["spec"], "spec.jobTemplate.spec")
    errors += not_negative(spec, "successfulJobsHistoryLimit", "failedJobsHistoryLimit", at="spec")
    name = obj["metadata"].get("name") or ""
    if len(name) > 52:
        errors.append(invalid_value("metadata.name", name, "must be no more than 52 characters"))
    return errors


# Validation of ReplicationControllers, PodTemplates and ControllerRevisions.


def validate_replication_controller(obj: Object) -> Errors:
    spec: Object = obj["spec"]
    errors = not_negative(spec, "replicas", "minReadySeconds", at="spec")
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        errors.append(required("spec.selector"))
    if template is None:
        return [*errors, required("spec.template")]
    labels: Object = (template.get("metadata") or {}).get("labels") or {}
    if selector and not selector.items() <= labels.items():
        text = "`selector` does not match template `labels`"
        errors.append(invalid_value("spec.template.metadata.labels", labels, text))
    return errors + validate_template(template, "spec.template")


def validate_pod_template(obj: Object) -> Errors:
    return validate_template(obj.get("template") or {}, "template")


def validate_revision(obj: Object) -> Errors:
    """Return the errors of a ControllerRevision."""
    errors = not_negative(obj, "revision", at="")
    return errors if obj.get("data") is not None else [*errors, required("data", "data is mandatory")]


def validate_revision_update(new: Object, old: Object) -> Errors:
    return immutable(new.get("data"), old.get("data"), "data")
