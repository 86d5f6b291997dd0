// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.javalin.http.Context;
import io.weir.ingest.settle.SettleOutcome;
import io.weir.ingest.settle.SettleOutcome.Settled;
import io.weir.ingest.settle.Settler;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** {@code POST /v1/calls/{id}/settle}: says what a call turned out to cost. Safe for threads. */
final class SettleRoute {
  /** The id may hold slashes. */
  static final String PATH = "/v1/calls/<id>/settle";

  private static final String POSITION_HEADER = "Usage-Position";

  private final Settler settler;

  SettleRoute(Settler settler) {
    this.settler = settler;
  }

  /** Answers a request; the problem when it is refused, else null. */
  @Nullable Problem handle(Context context) {
    if (context.queryString() != null && !context.queryParamMap().isEmpty()) {
      String parameter = context.queryParamMap().keySet().iterator().next();
      return Problem.badRequest(parameter, "is not a parameter here; none is known");
    }
    SettleRequest request;
    try {
      request =
          SettleRequest.read(
              context.pathParam("id"), context.header(POSITION_HEADER), RequestBody.of(context));
    } catch (CheckRequest.Invalid invalid) {
      return invalid.problem();
    }
    SettleOutcome outcome = settler.settle(request.query(), request.actualCost());
    if (outcome instanceof Settled settled) {
      context.status(200);
      context.contentType("application/json");
      context.header(POSITION_HEADER, settled.position().toString());
      context.result(body(settled));
      return null;
    }
    return problem(outcome);
  }

  private static Problem problem(SettleOutcome outcome) {
    if (outcome instanceof SettleOutcome.NotFound not) {
      return Problem.of(
          404,
          "Not Found",
          "no call of this client and id was recorded from "
              + Instant.ofEpochMilli(not.fromEpochMillis())
              + " to "
              + Instant.ofEpochMilli(not.toEpochMillis()));
    }
    if (outcome instanceof SettleOutcome.SettledBefore before) {
      return Problem.of(
          409,
          "Conflict",
          "the call was settled before, at actual_cost " + before.actualCost() + ", which stands");
    }
    if (outcome instanceof SettleOutcome.Denied) {
      return Problem.of(
          409, "Conflict", "the call was denied, so it costs nothing and cannot be settled");
    }
    return Problem.unavailable(((SettleOutcome.Unavailable) outcome).detail());
  }

  private static byte[] body(Settled settled) {
    return CheckResponse.write(
        json -> {
          json.writeStringField("id", settled.call().id());
          json.writeStringField("client", settled.call().client());
          json.writeNumberField("cost", settled.call().cost());
          json.writeNumberField("actual_cost", settled.actualCost());
          json.writeNumberField("difference", settled.actualCost() - settled.call().cost());
          json.writeBooleanField("changed", settled.changed());
          json.writeStringField(
              "decided_at", Instant.ofEpochMilli(settled.call().decidedAtEpochMillis()).toString());
          json.writeStringField("durability", settled.durability().wireName());
        });
  }
}
