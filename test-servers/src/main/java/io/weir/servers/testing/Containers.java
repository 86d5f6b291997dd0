// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import java.time.Duration;
import org.testcontainers.DockerClientFactory;

/** Whether servers come as containers. */
final class Containers {
  /** A machine that is busy with other tests must not look like a server that does not start. */
  static final Duration START_PATIENCE = Duration.ofMinutes(3);

  private static final String PROPERTY = "weir.test.servers";

  private Containers() {}

  /**
   * Whether the property asks for containers.
   *
   * @throws IllegalStateException when it does and no Docker engine answers: a suite that was told
   *     to use containers must not quietly use something else
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
