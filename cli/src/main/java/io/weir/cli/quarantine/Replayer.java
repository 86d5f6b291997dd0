// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import io.weir.cli.records.ReadProgress;
import java.time.Duration;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Sends entries of the quarantine to the calls topic again. Calls are sent before settlements,
 * since a settled call must be counted first. No state is kept between two runs. The aggregator
 * counts each line once, however often it is sent, and records that in the quarantine. So an
 * interrupted run can be repeated. Not thread-safe.
 */
final class Replayer {
  private final QuarantineContent quarantine;
  private final SortedMap<Source, Entry> selected;
  private final Map<Source, ReplayResult.Fate> fates = new TreeMap<>();

  /**
   * Creates a replayer that has not sent anything yet.
   *
   * @param selected entries to send; those that cannot be replayed or are already counted are
   *     skipped
   */
  public Replayer(QuarantineContent quarantine, SortedMap<Source, Entry> selected) {
    this.quarantine = quarantine;
    this.selected = new TreeMap<>(selected);
    this.selected.values().removeIf(entry -> entry.state() != Entry.State.WAITS);
  }

  /**
   * Sends all entries, and waits for the markers that they are counted.
   *
   * @param timeout maximum time to wait for the markers
   */
  public ReplayResult run(Duration timeout, ReadProgress progress) throws InterruptedException {
    boolean hasCalls = selected.values().stream().anyMatch(entry -> !entry.isSettlement());
    boolean hasSettlements = selected.values().stream().anyMatch(Entry::isSettlement);
    try (ReplaySender sender = new ReplaySender(quarantine.kafka())) {
      if (hasCalls) {
        pass(sender, false, hasSettlements ? Duration.ZERO : timeout, progress);
      }
      if (hasSettlements) {
        pass(sender, true, timeout, progress);
      }
      sender.failures().forEach((source, why) -> fates.put(source, ReplayResult.failed(why)));
      return new ReplayResult(selected.size(), sender.acknowledged(), fates);
    }
  }

  private void pass(
      ReplaySender sender, boolean settlements, Duration timeout, ReadProgress progress)
      throws InterruptedException {
    Visitor visitor = new Visitor(sender, settlements);
    try (QuarantineReader reader = new QuarantineReader(quarantine.kafka(), visitor)) {
      visitor.dissection = quarantine.dissection(reader.partitions());
      long size = reader.size();
      reader.read(done -> progress.step("replay", done, size));
      sender.flush();
      long deadlineNanos = System.nanoTime() + timeout.toNanos();
      while (fates.size() + sender.failures().size() < selected.size()
          && System.nanoTime() - deadlineNanos < 0) {
        reader.follow();
      }
    }
  }

  private final class Visitor implements QuarantineReader.Visitor {
    private final ReplaySender sender;
    private final boolean settlements;
    private Dissection dissection = quarantine.dissection(1);

    Visitor(ReplaySender sender, boolean settlements) {
      this.sender = sender;
      this.settlements = settlements;
    }

    @Override
    public void refused(Refusal refusal) {
      for (Candidate candidate : dissection.of(refusal)) {
        Entry entry = selected.get(candidate.source());
        if (entry == null) {
          continue;
        }
        if (quarantine.isNewer(refusal)) {
          fates.putIfAbsent(candidate.source(), ReplayResult.refused(refusal.reason()));
        } else if (entry.isAt(refusal) && entry.isSettlement() == settlements) {
          sender.send(candidate, refusal);
        }
      }
    }

    @Override
    public void counted(Source source) {
      if (selected.containsKey(source)) {
        fates.put(source, ReplayResult.COUNTED);
      }
    }
  }
}
