// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import java.time.Duration;
import org.testcontainers.DockerClientFactory;

/** Whether servers run in containers. */
final class Containers {
  /**
   * Longest time for a start: long enough that a server on a machine busy with other tests is not
   * mistaken for one that does not start.
   */
  static final Duration START_TIMEOUT = Duration.ofMinutes(3);

  private static final String PROPERTY = "weir.test.servers";

  private Containers() {}

  /**
   * Returns whether the property requests containers.
   *
   * @throws IllegalStateException if it does and no Docker engine answers (a suite that was told to
   *     use containers must not silently use something else), or if its value is not known
   */
  static boolean requested() {
    String servers = System.getProperty(PROPERTY, "process");
    return switch (servers) {
      case "process" -> false;
      case "containers" -> {
        if (!DockerClientFactory.instance().isDockerAvailable()) {
          throw new IllegalStateException(PROPERTY + "=containers, but no Docker engine answers");
        }
        yield true;
      }
      default ->
          throw new IllegalStateException(
              PROPERTY + " must be process or containers, is '" + servers + "'");
    };
  }
}
