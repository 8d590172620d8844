"""Precise types of fields where the models are vague (see `field_facts` for the format of the tables)."""

from __future__ import annotations

# Parsers for the tables of facts about built-in kinds.
#
# The names, types and descriptions of fields come from the models of the official client; `empty_fields`, `field_types`
# and `merge_strategies` hold what those lack. An entry is `Type: field field`, or `word: Type.field Type.field`.


def fields(text: str) -> frozenset[str]:
    """Return "Type.field" of every entry; continued lines are indented further."""
    names: list[str] = []
    name = ""
    for line in text.splitlines():
        words = line.split()
        if words and words[0].endswith(":"):
            name, words = words[0][:-1], words[1:]
        names += [f"{name}.{word}" for word in words]
    return frozenset(names)


def named(text: str) -> dict[str, str]:
    """Return "Type.field" mapped to the word in front of its line."""
    names: dict[str, str] = {}
    word = ""
    for line in text.splitlines():
        words = line.split()
        if words and words[0].endswith(":"):
            word, words = words[0][:-1], words[1:]
        names.update(dict.fromkeys(words, word))
    return names


LONG_INTEGERS = fields(
    """
    Condition: observedGeneration
    ContainerImage: sizeBytes
    ControllerRevision: revision
    CronJobSpec: startingDeadlineSeconds
    CustomResourceDefinitionCondition: observedGeneration
    CustomResourceDefinitionStatus: observedGeneration
    DaemonSetStatus: observedGeneration
    DeleteOptions: gracePeriodSeconds
    DeploymentStatus: observedGeneration
    HorizontalPodAutoscalerStatus: observedGeneration
    JSONSchemaProps: maxLength minLength maxItems minItems maxProperties minProperties
    JobSpec: activeDeadlineSeconds
    LinuxContainerUser: uid gid
    NodeSwapStatus: capacity
    ObjectMeta: generation deletionGracePeriodSeconds
    PodCondition: observedGeneration
    PodDisruptionBudgetStatus: observedGeneration
    PodSecurityContext: runAsUser runAsGroup fsGroup
    PodSpec: terminationGracePeriodSeconds activeDeadlineSeconds
    PodStatus: observedGeneration
    Probe: terminationGracePeriodSeconds
    ReplicaSetStatus: observedGeneration
    ReplicationControllerStatus: observedGeneration
    SecurityContext: runAsUser runAsGroup
    ServiceAccountTokenProjection: expirationSeconds
    SleepAction: seconds
    StatefulSetStatus: observedGeneration
    TokenRequestSpec: expirationSeconds
    Toleration: tolerationSeconds
    """
)
"""Integers of 64 bits; the others have 32."""

QUANTITIES = fields(
    """
    ContainerStatus: allocatedResources
    EmptyDirVolumeSource: sizeLimit
    HPAScalingRules: tolerance
    LimitRangeItem: max min default defaultRequest maxLimitRequestRatio
    MetricTarget: value averageValue
    MetricValueStatus: value averageValue
    NodeAllocatableResourceClaimStatus: resources
    NodeStatus: capacity allocatable
    PersistentVolumeClaimStatus: capacity allocatedResources
    PersistentVolumeSpec: capacity
    PodSpec: overhead
    PodStatus: allocatedResources
    ResourceFieldSelector: divisor
    ResourceQuotaSpec: hard
    ResourceQuotaStatus: hard used
    ResourceRequirements: limits requests
    VolumeResourceRequirements: limits requests
    """
)
"""Resource quantities, or maps of them: numbers are taken too."""

MICRO_TIMES = fields(
    """
    Event: eventTime eventTime
    EventSeries: lastObservedTime lastObservedTime
    LeaseSpec: acquireTime renewTime
    """
)
"""Times with microseconds."""

