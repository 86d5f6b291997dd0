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
 * A bucket's limit as members of a flat object: {@code algorithm} and the numbers that it is made
 * of, {@code capacity} first. Collects them while an object is read. Not safe for threads.
 *
 * <p>Without {@code algorithm} it is a token bucket's, which is how most are written, or with
 * {@code ends_at_us} a quota's, as they were written before there were more (decision 0013).
 */
final class LimitMembers {
  private static final String ALGORITHM = "algorithm";
  private static final String CAPACITY = "capacity";
  private static final String ENDS_AT = "ends_at_us";

  /** The numbers that limits of one algorithm or another are made of. */
  private static final List<String> NUMBERS =
      List.of(CAPACITY, "refill_tokens", "refill_period_us", ENDS_AT, "window_us");

  private final long[] numbers = new long[NUMBERS.size()];
  private boolean hasCapacity;
  private @Nullable String algorithm;

  static void write(JsonGenerator json, BucketLimit limit) throws IOException {
    if (limit.algorithm() != LimitAlgorithm.TOKEN_BUCKET) {
      json.writeStringField(ALGORITHM, limit.algorithm().wireName());
    }
    limit.<IOException>writeTo(json::writeNumberField);
  }

  /** Takes the member the parser stands on, if it is one of a limit. */
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
   * The limit, null when there is none.
   *
   * @throws IllegalArgumentException when its algorithm is not known, or its numbers are out of
   *     range
   */
  @Nullable BucketLimit limit() {
    // 0 is the bucket that denies every call
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
