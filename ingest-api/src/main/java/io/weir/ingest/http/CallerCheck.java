// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.access.caller.Caller;
import io.weir.access.caller.CallerTokens;
import io.weir.access.caller.CallerTokens.Verdict;
import io.weir.ingest.authz.CallReader;
import io.weir.ingest.authz.CallReader.Read;
import io.weir.ingest.http.HttpStatistics.CallerToken;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.util.Optional;
import java.util.function.Consumer;
import org.eclipse.jetty.http.HttpHeader;

/**
 * Identifies the client of a forward-auth request from its JWT. Separate threads verify signatures;
 * the rest runs on the thread that reads the connection. Thread-safe.
 */
final class CallerCheck {
  private static final String NOT_DECIDED = "; the call was neither decided nor recorded";

  private static final Problem BUSY =
      Problem.of(
          ProblemReason.OVERLOADED,
          "the node is at its limit of callers' tokens to verify" + NOT_DECIDED);

  private static final Problem KEYS_UNAVAILABLE =
      Problem.of(
          ProblemReason.CALLER_KEYS_UNAVAILABLE,
          "the token's key is unknown, and the issuer's keys could not be fetched" + NOT_DECIDED);

  private final CallerTokens tokens;
  private final CallReader reader;
  private final HttpStatistics statistics;

  CallerCheck(CallerTokens tokens, CallReader reader, HttpStatistics statistics) {
    this.tokens = tokens;
    this.reader = reader;
    this.statistics = statistics;
  }

  /**
   * Identifies the client of a call, immediately or later; does not block.
   *
   * @param then receives the call or its refusal; runs on the thread that reads the connection
   */
  void identify(Exchange exchange, Read.Presented presented, Consumer<Read> then) {
    Optional<Caller> known = tokens.known(presented.token());
    if (known.isPresent()) {
      statistics.callerTokens(CallerToken.REMEMBERED).increment();
      then.accept(presented.of(known.get()));
      return;
    }
    exchange.answerLater(
        tokens.verify(presented.token()),
        verdict -> then.accept(read(exchange, presented, verdict)));
  }

  private Read read(Exchange exchange, Read.Presented presented, Verdict verdict) {
    if (verdict instanceof CallerTokens.Known known) {
      statistics.callerTokens(CallerToken.VERIFIED).increment();
      return presented.of(known.caller());
    }
    if (verdict instanceof CallerTokens.Refused refused) {
      statistics.callerTokens(CallerToken.REFUSED).increment();
      return reader.refused(refused);
    }
    boolean isBusy = verdict == CallerTokens.Undecided.BUSY;
    statistics.callerTokens(isBusy ? CallerToken.BUSY : CallerToken.KEYS_AWAY).increment();
    exchange.fields().put(HttpHeader.RETRY_AFTER, AdmissionHandler.retryAfterSeconds());
    return new Read.Refused(isBusy ? BUSY : KEYS_UNAVAILABLE, "");
  }
}
