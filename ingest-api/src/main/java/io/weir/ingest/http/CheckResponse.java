// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.ByteArrayBuilder;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.HeldSlots;
import io.weir.ingest.gate.LimitStatus;
import io.weir.ingest.gate.Recorded;
import io.weir.ingest.gate.SlotToken;
import io.weir.limits.LeakyBucket;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Converts the outcome of a call to the status and body of the response. Only this class maps
 * outcomes to status codes.
 */
final class CheckResponse {
  private static final JsonFactory JSON =
      JsonFactory.builder().recyclerPool(JsonRecyclerPools.sharedConcurrentDequePool()).build();
  private static final long MICROS_PER_MILLI = 1_000;

  private CheckResponse() {}

  static int status(CheckOutcome.Decided decided) {
    if (decided.call().allowed()) {
      return 200;
    }
    return decided.call().decidedBy() == DecidedBy.FAIL_CLOSED ? 503 : 429;
  }

  static byte[] body(CheckOutcome.Decided decided) {
    return write(json -> writeDecided(json, decided));
  }

  /** Writes members into an open object, or elements into an open array. */
  interface Members {
    void write(JsonGenerator json) throws IOException;
  }

  static byte[] write(Members members) {
    return writeValue(
        json -> {
          json.writeStartObject();
          members.write(json);
          json.writeEndObject();
        });
  }

  /**
   * Returns an array.
   *
   * @param elements writes the elements; the caller opens and closes the array
   */
  static byte[] writeArray(Members elements) {
    return writeValue(
        json -> {
          json.writeStartArray();
          elements.write(json);
          json.writeEndArray();
        });
  }

  private static byte[] writeValue(Members value) {
    try (ByteArrayBuilder bytes = new ByteArrayBuilder(512)) {
      try (JsonGenerator json = JSON.createGenerator(bytes)) {
        value.write(json);
      }
      return bytes.toByteArray();
    } catch (IOException impossible) {
      throw new UncheckedIOException("writing to memory failed", impossible);
    }
  }

  /**
   * Returns the problem of a call that was not decided or not recorded; null if the call was
   * decided and recorded.
   */
  static @Nullable Problem problem(CheckOutcome outcome) {
    if (outcome instanceof CheckOutcome.Shed shed) {
      return Problem.of(
          ProblemReason.OVERLOADED,
          "the node is overloaded: "
              + shed.detail()
              + "; the call was neither allowed nor recorded");
    }
    if (outcome instanceof CheckOutcome.NotKept notKept) {
      return Problem.of(
          ProblemReason.NOT_RECORDED,
          "the call could not be recorded ("
              + notKept.refused().reason()
              + "), so it was not allowed");
    }
    if (outcome == CheckOutcome.KeyRefused.INSTANCE) {
      return Problem.ofField(
          ProblemReason.API_KEY_REFUSED,
          "api_key",
          "is unknown or has expired; the call was neither decided nor recorded");
    }
    return null;
  }

  /**
   * Writes one outcome of a batch into an open object. The object has the members of a check's
   * response, and two more: the status and the position. For a single check, the status and the
   * position are outside the body.
   */
  static void writeOutcome(JsonGenerator json, CheckOutcome outcome) throws IOException {
    Problem problem = problem(outcome);
    if (problem != null) {
      problem.writeMembers(json);
      return;
    }
    CheckOutcome.Decided decided = (CheckOutcome.Decided) outcome;
    if (decided.call().allowed()) {
      // a refusal is a problem document, which already contains its status
      json.writeNumberField("status", status(decided));
    }
    writeDecided(json, decided);
    if (decided.recorded() instanceof Recorded.Durable durable) {
      json.writeStringField("usage_position", durable.position().toString());
    }
  }

  private static void writeDecided(JsonGenerator json, CheckOutcome.Decided decided)
      throws IOException {
    CallEvent call = decided.call();
    if (!call.allowed()) {
      writeRefusal(json, decided);
    }
    json.writeStringField("id", call.id());
    json.writeBooleanField("allowed", call.allowed());
    json.writeStringField("client", call.client());
    json.writeStringField("decided_by", call.decidedBy().wireName());
    Recorded recorded = decided.recorded();
    if (recorded != null) {
      json.writeStringField("durability", durability(recorded));
    }
    json.writeNumberField("policies_version", call.policiesVersion());
    json.writeNumberField("retry_after_ms", retryAfterMillis(decided.denial()));
    writeDelay(json, decided);
    HeldSlots slots = decided.slots();
    if (slots != null) {
      writeSlot(json, slots.token(), slots.leaseMicros());
    }
    json.writeArrayFieldStart("limits");
    for (LimitStatus limit : decided.limits()) {
      json.writeStartObject();
      json.writeStringField("policy", limit.policy().name());
      json.writeStringField("mode", limit.policy().mode().name().toLowerCase(Locale.ROOT));
      json.writeNumberField("limit", limit.limit().capacityTokens());
      json.writeNumberField("remaining", limit.remainingTokens());
      json.writeNumberField("reset_ms", ceilMillis(limit.reply().resetMicros()));
      json.writeBooleanField("allowed", limit.reply().sufficient());
      json.writeEndObject();
    }
    json.writeEndArray();
  }

