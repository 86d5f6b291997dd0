// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What keeps corrections from being applied. A lasting trouble is logged once when it begins and
 * once when it is over. Written by one thread, read by any.
 */
public final class Trouble {
  private static final Logger LOG = LoggerFactory.getLogger(Trouble.class);

  /** What is wrong, as it stands in the log. */
  enum Kind {
    NONE("none"),
    /** Before the first answer of Kafka; not logged. */
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

  /** Notes a trouble. */
  void is(Kind kind, String detail) {
    State before = state;
    state = new State(kind, detail);
    if (before.kind() != kind) {
      LOG.warn("{} detail=\"{}\"", kind.event, detail);
    }
  }

  /** Notes a fault of ours, with all that is known of it. */
  void isFault(Throwable fault) {
    boolean known = state.kind() == Kind.FAULT;
    state = new State(Kind.FAULT, fault.toString());
    if (!known) {
      LOG.error("{} detail=\"{}\"", Kind.FAULT.event, fault, fault);
    }
  }

  /** Notes that a trouble of this kind is over; another one stays. */
  void over(Kind kind) {
    if (state.kind() == kind) {
      state = new State(Kind.NONE, "");
      if (kind != Kind.STARTING) {
        // as loud as the trouble was
        LOG.warn("{} over", kind.event);
      }
    }
  }

  /** Notes the end; silent, since it was asked for. */
  void stopped() {
    state = new State(Kind.STOPPED, "stopped");
  }

  boolean isNone() {
    return state.kind() == Kind.NONE;
  }

  /** What is wrong; empty when nothing is. */
  String detail() {
    return state.detail();
  }
}
