// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.UsagePosition;

/** The result of recording one call. */
public sealed interface Recorded {

  /**
   * The log keeps the call, and the call will be counted.
   *
   * @param durability current durability
   * @param position the position that a report must have reached to include the call
   */
  record Durable(Durability durability, UsagePosition position) implements Recorded {}

  /**
   * The call may not be kept; the caller gets the answer that the service is unavailable. After
   * {@link Reason#TIMEOUT} and {@link Reason#WRITE_FAILED} it is unknown whether the call will be
   * counted: it was passed on, but not confirmed. After every other reason it will not be counted.
   *
   * @param detail one sentence for the log; contains no client data
   */
  record Refused(Reason reason, String detail) implements Recorded {}

  /**
   * There was no room, and the deployment answers the call anyway ({@code WEIR_WHEN_FULL=drop}).
   * The call will not be counted; the statistics count the loss.
   */
  record Dropped() implements Recorded {}

  /** Why a call was refused. */
  enum Reason {
    /** The journal is at its size limit because Kafka has been unavailable for long. */
    FULL,
    /** Writing to the journal failed; a part of the write may have reached the disk. */
    WRITE_FAILED,
    /** Kafka did not confirm in time; the call may still be counted. */
    TIMEOUT,
    /** The node is stopping. */
    CLOSING
  }
}
