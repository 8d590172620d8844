"""How to reach an API server: kubeconfigs of files and Secrets, endpoints, credentials, exec plugins, OIDC tokens.
No request is sent here.
"""
