// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.limits.BucketKey;
import io.weir.limits.BucketLimit;
import io.weir.limits.Refill;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsageWindow;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Functions that format a decision as the members of a JSON object. Stateless. */
final class EventFormat {
  private static final long MICROS_PER_MILLI = 1_000;

  private EventFormat() {}

  /** Returns the members of a recorded decision. */
  static Map<String, Object> decision(CallEvent call) {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("id", call.id());
    members.put("decided_at", Instant.ofEpochMilli(call.decidedAtEpochMillis()).toString());
    members.put("endpoint", call.endpoint());
    members.put("meter", call.meter());
    members.put("cost", call.cost());
    CallSettlement settlement = call.settlement();
    if (settlement != null) {
      members.put("actual_cost", settlement.actualCost());
      members.put("settled_at", Instant.ofEpochMilli(settlement.settledAtEpochMillis()).toString());
    }
    members.put("allowed", call.allowed());
    members.put("decided_by", call.decidedBy().wireName());
    members.put("policy", call.policy());
    members.put("policies_version", call.policiesVersion());
    members.put("ip_prefix", call.ipPrefix());
    members.put("limits", call.charges().stream().map(charge -> limit(call, charge)).toList());
    return members;
  }

  /** Returns a window as the members {@code from} and {@code to}. */
  static Map<String, Object> window(UsageWindow window) {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("from", Instant.ofEpochMilli(window.startEpochMillis()).toString());
    members.put("to", Instant.ofEpochMilli(window.endEpochMillis()).toString());
    return members;
  }

  private static Map<String, Object> limit(CallEvent call, Charge charge) {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("policy", BucketKey.policyShown(charge.bucket()));
    members.put("bucket", charge.bucket());
    BucketLimit limit = charge.limit();
    if (limit != null) {
      members.put("algorithm", limit.algorithm().wireName());
      members.put("limit", limit.capacityTokens());
      Refill refill = limit.refill();
      if (refill != null) {
        members.put("refill_tokens", refill.tokens());
        members.put(
            "refill_period",
            Duration.ofNanos(Math.multiplyExact(refill.periodMicros(), 1_000L)).toString());
      } else {
        members.put("resets_at", CurrentReports.time(limit.fullAtMicros(0)));
      }
    }
    members.put("charged_cost", charge.cost());
    members.put("remaining", remaining(call, charge));
    Stamp stamp = charge.stamp();
    if (stamp != null) {
      members.put("epoch", stamp.epoch());
      members.put("version", stamp.version());
      members.put("charged", stamp.charged());
      if (stamp.fullAtEpochMicros() > 0) {
        members.put("full_at", CurrentReports.time(stamp.fullAtEpochMicros()));
      }
    }
    return members;
  }

  /**
   * Returns the number of tokens in the bucket after the decision, according to the cache. Returns
   * null if the stamp does not show this number. The decision time is in whole milliseconds. The
   * number is for the end of that millisecond, because an earlier time could result in one token
   * too few. A bucket that denied the call had fewer tokens than the cost of the call.
   */
  static @Nullable Long remaining(CallEvent call, Charge charge) {
    Stamp stamp = charge.stamp();
    if (stamp == null) {
      return null;
    }
    BucketLimit limit = charge.limit();
    if (limit == null) {
      return null;
    }
    if (limit.refills() && stamp.fullAtEpochMicros() > 0) {
      long endOfMilli = (call.decidedAtEpochMillis() + 1) * MICROS_PER_MILLI - 1;
      long level = limit.levelTokens(stamp.fullAtEpochMicros(), 0, endOfMilli);
      return charge.cost() == 0 ? Math.min(level, call.cost() - 1) : level;
    }
    // after a correction the counter no longer shows the content of the bucket
    return !limit.refills() && stamp.version() == 0
        ? limit.capacityTokens() - stamp.charged()
        : null;
  }
}
