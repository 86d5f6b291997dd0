// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import io.weir.servers.Ports;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Allocates ports for servers that are stopped and started again. The ports are below those that
 * the system assigns to outgoing connections, so that no connection occupies one meanwhile. Not
 * thread-safe.
 */
public final class FixedPorts {
  private static final int FIRST = 15_000;
  private static final int LAST = 31_000;

  /** Random, so most likely far from the ports of another cluster on this machine. */
  private int next = ThreadLocalRandom.current().nextInt(FIRST, LAST - 1_000);

  /** Returns a port on which no process listens, a different one each time. */
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
