// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.rls.InvalidRequestException;
import io.weir.ingest.rls.RateLimits;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import org.eclipse.jetty.http.HttpStatus;

/**
 * The route {@code POST /json} for requests of Envoy's rate limit service in JSON. The status is
 * 200 if the request is within its limits, otherwise 429. With either status, the body is the
 * service's response. Thread-safe.
 */
final class RateLimitRoute {
  static final String PATH = "/json";

  private final RateLimits limits;
  private final UnknownMembers unknownMembers;

  RateLimitRoute(RateLimits limits, UnknownMembers unknownMembers) {
    this.limits = limits;
    this.unknownMembers = unknownMembers;
  }

  /** Answers a request, immediately or later; does not block. */
  void handle(Exchange exchange) throws JsonBody.Invalid {
    exchange.requireNoParameters();
    try {
      exchange.answerLater(
          limits.decideJson(
              exchange.body(), unknownMembers == UnknownMembers.IGNORE, exchange.trace()),
          verdict -> answer(exchange, verdict));
    } catch (InvalidRequestException invalid) {
      throw new JsonBody.Invalid(
          invalid.field().isEmpty()
              ? Problem.of(ProblemReason.INVALID_BODY, invalid.rule())
              : Problem.ofField(ProblemReason.INVALID_MEMBER, invalid.field(), invalid.rule()));
    }
  }

  private static void answer(Exchange exchange, RateLimits.Verdict verdict) {
    if (verdict instanceof RateLimits.Verdict.Answered answered) {
      exchange.writeJson(
          answered.isOverLimit() ? HttpStatus.TOO_MANY_REQUESTS_429 : HttpStatus.OK_200,
          answered.json());
    } else {
      CheckRoute.refuse(exchange, ((RateLimits.Verdict.NotAnswered) verdict).outcome());
    }
  }
}
