// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisURI;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class RedisAddressTest {
  @Test
  void of_passwordAsItIsOrEncoded_isTakenWhole() {
    for (Map.Entry<String, String> written :
        Map.of(
                "a/b", "a/b",
                "a@b", "a@b",
                "a:b", "a:b",
                "a#b?c", "a#b?c",
                "a+b c", "a+b c",
                "a%40b%2Fc%25", "a@b/c%")
            .entrySet()) {
      RedisURI uri =
          RedisAddress.of("redis://billing:" + written.getKey() + "@redis-1:6380/2").toLettuce();
      RedisCredentials credentials = uri.getCredentialsProvider().resolveCredentials().block();

      assertEquals("billing", credentials.getUsername());
      assertEquals(written.getValue(), new String(credentials.getPassword()));
      assertEquals("redis-1", uri.getHost());
      assertEquals(6380, uri.getPort());
      assertEquals(2, uri.getDatabase());
    }
  }

  @Test
  void of_passwordWithoutAUser_isThatOfTheDefaultUser() {
    for (String written : List.of("redis://:secret@h", "redis://secret@h")) {
      RedisCredentials credentials =
          RedisAddress.of(written)
              .toLettuce()
              .getCredentialsProvider()
              .resolveCredentials()
              .block();

      assertFalse(credentials.hasUsername());
      assertEquals("secret", new String(credentials.getPassword()));
    }
  }

  @Test
  void of_options_reachTheClientLibrary() {
    RedisURI uri = RedisAddress.of("rediss://h/1?verifyPeer=NONE&clientName=weir").toLettuce();

    assertEquals("weir", uri.getClientName());
    assertEquals(1, uri.getDatabase());
    assertEquals("NONE", uri.getVerifyMode().name());
  }

  @Test
  void of_severalServersOrTheScheme_areACluster() {
    RedisAddress cluster = RedisAddress.of("redis://u:p,w@a:7000,[::1]:7001,c?clientName=x");

    assertTrue(cluster.isCluster());
    assertEquals(
        List.of(
            new RedisAddress.Server("a", 7000),
            new RedisAddress.Server("[::1]", 7001),
            new RedisAddress.Server("c", 6379)),
        cluster.servers());
    RedisURI second = cluster.toLettuce(cluster.servers().get(1));
    assertEquals(7001, second.getPort());
    assertEquals("x", second.getClientName());
    assertEquals(
        "p,w",
        new String(second.getCredentialsProvider().resolveCredentials().block().getPassword()));
    assertEquals("redis-cluster://***@a:7000,[::1]:7001,c:6379", cluster.toString());
    assertEquals("redis://***@c:6379", cluster.shown(cluster.servers().get(2)));
    assertTrue(RedisAddress.of("redis-cluster://one").isCluster());
    assertTrue(RedisAddress.of("rediss-cluster://one/0").isTls());
    assertFalse(RedisAddress.of("redis://one").isCluster());
  }

  @Test
  void of_sentinels_resolveTheServer_withOwnCredentials() {
    RedisAddress address = RedisAddress.of("rediss-sentinel://u:p#w@a,b:26380/2#billing");
    RedisURI uri = address.toLettuce(new RedisAccess(null, null, null, "watch", "guard"));

    assertFalse(address.isCluster());
    assertEquals("billing", uri.getSentinelMasterId());
    assertEquals(2, uri.getDatabase());
    assertTrue(uri.isSsl());
    assertEquals(
        "p#w", new String(uri.getCredentialsProvider().resolveCredentials().block().getPassword()));
    assertEquals(2, uri.getSentinels().size());
    RedisURI sentinel = uri.getSentinels().get(0);
    assertEquals(26_379, sentinel.getPort());
    assertTrue(sentinel.isSsl());
    RedisCredentials own = sentinel.getCredentialsProvider().resolveCredentials().block();
    assertEquals("watch", own.getUsername());
    assertEquals("guard", new String(own.getPassword()));
    assertEquals("rediss-sentinel://***@a:26379,b:26380/2#billing", address.toString());
  }

  @Test
  void toString_showsTheServerOnly() {
    assertEquals("redis://***@h:6379", RedisAddress.of("redis://u:p/w@h").toString());
    assertEquals(
        "rediss://[::1]:1/3", RedisAddress.of("rediss://[::1]:1/3?clientName=x").toString());
    assertEquals("redis://redis_1:6379", RedisAddress.of("redis://redis_1/").toString());
  }

  @Test
  void of_invalidUri_isRefusedWithoutShowingIt() {
    for (String wrong :
        List.of(
            "h:6379",
            "redis:/secret",
            "redis://u:secret",
            "redis://u:secret@",
            "redis://u:secret@h:0",
            "redis://u:secret@h:x",
            "redis://u:secret@h/x",
            "redis://u:secret@h/123456",
            "redis://u:secret@h,",
            "redis://u:secret@h,i:0",
            "redis://u:secret@h,i/1",
            "redis-cluster://u:secret@h/1",
            "redis-sentinel://u:secret@h",
            "redis-sentinel://u:secret@h#",
            "redis://u:secret@h#name",
            "redis://u:5%secret@h")) {
      IllegalArgumentException refused =
          assertThrows(IllegalArgumentException.class, () -> RedisAddress.of(wrong), wrong);

      assertFalse(String.valueOf(refused.getMessage()).contains("secret"), refused.getMessage());
      assertNull(refused.getCause());
    }
  }
}
