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
   * First words of server errors that mean that the server is unavailable. Before Redis 7, the
   * server puts a preamble before an error in a script.
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
          // a cluster that is down
          "cript attempted to ");

  /** Detail for a server in cluster mode. */
  static final String CLUSTER_MODE =
      "the server is in cluster mode; set the address to redis-cluster://host:port, or to several"
          + " of its servers, separated by commas";

  /** Detail for a server without cluster mode, although the settings name a cluster. */
  static final String NOT_CLUSTER_MODE =
      "the server is not in cluster mode; set the address of a single server to redis://host:port";

  /**
   * The outcome for a check whose server does not hold all of its keys, or is in a cluster that is
   * down. Nothing was charged. Callers compare it by identity.
   */
  static final Decision.Undecided MOVED =
      new Decision.Undecided(
          Cause.UNAVAILABLE, "the slots of its buckets are being moved, or the cluster is down");

  /** Part of the error of a script that accesses a key that this server does not hold. */
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
   * Returns whether the server is a replica. Its host name may then resolve to another server by
   * now.
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
   * Returns whether a server of a cluster has rejected a script because of its slots. The script
   * has then written nothing.
   */
  static boolean isMoved(Throwable error) {
    return unwrap(error) instanceof RedisCommandExecutionException
        && describe(error).contains(NOT_HERE);
  }

  /** Returns whether this is {@link #MOVED} itself: an equal value may have charged. */
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

  /** Returns the outcome for a server that has not replied within the limit. */
  static Decision.Undecided silent(Duration limit) {
    return new Decision.Undecided(Cause.TIMEOUT, noAnswerWithin(limit));
  }

  static String noAnswerWithin(Duration limit) {
    return "no reply within " + limit.toMillis() + " ms";
  }

  private static String describe(Throwable error) {
    Throwable cause = unwrap(error);
    String message = cause.getMessage();
    return message == null ? cause.getClass().getSimpleName() : message;
  }
}
