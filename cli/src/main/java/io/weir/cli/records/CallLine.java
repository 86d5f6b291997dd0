// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.records;

import io.weir.topics.model.UsagePosition;
import io.weir.topics.model.UsageRow;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The members of a line of {@code weir.calls.v1}: a call, or the settlement of a call. Mutable: a
 * {@link CallLineReader} reuses one instance for all lines.
 */
public final class CallLine {
  /** 2^53 − 1, the greatest number in a record and the greatest quantity. */
  public static final long MAX_NUMBER = (1L << 53) - 1;

  /** A text. The string is created only when needed. */
  public static final class Text {
    private static final int USUAL_CHARS = 32;

    private final Hash hashes;
    private char[] chars = {};
    private int length;
    private long hash;
    private boolean hasControl;
    private @Nullable String string = "";

    /** Number of bytes of the text in UTF-8. */
    int bytes;

    /** The FNV-1a hash of these bytes. Not set for a UUID. */
    long digest;

    /** Creates an empty text. */
    Text(Hash hashes) {
      this.hashes = hashes;
      this.digest = LineDigest.NOTHING;
    }

    void set(char[] from, int count) {
      if (count > chars.length) {
        chars = new char[Math.max(count, USUAL_CHARS)];
      }
      System.arraycopy(from, 0, chars, 0, count);
      length = count;
      hash = hashes.of(chars, 0, count);
      string = null;
      hasControl = false;
      for (int i = 0; i < count; i++) {
        hasControl |= Character.isISOControl(chars[i]);
      }
    }

    char charAt(int index) {
      return chars[index];
    }

    /** Returns whether the text has a control character. */
    boolean hasControl() {
      return hasControl;
    }

    /** Returns the number of UTF-16 units; 0 if the text is absent. */
    public int length() {
      return length;
    }

    /** Returns the hash of the text; meaningless if it is absent. */
    public long hash() {
      return hash;
    }

    /** Returns the text; empty if it is absent. */
    @Override
    public String toString() {
      String known = string;
      if (known == null) {
        known = new String(chars, 0, length);
        string = known;
      }
      return known;
    }
  }

  /**
   * A recorded bucket. The members {@link #epoch}, {@link #charged}, {@link #version} and {@link
   * #fullAtMicros} are valid only with a stamp ({@link #isStamped}). The members of the limit are
   * valid only with a limit ({@link #hasLimit}).
   */
  public static final class BucketCharge {
    public Text key;
    public long cost;
    public boolean isStamped;
    public long epoch;
    public long charged;
    public long version;
    public long fullAtMicros;

    public boolean hasLimit;
    public boolean isTokenBucket;

    /** Number of the bucket's limit in the reader's {@link Rates}. */
    public int limit;

    /** End of the period of a limit that is not a token bucket. */
    public long endsAtMicros;

    private BucketCharge(Text none) {
      key = none;
    }
  }

  /** The values of {@code decided_by}, in the order of their numbers in the schema. */
  public enum By {
    CACHE("cache"),
    DENY_CACHE("deny-cache"),
    LEASE("lease"),
    LOCAL("local"),
    FAIL_OPEN("fail-open"),
    FAIL_CLOSED("fail-closed"),
    NONE("none");

    private static final List<By> ALL = Arrays.asList(values());

    private final String wireName;

    By(String wireName) {
      this.wireName = wireName;
    }

    /** Returns the value with a number in {@code weir-calls.proto}; null if there is none. */
    static @Nullable By ofNumber(long number) {
      return number < 1 || number > ALL.size() ? null : ALL.get((int) number - 1);
    }

    /** Returns the wire name. */
    public String shown() {
      return wireName;
    }

    /** Returns whether {@code on_cache_failure} decided. */
    public boolean isFailureMode() {
      return this == LOCAL || this == FAIL_OPEN || this == FAIL_CLOSED;
    }
  }

  private final Text none;
  private final List<BucketCharge> kept = new ArrayList<>();
  private int charges;

  public Text id;
  public Text client;
  public Text endpoint;
  public Text meter;
  public Text policy;

  /** Whether the caller chose the id. */
  public boolean isIdFromCaller;

  public long cost;
  public boolean allowed;
  public By decidedBy = By.NONE;

  /** Version of the policies that decided the call; 0 if there were none. */
  public long policiesVersion;

  public long decidedAtEpochMillis;

  /** Whether the line has a prefix of the caller's address. */
  public boolean hasAddress;

  /** Actual cost of a settlement; null if the line is the call itself. */
  public @Nullable Long actualCost;

  /** Position of the call that a settlement settles; null if not stated. */
  public @Nullable UsagePosition settledCall;

  /** The billing periods; null for the months of UTC. */
  public @Nullable Billed billed;

  /**
   * Creates an instance.
   *
   * @param none the text of absent members
   */
  CallLine(Text none) {
    this.none = none;
    this.id = none;
    this.client = none;
    this.endpoint = none;
    this.meter = none;
    this.policy = none;
  }

  void removeCharges() {
    charges = 0;
  }

  /** Returns the number of recorded buckets. */
  public int charges() {
    return charges;
  }

  /** Returns one of the recorded buckets. */
  public BucketCharge charge(int index) {
    return kept.get(index);
  }

  /** Adds a bucket, whose members have the values of an earlier line. */
  BucketCharge addCharge() {
    if (charges == kept.size()) {
      kept.add(new BucketCharge(none));
    }
    return kept.get(charges++);
  }

  public boolean isSettlement() {
    return actualCost != null;
  }

  /** Returns whether the call was allowed without Redis. */
  public boolean isWithoutCache() {
    return decidedBy == By.LOCAL || decidedBy == By.FAIL_OPEN;
  }

  /** Returns the billing period of a window whose first line is this line. */
  public String billingPeriodOfWindow(long windowStartEpochMillis) {
    return billed == null ? Billed.UTC_MONTH : billed.ofWindow(windowStartEpochMillis);
  }

  /** Returns the reason of an adjustment that counts this line in a closed window. */
  public UsageRow.Reason reason() {
    if (actualCost == null) {
      return UsageRow.Reason.LATE;
    }
    return actualCost == 0 ? UsageRow.Reason.VOID : UsageRow.Reason.SETTLE;
  }

  /** Returns the units that the line adds to the bill. */
  public long units() {
    if (actualCost != null) {
      return actualCost - cost;
    }
    return allowed ? cost : 0;
  }
}
