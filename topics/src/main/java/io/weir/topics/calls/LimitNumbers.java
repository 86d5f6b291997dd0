// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;
import io.weir.limits.BucketLimit;
import io.weir.limits.LimitAlgorithm;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A limit in the dictionary of a block. The numbers are not checked before {@link #limit} is
 * called.
 */
final class LimitNumbers {
  /** The recorded algorithms. The index is the number in the schema minus 1. */
  private static final List<LimitAlgorithm> ALGORITHMS =
      List.of(
          LimitAlgorithm.TOKEN_BUCKET,
          LimitAlgorithm.QUOTA,
          LimitAlgorithm.FIXED_WINDOW,
          LimitAlgorithm.SLIDING_WINDOW);

  /** The members of all limits. The index is the field number minus 2. */
  private static final List<String> MEMBERS =
      List.of(
          "capacity",
          "refill_tokens",
          "refill_period_us",
          "ends_at_us",
          "window_us",
          "sub_windows");

  private static final int ALGORITHM_FIELD = 1;

  private final long algorithm;
  private final long[] numbers;
  private @Nullable BucketLimit limit;

  /** The digest; 0 until it is first computed. */
  private long digest;

  private LimitNumbers(long algorithm, long[] numbers) {
    this.algorithm = algorithm;
    this.numbers = numbers;
  }

  /**
   * Requires that records may have charges of a limit's buckets.
   *
   * @throws IllegalArgumentException if only the cache stores these buckets
   */
  static void requireRecorded(BucketLimit limit) {
    if (!ALGORITHMS.contains(limit.algorithm())) {
      throw new IllegalArgumentException(
          "a record must not contain a bucket of algorithm '"
              + limit.algorithm().wireName()
              + "': only the cache stores it");
    }
  }

  static LimitNumbers of(BucketLimit limit) {
    requireRecorded(limit);
    long[] numbers = new long[MEMBERS.size()];
    limit.<RuntimeException>writeTo((name, value) -> numbers[MEMBERS.indexOf(name)] = value);
    LimitNumbers made = new LimitNumbers(ALGORITHMS.indexOf(limit.algorithm()) + 1, numbers);
    made.limit = limit;
    return made;
  }

  static LimitNumbers read(CodedInputStream in) throws IOException {
    long algorithm = 0;
    long[] numbers = new long[MEMBERS.size()];
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      int field = WireFormat.getTagFieldNumber(tag);
      boolean isVarint = WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_VARINT;
      if (isVarint && field == ALGORITHM_FIELD) {
        algorithm = in.readRawVarint64();
      } else if (isVarint && field <= numbers.length + ALGORITHM_FIELD) {
        numbers[field - ALGORITHM_FIELD - 1] = in.readRawVarint64();
      } else {
        in.skipField(tag);
      }
    }
    return new LimitNumbers(algorithm, numbers);
  }

  int bytes() {
    int bytes = CodedOutputStream.computeUInt64Size(ALGORITHM_FIELD, algorithm);
    for (int i = 0; i < numbers.length; i++) {
      if (numbers[i] != 0) {
        bytes += CodedOutputStream.computeUInt64Size(i + ALGORITHM_FIELD + 1, numbers[i]);
      }
    }
    return bytes;
  }

  void write(CodedOutputStream out) throws IOException {
    out.writeUInt64(ALGORITHM_FIELD, algorithm);
    for (int i = 0; i < numbers.length; i++) {
      if (numbers[i] != 0) {
        out.writeUInt64(i + ALGORITHM_FIELD + 1, numbers[i]);
      }
    }
  }

  /**
   * Returns the limit.
   *
   * @throws IllegalArgumentException if the algorithm is unknown or a number is out of range
   */
  BucketLimit limit() {
    BucketLimit made = limit;
    if (made == null) {
      if (algorithm < 1 || algorithm > ALGORITHMS.size()) {
        throw new IllegalArgumentException("unknown algorithm: " + algorithm);
      }
      made =
          ALGORITHMS
              .get((int) algorithm - 1)
              .read(
                  name -> {
                    int member = MEMBERS.indexOf(name);
                    return member < 0 ? 0 : numbers[member];
                  });
      limit = made;
    }
    return made;
  }

  long digest() {
    if (digest == 0) {
      digest = computedDigest();
    }
    return digest;
  }

  private long computedDigest() {
    long extended = Digest.with(Digest.EMPTY, algorithm);
    for (long number : numbers) {
      extended = Digest.with(extended, number);
    }
    return extended;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof LimitNumbers limit
        && algorithm == limit.algorithm
        && Arrays.equals(numbers, limit.numbers);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(numbers) + Long.hashCode(algorithm);
  }
}
