"""What every controller works with: the work queue, reads of the store, events, conditions. Knows no kind."""
