// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.model.BatchHeader;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The batches that a reader of the audit log has read from one journal epoch. The trail also
 * contains the low watermark of these batches. Not thread-safe.
 *
 * <p>Batches normally arrive in the order of their numbers. So one run of consecutive numbers and a
 * few separate numbers represent all batches.
 */
final class BatchTrail {
  /**
   * The identity of one journal epoch of an ingest node.
   *
   * @param node the node's name
   * @param epoch time at which the journal was opened, in milliseconds since 1970
   */
  record Journal(String node, long epoch) {}

  /** Maximum number of separate numbers. Above this maximum, the smallest number is removed. */
  static final int MAX_APART = 64;

  /** The number before the run. The run contains the numbers from base + 1 to {@link #through}. */
  private long base;

  private long through;
  private long lowWatermarkEpochMillis;
  private boolean departed;
  private final SortedSet<Long> apart = new TreeSet<>();

  private BatchTrail(long base, long through, long lowWatermarkEpochMillis, boolean departed) {
    this.base = base;
    this.through = through;
    this.lowWatermarkEpochMillis = lowWatermarkEpochMillis;
    this.departed = departed;
  }

  /** Returns the trail of a journal whose first record has this header. */
  static BatchTrail startingAt(BatchHeader header) {
    long base = header.isHeartbeat() ? header.batchSequence() : header.batchSequence() - 1;
    return new BatchTrail(base, base, 0, false);
  }

  /**
   * Adds a record.
   *
   * @param atEpochMillis the broker's time of the record; a later low watermark is reduced to this
   *     time
   * @return whether the lines of the record are new
   */
  boolean take(BatchHeader header, long atEpochMillis) {
    long sequence = header.batchSequence();
    boolean isNew = false;
    if (!header.isHeartbeat()) {
      isNew = (sequence <= base || sequence > through) && apart.add(sequence);
      while (apart.remove(through + 1)) {
        through++;
      }
      while (apart.remove(base)) {
        base--;
      }
      if (apart.size() > MAX_APART) {
        apart.remove(apart.first());
      }
    }
    if (sequence <= through) {
      lowWatermarkEpochMillis =
          Math.max(
              lowWatermarkEpochMillis, Math.min(header.lowWatermarkEpochMillis(), atEpochMillis));
      departed = header.departing();
    }
    return isNew;
  }

  /** Returns whether all calls that the node decided before a time have been read. */
  boolean hasPassed(long epochMillis) {
    return departed || lowWatermarkEpochMillis >= epochMillis;
  }

  /** Returns the text form, which contains digits, {@code .}, {@code +} and {@code -}. */
  @Override
  public String toString() {
    return String.join(
        ".",
        Long.toString(base),
        Long.toString(through),
        Long.toString(lowWatermarkEpochMillis),
        departed ? "1" : "0",
        apart.stream().map(String::valueOf).collect(Collectors.joining("+")));
  }

  /**
   * Parses the text form.
   *
   * @throws IllegalArgumentException if the text is malformed
   */
  static BatchTrail parse(String text) {
    String[] parts = text.split("\\.", -1);
    if (parts.length != 5) {
      throw new IllegalArgumentException("a trail must have 5 parts, but is '" + text + "'");
    }
    BatchTrail trail =
        new BatchTrail(
            Long.parseLong(parts[0]),
            Long.parseLong(parts[1]),
            Long.parseLong(parts[2]),
            parts[3].equals("1"));
    if (!parts[4].isEmpty()) {
      for (String number : parts[4].split("\\+", MAX_APART + 1)) {
        trail.apart.add(Long.parseLong(number));
      }
    }
    return trail;
  }
}
