// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.topics.model.BatchHeader;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Which batches of one journal (node and epoch) a reader of the audit log has met, and what the
 * node has promised by them. Not safe for threads.
 *
 * <p>Batches come in the order of their numbers but for replays and a rare overtaking, so a run of
 * numbers without a hole and a few numbers apart from it say everything.
 */
final class BatchTrail {
  /** Most numbers kept apart from the run; the smallest is forgotten when there would be more. */
  static final int MAX_APART = 64;

  /** Numbers above this, up to {@link #through}, were met. */
  private long base;

  private long through;
  private long promiseEpochMillis;
  private boolean departed;
  private final SortedSet<Long> apart = new TreeSet<>();

  private BatchTrail(long base, long through, long promiseEpochMillis, boolean departed) {
    this.base = base;
    this.through = through;
    this.promiseEpochMillis = promiseEpochMillis;
    this.departed = departed;
  }

  /** A journal of which this is the first record. */
  static BatchTrail startingAt(BatchHeader header) {
    long base = header.isHeartbeat() ? header.batchSequence() : header.batchSequence() - 1;
    return new BatchTrail(base, base, 0, false);
  }

  /**
   * Takes a record over.
   *
   * @param atEpochMillis when the broker took it; no promise beyond that is believed
   * @return whether its lines were not met before
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
      promiseEpochMillis =
          Math.max(promiseEpochMillis, Math.min(header.lowWatermarkEpochMillis(), atEpochMillis));
      departed = header.departing();
    }
    return isNew;
  }

  /** Whether every call that the node decided before a moment was met. */
  boolean hasPassed(long epochMillis) {
    return departed || promiseEpochMillis >= epochMillis;
  }

  /** The written form: of digits, {@code .}, {@code +} and {@code -}. */
  @Override
  public String toString() {
    return String.join(
        ".",
        Long.toString(base),
        Long.toString(through),
        Long.toString(promiseEpochMillis),
        departed ? "1" : "0",
        apart.stream().map(String::valueOf).collect(Collectors.joining("+")));
  }

  /**
   * Reads the written form.
   *
   * @throws IllegalArgumentException when the text is not one
   */
  static BatchTrail parse(String text) {
    String[] parts = text.split("\\.", -1);
    if (parts.length != 5) {
      throw new IllegalArgumentException("not a trail: " + text);
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
