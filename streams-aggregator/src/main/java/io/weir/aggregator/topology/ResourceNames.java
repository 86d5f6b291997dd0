// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

/**
 * The names of all processors, stores, sources and sinks. Folders and changelog topics contain
 * these names, so a changed name makes existing state inaccessible.
 */
final class ResourceNames {
  /** Source of the calls topic. */
  static final String CALLS_SOURCE = "calls";

  /** Processor that counts. */
  static final String COUNT_PROCESSOR = "count";

  static final String LEDGER_SINK = "ledger";
  static final String STATE_SINK = "state";
  static final String CORRECTIONS_SINK = "corrections";
  static final String SETTLEMENTS_SINK = "settlements";
  static final String QUARANTINE_SINK = "quarantine";

  /** Rows of open windows, by window start and names. */
  static final String OPEN_STORE = "open-rows";

  /**
   * Rows of closed windows, by window start and names. A row is kept for the maximum lateness of a
   * call.
   */
  static final String CLOSED_STORE = "closed-rows";

  /** State of the partition and of its nodes. */
  static final String PROGRESS_STORE = "progress";

  /** Live buckets of the decision cache, by key. */
  static final String BUCKETS_STORE = "buckets";

  /**
   * Ids that clients chose, settled calls, and refused lines. An entry is kept for the maximum
   * lateness of a call.
   */
  static final String CALLER_IDS_STORE = "caller-ids";

  /** A store without entries; see {@link CommitHook}. */
  static final String COMMIT_HOOK = "commit-hook";

  private ResourceNames() {}
}