STRING_TYPES = named(
    """
    types.UID: BoundObjectReference.uid ConfigMapNodeConfigSource.uid ObjectMeta.uid ObjectReference.uid
        OwnerReference.uid
    v1.AppArmorProfileType: AppArmorProfile.type
    v1.ConcurrencyPolicy: CronJobSpec.concurrencyPolicy
    v1.ConditionStatus: Condition.status CustomResourceDefinitionCondition.status DaemonSetCondition.status
        DeploymentCondition.status HorizontalPodAutoscalerCondition.status JobCondition.status
        NamespaceCondition.status NodeCondition.status PersistentVolumeClaimCondition.status
        PodCondition.status PodFailurePolicyOnPodConditionsPattern.status ReplicaSetCondition.status
        ReplicationControllerCondition.status StatefulSetCondition.status
    v1.ContainerRestartRuleAction: ContainerRestartRule.action
    v1.ContainerRestartRuleOnExitCodesOperator: ContainerRestartRuleOnExitCodes.operator
    v1.ConversionStrategyType: CustomResourceConversion.strategy
    v1.CustomResourceDefinitionConditionType: CustomResourceDefinitionCondition.type
    v1.DNSPolicy: PodSpec.dnsPolicy
    v1.DaemonSetConditionType: DaemonSetCondition.type
    v1.DaemonSetUpdateStrategyType: DaemonSetUpdateStrategy.type
    v1.DeploymentConditionType: DeploymentCondition.type
    v1.DeploymentStrategyType: DeploymentStrategy.type
    v1.FieldSelectorOperator: FieldSelectorRequirement.operator
    v1.JSONSchemaURL: JSONSchemaProps.$schema
    v1.JobConditionType: JobCondition.type
    v1.LabelSelectorOperator: LabelSelectorRequirement.operator
    v1.LimitType: LimitRangeItem.type
    v1.ManagedFieldsOperationType: ManagedFieldsEntry.operation
    v1.NamespaceConditionType: NamespaceCondition.type
    v1.NamespacePhase: NamespaceStatus.phase
    v1.NodeAddressType: NodeAddress.type
    v1.NodeConditionType: NodeCondition.type
    v1.NodePhase: NodeStatus.phase
    v1.NodeSelectorOperator: NodeSelectorRequirement.operator
    v1.OSName: PodOS.name
    v1.PersistentVolumeClaimConditionType: PersistentVolumeClaimCondition.type
    v1.PersistentVolumeClaimModifyVolumeStatus: ModifyVolumeStatus.status
    v1.PersistentVolumeClaimPhase: PersistentVolumeClaimStatus.phase
    v1.PersistentVolumeClaimRetentionPolicyType: StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted
        StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled
    v1.PersistentVolumePhase: PersistentVolumeStatus.phase
    v1.PersistentVolumeReclaimPolicy: PersistentVolumeSpec.persistentVolumeReclaimPolicy
    v1.PodConditionType: PodCondition.type PodFailurePolicyOnPodConditionsPattern.type
        PodReadinessGate.conditionType
    v1.PodFailurePolicyAction: PodFailurePolicyRule.action
    v1.PodFailurePolicyOnExitCodesOperator: PodFailurePolicyOnExitCodesRequirement.operator
    v1.PodManagementPolicyType: StatefulSetSpec.podManagementPolicy
    v1.PodPhase: PodStatus.phase
    v1.PodQOSClass: PodStatus.qosClass
    v1.PodResizeStatus: PodStatus.resize
    v1.DeletionPropagation: DeleteOptions.propagationPolicy
    v1.Protocol: ContainerPort.protocol EndpointPort.protocol IngressPortStatus.protocol PortStatus.protocol
        ServicePort.protocol
    v1.PullPolicy: Container.imagePullPolicy EphemeralContainer.imagePullPolicy ImageVolumeSource.pullPolicy
    v1.ReplicaSetConditionType: ReplicaSetCondition.type
    v1.ReplicationControllerConditionType: ReplicationControllerCondition.type
    v1.ResourceHealthStatus: ResourceHealth.health
    v1.ResourceID: ResourceHealth.resourceID
    v1.ResourceName: ContainerResizePolicy.resourceName ContainerResourceMetricSource.name
        ContainerResourceMetricStatus.name ResourceMetricSource.name ResourceMetricStatus.name
        ResourceStatus.name
    v1.ResourceQuotaScope: ScopedResourceSelectorRequirement.scopeName
    v1.ResourceResizeRestartPolicy: ContainerResizePolicy.restartPolicy
    v1.ResourceScope: CustomResourceDefinitionSpec.scope
    v1.RestartPolicy: PodSpec.restartPolicy
    v1.ScopeSelectorOperator: ScopedResourceSelectorRequirement.operator
    v1.SeccompProfileType: SeccompProfile.type
    v1.SecretType: Secret.type
    v1.ServiceAffinity: ServiceSpec.sessionAffinity
    v1.ServiceExternalTrafficPolicy: ServiceSpec.externalTrafficPolicy
    v1.ServiceType: ServiceSpec.type
    v1.StatefulSetConditionType: StatefulSetCondition.type
    v1.StatefulSetUpdateStrategyType: StatefulSetUpdateStrategy.type
    v1.StorageMedium: EmptyDirVolumeSource.medium
    v1.TaintEffect: Taint.effect Toleration.effect
    v1.TerminationMessagePolicy: Container.terminationMessagePolicy
        EphemeralContainer.terminationMessagePolicy
    v1.TolerationOperator: Toleration.operator
    v1.URIScheme: HTTPGetAction.scheme
    v1.UniqueVolumeName: AttachedVolume.name
    v1.UnsatisfiableConstraintAction: TopologySpreadConstraint.whenUnsatisfiable
    v2.HPAScalingPolicyType: HPAScalingPolicy.type
    v2.HorizontalPodAutoscalerConditionType: HorizontalPodAutoscalerCondition.type
    v2.MetricSourceType: MetricSpec.type MetricStatus.type
    v2.MetricTargetType: MetricTarget.type
    """
)
"""How the decoder names the types of fields that are strings with a meaning."""


