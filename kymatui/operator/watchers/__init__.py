"""Watchers: the routes of runtimes' events on the control plane; their rules are in `domain.remote.watcher_routes`."""
