// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * The nodes of Weir that a client asks in turn. A node that has failed is left out for a while, as
 * long as another one is not. Thread-safe.
 */
final class Nodes {
  /** How long a node is left out: long enough to spare calls a wait, short enough to notice it. */
  static final long REST_NANOS = 1_000_000_000;

  private final List<Node> nodes;
  private final LongSupplier nanos;
  private final AtomicInteger turn = new AtomicInteger();

  /**
   * Creates the nodes.
   *
   * @param bases their addresses, at least one, each without a query
   * @param nanos a clock as {@link System#nanoTime}
   */
  Nodes(List<URI> bases, LongSupplier nanos) {
    List<Node> made = new ArrayList<>();
    for (URI base : bases) {
      made.add(new Node(base, new AtomicLong(nanos.getAsLong())));
    }
    this.nodes = List.copyOf(made);
    this.nanos = nanos;
  }

  /**
   * One node.
   *
   * @param base its address
   * @param awakeFromNanos from when on it is asked again
   */
  record Node(URI base, AtomicLong awakeFromNanos) {
    /** Returns the address of a route, such as {@code /v1/check}. */
    URI at(String route) {
      String text = base.toString();
      return URI.create((text.endsWith("/") ? text.substring(0, text.length() - 1) : text) + route);
    }
  }

  /** Returns the next node in turn that does not rest, or the one whose rest ends first. */
  Node next() {
    long now = nanos.getAsLong();
    int first = Math.floorMod(turn.getAndIncrement(), nodes.size());
    Node best = nodes.get(first);
    for (int i = 0; i < nodes.size(); i++) {
      Node node = nodes.get((first + i) % nodes.size());
      if (restNanos(node, now) <= 0) {
        return node;
      }
      if (restNanos(node, now) < restNanos(best, now)) {
        best = node;
      }
    }
    return best;
  }

  /** Leaves a node out for a while. */
  void rest(Node node) {
    node.awakeFromNanos().set(nanos.getAsLong() + REST_NANOS);
  }

  /** Ends the rest of a node, which has answered. */
  void wake(Node node) {
    long now = nanos.getAsLong();
    if (restNanos(node, now) > 0) {
      node.awakeFromNanos().set(now);
    }
  }

  /** Returns whether a node does not rest. */
  boolean isAnyAwake() {
    long now = nanos.getAsLong();
    return nodes.stream().anyMatch(node -> restNanos(node, now) <= 0);
  }

  private static long restNanos(Node node, long now) {
    return node.awakeFromNanos().get() - now;
  }
}
