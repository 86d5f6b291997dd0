// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class ServerInfoTest {
  private static ServerInfo of(String version, String mode) {
    return ServerInfo.of(
        "# Server\r\nredis_version:"
            + version
            + "\r\nredis_git_sha1:00000000\r\nredis_mode:"
            + mode
            + "\r\nrun_id:0f3a\r\n");
  }

  @Test
  void of_singleServer_isUsed() {
    ServerInfo info = of("7.0.15", "standalone");

    assertEquals(new ServerInfo("0f3a", "7.0.15", "standalone", EvictionCheck.NOT_KNOWN, 0), info);
    assertEquals("", info.refusal(ServerKind.SINGLE));
    assertEquals("", of("5.0.14", "standalone").refusal(ServerKind.SINGLE));
  }

  @Test
  void refusal_serverTooOldOrInClusterMode_saysSo() {
    assertTrue(of("4.0.9", "standalone").refusal(ServerKind.SINGLE).contains("version 4.0.9"));
    assertTrue(of("7.2.4", "cluster").refusal(ServerKind.SINGLE).contains("cluster mode"));
    assertTrue(
        of("7.2.4", "standalone").refusal(ServerKind.OF_CLUSTER).contains("not in cluster mode"));
    assertEquals("", of("7.2.4", "cluster").refusal(ServerKind.OF_CLUSTER));
  }

  @Test
  void refusal_serverInfoUnknown_isNone() {
    assertEquals(ServerInfo.NOT_REPORTED, ServerInfo.of(""));
    assertEquals("", ServerInfo.NOT_REPORTED.refusal(ServerKind.SINGLE));
    assertEquals("", of("next", "").refusal(ServerKind.SINGLE));
  }

  /** A server that speaks Redis' protocol but is not Redis may write numbers in another form. */
  @Test
  void of_numbersOfAnotherForm_areNotKnown() {
    ServerInfo info =
        ServerInfo.of(
            """
            run_id:0f3a\r
            maxmemory:1.50GiB\r
            maxmemory_policy:noeviction\r
            evicted_keys:18446744073709551615\r
            """);

    assertEquals(new ServerInfo("0f3a", "", "", EvictionCheck.NOT_KNOWN, 0), info);
  }
}
