"""HTTP below Kubernetes and registries: sizes, deadlines, bodies, sessions, calls that can be abandoned. No
addresses and no credentials.
"""
