// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.record.journal;

import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * A journal in memory, for deployments that answer a call only after Kafka has acknowledged it. So
 * no answered call is lost when the process ends. Each process has its own epoch.
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
  public boolean mayLackTail() {
    return false;
  }

  @Override
  public void beginEpoch(JournalIdentity next, List<BatchManifest> manifests) {
    throw new IllegalStateException("an in-memory journal is always new");
  }

  @Override
  public Recovered recover(int partition) {
    return Recovered.NOTHING;
  }

  @Override
  public void append(List<Chunk> chunks) {
    for (Chunk chunk : chunks) {
      ofPartition(chunk.partition()).put(chunk.firstLine(), chunk);
    }
  }

  @Override
  public void seal(List<BatchManifest> manifests) {
    // manifests are needed only after a restart, which this journal does not survive
  }

  @Override
  public byte[] read(BatchManifest manifest) throws JournalException {
    return manifest.join(
        List.copyOf(
            ofPartition(manifest.partition())
                .subMap(manifest.linesBefore() + 1, true, manifest.linesThrough(), true)
                .values()));
  }

  @Override
  public void acknowledge(List<BatchManifest> manifests) {
    for (BatchManifest manifest : manifests) {
      ofPartition(manifest.partition()).headMap(manifest.linesThrough(), true).clear();
    }
  }

  @Override
  public void trim() {
    // acknowledged lines are already removed
  }

  @Override
  public void close() {
    lines.clear();
  }

  private NavigableMap<Long, Chunk> ofPartition(int partition) {
    return lines.computeIfAbsent(partition, absent -> new ConcurrentSkipListMap<>());
  }
}
