"""The API server as a whole: its assembly, the way of a request through it, first objects, and the admin path."""
