"""Components in registries and layouts: read, listed, verified, cached. What builds and stores them is `publishing`."""
