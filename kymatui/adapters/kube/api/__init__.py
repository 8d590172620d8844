"""The API of one cluster: the client and its verbs, discovery and its cache, access reviews."""
