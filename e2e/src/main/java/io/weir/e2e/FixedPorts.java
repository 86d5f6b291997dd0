// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e;

import io.weir.servers.Ports;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports for servers that go and come back: below those that the system gives to outgoing
 * connections, so that none of these takes one meanwhile. Not safe for threads.
 */
public final class FixedPorts {
  private static final int FIRST = 15_000;
  private static final int LAST = 31_000;

  /** Far apart from another cluster on this machine, most likely. */
  private int next = ThreadLocalRandom.current().nextInt(FIRST, LAST - 1_000);

  /** A port nobody listens on, another one each time. */
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
