// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/** How durable the record of a call is when the call is answered. */
public enum Durability {
  /**
   * In this node's write-ahead journal: survives a kill of the process, but not the loss of its
   * disk.
   */
  JOURNALED("journaled"),

  /** In Kafka, on every in-sync replica: survives the loss of this node. */
  ACKED("acked");

  private final String wireName;

  Durability(String wireName) {
    this.wireName = wireName;
  }

  /** Returns the value that responses and settings use. */
  public String wireName() {
    return wireName;
  }
}
