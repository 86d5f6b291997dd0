// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import io.weir.topics.model.BucketLimit;
import io.weir.topics.model.QuotaLimit;
import io.weir.topics.model.TokenBucketLimit;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * A bucket's limit as members of a flat object: {@code capacity} with {@code refill_tokens} and
 * {@code refill_period_us}, or with {@code ends_at_us}. Collects them while an object is read. Not
 * safe for threads.
 */
final class LimitMembers {
  private boolean hasCapacity;
  private long capacity;
  private long refillTokens;
  private long refillPeriodMicros;
  private long endsAtEpochMicros;

  static void write(JsonGenerator json, BucketLimit limit) throws IOException {
    json.writeNumberField("capacity", limit.capacityTokens());
    if (limit instanceof TokenBucketLimit bucket) {
      json.writeNumberField("refill_tokens", bucket.refillTokens());
      json.writeNumberField("refill_period_us", bucket.refillPeriodMicros());
    } else if (limit instanceof QuotaLimit quota) {
      json.writeNumberField("ends_at_us", quota.endsAtEpochMicros());
    }
  }

  /** Takes the member the parser stands on, if it is one of a limit. */
  boolean read(JsonParser json, String member) throws IOException, MalformedRecordException {
    switch (member) {
      case "capacity" -> {
        capacity = Json.integer(json, member);
        hasCapacity = true;
      }
      case "refill_tokens" -> refillTokens = Json.integer(json, member);
      case "refill_period_us" -> refillPeriodMicros = Json.integer(json, member);
      case "ends_at_us" -> endsAtEpochMicros = Json.integer(json, member);
      default -> {
        return false;
      }
    }
    return true;
  }

  /**
   * The limit, null when there is none.
   *
   * @throws IllegalArgumentException when its numbers are out of range
   */
  @Nullable BucketLimit limit() {
    // 0 is the bucket that denies every call
    if (!hasCapacity) {
      return null;
    }
    return endsAtEpochMicros > 0
        ? new QuotaLimit(capacity, endsAtEpochMicros)
        : new TokenBucketLimit(capacity, refillTokens, refillPeriodMicros);
  }
}
