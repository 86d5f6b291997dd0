// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** The kinds of faults. Each seed draws some of them. */
enum Fault {
  /** An ingest process is killed, between two events or in the middle of a call. */
  NODE_KILLED,
  /** An ingest process is killed and its disk is lost: a new journal with a new epoch begins. */
  DISK_LOST,
  /** A machine loses its power, or an older copy of its disk is put back: the journal goes back. */
  JOURNAL_GOES_BACK,
  /** An ingest process stops cleanly and comes back. */
  NODE_STOPPED,
  /** An ingest process is suspended (SIGSTOP). */
  NODE_PAUSED,
  /** A node cannot reach Kafka. */
  CUT_FROM_KAFKA,
  /** A node cannot reach Redis. */
  CUT_FROM_REDIS,
  /** No process can reach Kafka. */
  BROKER_AWAY,
  /** Batches are lost, duplicated, delayed, or overtaken by their own repetition. */
  SENDING,
  /** The journal cannot be written for a while; a failed write may still be on the disk. */
  JOURNAL_FAILS,
  /** The counter of a partition is killed at any step, or its transaction is aborted. */
  COUNTER_KILLED,
  /** Redis loses all its data. */
  REDIS_FLUSHED,
  /** Redis is replaced by a replica that lags. */
  REDIS_FAILOVER,
  /**
   * Redis is replaced by a replica that lags, and no node can see it, since the connections stay.
   */
  REDIS_UNSEEN_FAILOVER,
  /** Redis is killed and comes back from an older file, or from none. */
  REDIS_RESTARTED,
  /** No process can reach Redis. */
  REDIS_AWAY,
  /** Redis answers after the deadline, having charged. */
  REDIS_SLOW,
  /** A node's clock is set. */
  NODE_CLOCK_SET,
  /** Redis' clock is set. */
  REDIS_CLOCK_SET,
  /** The broker's clock is set. */
  BROKER_CLOCK_SET,
  /** The broker's clock is ahead by hours or weeks, for a while. */
  BROKER_CLOCK_AHEAD,
  /** Corrections are applied late, by two nodes at once, or once more from an earlier offset. */
  CORRECTIONS_DISORDERED,
  /** The calls topic receives records that are not batches, and batches of the wrong size. */
  BAD_INPUT,
  /** Limits are changed, and the nodes adopt them one after another. */
  POLICIES_CHANGED,
  /** Callers settle calls, some of them twice at once. */
  SETTLEMENTS
}
