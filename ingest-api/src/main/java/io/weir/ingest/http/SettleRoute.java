// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonGenerator;
import io.javalin.http.Context;
import io.weir.ingest.settle.SettleOutcome;
import io.weir.ingest.settle.SettleOutcome.Pending;
import io.weir.ingest.settle.SettleOutcome.Settled;
import io.weir.ingest.settle.Settler;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The route {@code POST /v1/calls/{id}/settle}, which sets the actual cost of a call. Thread-safe.
 */
final class SettleRoute {
  /** The id may contain slashes. */
  static final String PATH = "/v1/calls/<id>/settle";

  private static final String POSITION_HEADER = "Usage-Position";
  private static final String RETRY_PENDING_SECONDS = "1";

  private final Settler settler;
  private final UnknownMembers unknownMembers;

  SettleRoute(Settler settler, UnknownMembers unknownMembers) {
    this.settler = settler;
    this.unknownMembers = unknownMembers;
  }

  /**
   * Answers a request.
   *
   * @return the problem if the request is refused, otherwise null
   */
  @Nullable Problem handle(Context context) {
    Problem unknown = unknownParameter(context);
    if (unknown != null) {
      return unknown;
    }
    SettleRequest request;
    try {
      request =
          SettleRequest.read(
              context.pathParam("id"),
              context.header(POSITION_HEADER),
              RequestBody.of(context),
              unknownMembers);
    } catch (JsonBody.Invalid invalid) {
      return invalid.problem();
    }
    SettleOutcome outcome = settler.settle(request.query(), request.actualCost());
    if (outcome instanceof Settled settled) {
      answer(context, 200, settled.position(), body(settled));
      return null;
    }
    if (outcome instanceof Pending pending) {
      context.header("Retry-After", RETRY_PENDING_SECONDS);
      answer(context, 202, pending.position(), body(pending));
      return null;
    }
    if (outcome instanceof SettleOutcome.Exhausted exhausted) {
      context.header("Retry-After", Long.toString(exhausted.retryAfterSeconds()));
    }
    return problem(outcome);
  }

  /** Returns the problem of a request that has query parameters; null if it has none. */
  private static @Nullable Problem unknownParameter(Context context) {
    if (context.queryString() == null || context.queryParamMap().isEmpty()) {
      return null;
    }
    String parameter = context.queryParamMap().keySet().iterator().next();
    return Problem.ofField(
        ProblemReason.INVALID_PARAMETER,
        parameter,
        "is unknown, because this route has no parameters");
  }

  private static void answer(Context context, int status, UsagePosition position, byte[] body) {
    context.status(status);
    context.contentType("application/json");
    context.header(POSITION_HEADER, position.toString());
    context.result(body);
  }

  private static Problem problem(SettleOutcome outcome) {
    if (outcome instanceof SettleOutcome.NotFound not) {
      return Problem.of(
          ProblemReason.CALL_NOT_FOUND,
          "no call with this client and id was recorded from "
              + Instant.ofEpochMilli(not.fromEpochMillis())
              + " to "
              + Instant.ofEpochMilli(not.toEpochMillis()));
    }
    if (outcome instanceof SettleOutcome.OnlyDeniedTry only) {
      return Problem.of(
          ProblemReason.ONLY_DENIED_TRY_FOUND,
          "only a denied attempt with this client and id was found from "
              + Instant.ofEpochMilli(only.fromEpochMillis())
              + " to "
              + Instant.ofEpochMilli(only.toEpochMillis())
              + "; if another attempt was allowed, give its Usage-Position");
    }
    if (outcome instanceof SettleOutcome.SettledBefore before) {
      return Problem.of(
          ProblemReason.SETTLED_BEFORE,
          before.actualCost() == null
              ? "the call is already settled, and its first settlement is final"
              : "the call is already settled, at actual_cost "
                  + before.actualCost()
                  + ", and its first settlement is final");
    }
    if (outcome instanceof SettleOutcome.Refused refused) {
      return Problem.of(
          ProblemReason.SETTLEMENT_REFUSED,
          "the aggregator refused the settlement: " + refused.reason());
    }
    if (outcome instanceof SettleOutcome.Exhausted exhausted) {
      return Problem.of(
          ProblemReason.SEARCH_BUDGET_SPENT,
          "the client's budget for log searches is spent; retry in "
              + exhausted.retryAfterSeconds()
              + " s, or give each call's Usage-Position");
    }
    if (outcome instanceof SettleOutcome.Denied) {
      return Problem.of(
          ProblemReason.CALL_DENIED,
          "the call was denied, so it costs nothing and cannot be settled");
    }
    return Problem.of(
        ProblemReason.SETTLEMENT_UNAVAILABLE, ((SettleOutcome.Unavailable) outcome).detail());
  }

  private static byte[] body(Settled settled) {
    return CheckResponse.write(
        json -> {
          write(json, settled.call(), settled.actualCost());
          json.writeBooleanField("changed", settled.changed());
          json.writeStringField("durability", settled.durability().wireName());
        });
  }

  private static byte[] body(Pending pending) {
    return CheckResponse.write(
        json -> {
          write(json, pending.call(), pending.actualCost());
          json.writeStringField("durability", pending.durability().wireName());
        });
  }

  private static void write(JsonGenerator json, CallEvent call, long actualCost)
      throws IOException {
    json.writeStringField("id", call.id());
    json.writeStringField("client", call.client());
    json.writeNumberField("cost", call.cost());
    json.writeNumberField("actual_cost", actualCost);
    json.writeNumberField("difference", actualCost - call.cost());
    json.writeStringField(
        "decided_at", Instant.ofEpochMilli(call.decidedAtEpochMillis()).toString());
  }
}
