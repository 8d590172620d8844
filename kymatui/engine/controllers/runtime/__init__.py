"""What every controller needs: a work queue, workers, watches of dependencies. Nothing here knows Manifests."""
