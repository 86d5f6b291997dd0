// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** Maps errors of the client library and of the server to categories. Stateless and thread-safe. */
final class Failures {
  /**
   * First words of server errors that mean the server cannot serve now. Servers before Redis 7 put
   * a preamble before them if the error occurred in a script.
   */
  private static final List<String> UNAVAILABLE_WORDS =
      List.of(
          "READONLY",
          "LOADING",
          "OOM",
          "MASTERDOWN",
          "BUSY",
          "MISCONF",
          "NOREPLICAS",
          "NOAUTH",
          "NOPERM",
          "CLUSTERDOWN",
          "TRYAGAIN",
          "UNBLOCKED",
          "NOSCRIPT");

  /** Detail for a server in cluster mode. */
  static final String CLUSTER_MODE =
      "the server is in cluster mode, which is not supported: one script call decides checks of"
          + " many clients; give a single server (or a primary with replicas)";

  private Failures() {}

  static Throwable unwrap(Throwable error) {
    boolean wrapped = error instanceof CompletionException || error instanceof ExecutionException;
    return wrapped && error.getCause() != null ? error.getCause() : error;
  }

  static boolean isNoScript(Throwable error) {
    return unwrap(error) instanceof RedisNoScriptException;
  }

  /**
   * Returns whether the server is a replica, in which case the name may by now resolve to another
   * server.
   */
  static boolean isReadOnly(Throwable error) {
    return unwrap(error) instanceof RedisCommandExecutionException
        && describe(error).contains("READONLY");
  }

  /** Returns whether the error means that the server is in cluster mode. */
  static boolean isClusterMode(Throwable error) {
    String detail = describe(error);
    return unwrap(error) instanceof RedisCommandExecutionException
        && (detail.contains("CROSSSLOT")
            || detail.startsWith("MOVED ")
            || detail.startsWith("ASK "));
  }

  static Decision.Undecided undecided(Throwable error) {
    if (isClusterMode(error)) {
      return unavailable(CLUSTER_MODE);
    }
    String detail = describe(error);
    boolean strange =
        unwrap(error) instanceof RedisCommandExecutionException
            && UNAVAILABLE_WORDS.stream().noneMatch(detail::contains);
    return new Decision.Undecided(strange ? Cause.CORRUPT : Cause.UNAVAILABLE, detail);
  }

  /** Returns the outcome for a fault of this process, which implies nothing about the server. */
  static Decision.Undecided fault(Throwable fault) {
    return new Decision.Undecided(Cause.REJECTED, "a fault of this process: " + fault);
  }

  static Decision.Undecided unavailable(String detail) {
    return new Decision.Undecided(Cause.UNAVAILABLE, detail);
  }

  /** Returns the outcome for a server that has not answered within the limit. */
  static Decision.Undecided silent(Duration limit) {
    return new Decision.Undecided(Cause.TIMEOUT, noAnswerWithin(limit));
  }

  static String noAnswerWithin(Duration limit) {
    return "no answer within " + limit.toMillis() + " ms";
  }

  private static String describe(Throwable error) {
    Throwable cause = unwrap(error);
    String message = cause.getMessage();
    return message == null ? cause.getClass().getSimpleName() : message;
  }
}
