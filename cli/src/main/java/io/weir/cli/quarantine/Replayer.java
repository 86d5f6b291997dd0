// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.quarantine;

import io.weir.cli.quarantine.ReplayResult.Outcome;
import io.weir.cli.records.ReadProgress;
import java.time.Duration;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Sends entries of the quarantine to the calls topic again. Calls are sent before settlements,
 * because a settled call must be counted first. The aggregator counts each line once, even if the
 * line is sent several times, and records in the quarantine that the line is counted. So an
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
  Replayer(QuarantineContent quarantine, SortedMap<Source, Entry> selected) {
    this.quarantine = quarantine;
    this.selected = new TreeMap<>(selected);
    this.selected.values().removeIf(entry -> entry.state() != Entry.State.WAITS);
  }

  /**
   * Sends all entries, and waits for their outcomes.
   *
   * @param timeout maximum time of the wait
   */
  ReplayResult run(Duration timeout, ReadProgress progress) throws InterruptedException {
    boolean hasCalls = selected.values().stream().anyMatch(entry -> !entry.isSettlement());
    boolean hasSettlements = selected.values().stream().anyMatch(Entry::isSettlement);
    try (ReplaySender sender = new ReplaySender(quarantine.kafka())) {
      if (hasCalls) {
        pass(sender, false, hasSettlements ? Duration.ZERO : timeout, progress);
      }
      if (hasSettlements) {
        pass(sender, true, timeout, progress);
      }
      sender.failures().forEach((source, why) -> note(source, Outcome.NOT_SENT, why));
      return new ReplayResult(selected.size(), sender.acknowledged(), fates);
    }
  }

  private void pass(
      ReplaySender sender, boolean settlements, Duration timeout, ReadProgress progress)
      throws InterruptedException {
    try (QuarantineReader reader = new QuarantineReader(quarantine.kafka())) {
      Visitor visitor =
          new Visitor(sender, settlements, quarantine.dissection(reader.partitions()));
      reader.read(visitor, "replay", progress);
      sender.flush();
      long deadlineNanos = System.nanoTime() + timeout.toNanos();
      while (fates.size() + sender.failures().size() < selected.size()
          && System.nanoTime() - deadlineNanos < 0) {
        reader.follow(visitor);
      }
    }
  }

  private void note(Source source, Outcome outcome, String why) {
    fates.put(source, new ReplayResult.Fate(outcome, why));
  }

  private final class Visitor implements QuarantineReader.Visitor {
    private final ReplaySender sender;
    private final boolean settlements;
    private final Dissection dissection;

    Visitor(ReplaySender sender, boolean settlements, Dissection dissection) {
      this.sender = sender;
      this.settlements = settlements;
      this.dissection = dissection;
    }

    @Override
    public void refused(Refusal refusal) {
      for (Candidate candidate : dissection.of(refusal)) {
        Entry entry = selected.get(candidate.source());
        if (entry == null) {
          continue;
        }
        if (quarantine.isNewer(refusal)) {
          fates.putIfAbsent(
              candidate.source(), new ReplayResult.Fate(Outcome.REFUSED, refusal.reason()));
        } else if (entry.isAt(refusal) && entry.isSettlement() == settlements) {
          sender.send(candidate, refusal);
        }
      }
    }

    @Override
    public void counted(Source source) {
      if (selected.containsKey(source)) {
        note(source, Outcome.COUNTED, "");
      }
    }
  }
}
