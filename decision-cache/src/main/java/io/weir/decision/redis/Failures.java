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
          "NOSCRIPT",
          // a cluster that does not serve
          "cript attempted to ");

  /** Detail for a server in cluster mode. */
  static final String CLUSTER_MODE =
      "the server is in cluster mode; name the cluster by redis-cluster://host:port, or by several"
          + " of its servers, separated by commas";

  /** Detail for a server that is in no cluster, although one was named. */
  static final String NOT_CLUSTER_MODE =
      "the server is not in cluster mode; name a single server by redis://host:port";

  /**
   * The outcome for a check that was sent to a server of a cluster which does not hold all of its
   * keys, or does not serve now. Nothing was charged. Told by identity.
   */
  static final Decision.Undecided MOVED =
      new Decision.Undecided(
          Cause.UNAVAILABLE, "the slots of its buckets are moving, or the cluster does not serve");

  /** Part of the error of a script that uses a key which this server does not hold. */
  private static final String NOT_HERE = "cript attempted to access a non local key";

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

  /**
   * Returns whether a server of a cluster has refused a script because of its slots, in which case
   * the script has written nothing.
   */
  static boolean isMoved(Throwable error) {
    return unwrap(error) instanceof RedisCommandExecutionException
        && describe(error).contains(NOT_HERE);
  }

  /** Returns whether this is {@link #MOVED} itself: others that read the same may have charged. */
  @SuppressWarnings("ReferenceEquality")
  static boolean isMoved(Decision decision) {
    return decision == MOVED;
  }

  static Decision.Undecided undecided(Throwable error) {
    if (isMoved(error)) {
      return MOVED;
    }
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
