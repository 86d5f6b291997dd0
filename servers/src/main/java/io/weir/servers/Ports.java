// SPDX-License-Identifier: Apache-2.0
package io.weir.servers;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;

/** Loopback TCP ports. */
public final class Ports {
  private Ports() {}

  /** A port that nobody listens on at this moment; another process may still take it first. */
  public static int free() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  /**
   * Refuses a port that is taken.
   *
   * @param port the port, 1 to 65535
   * @param owner what wants it, for the message
   * @param setting the variable that moves it, for the message
   */
  public static void requireFree(int port, String owner, String setting)
      throws ServerStartException {
    try (ServerSocket socket = new ServerSocket()) {
      socket.setReuseAddress(true);
      socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
    } catch (IOException taken) {
      throw new ServerStartException(
          "port "
              + port
              + " for "
              + owner
              + " is taken; set "
              + setting
              + " to another port, or to 0 for any free one",
          taken);
    }
  }
}
