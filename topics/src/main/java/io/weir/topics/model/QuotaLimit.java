// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.model;

/**
 * One calendar period of a quota: a bucket that begins full and never refills. The next period has
 * a bucket of its own.
 *
 * @param capacityTokens tokens of the period, 1 to 2^53 − 1
 * @param endsAtEpochMicros when the period ends, exclusive, in microseconds since 1970 by the
 *     cache's clock; 1 to 2^53 − 1
 */
public record QuotaLimit(long capacityTokens, long endsAtEpochMicros) implements BucketLimit {
  public QuotaLimit {
    requireRange("capacity", capacityTokens);
    requireRange("ends_at (µs)", endsAtEpochMicros);
  }

  private static void requireRange(String field, long value) {
    if (value < 1 || value >= TokenBucketLimit.EXACT_BELOW) {
      throw new IllegalArgumentException(
          field + " must be 1 to " + (TokenBucketLimit.EXACT_BELOW - 1) + ", is " + value);
    }
  }
}
