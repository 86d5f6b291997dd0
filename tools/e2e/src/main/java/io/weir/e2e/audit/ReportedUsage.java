// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

/**
 * The content of a report about a client.
 *
 * @param calls number of calls
 * @param offset offset up to which calls are counted in it, at least: figures are published before
 *     the progress that covers them
 * @param isUpToDate whether it states that it holds everything published before the request
 * @param url the aggregator that answered
 */
record ReportedUsage(long calls, long offset, boolean isUpToDate, String url) {
  /**
   * Returns the report with more calls; of two with equally many, the first one, which constrains
   * later reports more.
   */
  static ReportedUsage most(ReportedUsage before, ReportedUsage now) {
    return now.calls > before.calls ? now : before;
  }

  /**
   * Returns whether this report can be correct after an earlier one. A report that is up to date
   * must not be behind any earlier one. A report that is not may be behind that of another
   * instance, unless its progress is further: with that progress came everything published before
   * it.
   */
  boolean mayFollow(ReportedUsage before) {
    return calls >= before.calls || (!isUpToDate && offset <= before.offset);
  }
}
