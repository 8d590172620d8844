"""The embedded Kubernetes API server: maps requests to answers; aiohttp only transports bytes."""
