"""The API of one cluster: the client with its verbs, discovery with its cache, access reviews."""
