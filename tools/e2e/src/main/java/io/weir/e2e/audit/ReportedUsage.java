// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

/**
 * The content of a report about a client.
 *
 * @param calls number of calls
 * @param offset offset up to which the report counts at least all calls; figures are published
 *     before the progress that covers them
 * @param isUpToDate whether the report states that it contains everything that was published before
 *     the request
 * @param url the aggregator that answered
 */
record ReportedUsage(long calls, long offset, boolean isUpToDate, String url) {
  /**
   * Returns the report with more calls. If both have the same number, returns the first report,
   * which restricts later reports more.
   */
  static ReportedUsage most(ReportedUsage before, ReportedUsage now) {
    return now.calls > before.calls ? now : before;
  }

  /**
   * Returns whether this report can be correct after an earlier report. A report that is up to date
   * must not be behind any earlier report. Otherwise it may be behind the report of another
   * instance, unless its progress is greater. The progress includes everything that was published
   * before it.
   */
  boolean mayFollow(ReportedUsage before) {
    return calls >= before.calls || (!isUpToDate && offset <= before.offset);
  }
}
