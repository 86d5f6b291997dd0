// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record;

import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * A journal without a disk: for callers that are answered only when Kafka has their call, so that
 * nothing answered is lost with the process. Each process has an epoch of its own.
 */
final class MemoryJournal implements Journal {
  private final JournalIdentity identity;
  private final Map<Integer, NavigableMap<Long, Chunk>> lines = new ConcurrentHashMap<>();

  MemoryJournal(JournalIdentity identity) {
    this.identity = identity;
  }

  @Override
  public JournalIdentity identity() {
    return identity;
  }

  @Override
  public boolean isNew() {
    return true;
  }

  @Override
  public boolean mayLackItsEnd() {
    return false;
  }

  @Override
  public void begin(JournalIdentity next, List<Seal> seals) {
    throw new IllegalStateException("a journal in memory is always new");
  }

  @Override
  public Found found(int partition) {
    return Found.NOTHING;
  }

  @Override
  public void append(List<Chunk> chunks) {
    for (Chunk chunk : chunks) {
      ofPartition(chunk.partition()).put(chunk.firstLine(), chunk);
    }
  }

  @Override
  public void seal(List<Seal> seals) {
    // the lines are all there is to keep, and they are kept
  }

  @Override
  public byte[] read(Seal seal) throws JournalException {
    BatchBytes batch = new BatchBytes(seal);
    for (Chunk chunk :
        ofPartition(seal.partition())
            .subMap(seal.linesBefore() + 1, true, seal.linesThrough(), true)
            .values()) {
      batch.add(chunk.firstLine(), chunk.count(), chunk.lines(), 0);
    }
    return batch.whole();
  }

  @Override
  public void acknowledge(List<Seal> seals) {
    for (Seal seal : seals) {
      ofPartition(seal.partition()).headMap(seal.linesThrough(), true).clear();
    }
  }

  @Override
  public void trim() {
    // acknowledged lines are gone already
  }

  @Override
  public void close() {
    lines.clear();
  }

  private NavigableMap<Long, Chunk> ofPartition(int partition) {
    return lines.computeIfAbsent(partition, absent -> new ConcurrentSkipListMap<>());
  }
}
