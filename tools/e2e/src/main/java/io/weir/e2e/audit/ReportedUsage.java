// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

/**
 * The content of a report about a client.
 *
 * @param calls number of calls
 * @param offset offset in the calls topic; the report contains all calls before this offset, and
 *     possibly later calls
 * @param isUpToDate whether the report states that it contains everything that was published before
 *     the request
 * @param url the aggregator that answered
 */
record ReportedUsage(long calls, long offset, boolean isUpToDate, String url) {
  /**
   * Returns the report with more calls. If both reports have the same number of calls, returns the
   * earlier report, because it is a stricter minimum for later reports.
   */
  static ReportedUsage most(ReportedUsage before, ReportedUsage now) {
    return now.calls > before.calls ? now : before;
  }

  /**
   * Returns whether this report is consistent with an earlier report. A report that is up to date
   * must not have fewer calls than any earlier report. A report that is not up to date may have
   * fewer calls if its offset is at most the offset of the earlier report.
   */
  boolean mayFollow(ReportedUsage before) {
    return calls >= before.calls || (!isUpToDate && offset <= before.offset);
  }
}
