// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.UsagePosition;

/** What became of one call that was to be recorded. */
public sealed interface Recorded {

  /**
   * The call is kept and will be counted.
   *
   * @param durability how safe it is now
   * @param position the place a report must have reached to include it
   */
  record Durable(Durability durability, UsagePosition position) implements Recorded {}

  /**
   * The call is not known to be kept; the caller must be told that the service cannot take it. With
   * {@link Reason#TIMEOUT} and {@link Reason#WRITE_FAILED} it is open whether it will be counted:
   * it was handed over, but not confirmed. With every other reason it will not be.
   *
   * @param detail one sentence for the log; never holds a client's data
   */
  record Refused(Reason reason, String detail) implements Recorded {}

  /**
   * There was no room and the deployment asks to answer all the same ({@code WEIR_WHEN_FULL=drop}).
   * The call will not be counted; the loss is in the statistics.
   */
  record Dropped() implements Recorded {}

  /** Why a call was refused. */
  enum Reason {
    /** The journal has reached its bound, since Kafka has been away for long. */
    FULL,
    /** The journal could not be written; a part of the write may have reached the disk. */
    WRITE_FAILED,
    /** Kafka did not confirm in time; the call may still be counted. */
    TIMEOUT,
    /** The node is stopping. */
    CLOSING
  }
}
