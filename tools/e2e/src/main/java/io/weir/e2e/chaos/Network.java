// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.chaos;

import io.weir.e2e.FixedPorts;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * All relays of a cluster, by connecting process and target process. Not thread-safe, except for
 * reading.
 */
final class Network implements AutoCloseable {
  private final FixedPorts ports;
  private final Map<Link, Relay> relays = new LinkedHashMap<>();

  /** A connection from a process, or a kind of process, to another process. */
  record Link(String from, String to) {
    @Override
    public String toString() {
      return from + " → " + to;
    }
  }

  Network(FixedPorts ports) {
    this.ports = ports;
  }

  /**
   * Opens a relay between two processes.
   *
   * @param targetPort port on which the target listens
   * @return port to which the caller must connect
   */
  int connect(String from, String to, int targetPort) {
    Relay relay = Relay.open(ports.next(), targetPort);
    if (relays.put(new Link(from, to), relay) != null) {
      throw new IllegalStateException(from + " is already connected to " + to);
    }
    return relay.port();
  }

  /**
   * Returns the relays from a process to the processes whose name begins with {@code toBeginning}.
   */
  List<Relay> between(String from, String toBeginning) {
    List<Relay> found =
        relays.entrySet().stream()
            .filter(entry -> entry.getKey().from().equals(from))
            .filter(entry -> entry.getKey().to().startsWith(toBeginning))
            .map(Map.Entry::getValue)
            .toList();
    if (found.isEmpty()) {
      throw new IllegalArgumentException(from + " does not call " + toBeginning);
    }
    return found;
  }

  @Override
  public void close() {
    relays.values().forEach(Relay::close);
  }
}
