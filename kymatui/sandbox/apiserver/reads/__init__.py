"""GET requests: objects, lists, watches, logs, discovery and OpenAPI documents."""
