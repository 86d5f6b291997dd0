// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

/** The headers by which a record of the quarantine says what it is: wire version 1, as text. */
public final class QuarantineHeaders {
  /** Why the record or line was refused. */
  public static final String REASON = "weir-reason";

  /** Where it stood: topic-partition-offset. */
  public static final String SOURCE = "weir-source";

  /** The line's number from 1; absent when the whole record was refused. */
  public static final String LINE = "weir-line";

  /** Which part this is of how many, when the record was too large to be kept in one. */
  public static final String PART = "weir-part";

  /**
   * On the word that something was counted after all: the place, partition@offset, where it had
   * been refused. The value names the lines, {@code 3-7,9}, or is {@link #WHOLE}.
   */
  public static final String REPLAYED = "weir-replayed";

  /** The value of the word that a whole record was counted as it came. */
  public static final String WHOLE = "record";

  /** Ends the reason of what may have been counted before. */
  public static final String TOO_OLD_TO_BE_TOLD_APART = " is too old to be told apart";

  private QuarantineHeaders() {}
}
