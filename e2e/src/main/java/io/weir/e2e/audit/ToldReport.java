// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.audit;

/**
 * What a report told of a client.
 *
 * @param calls how many
 * @param offset up to where calls are counted in it, at least: figures are published before the
 *     word how far they are counted
 * @param isUpToDate whether it says that it holds everything published before it was asked for
 * @param url who told
 */
record ToldReport(long calls, long offset, boolean isUpToDate, String url) {
  /** The one that told more calls; the first of two alike, which binds those to come more. */
  static ToldReport most(ToldReport before, ToldReport now) {
    return now.calls > before.calls ? now : before;
  }

  /**
   * Whether this can be right after an earlier report. One that is up to date is behind none. One
   * that is not may be behind what another instance told, but not when it is counted further: with
   * the word of it came all that had been published before.
   */
  boolean mayFollow(ToldReport before) {
    return calls >= before.calls || (!isUpToDate && offset <= before.offset);
  }
}
