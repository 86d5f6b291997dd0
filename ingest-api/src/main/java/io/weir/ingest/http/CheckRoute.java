// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.gate.CallRequest;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.ingest.gate.LimitStatus;
import io.weir.ingest.gate.Recorded;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.util.Fields;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The route {@code POST /v1/check}. Thread-safe. */
final class CheckRoute {
  static final String PATH = "/v1/check";

  private static final Logger LOG = LoggerFactory.getLogger(CheckRoute.class);

  private final CheckGate gate;
  private final UnknownMembers unknownMembers;

  CheckRoute(CheckGate gate, UnknownMembers unknownMembers) {
    this.gate = gate;
    this.unknownMembers = unknownMembers;
  }

  /** Answers a request, now or later; does not block. */
  void handle(Exchange exchange) throws JsonBody.Invalid {
    boolean peek = isPeek(exchange.parameters());
    CallRequest request = CheckRequest.read(exchange.body(), unknownMembers);
    CompletableFuture<CheckOutcome> pending =
        peek ? gate.submitPeek(request) : gate.submit(request);
    var unused =
        pending.whenComplete(
            (outcome, failed) -> exchange.later(() -> answer(exchange, outcome, failed)));
  }

  private static void answer(
      Exchange exchange, @Nullable CheckOutcome outcome, @Nullable Throwable failed) {
    try {
      if (outcome == null) {
        throw new CompletionException(failed);
      }
      answer(exchange, outcome);
    } catch (RuntimeException | Error fault) {
      LOG.error("request failed path={}", PATH, fault);
      exchange.refuse(CheckApi.FAILED);
    }
  }

  private static void answer(Exchange exchange, CheckOutcome outcome) {
    if (outcome instanceof CheckOutcome.Decided decided) {
      answer(exchange, decided);
      return;
    }
    if (outcome instanceof CheckOutcome.NotKept notKept) {
      LOG.debug("call not kept: {}", notKept.refused());
    }
    if (outcome instanceof CheckOutcome.Shed) {
      exchange.fields().put(HttpHeader.RETRY_AFTER, AdmissionHandler.retryAfterSeconds());
    }
    if (outcome == CheckOutcome.KeyRefused.INSTANCE) {
      // a 401 without a challenge is no valid answer (RFC 9110 §15.5.2)
      exchange.fields().put(HttpHeader.WWW_AUTHENTICATE, "ApiKey");
    }
    exchange.refuse(Objects.requireNonNull(CheckResponse.problem(outcome)));
  }

  private static boolean isPeek(Fields parameters) throws JsonBody.Invalid {
    for (Fields.Field parameter : parameters) {
      if (!parameter.getName().equals("peek")) {
        throw Exchange.invalidParameter(
            parameter.getName(), "is not a parameter here; known is peek");
      }
      if (parameter.hasMultipleValues()) {
        throw Exchange.invalidParameter("peek", "must be given once");
      }
      for (String value : parameter.getValues()) {
        if (!value.equals("true") && !value.equals("false")) {
          throw Exchange.invalidParameter("peek", "must be true or false");
        }
      }
    }
    return "true".equals(parameters.getValue("peek"));
  }

  private static void answer(Exchange exchange, CheckOutcome.Decided decided) {
    byte[] body = CheckResponse.body(decided);
    int status = CheckResponse.status(decided);
    HttpFields.Mutable fields = exchange.fields();
    // an empty list is not a valid field (RFC 9651 §3.1), and shadow policies promise callers
    // nothing
    if (decided.limits().stream().anyMatch(LimitStatus::enforced)) {
      fields.put("RateLimit-Policy", RateLimitFields.policy(decided.limits()));
      fields.put("RateLimit", RateLimitFields.state(decided.limits(), decided.denial()));
    }
    CheckOutcome.Denial denial = decided.denial();
    if (denial != null && !denial.costExceedsCapacity()) {
      fields.put(
          HttpHeader.RETRY_AFTER, RateLimitFields.retryAfterSeconds(denial.retryAfterMicros()));
    } else if (status == 503) {
      fields.put(HttpHeader.RETRY_AFTER, Exchange.RETRY_AFTER_UNAVAILABLE_SECONDS);
    }
    if (decided.recorded() instanceof Recorded.Durable durable) {
      fields.put("Usage-Position", durable.position().toString());
    }
    exchange.write(status, body);
  }
}
