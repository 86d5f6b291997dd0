// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.decision.correction.BucketCorrector;
import io.weir.decision.correction.CacheLife.Warmth;
import io.weir.limits.TokenBucketLimit;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.Decision;
import io.weir.servers.Ports;
import io.weir.servers.testing.TestCertificates;
import io.weir.servers.testing.TestRedis;
import io.weir.testing.Await;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a Redis server that accepts only TLS connections of clients with certificates. */
class RedisTlsIT {
  @TempDir private static Path folder;
  private static TestCertificates own;
  private static TestCertificates foreign;

  @BeforeAll
  static void issue() throws Exception {
    own = TestCertificates.in(Files.createDirectory(folder.resolve("own")));
    own.issue("server").issue("client");
    foreign = TestCertificates.in(Files.createDirectory(folder.resolve("foreign")));
    foreign.issue("client");
  }

  private static TestRedis start(int port, String clients) {
    return TestRedis.startProcess(
        "--tls-port",
        Integer.toString(port),
        "--tls-cert-file",
        own.certificate("server").toString(),
        "--tls-key-file",
        own.key("server").toString(),
        "--tls-ca-cert-file",
        own.authority().toString(),
        "--tls-auth-clients",
        clients);
  }

  private static RedisCacheConfig config(int port, RedisAccess access) {
    return PatientConfig.of("rediss://127.0.0.1:" + port).withAccess(access);
  }

  private static RedisAccess trusting(TestCertificates authority) {
    return new RedisAccess(authority.authority(), null, null, "", "");
  }

  private static RedisAccess as(Path certificate, Path key) {
    return new RedisAccess(own.authority(), certificate, key, "", "");
  }

  private static Decision take(RedisCache cache) {
    return cache.take(
        new Check(
            List.of(new BucketRequest("tls", new TokenBucketLimit(1_000, 1, 3_600_000_000L), true)),
            1));
  }

  private static void assertDecides(RedisCacheConfig config) throws Exception {
    try (RedisDecisionCache cache = RedisDecisionCache.start(config)) {
      Await.until(cache.check()::detail, () -> cache.check().ok());
      assertInstanceOf(Decision.Allowed.class, take(cache));
    }
  }

  private static void assertRefused(RedisCacheConfig config, String why) throws Exception {
    try (RedisDecisionCache cache = RedisDecisionCache.start(config)) {
      Await.until(
          () -> "a reason with '" + why + "', is " + cache.check().detail(),
          () -> cache.check().detail().contains(why));
      assertFalse(cache.check().ok());
    }
  }

  @Test
  void server_isUsedIfItsAuthorityIsTrusted_andRefusedOtherwise() throws Exception {
    int port = Ports.free();
    try (TestRedis redis = start(port, "no")) {
      assertNotNull(redis);
      assertDecides(config(port, trusting(own)));
      assertRefused(config(port, trusting(foreign)), "certification path");
      assertRefused(config(port, RedisAccess.NONE), "certification path");
    }
  }

  @Test
  void clientCertificate_isShown_andAnotherAuthoritysIsRefused() throws Exception {
    int port = Ports.free();
    try (TestRedis redis = start(port, "yes")) {
      assertNotNull(redis);
      RedisCacheConfig config = config(port, as(own.certificate("client"), own.key("client")));
      assertDecides(config);
      try (RedisDecisionCache cache = RedisDecisionCache.start(config);
          BucketCorrector corrector = cache.startCorrector()) {
        Await.until("a connection", () -> cache.check().ok());
        assertNotNull(corrector);
        Await.until("a script over the same connection", () -> cache.life().look() == Warmth.COLD);
      }
      try (RedisDecisionCache cache =
          RedisDecisionCache.start(
              config(port, as(foreign.certificate("client"), foreign.key("client"))))) {
        assertInstanceOf(Decision.Undecided.class, take(cache));
        assertFalse(cache.check().ok());
      }
      try (RedisDecisionCache cache = RedisDecisionCache.start(config(port, trusting(own)))) {
        assertInstanceOf(Decision.Undecided.class, take(cache));
        assertFalse(cache.check().ok());
      }
    }
  }

  @Test
  void certificateReplacedOnDisk_isUsedByTheNextConnection() throws Exception {
    int port = Ports.free();
    Path certificate = folder.resolve("rotated.crt");
    Path key = folder.resolve("rotated.key");
    Files.copy(foreign.certificate("client"), certificate);
    Files.copy(foreign.key("client"), key);
    try (TestRedis redis = start(port, "yes");
        RedisDecisionCache cache = RedisDecisionCache.start(config(port, as(certificate, key)))) {
      assertNotNull(redis);
      assertInstanceOf(Decision.Undecided.class, take(cache));

      Files.copy(own.key("client"), key, StandardCopyOption.REPLACE_EXISTING);
      Files.copy(own.certificate("client"), certificate, StandardCopyOption.REPLACE_EXISTING);
      Await.until("a connection", () -> take(cache) instanceof Decision.Allowed);
    }
  }

  @Test
  void certificatesForAnUnencryptedConnection_areRefused() {
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> PatientConfig.of("redis://127.0.0.1:1").withAccess(trusting(own)));
    assertTrue(String.valueOf(refused.getMessage()).contains("rediss"));
    assertTrue(
        RedisCacheConfig.of("rediss://h")
            .withDeadline(Duration.ofSeconds(1))
            .toString()
            .contains("tls_ca=none"));
  }
}
