"""Controller framework: work queue, store reads, events, conditions; independent of kinds."""
