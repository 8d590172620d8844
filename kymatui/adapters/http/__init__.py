"""HTTP helpers below Kubernetes and registries: sizes, deadlines, bodies, sessions, abandonable calls.

This folder knows no credentials and chooses no addresses.
"""
