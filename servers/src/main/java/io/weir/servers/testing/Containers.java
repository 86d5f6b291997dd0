// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import org.testcontainers.DockerClientFactory;

/** Whether servers come as containers. */
final class Containers {
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
