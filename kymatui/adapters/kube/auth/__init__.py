"""Connection data of API servers: kubeconfigs, endpoints, credentials, exec plugins, OIDC tokens.

This folder sends no requests.
"""
