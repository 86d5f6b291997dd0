// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.weir.ingest.gate.SlotOutcome;
import io.weir.ingest.gate.SlotToken;
import io.weir.ingest.gate.Slots;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.io.IOException;
import org.eclipse.jetty.http.HttpHeader;

/**
 * The routes {@code POST /v1/slots/renew} and {@code POST /v1/slots/release}. These routes renew or
 * release the slots of a slot token. A check returns the slot token. Thread-safe.
 */
final class SlotRoutes {
  static final String RENEW = "/v1/slots/renew";
  static final String RELEASE = "/v1/slots/release";

  private final Slots slots;
  private final UnknownMembers unknownMembers;

  SlotRoutes(Slots slots, UnknownMembers unknownMembers) {
    this.slots = slots;
    this.unknownMembers = unknownMembers;
  }

  /** Renews slots, and responds later; does not block. */
  void renew(Exchange exchange) throws JsonBody.Invalid {
    exchange.answerLater(slots.renew(token(exchange)), outcome -> answer(exchange, outcome));
  }

  /** Releases slots, and responds later; does not block. */
  void release(Exchange exchange) throws JsonBody.Invalid {
    exchange.answerLater(slots.release(token(exchange)), outcome -> answer(exchange, outcome));
  }

  private SlotToken token(Exchange exchange) throws JsonBody.Invalid {
    exchange.requireNoParameters();
    return JsonBody.read(exchange.body(), this::readMembers);
  }

  private SlotToken readMembers(JsonParser json) throws IOException, JsonBody.Invalid {
    SlotToken token = null;
    for (String member = json.nextFieldName(); member != null; member = json.nextFieldName()) {
      JsonToken value = json.nextToken();
      if (member.equals("slot")) {
        token = token(JsonBody.text(json, value, member));
      } else {
        JsonBody.unknown(json, member, "slot", unknownMembers);
      }
    }
    if (token == null) {
      throw JsonBody.Invalid.member("slot", "is missing");
    }
    return token;
  }

  private static SlotToken token(String text) throws JsonBody.Invalid {
    try {
      return SlotToken.parse(text);
    } catch (IllegalArgumentException malformed) {
      throw JsonBody.Invalid.member("slot", String.valueOf(malformed.getMessage()));
    }
  }

  private static void answer(Exchange exchange, SlotOutcome outcome) {
    if (outcome instanceof SlotOutcome.Renewed renewed) {
      exchange.write(
          200,
          CheckResponse.write(
              json -> {
                CheckResponse.writeSlot(json, renewed.token(), renewed.leaseMicros());
                json.writeStringField("decided_by", renewed.decidedBy().wireName());
              }));
    } else if (outcome instanceof SlotOutcome.Released released) {
      exchange.write(
          200,
          CheckResponse.write(json -> json.writeBooleanField("released", released.wereHeld())));
    } else {
      if (outcome instanceof SlotOutcome.Shed) {
        exchange.fields().put(HttpHeader.RETRY_AFTER, AdmissionHandler.retryAfterSeconds());
      }
      exchange.refuse(problem(outcome));
    }
  }

  private static Problem problem(SlotOutcome outcome) {
    if (outcome instanceof SlotOutcome.Ended ended) {
      return Problem.of(
          ProblemReason.SLOT_ENDED,
          ended.policies().isEmpty()
              ? "no current policy has these slots"
              : "the lease has expired, or Redis lost the slot and now no slot is free; policies: "
                  + String.join(", ", ended.policies()));
    }
    if (outcome instanceof SlotOutcome.Shed shed) {
      return Problem.of(
          ProblemReason.OVERLOADED,
          "the node is overloaded: " + shed.detail() + "; the slot is held until its lease ends");
    }
    return Problem.of(
        ProblemReason.SLOTS_UNAVAILABLE,
        "the decision cache does not answer: " + ((SlotOutcome.Unknown) outcome).detail());
  }
}
