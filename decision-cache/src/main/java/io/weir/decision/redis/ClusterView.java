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
 * A server's view of its cluster: the server's reply to {@code CLUSTER NODES}. After a change of
 * the cluster, the servers have different views until they have propagated the change. Immutable.
 *
 * @param asked the address of the queried server
 * @param id the id of the queried server; empty if the server does not report its id
 * @param known the ids of all servers that the queried server knows, including replicas and the
 *     server itself
 * @param primaries the primaries, including primaries without slots
 */
record ClusterView(Server asked, String id, Set<String> known, List<Primary> primaries) {
  private static final int ID = 0;
  private static final int ADDRESS = 1;
  private static final int FLAGS = 2;
  private static final int EPOCH = 6;
  private static final int FIRST_SLOTS = 8;

  /**
   * An address such as {@code 10.0.0.1:7000@17000,host.example}. Before a server knows its own
   * address, the part before the port is empty.
   */
  private static final Pattern HOST_AND_PORT =
      Pattern.compile("(.*):([0-9]+)@[0-9]+(?:,([^,=]*))?.*");

  private static final Pattern SLOTS = Pattern.compile("([0-9]+)(?:-([0-9]+))?");

  /**
   * A primary of the cluster.
   *
   * @param id the id of the server in the cluster; a restart does not change this id
   * @param configEpoch the configuration epoch of the server; if two servers claim a slot, the
   *     server with the greater epoch holds the slot
   * @param hasFailed whether the majority of the cluster has marked the server as failed
   */
  record Primary(String id, Server server, long configEpoch, boolean hasFailed, BitSet slots) {}

  ClusterView {
    known = Set.copyOf(known);
    primaries = List.copyOf(primaries);
  }

  /**
   * Parses a reply.
   *
   * @param asked the address of the queried server
   * @param byName whether to connect to servers by the host names that the servers report; required
   *     if certificates are verified
   * @throws IllegalArgumentException if the text is not a reply to {@code CLUSTER NODES}
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
        throw new IllegalArgumentException(
            "the line is not valid in a reply to CLUSTER NODES: " + line);
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
      throw new IllegalArgumentException(
          "the address is not valid in a reply to CLUSTER NODES: " + address);
    }
    String name = parts.group(3);
    String host = byName && name != null && !name.isEmpty() ? name : parts.group(1);
    int port = Integer.parseInt(parts.group(2));
    return host.isEmpty() && asked != null ? asked : new Server(host, port);
  }

  private static BitSet slots(String[] fields) {
    BitSet slots = new BitSet(SlotHash.SLOT_COUNT);
    for (int i = FIRST_SLOTS; i < fields.length; i++) {
      // slots in brackets are being moved; at this time the previous server holds these slots
      Matcher range = SLOTS.matcher(fields[i]);
      if (range.matches()) {
        int first = Integer.parseInt(range.group(1));
        int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
        slots.set(first, last + 1);
      }
    }
    return slots;
  }

  /** Returns whether both servers know each other, and therefore belong to the same cluster. */
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
