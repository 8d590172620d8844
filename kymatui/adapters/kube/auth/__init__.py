"""Connection data of API servers: kubeconfigs, endpoints, credentials, exec plugins, OIDC tokens.

Of this folder, only plugins and OIDC issuers are asked for anything; requests to API servers are `transport`'s.
"""