# Merge strategies of lists and maps of built-in kinds (see `field_facts` for the table format).


LIST_MAPS = named(
    """
    name: CSINodeSpec.drivers Container.env ContainerStatus.allocatedResourcesStatus EphemeralContainer.env
        MutatingWebhook.matchConditions MutatingWebhookConfiguration.webhooks PodSpec.containers
        PodSpec.ephemeralContainers PodSpec.imagePullSecrets PodSpec.initContainers PodSpec.resourceClaims
        PodSpec.schedulingGates PodSpec.volumes PodStatus.resourceClaimStatuses ServiceAccount.secrets
        ValidatingWebhook.matchConditions ValidatingWebhookConfiguration.webhooks
    type: ComponentStatus.conditions DaemonSetStatus.conditions DeploymentStatus.conditions
        HorizontalPodAutoscalerStatus.conditions NamespaceStatus.conditions NodeStatus.addresses
        NodeStatus.conditions PersistentVolumeClaimStatus.conditions PodDisruptionBudgetStatus.conditions
        PodStatus.conditions ReplicaSetStatus.conditions ReplicationControllerStatus.conditions
        ServiceStatus.conditions StatefulSetStatus.conditions
    containerPort,protocol: Container.ports EphemeralContainer.ports
    devicePath: Container.volumeDevices EphemeralContainer.volumeDevices
    mountPath: Container.volumeMounts ContainerStatus.volumeMounts EphemeralContainer.volumeMounts
    ip: PodSpec.hostAliases PodStatus.podIPs
    topologyKey,whenUnsatisfiable: PodSpec.topologySpreadConstraints
    port,protocol: ServiceSpec.ports
    rule: JSONSchemaProps.x-kubernetes-validations
    uid: ObjectMeta.ownerReferences
    """
)
"""Lists whose items are told apart by keys; patches merge them by the first key."""

UNPATCHED_LIST_MAPS = named(
    """
    name: ResourceRequirements.claims
    resourceID: ResourceStatus.resources
    type: CustomResourceDefinitionStatus.conditions
    """
)
"""Lists with keys that strategic merge patches replace as a whole."""

SETS = named(
    """
    replace: CSIDriverSpec.volumeLifecycleModes ContainerRestartRuleOnExitCodes.values Endpoint.addresses
        NodeAllocatableResourceClaimStatus.containers PodFailurePolicyOnExitCodesRequirement.values
        UncountedTerminatedPods.failed UncountedTerminatedPods.succeeded
        ValidatingAdmissionPolicyBindingSpec.validationActions
    merge: NodeSpec.podCIDRs ObjectMeta.finalizers
    """
)
"""Lists without duplicates; "merge" where strategic merge patches add to them."""

MERGED_LISTS = named(
    """
    ip: PodStatus.hostIPs
    type: JobStatus.conditions
    """
)
"""Lists that strategic merge patches merge by a key, though one manager owns them whole."""

ATOMIC_TYPES = frozenset(
    (
        "ConfigMapKeySelector",
        "EndpointAddress",
        "EndpointPort",
        "FileKeySelector",
        "LabelSelector",
        "LocalObjectReference",
        "MatchResources",
        "NamedRuleWithOperations",
        "NodeSelector",
        "NodeSelectorTerm",
        "ObjectFieldSelector",
        "ObjectReference",
        "OwnerReference",
        "ParamKind",
        "ParamRef",
        "ResourceFieldSelector",
        "RoleRef",
        "ScopeSelector",
        "SecretKeySelector",
        "SecretReference",
        "ServiceBackendPort",
        "Subject",
        "TopologySelectorTerm",
        "TypedLocalObjectReference",
        "Variable",
    )
)
"""Structs that one manager owns as a whole."""

ATOMIC_FIELDS = frozenset(
    (
        "ControllerRevision.data",
        "PodSpec.nodeSelector",
        "ReplicationControllerSpec.selector",
        "Scheduling.nodeSelector",
        "ServiceSpec.selector",
    )
)
"""Maps that one manager owns as a whole."""

GRANULAR_FIELDS = frozenset(("PersistentVolumeClaimStatus.allocatedResourceStatuses", "PersistentVolumeSpec.claimRef"))
"""Fields of an atomic type that merge all the same."""

PATCH_STRATEGIES = {
    "DeploymentSpec.strategy": ("retainKeys",),
    "PodSpec.resourceClaims": ("merge", "retainKeys"),
    "PodSpec.volumes": ("merge", "retainKeys"),
    "PodStatus.resourceClaimStatuses": ("merge", "retainKeys"),
    "PodDisruptionBudgetSpec.selector": ("replace",),
}
"""Strategies of strategic merge patches other than merging by key."""
