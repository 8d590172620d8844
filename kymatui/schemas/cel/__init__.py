"""The subset of the Common Expression Language that custom resources use (x-kubernetes-validations)."""
