// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import io.weir.topics.model.UsageCount;
import java.nio.ByteBuffer;

/** What one side states about one key and window. Mutable; not thread-safe. */
final class Tally {
  static final int BYTES = 5 * Long.BYTES;

  long quantity;
  long allowed;
  long denied;
  long failOpen;
  long digest;

  /** Adds the figures of a row. */
  void add(UsageCount count) {
    quantity = Math.addExact(quantity, count.quantity());
    allowed += count.callsAllowed();
    denied += count.callsDenied();
    failOpen += count.callsFailOpen();
    digest += count.eventsDigest();
  }

  boolean agreesWith(Tally other) {
    return quantity == other.quantity
        && allowed == other.allowed
        && denied == other.denied
        && failOpen == other.failOpen
        && digest == other.digest;
  }

  boolean isNothing() {
    return agreesWith(new Tally());
  }

  void write(ByteBuffer to) {
    to.putLong(quantity).putLong(allowed).putLong(denied).putLong(failOpen).putLong(digest);
  }

  static Tally read(ByteBuffer from) {
    Tally tally = new Tally();
    tally.quantity = from.getLong();
    tally.allowed = from.getLong();
    tally.denied = from.getLong();
    tally.failOpen = from.getLong();
    tally.digest = from.getLong();
    return tally;
  }

  @Override
  public String toString() {
    if (isNothing()) {
      return "nothing";
    }
    return "quantity "
        + quantity
        + ", allowed "
        + allowed
        + ", denied "
        + denied
        + ", fail-open "
        + failOpen
        + String.format(", digest %016x", digest);
  }
}