  /** Writes the delay of an allowed call, if a queue policy set one. */
  private static void writeDelay(JsonGenerator json, CheckOutcome.Decided decided)
      throws IOException {
    long longestMicros = -1;
    for (LimitStatus limit : decided.limits()) {
      if (limit.policy().queues() && limit.enforced() && decided.call().allowed()) {
        long delay =
            LeakyBucket.delayMicros(
                limit.limit(),
                limit.reply().charged() ? decided.call().cost() : 0,
                limit.reply().resetMicros());
        longestMicros = Math.max(longestMicros, delay);
      }
    }
    if (longestMicros >= 0) {
      json.writeNumberField("delay_ms", ceilMillis(longestMicros));
    }
  }

  /** Writes the slot token and the duration of the lease. */
  static void writeSlot(JsonGenerator json, SlotToken token, long leaseMicros) throws IOException {
    json.writeStringField("slot", token.text());
    // rounded down: the caller must renew before the lease expires
    json.writeNumberField("slot_expires_ms", leaseMicros / MICROS_PER_MILLI);
  }

  private static void writeRefusal(JsonGenerator json, CheckOutcome.Decided decided)
      throws IOException {
    CheckOutcome.Denial denial = decided.denial();
    if (denial == null) {
      Problem.of(
              ProblemReason.POLICY_FAILS_CLOSED,
              "the decision cache cannot decide, and policy '"
                  + decided.call().policy()
                  + "' refuses calls in this case")
          .writeMembers(json);
      return;
    }
    String detail = detail(decided, denial);
    ProblemReason reason = reason(decided, denial);
    Problem.of(reason, detail).writeMembers(json);
    json.writeArrayFieldStart("violated-policies");
    for (String policy : denial.violated()) {
      json.writeString(policy);
    }
    json.writeEndArray();
  }

  private static String detail(CheckOutcome.Decided decided, CheckOutcome.Denial denial) {
    if (isBlocked(decided, denial)) {
      return "a policy denies every call that it matches: waiting cannot help";
    }
    if (denial.costExceedsCapacity()) {
      return "the cost " + decided.call().cost() + " exceeds the capacity: waiting cannot help";
    }
    if (isForSlots(decided)) {
      return decided.call().decidedBy() == DecidedBy.LOCAL
          ? "the decision cache cannot decide, and this node's share has no free slot"
          : "other calls hold all slots";
    }
    return decided.call().decidedBy() == DecidedBy.LOCAL
        ? "the decision cache cannot decide, and this node's share does not have enough tokens"
        : "not enough tokens";
  }

  /** Returns the reason of the denial of a call. */
  static ProblemReason reason(CheckOutcome.Decided decided) {
    CheckOutcome.Denial denial = decided.denial();
    return denial == null ? ProblemReason.POLICY_FAILS_CLOSED : reason(decided, denial);
  }

  private static ProblemReason reason(CheckOutcome.Decided decided, CheckOutcome.Denial denial) {
    if (isBlocked(decided, denial)) {
      return ProblemReason.BLOCKED;
    }
    if (denial.costExceedsCapacity()) {
      return ProblemReason.COST_EXCEEDS_CAPACITY;
    }
    return isForSlots(decided) ? ProblemReason.NO_SLOT_FREE : ProblemReason.NOT_ENOUGH_TOKENS;
  }

  /** Returns whether a lack of slots is the only reason for the denial. */
  private static boolean isForSlots(CheckOutcome.Decided decided) {
    return decided.limits().stream()
        .filter(limit -> limit.enforced() && !limit.reply().sufficient())
        .allMatch(limit -> limit.limit().hasSlots());
  }

  /**
   * Returns whether a policy that denies every call denied this call. Such a policy has capacity 0.
   */
  private static boolean isBlocked(CheckOutcome.Decided decided, CheckOutcome.Denial denial) {
    return denial.costExceedsCapacity()
        && decided.limits().stream()
            .anyMatch(limit -> limit.enforced() && limit.limit().capacityTokens() == 0);
  }

  private static String durability(Recorded recorded) {
    return recorded instanceof Recorded.Durable durable
        ? durable.durability().wireName()
        : "dropped";
  }

  private static long retryAfterMillis(CheckOutcome.@Nullable Denial denial) {
    return denial == null || denial.retryAfterMicros() < 0
        ? 0
        : ceilMillis(denial.retryAfterMicros());
  }

  private static long ceilMillis(long micros) {
    return micros / MICROS_PER_MILLI + (micros % MICROS_PER_MILLI == 0 ? 0 : 1);
  }
}
