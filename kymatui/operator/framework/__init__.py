"""The basics of controllers: queue, workers, watches, intervals, runtime clients, the group; no rules of any kind."""
