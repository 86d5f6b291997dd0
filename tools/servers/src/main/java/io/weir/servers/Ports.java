// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/** Finds free TCP ports of the loopback interface. Thread-safe. */
public final class Ports {
  private static final Range ANY = new Range(10_000, 5_000);
  private static final Range CONTROLLERS = new Range(15_000, 5_000);

  /** Ports that this process has reserved by {@link #requireFree}. */
  private static final Set<Integer> WANTED = ConcurrentHashMap.newKeySet();

  private Ports() {}

  /**
   * Returns a port from 10,000 to 14,999 on which no process listens at this moment. Successive
   * calls try all ports of the range before they return a port again. The method never returns a
   * port that {@link #requireFree} has reserved. The range is below the ports of outgoing
   * connections (from 32,768 on Linux, from 49,152 elsewhere). Therefore no outgoing connection can
   * take the port before the caller binds it. Another process can still bind the port first.
   *
   * @throws IOException if no port is free
   */
  public static int free() throws IOException {
    return ANY.free();
  }

  /**
   * Returns a port for a controller, from 15,000 to 19,999. {@link #free} never returns a port of
   * this range. A killed broker that starts again connects to its former port until the cluster
   * knows its new port. If a controller had the former port, the broker would stay connected to the
   * controller and would never write transaction markers.
   *
   * @throws IOException if no port is free
   */
  public static int freeForController() throws IOException {
    return CONTROLLERS.free();
  }

  /** Returns whether no process listens on a loopback port at this moment. */
  public static boolean isFree(int port) {
    try {
      bind(port).close();
      return true;
    } catch (IOException taken) {
      return false;
    }
  }

  private static ServerSocket bind(int port) throws IOException {
    ServerSocket socket = new ServerSocket();
    try {
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      return socket;
    } catch (IOException taken) {
      socket.close();
      throw taken;
    }
  }

  /**
   * Checks that this process can listen on a port, and reserves it. {@link #free} never returns a
   * reserved port. Therefore the caller can bind the port much later.
   *
   * @param port the port, 1 to 65535
   * @param owner the server that needs the port, for the message
   * @param setting the environment variable that sets the port, for the message
   * @throws ServerStartException if this process cannot listen on the port
   */
  public static void requireFree(int port, String owner, String setting)
      throws ServerStartException {
    WANTED.add(port);
    try {
      bind(port).close();
    } catch (IOException refused) {
      boolean mayNot = String.valueOf(refused.getMessage()).contains("Permission denied");
      throw new ServerStartException(
          mayNot
              ? "this user is not permitted to bind port %d for %s; set %s to a port above 1023"
                  .formatted(port, owner, setting)
              : "port %d for %s is in use; set %s to another port, or to 0 for any free port"
                  .formatted(port, owner, setting),
          refused);
    }
  }

  private static final class Range {
    private final int first;
    private final int count;

    /**
     * The next port to try. The first value is random, so that two processes rarely try the same
     * port.
     */
    private final AtomicInteger next;

    Range(int first, int count) {
      this.first = first;
      this.count = count;
      next = new AtomicInteger(ThreadLocalRandom.current().nextInt(count));
    }

    int free() throws IOException {
      for (int i = 0; i < count; i++) {
        int port = first + Math.floorMod(next.getAndIncrement(), count);
        if (!WANTED.contains(port) && isFree(port)) {
          return port;
        }
      }
      throw new IOException("no port is free from " + first + " to " + (first + count - 1));
    }
  }
}
