// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import io.weir.servers.Ports;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Allocates ports for servers that restart. The ports are below the range of outgoing connections,
 * so that no connection can occupy a port while its server is stopped. Not thread-safe.
 */
public final class FixedPorts {
  private static final int FIRST = 15_000;
  private static final int LAST = 31_000;

  /**
   * The next port to try. The first value is random, because another cluster may use ports of this
   * machine.
   */
  private int next = ThreadLocalRandom.current().nextInt(FIRST, LAST - 1_000);

  /** Returns a port on which no process listens. Each call returns another port. */
  public int next() {
    while (next < LAST) {
      int port = next++;
      if (Ports.isFree(port)) {
        return port;
      }
    }
    throw new IllegalStateException("no port is free between " + FIRST + " and " + LAST);
  }
}
