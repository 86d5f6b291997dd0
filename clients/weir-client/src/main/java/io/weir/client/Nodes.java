// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * The nodes, which receive requests in turn. A failed node is skipped for 1 s if another node is
 * available. Thread-safe.
 */
final class Nodes {
  /**
   * Time for which a failed node is skipped: 1 s. After this short time the node receives requests
   * again.
   */
  static final long REST_NANOS = 1_000_000_000;

  private final List<Node> nodes;
  private final LongSupplier nanos;
  private final AtomicInteger turn = new AtomicInteger();

  /**
   * Creates the nodes.
   *
   * @param bases base URLs of the nodes, at least one, without a query
   * @param nanos clock with the semantics of {@link System#nanoTime}
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
   * @param base base URL of the node
   * @param awakeFromNanos time from which the node is used again
   */
  record Node(URI base, AtomicLong awakeFromNanos) {
    /** Returns the URL of a route, such as {@code /v1/check}. */
    URI at(String route) {
      String text = base.toString();
      return URI.create((text.endsWith("/") ? text.substring(0, text.length() - 1) : text) + route);
    }
  }

  /**
   * Returns the next node in turn, without the nodes that are skipped. If all nodes are skipped,
   * returns the node that becomes available first.
   */
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

  /** Skips a node for {@link #REST_NANOS}. */
  void rest(Node node) {
    node.awakeFromNanos().set(nanos.getAsLong() + REST_NANOS);
  }

  /** Makes a node available again after a response. */
  void wake(Node node) {
    long now = nanos.getAsLong();
    if (restNanos(node, now) > 0) {
      node.awakeFromNanos().set(now);
    }
  }

  /** Returns whether any node is available. */
  boolean isAnyAwake() {
    long now = nanos.getAsLong();
    return nodes.stream().anyMatch(node -> restNanos(node, now) <= 0);
  }

  private static long restNanos(Node node, long now) {
    return node.awakeFromNanos().get() - now;
  }
}
