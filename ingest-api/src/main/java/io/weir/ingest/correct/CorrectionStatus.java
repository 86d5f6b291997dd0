// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports whether corrections are applied, and the problem if they are not. A lasting problem is
 * logged once when it begins and once when it ends. One thread writes the status; any thread may
 * read it.
 */
final class CorrectionStatus {
  private static final Logger LOG = LoggerFactory.getLogger(CorrectionStatus.class);

  /** The kind of problem, with its name in the log. */
  enum Kind {
    NONE("none"),
    /** Kafka has not replied since the start. Not logged. */
    STARTING("corrections_starting"),
    KAFKA("corrections_kafka_unavailable"),
    TOPIC_MISSING("corrections_topic_missing"),
    CACHE("corrections_cache_unavailable"),
    FAULT("corrections_failed"),
    STOPPED("corrections_stopped");

    private final String event;

    Kind(String event) {
      this.event = event;
    }
  }

  private record State(Kind kind, String detail) {}

  private volatile State state = new State(Kind.STARTING, "connecting to Kafka");

  /** Records a problem. */
  void begins(Kind kind, String detail) {
    State before = state;
    state = new State(kind, detail);
    if (before.kind() != kind) {
      LOG.warn("{} detail=\"{}\"", kind.event, detail);
    }
  }

  /** Records an unexpected exception, and logs its stack trace. */
  void failed(Throwable fault) {
    boolean known = state.kind() == Kind.FAULT;
    state = new State(Kind.FAULT, fault.toString());
    if (!known) {
      LOG.error("{} detail=\"{}\"", Kind.FAULT.event, fault, fault);
    }
  }

  /**
   * Records the end of a problem of the given kind. Has no effect if the current problem has
   * another kind.
   */
  void ends(Kind kind) {
    if (state.kind() == kind) {
      state = new State(Kind.NONE, "");
      if (kind != Kind.STARTING) {
        // the end has the same log level as the problem
        LOG.warn("{} over", kind.event);
      }
    }
  }

  /** Records that the loop was stopped. Not logged, because a stop is no problem. */
  void stopped() {
    state = new State(Kind.STOPPED, "stopped");
  }

  boolean isWell() {
    return state.kind() == Kind.NONE;
  }

  /** Returns the current problem, or the empty string if there is none. */
  String detail() {
    return state.detail();
  }
}
