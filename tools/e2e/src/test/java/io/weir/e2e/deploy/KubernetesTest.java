// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.deploy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Probe;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.weir.aggregator.AggregatorConfig;
import io.weir.e2e.ForeignProgram;
import io.weir.ingest.IngestConfig;
import io.weir.testing.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The manifests as {@code kubectl} renders them, read with the classes of Kubernetes' own objects;
 * what they set must be what the processes read. No cluster runs here.
 */
final class KubernetesTest {
  private static final Path FOLDER = Checkout.file("deploy/kubernetes");

  /** The longest that a process takes to stop, after which it ends itself. */
  private static final long LONGEST_STOP_SECONDS = 45;

  private static final Map<String, Class<? extends HasMetadata>> KINDS =
      Map.of(
          "ConfigMap", ConfigMap.class,
          "Job", Job.class,
          "NetworkPolicy", NetworkPolicy.class,
          "PodDisruptionBudget", PodDisruptionBudget.class,
          "Service", Service.class,
          "StatefulSet", StatefulSet.class);

  private static List<HasMetadata> objects;

  @BeforeAll
  static void render(@TempDir Path folder) throws Exception {
    String rendered =
        ForeignProgram.run("kubectl", "Kubernetes' tools", folder, "kustomize", FOLDER.toString());
    objects = read(rendered);
  }

  /** Reads objects; a field that Kubernetes does not know is an error. */
  private static List<HasMetadata> read(String yaml) throws IOException {
    YAMLMapper mapper = new YAMLMapper();
    mapper.setAnnotationIntrospector(
        new JacksonAnnotationIntrospector() {
          private static final long serialVersionUID = 1L;

          @Override
          public Boolean hasAnySetter(Annotated any) {
            return false;
          }
        });
    List<HasMetadata> read = new ArrayList<>();
    try (MappingIterator<JsonNode> documents = mapper.readerFor(JsonNode.class).readValues(yaml)) {
      while (documents.hasNext()) {
        JsonNode document = documents.next();
        String kind = document.path("kind").asText();
        Class<? extends HasMetadata> type = KINDS.get(kind);
        assertNotNull(type, kind);
        HasMetadata object = mapper.treeToValue(document, type);
        assertEquals(object.getApiVersion(), document.path("apiVersion").asText(), kind);
        read.add(object);
      }
    }
    return read;
  }

  private static <T extends HasMetadata> List<T> all(Class<T> type) {
    return objects.stream().filter(type::isInstance).map(type::cast).toList();
  }

