// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Replay;
import org.jspecify.annotations.Nullable;

/**
 * A refused line or whole record, and the batch in which it is sent again.
 *
 * @param client the client; null if unknown, or if there are several
 * @param id id of the call; null if unknown
 * @param bytes a batch of the line alone, or the value of the record
 * @param batch the batch in which the line or record is sent; null if it is not sent
 * @param stays the reason for which the line or record cannot be sent; null if it can be sent
 * @param call the call or settlement in the line; null if there is none
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never modified
record Candidate(
    Source source,
    @Nullable String client,
    @Nullable String id,
    boolean isSettlement,
    byte[] bytes,
    @Nullable Batch batch,
    @Nullable String stays,
    @Nullable CallEvent call) {

  /**
   * The batch of one candidate.
   *
   * @param partition partition of the calls topic
   */
  record Batch(int partition, BatchHeader header, Replay replay) {}

  /** Returns a candidate that cannot be sent. */
  static Candidate staying(Source source, @Nullable String client, byte[] bytes, String why) {
    return new Candidate(source, client, null, false, bytes, null, why, null);
  }
}
