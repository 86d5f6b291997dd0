// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

/** The headers of records in the quarantine topic, as text in wire version 1. */
public final class QuarantineHeaders {
  /** The reason why the record or line was quarantined. */
  public static final String REASON = "weir-reason";

  /** The source of the record, as topic-partition-offset. */
  public static final String SOURCE = "weir-source";

  /** The number of the line, from 1; absent if the whole record was quarantined. */
  public static final String LINE = "weir-line";

  /**
   * The number of this part and the number of parts, if the record was too large for one quarantine
   * record.
   */
  public static final String PART = "weir-part";

  /**
   * The header of a record that reports the replay of a quarantined record or of its lines. The
   * value of the header is partition@offset of the source. The value of the record lists the lines,
   * such as {@code 3-7,9}, or is {@link #WHOLE}.
   */
  public static final String REPLAYED = "weir-replayed";

  /** The value of a {@link #REPLAYED} record if the whole quarantined record was replayed. */
  public static final String WHOLE = "record";

  /** Suffix of the reason if Weir can no longer determine whether it has counted the line. */
  public static final String TOO_OLD_FOR_DUPLICATE_DETECTION =
      " is too old for duplicate detection";

  private QuarantineHeaders() {}
}
