"""The single node: scheduler, kubelet, containers, heartbeat, volumes."""
