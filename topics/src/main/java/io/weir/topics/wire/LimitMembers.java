// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitAlgorithm;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The JSON members of a bucket's limit in a flat object: {@code algorithm} and the numbers of the
 * limit, {@code capacity} first. A limit without {@code algorithm} is a token bucket. Stateless and
 * thread-safe.
 */
final class LimitMembers {
  private static final String ALGORITHM = "algorithm";
  private static final String CAPACITY = "capacity";

  /** The numeric members of the limits of all algorithms. */
  private static final List<String> NUMBERS =
      List.of(
          CAPACITY, "refill_tokens", "refill_period_us", "ends_at_us", "window_us", "sub_windows");

  private LimitMembers() {}

  static void write(JsonGenerator json, BucketLimit limit) throws IOException {
    if (limit.algorithm() != LimitAlgorithm.TOKEN_BUCKET) {
      json.writeStringField(ALGORITHM, limit.algorithm().wireName());
    }
    limit.<IOException>writeTo(json::writeNumberField);
  }

  /**
   * Returns the limit among the members of an object; null if the object has no {@code capacity}. A
   * capacity of 0 is valid and denies every call.
   *
   * @throws IllegalArgumentException if the algorithm is unknown, or a number is out of range
   */
  static @Nullable BucketLimit read(Members members) throws MalformedRecordException {
    if (!members.has(CAPACITY)) {
      return null;
    }
    String algorithm = members.textOrNull(ALGORITHM);
    long[] numbers = new long[NUMBERS.size()];
    for (int i = 0; i < numbers.length; i++) {
      numbers[i] = members.integer(NUMBERS.get(i), 0);
    }
    LimitAlgorithm known =
        algorithm == null ? LimitAlgorithm.TOKEN_BUCKET : LimitAlgorithm.ofWireName(algorithm);
    return known.read(name -> numbers[NUMBERS.indexOf(name)]);
  }
}
