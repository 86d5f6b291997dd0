// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.servers.testing.SecuredKafka;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Kafka asks each process who it is, over TLS: by SCRAM, by certificates, by OAuth. */
final class SecuredKafkaIT {
  private static final int CALLS = 1_000;

  @TempDir private static Path folder;

  private static SecuredProcesses processes;

  @BeforeAll
  static void start() throws Exception {
    processes = new SecuredProcesses(SecuredKafka.Identity.SCRAM, folder);
  }

  @AfterAll
  static void stop() {
    processes.close();
  }

  @Test
  void calls_throughABrokerThatAllowsTheLeast_areCountedExactly() throws Exception {
    processes.assertCallsAreCountedExactly(CALLS);
    processes.run("weir-admin", "clients", "erase", "nobody", "--yes");
  }

  @Test
  void calls_byTokensOfAnIssuer_areCountedExactly(@TempDir Path own) throws Exception {
    assertCountedExactly(SecuredKafka.Identity.OAUTHBEARER, own);
  }

  @Test
  @FullSuite(reason = "as by tokens of an issuer, which always runs")
  void calls_byCertificates_areCountedExactly(@TempDir Path own) throws Exception {
    assertCountedExactly(SecuredKafka.Identity.CERTIFICATE, own);
  }

  private static void assertCountedExactly(SecuredKafka.Identity identity, Path own)
      throws Exception {
    try (SecuredProcesses others = new SecuredProcesses(identity, own)) {
      others.assertCallsAreCountedExactly(CALLS);
    }
  }

  /** One right less for each process, and each says which. */
  @Test
  void processWithOneRightTooFew_saysWhich() throws Exception {
    processes.run("weir-admin", "topics", "create", "--partitions", "2");
    AclBinding configs = allowed("weir-aggregator", AclOperation.DESCRIBE_CONFIGS, "weir.");
    AclBinding group = allowed("weir-ingest", AclOperation.READ, "weir-corrections");
    AclBinding read = allowed("weir-audit", AclOperation.READ, "weir.");
    AclBinding publish = allowed("weir-admin", AclOperation.WRITE, "weir-policies");
    for (AclBinding acl : List.of(configs, group, read, publish)) {
      processes.kafka().disallow(acl);
    }
    try (WeirProcess counting = WeirProcess.start(folder, processes.aggregator("b"), "aggregate");
        WeirProcess verify =
            WeirProcess.start(
                folder,
                processes.environment("weir-audit"),
                "verify",
                "--from",
                "2026-01-01T00:00:00Z",
                "--to",
                "2026-01-02T00:00:00Z");
        WeirProcess apply =
            WeirProcess.start(
                folder,
                processes.environment("weir-admin"),
                "policies",
                "apply",
                String.valueOf(processes.ingest("m").get("WEIR_POLICIES")));
        WeirProcess node = WeirProcess.start(folder, processes.ingest("m"), "ingest")) {
      assertEquals(1, counting.awaitExit());
      assertSays(counting.errors(), "lacks DescribeConfigs on a topic");
      assertEquals(1, verify.awaitExit());
      assertSays(verify.errors(), "lacks Read on the topic weir.calls.v1");
      assertEquals(1, apply.awaitExit());
      assertSays(apply.errors(), "lacks Write on the transactional id");
      Await.until(
          node::errors, () -> node.errors().contains("lacks Read on the group weir-corrections"));
      node.terminate();
      assertEquals(0, node.awaitExit());
    } finally {
      processes.kafka().allow(List.of(configs, group, read, publish));
    }
  }

  @Test
  void unknownClientSecret_isReportedAsSuch(@TempDir Path own) throws Exception {
    try (SecuredProcesses others = new SecuredProcesses(SecuredKafka.Identity.OAUTHBEARER, own)) {
      Map<String, String> environment = others.environment("weir-audit");
      environment.put(
          "WEIR_KAFKA_SASL_JAAS_CONFIG",
          "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
              + " clientId=\"weir-audit\" clientSecret=\"wrong\";");
      WeirProcess ledger =
          WeirProcess.start(own, environment, "ledger", "tail", "--from-beginning");
      assertEquals(1, ledger.awaitExit());
      assertSays(ledger.errors(), "credentials");
      assertFalse(ledger.errors().contains("wrong"), ledger.errors());
    }
  }

  private static void assertSays(String errors, String part) {
    assertTrue(errors.contains(part), errors);
  }

  private static AclBinding allowed(String user, AclOperation operation, String resource) {
    return processes.acls().stream()
        .filter(acl -> acl.entry().principal().equals("User:" + user))
        .filter(acl -> acl.entry().operation() == operation)
        .filter(acl -> acl.pattern().name().equals(resource))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void wrongPassword_isReportedAsSuch() throws Exception {
    Map<String, String> environment = processes.environment("weir-audit");
    environment.put(
        "WEIR_KAFKA_SASL_JAAS_CONFIG",
        "org.apache.kafka.common.security.scram.ScramLoginModule required"
            + " username=\"weir-audit\" password=\"wrong\";");
    WeirProcess ledger =
        WeirProcess.start(folder, environment, "ledger", "tail", "--from-beginning");
    assertEquals(1, ledger.awaitExit());
    assertSays(ledger.errors(), "Kafka does not accept the credentials");
    assertFalse(ledger.errors().contains("wrong"), ledger.errors());
  }
}
