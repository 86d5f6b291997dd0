// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.limits.IpAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class AccessLogTest {
  private static final long BEGIN =
      Instant.parse("2026-11-25T23:00:00Z").getEpochSecond() * 1_000_000;

  @TempDir private Path folder;

  private AccessLog.Read read(String text) throws Exception {
    return AccessLog.read(Files.writeString(folder.resolve("access.log"), text), bytes -> {});
  }

  @Test
  void commonAndCombined_areRead_inTheOrderOfTheirTimes() throws Exception {
    AccessLog.Read read =
        read(
            """
            203.0.113.9 - acme [26/Nov/2026:00:00:01 +0100] "GET /v1/items?page=2 HTTP/1.1" 200 512
            2001:db8::1 - - [25/Nov/2026:23:00:00 +0000] "POST /v1/orders HTTP/2.0" 201 - "-" "curl \\"8\\""
            203.0.113.9 - acme [26/Nov/2026:00:00:01 +0100] "GET / HTTP/1.1" 304 0 "http://a/" "Mozilla/5.0"
            """);

    assertEquals(
        List.of(
            call(0, "2001:db8::1", "POST /v1/orders", "2001:db8::1"),
            call(1_000_000, "acme", "GET /v1/items", "203.0.113.9"),
            call(1_500_000, "acme", "GET /", "203.0.113.9")),
        read.calls());
    assertEquals(0, read.unread());
  }

  private static SimulatedCall call(long after, String client, String endpoint, String ip) {
    return new SimulatedCall(BEGIN + after, client, endpoint, IpAddress.parse(ip));
  }

  /** Were read as something else, or not at all. */
  @Test
  void oddLines_areReadAsTheyAreMeant() throws Exception {
    AccessLog.Read read =
        read(
            """
            h - "" [26/Nov/2026:00:00:00 +0100] "GET /a\\"b?c HTTP/1.1" 200 1
            h - u [26/Nov/2026:00:00:00 +0100] "M-SEARCH * HTTP/1.1" 200 1 "-" "NEXT-LINE"
            h - u [26/Nov/1960:00:00:00 +0100] "GET / HTTP/1.1" 200 1
            """
                .replace("NEXT-LINE", "\u0085"));

    assertEquals(1, read.unread());
    assertEquals("h", read.calls().get(0).client());
    assertEquals("GET /a\\\"b", read.calls().get(0).endpoint());
    assertEquals("M-SEARCH *", read.calls().get(1).endpoint());
  }

  @Test
  void linesThatAreNoCalls_areCounted_andTheFirstIsNamed() throws Exception {
    AccessLog.Read read =
        read(
            """
            h - u [26/Nov/2026:00:00:01 +0100] "GET /a HTTP/1.1" 200 1

            h - u [31/Feb/2026:00:00:01 +0100] "GET /a HTTP/1.1" 200 1
            h - u [26/Nov/2026:00:00:01 +0100] "-" 408 0
            \\x16\\x03\\x01
            """);

    assertEquals(1, read.calls().size());
    assertEquals(4, read.unread());
    assertEquals(2, read.firstUnread());
  }
}
