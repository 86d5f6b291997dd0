// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

/** The headers that describe a record of the quarantine: wire version 1, as text. */
public final class QuarantineHeaders {
  /** The reason why the record or line was quarantined. */
  public static final String REASON = "weir-reason";

  /** The source of the record: topic-partition-offset. */
  public static final String SOURCE = "weir-source";

  /** The line's number from 1; absent if the whole record was quarantined. */
  public static final String LINE = "weir-line";

  /** The number of this part and the number of parts, if the record was too large for one. */
  public static final String PART = "weir-part";

  /**
   * The header of a record which states that a quarantined record or its lines were counted later.
   * The header is the source, partition@offset. The record's value lists the lines, such as {@code
   * 3-7,9}, or is {@link #WHOLE}.
   */
  public static final String REPLAYED = "weir-replayed";

  /** The value of a {@link #REPLAYED} record if the whole quarantined record was counted. */
  public static final String WHOLE = "record";

  /** Suffix of the reason if the line may have been counted before. */
  public static final String TOO_OLD_FOR_DUPLICATE_DETECTION =
      " is too old for duplicate detection";

  private QuarantineHeaders() {}
}
