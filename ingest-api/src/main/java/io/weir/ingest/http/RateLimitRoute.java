// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.ingest.rls.InvalidRequestException;
import io.weir.ingest.rls.RateLimits;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import org.eclipse.jetty.http.HttpStatus;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The route {@code POST /json} for requests of Envoy's rate limit service in JSON. The status is
 * 200 if the request is within its limits, otherwise 429. Both have the service's response as their
 * body. Thread-safe.
 */
final class RateLimitRoute {
  static final String PATH = "/json";

  private static final Logger LOG = LoggerFactory.getLogger(RateLimitRoute.class);

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
      var unused =
          limits
              .decideJson(
                  exchange.body(), unknownMembers == UnknownMembers.IGNORE, exchange.trace())
              .whenComplete(
                  (verdict, failed) -> exchange.later(() -> answer(exchange, verdict, failed)));
    } catch (InvalidRequestException invalid) {
      throw new JsonBody.Invalid(
          invalid.field().isEmpty()
              ? Problem.of(ProblemReason.INVALID_BODY, invalid.rule())
              : Problem.ofField(ProblemReason.INVALID_MEMBER, invalid.field(), invalid.rule()));
    }
  }

  private static void answer(
      Exchange exchange, RateLimits.@Nullable Verdict verdict, @Nullable Throwable failed) {
    try {
      if (verdict instanceof RateLimits.Verdict.Answered answered) {
        exchange.writeJson(
            answered.isOverLimit() ? HttpStatus.TOO_MANY_REQUESTS_429 : HttpStatus.OK_200,
            answered.json());
      } else if (verdict instanceof RateLimits.Verdict.NotAnswered not) {
        exchange.refuse(CheckRoute.refusal(exchange, not.outcome()));
      } else {
        LOG.error("request failed path={}", PATH, failed);
        exchange.refuse(CheckApi.FAILED);
      }
    } catch (RuntimeException | Error fault) {
      LOG.error("request failed path={}", PATH, fault);
      exchange.refuse(CheckApi.FAILED);
    }
  }
}
