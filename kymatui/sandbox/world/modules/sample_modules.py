"""The modules of the sample world."""

from __future__ import annotations

from kymatui.sandbox.world.modules.sample_module import ModuleKind, ModuleStyle, Packing, SampleModule, StateRule

OPERATOR = "operator.kyma-project.io"
HEALTH_RULES = (
    StateRule("status.phase", "Running", "Ready"),
    StateRule("status.phase", "Failed", "Error"),
    StateRule("status.phase", "Pending", "Processing"),
    StateRule("status.phase", "Degraded", "Warning"),
)
# The second Ready rule reads a field that the operator never sets. By lifecycle-manager's historical evaluation it
# counts as absent (Ready), by the documented one as not fulfilled (Processing).
TWO_READY_RULES = (
    StateRule("status.phase", "Running", "Ready"),
    StateRule("status.dataplane.health", "green", "Ready"),
    StateRule("status.phase", "Failed", "Error"),
)


def _own(kind: str, plural: str, version: str = "v1alpha1") -> ModuleKind:
    return ModuleKind(OPERATOR, version, kind, plural)


MANAGED: tuple[SampleModule, ...] = (
    SampleModule(
        "serverless",
        _own("Serverless", "serverlesses"),
        ("1.5.1", "1.6.0", "1.7.0-experimental"),
        {"regular": "1.5.1", "fast": "1.6.0", "experimental": "1.7.0-experimental"},
        manager="serverless-operator",
        user_kinds=(ModuleKind("serverless.kyma-project.io", "v1alpha2", "Function", "functions"),),
        workloads=("serverless-ctrl-mngr",),
        spec={"targetCPUUtilizationPercentage": 50, "functionBuildMaxSimultaneousJobs": 5},
        about="Runs functions in the cluster, from a Git repository or from text.",
    ),
    SampleModule(
        "istio",
        _own("Istio", "istios", "v1alpha2"),
        ("1.11.0", "1.12.0", "1.12.1-experimental"),
        {"regular": "1.11.0", "fast": "1.12.0", "experimental": "1.12.1-experimental"},
        packing=Packing.TAR,
        manager="istio-controller-manager",
        workloads=("istiod", "istio-ingressgateway"),
        user_kinds=(
            ModuleKind("networking.istio.io", "v1beta1", "Gateway", "gateways"),
            ModuleKind("networking.istio.io", "v1beta1", "VirtualService", "virtualservices"),
        ),
        spec={"config": {"numTrustedProxies": 1}, "components": {"pilot": {}}},
        about="A service mesh with an ingress gateway.",
    ),
    SampleModule(
        "keda",
        _own("Keda", "kedas"),
        ("1.4.0", "1.5.0", "1.6.0-experimental"),
        {"regular": "1.5.0", "fast": "1.5.0", "experimental": "1.6.0-experimental"},
        workloads=("keda-operator", "keda-operator-metrics-apiserver"),
        user_kinds=(
            ModuleKind("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects"),
            ModuleKind("keda.sh", "v1alpha1", "ScaledJob", "scaledjobs"),
        ),
        spec={"logging": {"operator": {"level": "info"}}},
        about="Scales workloads by events, down to zero.",
    ),
    SampleModule(
        "telemetry",
        _own("Telemetry", "telemetries"),
        ("1.23.0", "1.24.0"),
        {"regular": "1.23.0", "fast": "1.24.0"},
        packing=Packing.TAR,
        workloads=("telemetry-trace-gateway",),
        user_kinds=(
            ModuleKind("telemetry.kyma-project.io", "v1alpha1", "LogPipeline", "logpipelines"),
            ModuleKind("telemetry.kyma-project.io", "v1alpha1", "TracePipeline", "tracepipelines"),
        ),
        about="Collects logs, traces and metrics and ships them where they are wanted.",
    ),
    SampleModule(
        "btp-operator",
        _own("BtpOperator", "btpoperators"),
        ("1.1.17", "1.2.0"),
        {"regular": "1.1.17", "fast": "1.2.0"},
        manager="btp-manager-controller-manager",
        workloads=("sap-btp-operator-controller-manager",),
        user_kinds=(
            ModuleKind("services.cloud.sap.com", "v1", "ServiceInstance", "serviceinstances"),
            ModuleKind("services.cloud.sap.com", "v1", "ServiceBinding", "servicebindings"),
        ),
        needs_secret="sap-btp-manager",  # noqa: S106 - the name of a Secret
        about="Creates and binds services of the business technology platform.",
    ),
    SampleModule(
        "api-gateway",
        _own("APIGateway", "apigateways"),
        ("2.6.0", "2.7.0"),
        {"regular": "2.6.0", "fast": "2.7.0"},
        manager="api-gateway-controller-manager",
        user_kinds=(ModuleKind("gateway.kyma-project.io", "v2", "APIRule", "apirules"),),
        spec={"enableKymaGateway": True},
        about="Exposes and secures workloads with API rules.",
    ),
    SampleModule(
        "nats",
        _own("NATS", "nats"),
        ("1.1.0", "1.2.0"),
        {"regular": "1.2.0", "fast": "1.2.0"},
        packing=Packing.TAR,
        stateful=True,
        downtime=("1.2.0",),
        spec={"cluster": {"size": 3}, "jetStream": {"fileStorage": {"size": "1Gi"}}},
        about="The messaging that eventing can run on.",
    ),
    SampleModule(
        "eventing",
        _own("Eventing", "eventings"),
        ("1.2.0", "1.3.0"),
        {"regular": "1.3.0", "fast": "1.3.0"},
        broken=("1.3.0",),
        workloads=("eventing-publisher-proxy",),
        user_kinds=(ModuleKind("eventing.kyma-project.io", "v1alpha2", "Subscription", "subscriptions"),),
        spec={"backend": {"type": "NATS"}},
        about="Publishes events and delivers them to subscribers.",
    ),
    SampleModule(
        "application-connector",
        _own("ApplicationConnector", "applicationconnectors"),
        ("1.1.5", "1.1.7"),
        {"regular": "1.1.5", "fast": "1.1.7"},
        style=ModuleStyle.OLD,
        manager="application-connector-controller-manager",
        user_kinds=(ModuleKind("applicationconnector.kyma-project.io", "v1alpha1", "Application", "applications"),),
        rules=HEALTH_RULES,
        reports={"phase": "Running"},
        about="Connects external systems with mutual TLS.",
    ),
    SampleModule(
        "cluster-ip",
        _own("ClusterIP", "clusterips", "v1beta1"),
        ("0.1.0", "0.2.0"),
        {"regular": "0.1.0", "fast": "0.2.0"},
        style=ModuleStyle.OLD,
        packing=Packing.KUSTOMIZATION,
        rules=TWO_READY_RULES,
        reports={"phase": "Running"},
        about="Finds out which addresses the nodes use towards the outside.",
    ),
    SampleModule(
        "cloud-manager",
        ModuleKind("cloud-resources.kyma-project.io", "v1beta1", "CloudResources", "cloudresources"),
        ("1.4.0", "1.5.0"),
        {"regular": "1.4.0", "fast": "1.5.0"},
        user_kinds=(ModuleKind("cloud-resources.kyma-project.io", "v1beta1", "IpRange", "ipranges"),),
        about="Manages resources of the cloud provider from inside the cluster.",
    ),
    SampleModule(
        "transparent-proxy",
        _own("TransparentProxy", "transparentproxies"),
        ("1.5.2", "1.6.0"),
        {"regular": "1.5.2", "fast": "1.6.0"},
        manager="transparent-proxy-operator",
        user_kinds=(ModuleKind("destination.connectivity.api.sap", "v1", "Destination", "destinations"),),
        about="Makes destinations look like services of the cluster.",
    ),
    SampleModule(
        "connectivity-proxy",
        ModuleKind("connectivityproxy.sap.com", "v1", "ConnectivityProxy", "connectivityproxies"),
        ("1.0.2", "1.1.0"),
        {"regular": "1.0.2", "fast": "1.1.0"},
        packing=Packing.CHART,
        manager="connectivity-proxy-operator",
        beta=True,
        about="A tunnel to systems on premises.",
    ),
    SampleModule(
        "compass-manager",
        _own("CompassManagerMapping", "compassmanagermappings", "v1beta1"),
        ("0.3.0",),
        {"fast": "0.3.0"},
        internal=True,
        about="Registers clusters with the directory of systems; for the platform team.",
    ),
    SampleModule(
        "warden",
        _own("Warden", "wardens"),
        ("0.19.0",),
        mandatory=True,
        manager="warden-operator",
        about="Lets only images run that were signed; every cluster has it.",
    ),
)

