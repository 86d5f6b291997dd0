// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitAlgorithm;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The JSON members of a bucket's limit in a flat object: {@code algorithm} and the numbers of the
 * limit, {@code capacity} first. An instance collects the members while a decoder reads an object.
 * Not thread-safe.
 *
 * <p>A limit without {@code algorithm} is a token bucket, or a quota if it has {@code ends_at_us}.
 * Records from before decision 0013 lack {@code algorithm}, because there were only these two
 * algorithms.
 */
final class LimitMembers {
  private static final String ALGORITHM = "algorithm";
  private static final String CAPACITY = "capacity";
  private static final String ENDS_AT = "ends_at_us";

  /** The numeric members of the limits of all algorithms. */
  private static final List<String> NUMBERS =
      List.of(CAPACITY, "refill_tokens", "refill_period_us", ENDS_AT, "window_us", "sub_windows");

  private final long[] numbers = new long[NUMBERS.size()];
  private boolean hasCapacity;
  private @Nullable String algorithm;

  static void write(JsonGenerator json, BucketLimit limit) throws IOException {
    if (limit.algorithm() != LimitAlgorithm.TOKEN_BUCKET) {
      json.writeStringField(ALGORITHM, limit.algorithm().wireName());
    }
    limit.<IOException>writeTo(json::writeNumberField);
  }

  /** Returns the limit among the members of an object; null if the object has no limit. */
  static @Nullable BucketLimit read(Members members) throws MalformedRecordException {
    LimitMembers limit = new LimitMembers();
    limit.algorithm = members.textOrNull(ALGORITHM);
    limit.hasCapacity = members.has(CAPACITY);
    for (int i = 0; i < limit.numbers.length; i++) {
      limit.numbers[i] = members.integer(NUMBERS.get(i), 0);
    }
    return limit.limit();
  }

  /** Reads the current member; returns false if the member does not belong to a limit. */
  boolean read(JsonParser json, String member) throws IOException, MalformedRecordException {
    if (member.equals(ALGORITHM)) {
      algorithm = Json.text(json, member);
      return true;
    }
    int index = NUMBERS.indexOf(member);
    if (index < 0) {
      return false;
    }
    numbers[index] = Json.integer(json, member);
    hasCapacity |= member.equals(CAPACITY);
    return true;
  }

  /**
   * Returns the limit of the collected members; null if there is no {@code capacity}.
   *
   * @throws IllegalArgumentException if the algorithm is unknown, or a number is out of range
   */
  @Nullable BucketLimit limit() {
    // capacity 0 is valid and denies every call
    return hasCapacity ? algorithm().read(this::number) : null;
  }

  private LimitAlgorithm algorithm() {
    if (algorithm != null) {
      return LimitAlgorithm.ofWireName(algorithm);
    }
    return number(ENDS_AT) > 0 ? LimitAlgorithm.QUOTA : LimitAlgorithm.TOKEN_BUCKET;
  }

  private long number(String name) {
    return numbers[NUMBERS.indexOf(name)];
  }
}
