// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The decision that a line records. Mutable: a reader reuses one instance for all lines. */
final class DecisionLine {
  /** A text. The string is created only when needed. */
  static final class Text {
    char[] chars = new char[64];
    int length;
    long hash;

    /** Returns the text; empty if it is absent. */
    String text() {
      return new String(chars, 0, length);
    }
  }

  /** A recorded bucket. */
  static final class BucketCharge {
    final Text key = new Text();
    boolean isStamped;
    long epoch;
    long cost;
    long charged;
    long version;
    long fullAtMicros;
    boolean hasLimit;
    boolean isTokenBucket;
    long endsAtMicros;
    int limit;
  }

  /** The values of {@code decided_by}; docs/topics has the wire names. */
  enum By {
    CACHE("cache"),
    DENY_CACHE("deny-cache"),
    LEASE("lease"),
    LOCAL("local"),
    FAIL_OPEN("fail-open"),
    FAIL_CLOSED("fail-closed"),
    NONE("none");

    private final String wireName;

    By(String wireName) {
      this.wireName = wireName;
    }

    static @Nullable By of(char[] chars, int from, int length) {
      for (By by : values()) {
        if (by.wireName.length() == length) {
          int i = 0;
          while (i < length && by.wireName.charAt(i) == chars[from + i]) {
            i++;
          }
          if (i == length) {
            return by;
          }
        }
      }
      return null;
    }

    String shown() {
      return wireName;
    }

    /** Returns whether {@code on_cache_failure} decided. */
    boolean isFailureMode() {
      return this == LOCAL || this == FAIL_OPEN || this == FAIL_CLOSED;
    }
  }

  final Text client = new Text();
  final Text endpoint = new Text();
  final Text meter = new Text();
  final Text policy = new Text();
  long id;
  long cost;
  boolean allowed;
  By decidedBy = By.NONE;
  long policiesVersion;
  long decidedAtEpochMillis;
  boolean hasAddress;
  boolean isSettlement;
  int charges;
  private final List<BucketCharge> kept = new ArrayList<>();

  void clear() {
    client.length = 0;
    endpoint.length = 0;
    meter.length = 0;
    policy.length = 0;
    policiesVersion = 0;
    cost = 0;
    decidedAtEpochMillis = -1;
    hasAddress = false;
    isSettlement = false;
    charges = 0;
  }

  /** Returns one of the recorded buckets. */
  BucketCharge charge(int index) {
    return kept.get(index);
  }

  /** Adds a recorded bucket. */
  BucketCharge addCharge() {
    if (charges == kept.size()) {
      kept.add(new BucketCharge());
    }
    return kept.get(charges++);
  }
}
