"""The part of the Common Expression Language that rules of custom resources use (x-kubernetes-validations)."""
