// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/** The durability of a call's record at the time of the response. */
public enum Durability {
  /**
   * The record is in this node's journal. The record survives a kill of the process, but not the
   * loss of the disk.
   */
  JOURNALED("journaled"),

  /**
   * The record is in Kafka, on every in-sync replica. The record survives the loss of this node.
   */
  ACKED("acked");

  private final String wireName;

  Durability(String wireName) {
    this.wireName = wireName;
  }

  /** Returns the name of this durability in responses and settings. */
  public String wireName() {
    return wireName;
  }
}
