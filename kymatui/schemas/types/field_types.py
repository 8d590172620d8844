"""Precise types of fields where the models are vague (see `field_facts` for the format of the tables)."""

from __future__ import annotations

from kymatui.schemas.types.field_facts import fields, named

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
