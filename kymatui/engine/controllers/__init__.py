"""Controllers: they reconcile resources until these no longer exist.

To add one:

1. Make a folder here, or a file in the folder of a related controller, with a class that has the members of
   `runtime.controller.OperatorController`: `watches` names the kinds of the control plane (`KindWatch.keys` maps a
   changed object to the objects to reconcile, `listed` reconciles all objects at the start), `reconcile` does what is
   possible now and returns the seconds until the next time (`RequeueIntervals.of(state)`). A KymatuiError is retried
   with increasing delays.
2. Get the cluster of a Kyma's runtime from a `runtime.runtime_cache.RuntimeCache` of the controller's own, and
   `forget` it if `is_connection_failure(error)`. Watch objects of runtimes with `runtime.dependency_watches`: `begin`
   in the controller's `begin`, `watch` during a reconciliation, `end` in its `end`.
3. Register it in `CONTROLLERS` of `composition/operator.py`, under the name that `--controllers` takes. All
   controllers of a control plane run in one `runtime.controller_group.ControllerGroup`, under one Lease.

What the Kyma controller asks others to do on a runtime, and reports as conditions of the Kyma, has a Protocol in
`runtime.runtime_sync`: the catalog folder implements `RuntimeCatalogSync`, the watcher folder `RuntimeWebhookSync`.
Every write is made as `OPERATOR_FIELD_MANAGER`, through the port `engine.cluster.ports.Cluster`.
"""