  private static StatefulSet set(String name) {
    return all(StatefulSet.class).stream()
        .filter(each -> each.getMetadata().getName().equals(name))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aFieldThatKubernetesDoesNotKnow_isFound() throws Exception {
    String yaml = Files.readString(FOLDER.resolve("topics.yaml"));

    assertEquals(1, read(yaml).size());
    IOException refused =
        assertThrows(IOException.class, () -> read(yaml.replace("backoffLimit", "backofLimit")));
    assertTrue(refused.toString().contains("backofLimit"), refused::toString);
  }

  @Test
  void processes_readWhatIsSet(@TempDir Path one, @TempDir Path other) throws Exception {
    Map<String, String> ingest = environment(set("weir-ingest"));
    IngestConfig node = IngestConfig.of(PlacedFiles.of(ingest, one));
    assertEquals("weir-ingest-0", node.node());
    assertEquals(set("weir-ingest").getSpec().getReplicas().toString(), ingest.get("WEIR_NODES"));

    Map<String, String> aggregate = environment(set("weir-aggregate"));
    AggregatorConfig.of(PlacedFiles.of(aggregate, other));
    assertEquals(
        "weir-aggregate-0.weir-aggregate-instances:8081", aggregate.get("WEIR_ADVERTISED_REPORTS"));
  }

  /** Returns the environment of a container of the first pod. */
  private static Map<String, String> environment(StatefulSet set) {
    Map<String, String> environment = new TreeMap<>(Map.of("WEIR_DATA", "/var/lib/weir"));
    Container container = container(set);
    container
        .getEnvFrom()
        .forEach(
            from ->
                environment.putAll(
                    all(ConfigMap.class).stream()
                        .filter(
                            map ->
                                map.getMetadata()
                                    .getName()
                                    .equals(from.getConfigMapRef().getName()))
                        .findFirst()
                        .orElseThrow()
                        .getData()));
    for (EnvVar variable : container.getEnv()) {
      String value =
          variable.getValueFrom() == null
              ? variable.getValue()
              : set.getMetadata().getName() + "-0";
      for (Map.Entry<String, String> known : Map.copyOf(environment).entrySet()) {
        value = value.replace("$(" + known.getKey() + ")", known.getValue());
      }
      assertFalse(value.contains("$("), value);
      environment.put(variable.getName(), value);
    }
    return environment;
  }

  private static Container container(StatefulSet set) {
    List<Container> containers = set.getSpec().getTemplate().getSpec().getContainers();
    assertEquals(1, containers.size());
    return containers.get(0);
  }

  @Test
  void pods_haveProbes_timeToStop_aDisk_andNoRights() {
    assertEquals(2, all(StatefulSet.class).size());
    for (StatefulSet set : all(StatefulSet.class)) {
      PodSpec pod = set.getSpec().getTemplate().getSpec();
      String name = set.getMetadata().getName();
      assertTrue(pod.getTerminationGracePeriodSeconds() > LONGEST_STOP_SECONDS, name);
      assertTrue(pod.getSecurityContext().getRunAsNonRoot(), name);
      assertFalse(pod.getAutomountServiceAccountToken(), name);
      // was a hole: the variables that Kubernetes makes of services were taken for settings
      assertFalse(pod.getEnableServiceLinks(), name);
      Container container = container(set);
      assertTrue(container.getSecurityContext().getReadOnlyRootFilesystem(), name);
      assertEquals(List.of("ALL"), container.getSecurityContext().getCapabilities().getDrop());
      String port = container.getPorts().get(0).getName();
      for (Probe probe :
          List.of(
              container.getStartupProbe(),
              container.getReadinessProbe(),
              container.getLivenessProbe())) {
        assertEquals(port, probe.getHttpGet().getPort().getStrVal(), name);
      }
      assertEquals("/health/ready", container.getReadinessProbe().getHttpGet().getPath());
      assertEquals("/health/live", container.getLivenessProbe().getHttpGet().getPath());
      assertEquals(1, set.getSpec().getVolumeClaimTemplates().size(), name);
      TreeSet<String> mounted = new TreeSet<>();
      container.getVolumeMounts().forEach(mount -> mounted.add(mount.getMountPath()));
      assertTrue(mounted.containsAll(List.of("/tmp", "/var/lib/weir")), mounted::toString);
    }
  }

  @Test
  void services_leadToPods_andBudgetsAreForThem() {
    for (Service service : all(Service.class)) {
      assertTrue(
          all(StatefulSet.class).stream()
              .anyMatch(
                  set ->
                      set.getSpec()
                              .getTemplate()
                              .getMetadata()
                              .getLabels()
                              .entrySet()
                              .containsAll(service.getSpec().getSelector().entrySet())
                          && container(set)
                              .getPorts()
                              .get(0)
                              .getName()
                              .equals(
                                  service.getSpec().getPorts().get(0).getTargetPort().getStrVal())),
          service.getMetadata().getName());
    }
    for (StatefulSet set : all(StatefulSet.class)) {
      assertTrue(
          all(Service.class).stream()
              .anyMatch(
                  service ->
                      service.getMetadata().getName().equals(set.getSpec().getServiceName())
                          && "None".equals(service.getSpec().getClusterIP())),
          set.getMetadata().getName());
      assertTrue(
          all(PodDisruptionBudget.class).stream()
              .anyMatch(
                  budget ->
                      budget
                          .getSpec()
                          .getSelector()
                          .getMatchLabels()
                          .equals(set.getSpec().getSelector().getMatchLabels())),
          set.getMetadata().getName());
    }
  }

  @Test
  void networkPolicies_letInToThePortThatIsServed_andToNoOther() {
    for (StatefulSet set : all(StatefulSet.class)) {
      NetworkPolicy policy =
          all(NetworkPolicy.class).stream()
              .filter(
                  each ->
                      each.getSpec()
                          .getPodSelector()
                          .getMatchLabels()
                          .equals(set.getSpec().getSelector().getMatchLabels()))
              .findFirst()
              .orElseThrow();
      assertEquals(List.of("Ingress"), policy.getSpec().getPolicyTypes());
      assertEquals(1, policy.getSpec().getIngress().size());
      var rule = policy.getSpec().getIngress().get(0);
      assertEquals(1, rule.getFrom().size());
      assertEquals(
          List.of(container(set).getPorts().get(0).getName()),
          rule.getPorts().stream().map(port -> port.getPort().getStrVal()).toList());
    }
  }

  /** The rendered name of a config map follows its content, so that a change restarts pods. */
  @Test
  void policies_areTheSample_andNamedByTheirContent() throws Exception {
    ConfigMap policies =
        all(ConfigMap.class).stream()
            .filter(map -> map.getMetadata().getName().startsWith("weir-policies-"))
            .findFirst()
            .orElseThrow();

    // kustomize reads no file outside its folder, so the sample has a copy there
    String sample = Files.readString(Checkout.file("deploy/policies.yml"));
    assertEquals(sample, policies.getData().get("policies.yml"));
  }
}
