// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.UsagePosition;

/** The result of recording one call. */
public sealed interface Recorded {

  /**
   * The call is kept and will be counted.
   *
   * @param durability how durable it is now
   * @param position the position that a report must have reached to include it
   */
  record Durable(Durability durability, UsagePosition position) implements Recorded {}

  /**
   * The call is not known to be kept, and the caller must be told that the service is unavailable.
   * With {@link Reason#TIMEOUT} and {@link Reason#WRITE_FAILED} it is unknown whether the call will
   * be counted: it was handed over, but not confirmed. With every other reason it will not be
   * counted.
   *
   * @param detail one sentence for the log; never contains a client's data
   */
  record Refused(Reason reason, String detail) implements Recorded {}

  /**
   * There was no room, and the deployment answers the call all the same ({@code
   * WEIR_WHEN_FULL=drop}). The call will not be counted; the statistics count the loss.
   */
  record Dropped() implements Recorded {}

  /** Why a call was refused. */
  enum Reason {
    /** The journal has reached its bound because Kafka has been unavailable for long. */
    FULL,
    /** The journal could not be written; a part of the write may have reached the disk. */
    WRITE_FAILED,
    /** Kafka did not confirm in time; the call may still be counted. */
    TIMEOUT,
    /** The node is stopping. */
    CLOSING
  }
}
