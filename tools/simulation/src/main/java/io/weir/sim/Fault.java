// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

/** The kinds of faults. Each seed selects some of these kinds. */
enum Fault {
  /** An ingest process is killed between two events, or during a call. */
  NODE_KILLED,
  /**
   * An ingest process is killed and its disk is lost. The next process starts with a new journal
   * and a new epoch.
   */
  DISK_LOST,
  /** A machine loses its power, or gets an older copy of its disk. Then the journal lacks lines. */
  JOURNAL_GOES_BACK,
  /** An ingest process stops normally and starts again. */
  NODE_STOPPED,
  /** An ingest process is suspended (SIGSTOP). */
  NODE_PAUSED,
  /** A node cannot reach Kafka. */
  CUT_FROM_KAFKA,
  /** A node cannot reach Redis. */
  CUT_FROM_REDIS,
  /** No process can reach Kafka. */
  BROKER_AWAY,
  /**
   * Batches are lost, duplicated or delayed, or the first copy of a batch arrives after the second.
   */
  SENDING,
  /**
   * Writes of the journal fail for a while. Lines of a failed write may nevertheless be on the
   * disk.
   */
  JOURNAL_FAILS,
  /** The counter of a partition is killed at any step, or its transaction is aborted. */
  COUNTER_KILLED,
  /** Redis loses all its data. */
  REDIS_FLUSHED,
  /** A lagging replica replaces Redis. */
  REDIS_FAILOVER,
  /**
   * A lagging replica replaces Redis. No node can detect the failover, because the connections stay
   * open.
   */
  REDIS_UNSEEN_FAILOVER,
  /** Redis is killed and starts again with an older file or without a file. */
  REDIS_RESTARTED,
  /** No process can reach Redis. */
  REDIS_AWAY,
  /** Redis charges a call but replies after the deadline. */
  REDIS_SLOW,
  /** A node's clock is set. */
  NODE_CLOCK_SET,
  /** Redis' clock is set. */
  REDIS_CLOCK_SET,
  /** The broker's clock is set. */
  BROKER_CLOCK_SET,
  /** The broker's clock is ahead by hours or weeks, for a while. */
  BROKER_CLOCK_AHEAD,
  /** Corrections are applied late, by two nodes, or again from an earlier offset. */
  CORRECTIONS_DISORDERED,
  /**
   * The calls topic receives records that are not batches, and batches with a wrong number of
   * lines.
   */
  BAD_INPUT,
  /** Limits change, and the nodes adopt the new limits one after another. */
  POLICIES_CHANGED,
  /** Callers settle calls, some of them twice at the same time. */
  SETTLEMENTS
}
