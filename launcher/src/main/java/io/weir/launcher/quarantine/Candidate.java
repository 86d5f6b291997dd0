// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.quarantine;

import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Replay;
import org.jspecify.annotations.Nullable;

/**
 * A refused line, or whole record, and how it is to be sent again.
 *
 * @param client whose it is; null when that is not known, or not one
 * @param id of the call; null when that is not known
 * @param batch the batch that brings it; null when it stays where it is
 * @param stays why it stays; null when it can be sent
 * @param call the call or settlement that it is; null when it is not one
 */
@SuppressWarnings("ArrayRecordComponent") // never compared, never changed
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
   * The batch of a candidate alone.
   *
   * @param partition of the calls topic
   */
  record Batch(int partition, BatchHeader header, Replay replay) {}

  /** One that stays where it is. */
  static Candidate staying(Source source, @Nullable String client, byte[] bytes, String why) {
    return new Candidate(source, client, null, false, bytes, null, why, null);
  }
}
