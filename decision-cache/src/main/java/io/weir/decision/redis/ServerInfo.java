// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a server says about itself to {@code INFO server}. A server of which something is not known
 * is used all the same: where it cannot serve, its answers say so.
 *
 * @param life its {@code run_id}; {@value #UNKNOWN_LIFE} when it does not tell
 * @param version its {@code redis_version}; empty when it does not tell
 * @param mode its {@code redis_mode}; empty when it does not tell
 */
record ServerInfo(String life, String version, String mode) {
  /** Stands for the run_id of a server that does not tell it. */
  static final String UNKNOWN_LIFE = "unknown";

  /** A server that tells nothing. */
  static final ServerInfo UNTOLD = new ServerInfo(UNKNOWN_LIFE, "", "");

  /** The scripts ask for the time before they write, which servers before this one refuse. */
  private static final int LEAST_VERSION = 5;

  private static final Pattern FIELD =
      Pattern.compile("(?m)^(run_id|redis_version|redis_mode):(\\S+)\\s*$");
  private static final Pattern MAJOR_VERSION = Pattern.compile("^(\\d{1,9})");

  /** From the text of the answer. */
  static ServerInfo of(String text) {
    String life = UNKNOWN_LIFE;
    String version = "";
    String mode = "";
    Matcher field = FIELD.matcher(text);
    while (field.find()) {
      switch (field.group(1)) {
        case "run_id" -> life = field.group(2);
        case "redis_version" -> version = field.group(2);
        default -> mode = field.group(2);
      }
    }
    return new ServerInfo(life, version, mode);
  }

  /** Why the server cannot be used; empty when nothing is known against it. */
  String refusal() {
    if (mode.equals("cluster")) {
      return Failures.CLUSTER_MODE;
    }
    Matcher major = MAJOR_VERSION.matcher(version);
    if (major.find() && Integer.parseInt(major.group(1)) < LEAST_VERSION) {
      return "the server has version " + version + "; the least that works is " + LEAST_VERSION;
    }
    return "";
  }
}