COMMUNITY: tuple[SampleModule, ...] = (
    SampleModule(
        "docker-registry",
        _own("DockerRegistry", "dockerregistries"),
        ("0.11.0", "0.14.0"),
        style=ModuleStyle.COMMUNITY,
        manager="dockerregistry-operator",
        namespace="docker-registry",
        workloads=("dockerregistry",),
        about="A container registry inside the cluster.",
    ),
    SampleModule(
        "registry-proxy",
        ModuleKind("registry-proxy.kyma-project.io", "v1alpha1", "RegistryProxy", "registryproxies"),
        ("0.14.0", "0.15.0"),
        style=ModuleStyle.COMMUNITY,
        packing=Packing.CHART,
        manager="registry-proxy-controller",
        namespace="registry-proxy",
        about="Pulls images from registries that only a tunnel reaches.",
    ),
    SampleModule(
        "cap-operator",
        _own("CAPOperator", "capoperators"),
        ("0.32.1", "0.33.0"),
        style=ModuleStyle.COMMUNITY,
        manager="cap-operator-manager",
        namespace="cap-operator-system",
        user_kinds=(ModuleKind("sme.sap.com", "v1alpha1", "CAPApplication", "capapplications"),),
        about="Runs applications of the cloud application programming model.",
    ),
    SampleModule(
        "backup-operator",
        ModuleKind("backup.sandbox.local", "v1alpha1", "Backup", "backups"),
        ("0.4.0",),
        style=ModuleStyle.COMMUNITY,
        packing=Packing.KUSTOMIZATION,
        namespace="backup-operator",
        about="Copies volumes somewhere safe, on a schedule.",
    ),
)

MODULES: tuple[SampleModule, ...] = MANAGED + COMMUNITY


def module_named(name: str) -> SampleModule:
    return next(module for module in MODULES if module.name == name)
