// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.cluster.SlotHash;
import io.weir.decision.redis.RedisAddress.Server;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What one server of a cluster knows of it: its answer to {@code CLUSTER NODES}. Servers learn from
 * each other, so views differ for a while after every change. Immutable.
 *
 * @param asked the address by which the server was asked
 * @param id the name of the server that was asked; empty if it does not tell
 * @param known the names of all servers that it knows, replicas and itself included
 * @param primaries the servers that hold slots, or could
 */
record ClusterView(Server asked, String id, Set<String> known, List<Primary> primaries) {
  private static final int ID = 0;
  private static final int ADDRESS = 1;
  private static final int FLAGS = 2;
  private static final int EPOCH = 6;
  private static final int FIRST_SLOTS = 8;

  /** {@code 10.0.0.1:7000@17000,host.example}; the host is empty before a server knows its own. */
  private static final Pattern HOST_AND_PORT =
      Pattern.compile("(.*):([0-9]+)@[0-9]+(?:,([^,=]*))?.*");

  private static final Pattern SLOTS = Pattern.compile("([0-9]+)(?:-([0-9]+))?");

  /**
   * A server that takes writes.
   *
   * @param id its name in the cluster, which outlives restarts
   * @param configEpoch of two servers that claim a slot, the one with the greater number holds it
   * @param hasFailed whether a majority of the cluster does not reach it
   */
  record Primary(String id, Server server, long configEpoch, boolean hasFailed, BitSet slots) {}

  ClusterView {
    known = Set.copyOf(known);
    primaries = List.copyOf(primaries);
  }

  /**
   * Parses an answer.
   *
   * @param asked the address by which the server was asked
   * @param byName whether servers that tell a host name are connected by it, as certificates need
   * @throws IllegalArgumentException if it is no answer to {@code CLUSTER NODES}
   */
  static ClusterView of(Server asked, String clusterNodes, boolean byName) {
    List<Primary> primaries = new ArrayList<>();
    Set<String> known = new HashSet<>();
    String id = "";
    for (String line : clusterNodes.split("\n", -1)) {
      if (line.isBlank()) {
        continue;
      }
      String[] fields = line.strip().split(" ", -1);
      if (fields.length < FIRST_SLOTS) {
        throw new IllegalArgumentException("no line of CLUSTER NODES: " + line);
      }
      List<String> flags = List.of(fields[FLAGS].split(",", -1));
      boolean isAsked = flags.contains("myself");
      known.add(fields[ID]);
      if (isAsked) {
        id = fields[ID];
      }
      if (!flags.contains("master") || flags.contains("noaddr") || flags.contains("handshake")) {
        continue;
      }
      primaries.add(
          new Primary(
              fields[ID],
              server(fields[ADDRESS], isAsked ? asked : null, byName),
              Long.parseLong(fields[EPOCH]),
              flags.contains("fail"),
              slots(fields)));
    }
    return new ClusterView(asked, id, known, primaries);
  }

  private static Server server(String address, @Nullable Server asked, boolean byName) {
    Matcher parts = HOST_AND_PORT.matcher(address);
    if (!parts.matches()) {
      throw new IllegalArgumentException("no address in CLUSTER NODES: " + address);
    }
    String name = parts.group(3);
    String host = byName && name != null && !name.isEmpty() ? name : parts.group(1);
    int port = Integer.parseInt(parts.group(2));
    return host.isEmpty() && asked != null ? asked : new Server(host, port);
  }

  private static BitSet slots(String[] fields) {
    BitSet slots = new BitSet(SlotHash.SLOT_COUNT);
    for (int i = FIRST_SLOTS; i < fields.length; i++) {
      // slots that are being moved are in brackets, and still held where they come from
      Matcher range = SLOTS.matcher(fields[i]);
      if (range.matches()) {
        int first = Integer.parseInt(range.group(1));
        int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
        slots.set(first, last + 1);
      }
    }
    return slots;
  }

  /** Returns whether both servers know each other, so that they are of one cluster. */
  boolean isOfOneClusterWith(ClusterView other) {
    return known.contains(other.id) && other.known.contains(id);
  }

  /** Returns the slots that a server holds in this view. */
  BitSet slotsOf(Server server) {
    for (Primary primary : primaries) {
      if (primary.server().equals(server)) {
        return primary.slots();
      }
    }
    return new BitSet();
  }
}
