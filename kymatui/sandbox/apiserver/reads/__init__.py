"""GET: objects, lists, watches, logs, and the documents that describe the server."""
