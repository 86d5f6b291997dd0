// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import io.weir.cli.records.ReadProgress;
import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The content of the quarantine. A line that was refused several times occurs only once. Memory
 * grows by about 500 bytes a line; the bytes of lines are not kept. Not thread-safe.
 */
final class QuarantineContent {
  private final KafkaConnection kafka;
  private final Duration lateness;
  private final long nowEpochMillis;
  private final SortedMap<Source, Entry> entries = new TreeMap<>();
  private final FullWindows fullWindows = new FullWindows();
  private Map<Integer, Long> ends = Map.of();

  /**
   * Creates an instance that has not read anything yet.
   *
   * @param lateness maximum age of a call at its arrival, as configured in the aggregators
   */
  QuarantineContent(KafkaConnection kafka, Duration lateness, long nowEpochMillis) {
    this.kafka = kafka;
    this.lateness = lateness;
    this.nowEpochMillis = nowEpochMillis;
  }

  /** Reads the whole current content; returns the entries in order of their sources. */
  SortedMap<Source, Entry> read(ReadProgress progress) {
    Set<Source> counted = new HashSet<>();
    int partitions;
    try (QuarantineReader reader = new QuarantineReader(kafka)) {
      partitions = reader.partitions();
      ends = reader.ends();
      reader.read(new Visitor(counted, dissection(partitions)), "quarantine", progress);
    }
    counted.forEach(source -> entries.computeIfPresent(source, (same, one) -> one.counted()));
    fullWindows
        .withoutRoom(kafka, partitions)
        .forEach(
            source ->
                entries.computeIfPresent(
                    source,
                    (same, one) -> one.stays() == null ? one.staying(FullWindows.STAYS) : one));
    return entries;
  }

  Dissection dissection(int partitions) {
    return new Dissection(partitions, lateness.toMillis(), nowEpochMillis);
  }

  KafkaConnection kafka() {
    return kafka;
  }

  /** Returns whether a refusal was written after {@link #read}. */
  boolean isNewer(Refusal refusal) {
    return refusal.offset() >= ends.getOrDefault(refusal.partition(), 0L);
  }

  private final class Visitor implements QuarantineReader.Visitor {
    private final Set<Source> counted;
    private final Dissection dissection;

    Visitor(Set<Source> counted, Dissection dissection) {
      this.counted = counted;
      this.dissection = dissection;
    }

    @Override
    public void refused(Refusal refusal) {
      for (Candidate candidate : dissection.of(refusal)) {
        Entry before = entries.get(candidate.source());
        boolean isNewer =
            before == null || before.refusedAtEpochMillis() <= refusal.refusedAtEpochMillis();
        int refusals = before == null ? 1 : before.refusals() + 1;
        if (isNewer) {
          entries.put(candidate.source(), Entry.of(refusal, candidate, refusals));
          fullWindows.note(candidate.source(), refusal.reason(), candidate.call());
        }
      }
    }

    @Override
    public void counted(Source source) {
      counted.add(source);
    }
  }
}
