"""Controller basics: work queue, workers, dependency watches; independent of Manifests."""
