// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.authz.CallReader;
import io.weir.ingest.gate.CheckGate;
import io.weir.ingest.gate.CheckOutcome;
import io.weir.topics.problem.Problem;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The routes {@code /v1/authz/…} for forward auth by gateways. A route reads the call from header
 * fields, and then decides and records it like {@link CheckRoute}. Thread-safe.
 */
final class AuthzRoute {
  /** The status that a gateway should return for a denied call, if it receives only 403. */
  static final String STATUS = "X-RateLimit-Status";

  /** The reason of the problem, for gateways that do not read bodies. */
  static final String REASON = "X-RateLimit-Reason";

  private static final Logger LOG = LoggerFactory.getLogger(AuthzRoute.class);

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
    CallReader.Read read = read(exchange);
    if (callers != null && read instanceof CallReader.Read.Presented presented) {
      callers.identify(
          exchange, presented, (identified, failed) -> identified(exchange, identified, failed));
    } else {
      decide(exchange, read);
    }
  }

  private void identified(
      Exchange exchange, CallReader.@Nullable Read read, @Nullable Throwable failed) {
    try {
      if (read == null) {
        LOG.error("request failed dialect={}", dialect, failed);
        refuse(exchange, CheckApi.FAILED);
      } else {
        decide(exchange, read);
      }
    } catch (RuntimeException | Error fault) {
      LOG.error("request failed dialect={}", dialect, fault);
      refuse(exchange, CheckApi.FAILED);
    }
  }

  private void decide(Exchange exchange, CallReader.Read read) {
    if (read instanceof CallReader.Read.Refused refused) {
      if (refused.problem().status() == HttpStatus.UNAUTHORIZED_401) {
        exchange.fields().put(HttpHeader.WWW_AUTHENTICATE, refused.challenge());
      }
      refuse(exchange, refused.problem());
      return;
    }
    var unused =
        gate.submit(((CallReader.Read.Asked) read).call(), null, exchange.traceOfCalls())
            .whenComplete(
                (outcome, failed) -> exchange.later(() -> answer(exchange, outcome, failed)));
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

  private void answer(
      Exchange exchange, @Nullable CheckOutcome outcome, @Nullable Throwable failed) {
    try {
      if (outcome == null) {
        LOG.error("request failed dialect={}", dialect, failed);
        refuse(exchange, CheckApi.FAILED);
      } else if (outcome instanceof CheckOutcome.Decided decided) {
        answer(exchange, decided);
      } else {
        refuse(exchange, CheckRoute.refusal(exchange, outcome));
      }
    } catch (RuntimeException | Error fault) {
      LOG.error("request failed dialect={}", dialect, fault);
      refuse(exchange, CheckApi.FAILED);
    }
  }

  private void answer(Exchange exchange, CheckOutcome.Decided decided) {
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

  private void refuse(Exchange exchange, Problem problem) {
    if (dialect.knowsForbiddenOnly()) {
      exchange.refuseWithoutBody(problem);
    } else {
      exchange.fields().put(REASON, problem.reason().word());
      exchange.refuse(problem);
    }
  }
}
