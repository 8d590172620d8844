"""The embedded Kubernetes API server: requests in, answers out; aiohttp only carries the bytes (`serving`)."""
