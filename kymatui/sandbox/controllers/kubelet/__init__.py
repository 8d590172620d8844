"""The one node: scheduler and kubelet, containers, heartbeat, volumes."""
