// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import io.weir.topics.model.UsagePosition;

/** The result of recording one call. */
public sealed interface Recorded {

  /**
   * The log has stored the call, and the call will be counted.
   *
   * @param durability durability of the call's record at the time of the response
   * @param position the position of the call; a report that has reached this position includes the
   *     call
   */
  record Durable(Durability durability, UsagePosition position) implements Recorded {}

  /**
   * The call may not have been recorded, and the caller gets status 503. Only with the reasons
   * {@link Reason#TIMEOUT} and {@link Reason#WRITE_FAILED}, the write may have succeeded, and the
   * call may be counted.
   *
   * @param detail one sentence for the log; contains no client data
   */
  record Refused(Reason reason, String detail) implements Recorded {}

  /**
   * The journal was full, and the node answered the call without a record ({@code
   * WEIR_WHEN_FULL=drop}). The aggregator will not count the call. A metric counts the loss.
   */
  record Dropped() implements Recorded {}

  /** The reason why the log refused a call. */
  enum Reason {
    /** The journal is full, because Kafka has been unavailable for a long time. */
    FULL,
    /** A write to the journal failed; a part of the data may have reached the disk. */
    WRITE_FAILED,
    /** Kafka did not acknowledge the call in time. The call may still be counted. */
    TIMEOUT,
    /** The node is stopping. */
    CLOSING
  }
}
