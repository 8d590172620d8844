"""Controllers of the embedded cluster: kube-controller-manager, scheduler and one kubelet.

Controllers are level-triggered: the queue names *which* object to reconcile, never the event. A controller reads the
current state, performs the one missing step, and waits for the next change. All share one queue on the server's event
loop (`work_queue`), read straight from the store (`store_reader`) and write through the API like any client.
"""
