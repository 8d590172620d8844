"""What makes the embedded cluster live: the work of kube-controller-manager, the scheduler and one kubelet.

Controllers are level-triggered: each is told *which* object to look at, never what happened to it, reads the state of
now, does the one step that is missing, and waits to be told again. All of them share one queue on the server's event
loop (`reconciling`), read straight from the store (`observing`) and write through the API like any client.
"""
