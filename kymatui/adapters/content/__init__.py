"""What is fetched for the engine: charts, layers, catalogs and URLs, with the blob cache on disk."""
