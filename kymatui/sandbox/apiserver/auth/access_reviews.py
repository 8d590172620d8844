"""Access and identity reviews: objects that the server answers and never stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kymatui.sandbox.apimachinery.clock import timestamp
from kymatui.sandbox.apimachinery.exchange import RequestUser
from kymatui.sandbox.apimachinery.statuses import bad_request, invalid
from kymatui.sandbox.apiserver.auth.bearer_tokens import ISSUER, Tokens
from kymatui.sandbox.apiserver.auth.rbac_authorizer import AccessDecision, Attributes, Authorizer
from kymatui.sandbox.apiserver.resources.resource import Object
from kymatui.schemas.values.field_errors import go_value

Review = Callable[[Object, RequestUser, str], Object]
"""(the review, who asks, the namespace of the URL) -> its status."""


class AccessReviews:
    """Answers reviews by "resource.group"."""

    def __init__(self, authorizer: Authorizer, tokens: Tokens) -> None:
        self._authorizer = authorizer
        self._tokens = tokens
        authorization, authentication = "authorization.k8s.io", "authentication.k8s.io"
        self._answers: dict[str, Review] = {
            f"selfsubjectaccessreviews.{authorization}": self._self_access,
            f"subjectaccessreviews.{authorization}": self._access,
            f"localsubjectaccessreviews.{authorization}": self._local_access,
            f"selfsubjectrulesreviews.{authorization}": self._rules,
            f"selfsubjectreviews.{authentication}": self._self,
            f"tokenreviews.{authentication}": self._token,
        }

    def answers(self, resource: str) -> bool:
        return resource in self._answers

    def answer(self, resource: str, review: Object, user: RequestUser, namespace: str, now: float) -> Object:
        """Return the review with its status. Raise StatusError 400, 422."""
        review["status"] = self._answers[resource](review, user, namespace)
        if resource.startswith("selfsubjectreviews."):
            review.setdefault("metadata", {})["creationTimestamp"] = timestamp(now)
        return review

    def _self_access(self, review: Object, user: RequestUser, namespace: str) -> Object:
        del namespace
        _require_no_metadata(review)
        spec = review.get("spec") or {}
        _require_one(spec)
        return _status(self._authorizer.decide(user, attributes(spec)))

    def _access(self, review: Object, user: RequestUser, namespace: str) -> Object:
        del user, namespace
        _require_no_metadata(review)
        return self._decide_for(review)

    def _local_access(self, review: Object, user: RequestUser, namespace: str) -> Object:
        del user
        requested_namespace = ((review.get("spec") or {}).get("resourceAttributes") or {}).get("namespace", "")
        if requested_namespace != namespace:
            message = f'Invalid value: "{requested_namespace}": must match metadata.namespace'
            cause = {"reason": "FieldValueInvalid", "message": message, "field": "spec.resourceAttributes.namespace"}
            raise invalid(".authorization.k8s.io", "", [cause])
        return self._decide_for(review)

    def _decide_for(self, review: Object) -> Object:
        spec = review.get("spec") or {}
        _require_one(spec)
        if not spec.get("user") and not spec.get("groups"):
            message = 'Invalid value: "": at least one of user or group must be specified'
            cause = {"reason": "FieldValueInvalid", "message": message, "field": "spec.user"}
            raise invalid(".authorization.k8s.io", "", [cause])
        user = RequestUser(spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "")
        return _status(self._authorizer.decide(user, attributes(spec)))

    def _rules(self, review: Object, user: RequestUser, namespace: str) -> Object:
        del namespace
        requested_namespace = (review.get("spec") or {}).get("namespace") or ""
        review["metadata"], review["spec"] = {}, {}
        if not requested_namespace:
            raise bad_request("no namespace on request")
        resources: list[Any] = []
        paths: list[Any] = []
        if "system:masters" in user.groups:
            # The superuser authorizer of a real server answers for masters and lists every resource.
            resources.append({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})
            paths.append({"verbs": ["*"], "nonResourceURLs": ["*"]})
        missing: list[str] = []
        for _, rule in self._authorizer.rules_for(user, requested_namespace, missing):
            if rule.get("resources"):
                names = ("verbs", "apiGroups", "resources", "resourceNames")
                resources.append({name: rule[name] for name in names if rule.get(name)})
            if rule.get("nonResourceURLs"):
                paths.append({name: rule[name] for name in ("verbs", "nonResourceURLs")})
        status: Object = {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}
        if missing:
            unique = list(dict.fromkeys(missing))
            status["evaluationError"] = unique[0] if len(unique) == 1 else "[" + ", ".join(unique) + "]"
        return status

    def _self(self, review: Object, user: RequestUser, namespace: str) -> Object:
        del review, namespace
        return {"userInfo": user.info()}

    def _token(self, review: Object, user: RequestUser, namespace: str) -> Object:
        del user, namespace
        spec = review.get("spec") or {}
        token, audiences = spec.get("token") or "", spec.get("audiences") or []
        if not token:
            raise bad_request("token is required for TokenReview in authentication")
        token_user = self._tokens.user_of(token)
        claims = self._tokens.claims_of(token) if token_user else None
        known = claims["aud"] if claims else [ISSUER]
        matching = [name for name in audiences or [ISSUER] if name in known]
        if token_user is None or not matching:
            error = "invalid bearer token" if token_user is None else "token audiences is invalid"
            return {"user": {}, "error": error}
        return {"authenticated": True, "user": token_user.info(), "audiences": matching}


def attributes(spec: Mapping[str, Any]) -> Attributes:
    """Return the request that a review's spec describes."""
    resource_attributes = spec.get("resourceAttributes")
    if resource_attributes is None:
        path = spec.get("nonResourceAttributes") or {}
        return Attributes(path.get("verb") or "", path=path.get("path") or "")
    return Attributes(
        resource_attributes.get("verb") or "",
        resource_attributes.get("namespace") or "",
        resource_attributes.get("group") or "",
        resource_attributes.get("version") or "",
        resource_attributes.get("resource") or "",
        resource_attributes.get("subresource") or "",
        resource_attributes.get("name") or "",
    )


def _require_no_metadata(review: Object) -> None:
    """Raise StatusError 422 for metadata: a review cannot have a name."""
    metadata = review.get("metadata") or {}
    if set(metadata) - {"managedFields"}:
        message = f"Invalid value: {go_value(metadata)}: must be empty"
        cause = {"reason": "FieldValueInvalid", "message": message, "field": "metadata"}
        raise invalid(".authorization.k8s.io", "", [cause])


def _require_one(spec: Mapping[str, Any]) -> None:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) != (path is None):
        return
    field = "spec.resourceAttributes"
    if resource is None:
        cause = {
            "reason": "FieldValueInvalid",
            "message": "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes "
            "must be specified",
            "field": field,
        }
    else:
        route: Mapping[str, Any] = path or {}
        shown = go_value({"Path": route.get("path") or "", "Verb": route.get("verb") or ""})
        cause = {
            "reason": "FieldValueInvalid",
            "message": f"Invalid value: {shown}: cannot be specified in combination with resourceAttributes",
            "field": "spec.nonResourceAttributes",
        }
    raise invalid(".authorization.k8s.io", "", [cause])


def _status(decision: AccessDecision) -> Object:
    status: Object = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return status
