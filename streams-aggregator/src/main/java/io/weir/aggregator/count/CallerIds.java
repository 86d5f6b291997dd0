// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.Packer;
import io.weir.topics.model.CallEvent;

/**
 * A detector of repeated calls. The detector uses the ids that clients chose. An id identifies one
 * allowed call and one denied call of a client. Not thread-safe.
 */
final class CallerIds {
  private final SeenIds ids;
  private final PartitionState state;
  private final Packer packer = new Packer();

  CallerIds(SeenIds ids, PartitionState state) {
    this.ids = ids;
    this.state = state;
  }

  /**
   * Returns whether the same call with the same id was counted before. If the call is new, stores
   * its id. A different call with the same id is a separate call.
   */
  boolean isRepeated(CallEvent call) {
    String fingerprint = call.fingerprint();
    long at = state.appendEpochMillis;
    byte[] key = key(call).toBytes();
    String known = ids.find(key, at);
    if (known != null && !known.equals(fingerprint)) {
      key = key(call).text(fingerprint).toBytes();
      known = ids.find(key, at);
      state.idConflicts += known == null ? 1 : 0;
    } else if (known == null && state.idConflicts > 0) {
      // the entry of the first call with this id may have expired after this call was counted
      known = ids.find(key(call).text(fingerprint).toBytes(), at);
    }
    if (known == null) {
      ids.remember(key, fingerprint, at);
    }
    return known != null;
  }

  private Packer key(CallEvent call) {
    return packer.reset().integer(call.allowed() ? 1 : 0).text(call.client()).text(call.id());
  }
}
