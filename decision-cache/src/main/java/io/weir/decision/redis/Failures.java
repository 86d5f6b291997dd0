// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisNoScriptException;
import io.weir.limits.check.Decision;
import io.weir.limits.check.Decision.Cause;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** Maps errors of the client library and of the server to categories. Stateless and thread-safe. */
final class Failures {
  private static final String FORBIDDEN = "NOPERM";

  /**
   * Part of the error that Redis before version 7 returns if a script calls a forbidden command.
   */
  private static final String FORBIDDEN_BEFORE_7 = "he user executing the script";

  /**
   * First words of the errors of an unavailable server. Redis before version 7 writes another text
   * before the error of a script.
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
          FORBIDDEN,
          FORBIDDEN_BEFORE_7,
          "CLUSTERDOWN",
          "TRYAGAIN",
          "UNBLOCKED",
          "NOSCRIPT",
          // the cluster is down
          "cript attempted to ");

  /** Message for a server in cluster mode if the settings name a single server. */
  static final String CLUSTER_MODE =
      "the server is in cluster mode; set the address to redis-cluster://host:port, or to several"
          + " of its servers, separated by commas";

  /** Message for a server without cluster mode if the settings name a cluster. */
  static final String NOT_CLUSTER_MODE =
      "the server is not in cluster mode; set the address of a single server to redis://host:port";

  /**
   * The decision on a check if the server does not hold all keys of the check, or if the cluster is
   * down. The check charged nothing. Callers compare this object by identity.
   */
  static final Decision.Undecided MOVED =
      new Decision.Undecided(
          Cause.UNAVAILABLE, "slots of the check are being moved, or the cluster is down");

  /** Part of the error that a server returns if a script accesses a key of another server. */
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
   * Returns whether the error means that the server is a replica. After a failover, the host name
   * may resolve to another server now.
   */
  static boolean isReadOnly(Throwable error) {
    return unwrap(error) instanceof RedisCommandExecutionException
        && describe(error).contains("READONLY");
  }

  /**
   * Returns whether the error means that the Redis user has no permission for a command. Without
   * the permission, no check can be decided. Returns false if the user has no permission for a key;
   * only checks with this key are affected.
   */
  static boolean isForbiddenCommand(Throwable error) {
    String detail = describe(error);
    return unwrap(error) instanceof RedisCommandExecutionException
        && (detail.contains(FORBIDDEN) || detail.contains(FORBIDDEN_BEFORE_7))
        && !detail.contains(" key");
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
   * Returns whether the error means that a server of a cluster has rejected a script, because
   * another server holds a slot of the script's keys. Such a script has written nothing.
   */
  static boolean isMoved(Throwable error) {
    return unwrap(error) instanceof RedisCommandExecutionException
        && describe(error).contains(NOT_HERE);
  }

  /**
   * Returns whether the decision is the object {@link #MOVED} itself. A check with an equal
   * decision may have charged buckets.
   */
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

  /**
   * Returns the decision for an error of this process. At the same time the server may work
   * normally.
   */
  static Decision.Undecided fault(Throwable fault) {
    return new Decision.Undecided(Cause.REJECTED, "an error of this process: " + fault);
  }

  static Decision.Undecided unavailable(String detail) {
    return new Decision.Undecided(Cause.UNAVAILABLE, detail);
  }

  /** Returns the decision for a server that has not replied within the limit. */
  static Decision.Undecided silent(Duration limit) {
    return new Decision.Undecided(Cause.TIMEOUT, noAnswerWithin(limit));
  }

  static String noAnswerWithin(Duration limit) {
    return "no reply within " + limit.toMillis() + " ms";
  }

  /**
   * Returns whether the loss of the connection has caused the error. Lettuce may report the loss
   * only later.
   */
  static boolean isLoss(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof IOException || cause instanceof RedisConnectionException) {
        return true;
      }
    }
    return false;
  }

  static String rootMessage(Throwable error) {
    Throwable root = error;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String message = root.getMessage();
    return message == null ? root.getClass().getSimpleName() : message;
  }

  static String describe(Throwable error) {
    Throwable cause = unwrap(error);
    String message = cause.getMessage();
    return message == null ? cause.getClass().getSimpleName() : message;
  }
}
