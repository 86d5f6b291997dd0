// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The server's reply to {@code INFO}. A server is used even if some fields are unknown. Immutable.
 *
 * @param life the server's {@code run_id}; {@value #UNKNOWN_LIFE} if the server does not report
 *     this field
 * @param version the server's {@code redis_version}; empty if the server does not report this field
 * @param mode the server's {@code redis_mode}; empty if the server does not report this field
 * @param eviction whether the server may evict keys
 * @param evictedKeys the server's {@code evicted_keys} since its start; 0 if the server does not
 *     report this field
 */
record ServerInfo(
    String life, String version, String mode, EvictionCheck eviction, long evictedKeys) {
  /** Run ID of a server that does not report its run ID. */
  static final String UNKNOWN_LIFE = "unknown";

  /** The information about a server that reports no fields. */
  static final ServerInfo NOT_REPORTED =
      new ServerInfo(UNKNOWN_LIFE, "", "", EvictionCheck.NOT_KNOWN, 0);

  /**
   * Minimum version. Earlier versions of Redis reject scripts that read the time before they write.
   */
  private static final int LEAST_VERSION = 5;

  private static final int LEAST_VERSION_WITH_MESSAGES = 6;

  private static final int UNKNOWN_VERSION = -1;

  private static final Pattern FIELD =
      Pattern.compile(
          "(?m)^(run_id|redis_version|redis_mode|maxmemory|maxmemory_policy|evicted_keys)"
              + ":(\\S+)\\s*$");
  private static final Pattern MAJOR_VERSION = Pattern.compile("^(\\d{1,9})");

  /** Parses a reply to {@code INFO}. */
  static ServerInfo of(String text) {
    String life = UNKNOWN_LIFE;
    String version = "";
    String mode = "";
    long maxMemoryBytes = -1;
    String evictionPolicy = "";
    long evictedKeys = 0;
    Matcher field = FIELD.matcher(text);
    while (field.find()) {
      switch (field.group(1)) {
        case "run_id" -> life = field.group(2);
        case "redis_version" -> version = field.group(2);
        case "maxmemory" -> maxMemoryBytes = number(field.group(2), -1);
        case "maxmemory_policy" -> evictionPolicy = field.group(2);
        case "evicted_keys" -> evictedKeys = number(field.group(2), 0);
        default -> mode = field.group(2);
      }
    }
    return new ServerInfo(
        life, version, mode, EvictionCheck.of(maxMemoryBytes, evictionPolicy), evictedKeys);
  }

  private static long number(String text, long absent) {
    return text.matches("\\d{1,18}") ? Long.parseLong(text) : absent;
  }

  /**
   * Returns whether the server supports protocol 3. With protocol 3, a subscribed connection can
   * also send commands.
   */
  boolean hasMessages() {
    return majorVersion() >= LEAST_VERSION_WITH_MESSAGES;
  }

  private int majorVersion() {
    Matcher major = MAJOR_VERSION.matcher(version);
    return major.find() ? Integer.parseInt(major.group(1)) : UNKNOWN_VERSION;
  }

  /** Returns the reason why the server cannot be used; empty if no reason is known. */
  String refusal(ServerKind kind) {
    boolean inCluster = mode.equals("cluster");
    if (inCluster && kind == ServerKind.SINGLE) {
      return Failures.CLUSTER_MODE;
    }
    if (!inCluster && !mode.isEmpty() && kind == ServerKind.OF_CLUSTER) {
      return Failures.NOT_CLUSTER_MODE;
    }
    int major = majorVersion();
    if (major != UNKNOWN_VERSION && major < LEAST_VERSION) {
      return "the server must have version "
          + LEAST_VERSION
          + " or later, but has version "
          + version;
    }
    return "";
  }
}
