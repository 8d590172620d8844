"""The socket side: TLS, kubeconfig, aiohttp, the request log, and faults on demand."""
