// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.gate.CallRequest;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.CheckOutcome;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.util.Fields;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The route {@code POST /v1/check}. Thread-safe. */
final class CheckRoute {
  static final String PATH = "/v1/check";

  /** The challenge of a 401 response. */
  static final String CHALLENGE = "ApiKey";

  private static final Logger LOG = LoggerFactory.getLogger(CheckRoute.class);

  private final CheckGate gate;
  private final UnknownMembers unknownMembers;
  private final VerdictFields verdictFields;

  CheckRoute(CheckGate gate, UnknownMembers unknownMembers, VerdictFields verdictFields) {
    this.gate = gate;
    this.unknownMembers = unknownMembers;
    this.verdictFields = verdictFields;
  }

  /** Answers a request, immediately or later; does not block. */
  void handle(Exchange exchange) throws JsonBody.Invalid {
    boolean peek = isPeek(exchange.parameters());
    CallRequest request = CheckRequest.read(exchange.body(), unknownMembers);
    CompletableFuture<CheckOutcome> pending =
        peek
            ? gate.submitPeek(request, null, exchange.traceOfCalls())
            : gate.submit(request, null, exchange.traceOfCalls());
    exchange.answerLater(pending, outcome -> answer(exchange, outcome));
  }

  private void answer(Exchange exchange, CheckOutcome outcome) {
    if (outcome instanceof CheckOutcome.Decided decided) {
      verdictFields.put(exchange.fields(), decided);
      exchange.write(CheckResponse.status(decided), CheckResponse.body(decided));
    } else {
      refuse(exchange, outcome);
    }
  }

  /** Responds with the problem of a call that was not decided or not recorded. */
  static void refuse(Exchange exchange, CheckOutcome outcome) {
    if (outcome instanceof CheckOutcome.NotKept notKept) {
      LOG.debug("call not kept: {}", notKept.refused());
    }
    if (outcome instanceof CheckOutcome.Shed) {
      exchange.fields().put(HttpHeader.RETRY_AFTER, AdmissionHandler.retryAfterSeconds());
    }
    if (outcome == CheckOutcome.KeyRefused.INSTANCE) {
      // a 401 response must have a challenge (RFC 9110 §15.5.2)
      exchange.fields().put(HttpHeader.WWW_AUTHENTICATE, CHALLENGE);
    }
    exchange.refuse(Objects.requireNonNull(CheckResponse.problem(outcome)));
  }

  private static boolean isPeek(Fields parameters) throws JsonBody.Invalid {
    for (Fields.Field parameter : parameters) {
      if (!parameter.getName().equals("peek")) {
        throw Exchange.invalidParameter(
            parameter.getName(), "is unknown; the only parameter is peek");
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
}
