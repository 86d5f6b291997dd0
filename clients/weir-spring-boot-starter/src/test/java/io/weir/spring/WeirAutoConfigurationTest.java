// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.client.Call;
import io.weir.client.Decision.Cause;
import io.weir.client.Decision.Undecided;
import io.weir.client.FailureMode;
import io.weir.client.WeirClient;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.support.SpringFactoriesLoader;

/**
 * Tests the beans that the properties create, and the rules for the properties. No test sends a
 * request to a node.
 */
final class WeirAutoConfigurationTest {
  private static final String NODE = "weir.nodes=http://127.0.0.1:8080";

  /** Configuration of an application without a server. */
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Plain {}

  /** Configuration of an application that defines its own client. */
  @Configuration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class WithItsOwn {
    @Bean
    WeirClient own() {
      return WeirClient.builder(FailureMode.CLOSED, URI.create("http://127.0.0.1:1")).build();
    }
  }

  private static ConfigurableApplicationContext run(Class<?> application, String... properties) {
    return ItemsApplication.run(application, WebApplicationType.NONE, properties);
  }

  private static void assertRefused(String expected, String... properties) {
    Throwable thrown = assertThrows(Exception.class, () -> run(Plain.class, properties).close());
    StringBuilder all = new StringBuilder();
    for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
      all.append(cause.getMessage()).append('\n');
    }
    assertTrue(all.toString().contains(expected), all::toString);
  }

  @Test
  void application_getsAClient_withoutAServer() {
    try (ConfigurableApplicationContext application =
        run(Plain.class, NODE, "weir.failure-mode=open")) {
      assertEquals(1, application.getBeansOfType(WeirClient.class).size());
      assertTrue(application.getBeansOfType(WeirFilter.class).isEmpty());
      assertTrue(application.getBeansOfType(WeirRateLimiter.class).isEmpty());
    }
  }

  @Test
  void clientOfTheApplication_isUsedInstead_andNeedsNoProperties() {
    try (ConfigurableApplicationContext application = run(WithItsOwn.class)) {
      assertSame(application.getBean("own"), application.getBean(WeirClient.class));
    }
  }

  @Test
  void client_isClosedWithTheApplication() {
    WeirClient client;
    try (ConfigurableApplicationContext application =
        run(Plain.class, NODE, "weir.failure-mode=open")) {
      client = application.getBean(WeirClient.class);
    }

    assertThrows(IllegalStateException.class, () -> client.check(Call.of("acme")));
  }

  @Test
  void disabled_setsUpNothing() {
    try (ConfigurableApplicationContext application = run(Plain.class, "weir.enabled=false")) {
      assertTrue(application.getBeansOfType(WeirClient.class).isEmpty());
    }
  }

  /** Regression: the message appeared only as the fifth cause in a stack trace. */
  @Test
  void wrongProperties_areAnalyzed_asOneSentence() {
    Map<String, String[]> wrong =
        Map.of(
            "weir.nodes", new String[] {"weir.failure-mode=open"},
            "weir.failure-mode", new String[] {NODE},
            "tryTimeout", new String[] {NODE, "weir.failure-mode=open", "weir.deadline=1ms"},
            "only one of",
                new String[] {
                  NODE,
                  "weir.failure-mode=open",
                  "weir.filter.api-key-header=a",
                  "weir.filter.client-header=b"
                });
    wrong.forEach(
        (expected, properties) -> {
          Throwable thrown = assertThrows(Exception.class, () -> run(Plain.class, properties));
          FailureAnalysis analysis = new InvalidPropertyAnalyzer().analyze(thrown);
          assertNotNull(analysis, expected);
          assertTrue(analysis.getDescription().contains(expected), analysis.getDescription());
          assertFalse(analysis.getDescription().contains("\n"), analysis.getDescription());
        });
    assertTrue(
        SpringFactoriesLoader.forDefaultResourceLocation()
            .load(FailureAnalyzer.class, (type, name, cannotBeMadeHere) -> {})
            .stream()
            .anyMatch(InvalidPropertyAnalyzer.class::isInstance));
  }

  @Test
  void requests_areCountedByTheirOutcome_inTheApplicationsRegistry() {
    try (ConfigurableApplicationContext application =
        run(Plain.class, NODE, "weir.failure-mode=open")) {
      WeirStatistics statistics = application.getBean(WeirStatistics.class);
      SimpleMeterRegistry registry = new SimpleMeterRegistry();
      application.getBean(MeterBinder.class).bindTo(registry);
      statistics.add(new Undecided("1", true, Cause.TIMEOUT, "no answer"));
      statistics.add(new Undecided("2", true, Cause.TIMEOUT, "no answer"));
      statistics.addUnknownCaller("no field");

      assertEquals(
          2,
          registry
              .get("weir.requests")
              .tag("outcome", "undecided-passed")
              .functionCounter()
              .count());
      assertEquals(
          1,
          registry.get("weir.requests").tag("outcome", "caller-unknown").functionCounter().count());
    }
  }

  @Test
  void missingOrWrongProperties_areNamed() {
    assertRefused("weir.nodes", "weir.failure-mode=open");
    assertRefused("weir.failure-mode", NODE);
    assertRefused("weir.failure-mode", NODE, "weir.failure-mode=ajar");
    assertRefused("tryTimeout", NODE, "weir.failure-mode=open", "weir.deadline=1ms");
    assertRefused(
        "only one of",
        NODE,
        "weir.failure-mode=open",
        "weir.filter.api-key-header=a",
        "weir.filter.client-header=b");
  }

  @Test
  void propertiesOfThePage_areTaken(@TempDir Path folder) throws Exception {
    try (ConfigurableApplicationContext application =
        run(Plain.class, Documented.file(folder, 0, ""))) {
      WeirProperties properties = application.getBean(WeirProperties.class);
      assertEquals(2, properties.nodes().size());
      assertEquals(FailureMode.OPEN, properties.failureMode());
      assertEquals("X-API-Key", properties.filter().apiKeyHeader());
      assertEquals(
          List.of("GET /v1/items/{id}", "* /v1/carts/{id}/**"), properties.filter().routes());
      assertEquals(
          "PUT /v1/carts/{id}/**",
          new EndpointTemplates(properties.filter().routes()).endpoint("PUT", "/v1/carts/7/items"));
    }
  }

  @Test
  void everyProperty_isInTheMetadata_andOnThePage() throws Exception {
    String page = Files.readString(Documented.PAGE);
    Set<String> properties = new TreeSet<>();
    try (InputStream metadata =
        WeirProperties.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
      for (JsonNode property : new ObjectMapper().readTree(metadata).path("properties")) {
        properties.add(property.path("name").asText());
      }
    }

    assertTrue(properties.contains("weir.failure-mode"), properties::toString);
    properties.removeIf(property -> page.contains("`" + property + "`"));
    assertEquals(Set.of(), properties);
  }

  @Test
  void properties_doNotTellTheToken() {
    try (ConfigurableApplicationContext application =
        run(Plain.class, NODE, "weir.failure-mode=open", "weir.token=weir_secret")) {
      WeirProperties properties = application.getBean(WeirProperties.class);
      assertEquals("weir_secret", properties.token());
      assertFalse(properties.toString().contains("weir_secret"));
    }
  }
}
