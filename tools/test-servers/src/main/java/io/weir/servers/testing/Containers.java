// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import java.time.Duration;
import org.testcontainers.DockerClientFactory;

/** Decides whether test servers run in containers. */
final class Containers {
  /**
   * Maximum duration of a container's start. The duration is enough even if other tests occupy the
   * machine.
   */
  static final Duration START_TIMEOUT = Duration.ofMinutes(3);

  private static final String PROPERTY = "weir.test.servers";

  private Containers() {}

  /**
   * Returns whether the property requests containers.
   *
   * @throws IllegalStateException if the property requests containers and no Docker engine is
   *     available, or if the property has an unknown value
   */
  static boolean requested() {
    String servers = System.getProperty(PROPERTY, "process");
    return switch (servers) {
      case "process" -> false;
      case "containers" -> {
        if (!DockerClientFactory.instance().isDockerAvailable()) {
          throw new IllegalStateException(
              PROPERTY + "=containers requires a Docker engine, but " + "none is available");
        }
        yield true;
      }
      default ->
          throw new IllegalStateException(
              PROPERTY + " must be process or containers, but is '" + servers + "'");
    };
  }
}
