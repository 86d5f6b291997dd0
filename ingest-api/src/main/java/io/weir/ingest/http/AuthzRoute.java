// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.authz.CallReader;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.topics.problem.Problem;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.jspecify.annotations.Nullable;

/**
 * The routes {@code /v1/authz/…} for forward auth by gateways. A route reads the call from header
 * fields. Then the route decides and records the call like {@link CheckRoute}. Thread-safe.
 */
final class AuthzRoute {
  /**
   * The field with the status that the gateway should return to its caller. Used for gateways that
   * accept only 403 for a denied call.
   */
  static final String STATUS = "X-RateLimit-Status";

  /** The field with the reason of the denial or problem, for gateways that do not read bodies. */
  static final String REASON = "X-RateLimit-Reason";

  private final CheckGate gate;
  private final CallReader reader;
  private final VerdictFields verdictFields;
  private final AuthzDialect dialect;
  private final @Nullable CallerCheck callers;

  /**
   * Creates a route.
   *
   * @param callers identifies the client of a call by its JWT; null if JWTs are not checked
   */
  AuthzRoute(
      CheckGate gate,
      CallReader reader,
      @Nullable CallerCheck callers,
      VerdictFields verdictFields,
      AuthzDialect dialect) {
    this.gate = gate;
    this.reader = reader;
    this.callers = callers;
    this.verdictFields = verdictFields;
    this.dialect = dialect;
  }

  /** Answers a request, immediately or later; does not block. */
  void handle(Exchange exchange) {
    exchange.refuseTo(dialect);
    CallReader.Read read = read(exchange);
    if (callers != null && read instanceof CallReader.Read.Presented presented) {
      callers.identify(exchange, presented, identified -> decide(exchange, identified));
    } else {
      decide(exchange, read);
    }
  }

  private void decide(Exchange exchange, CallReader.Read read) {
    if (read instanceof CallReader.Read.Refused refused) {
      if (refused.problem().status() == HttpStatus.UNAUTHORIZED_401) {
        exchange.fields().put(HttpHeader.WWW_AUTHENTICATE, refused.challenge());
      }
      exchange.refuse(refused.problem());
      return;
    }
    exchange.answerLater(
        gate.submit(((CallReader.Read.Asked) read).call(), null, exchange.traceOfCalls()),
        outcome -> answer(exchange, outcome));
  }

  private CallReader.Read read(Exchange exchange) {
    Problem off = reader.off();
    if (off != null) {
      return new CallReader.Read.Refused(off, "");
    }
    try {
      return reader.read(
          name -> AuthzDialect.values(exchange.request(), name),
          dialect.method(exchange.request()),
          dialect.target(exchange.request()));
    } catch (JsonBody.Invalid invalid) {
      return new CallReader.Read.Refused(invalid.problem(), "");
    }
  }

  private void answer(Exchange exchange, CheckOutcome outcome) {
    if (!(outcome instanceof CheckOutcome.Decided decided)) {
      CheckRoute.refuse(exchange, outcome);
      return;
    }
    verdictFields.put(exchange.fields(), decided);
    int status = CheckResponse.status(decided);
    if (decided.call().allowed()) {
      exchange.writeEmpty(status);
      return;
    }
    exchange.fields().put(REASON, CheckResponse.reason(decided).word());
    if (dialect.knowsForbiddenOnly()) {
      exchange.fields().put(STATUS, status);
      exchange.writeEmpty(status == 429 ? HttpStatus.FORBIDDEN_403 : status);
    } else {
      exchange.write(status, CheckResponse.body(decided));
    }
  }
}
