"""Sockets: TLS, kubeconfig, aiohttp, request log, injected faults."""
