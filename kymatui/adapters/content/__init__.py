"""Content for the engine: charts, layers, catalogs and URLs, with the blob cache on disk."""
