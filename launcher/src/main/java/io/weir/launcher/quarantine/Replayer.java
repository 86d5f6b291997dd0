// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.quarantine;

import java.time.Duration;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Sends entries of the quarantine to the calls topic again: calls before settlements, since what is
 * settled must be counted first. Nothing is remembered between two runs: the count takes each line
 * once, whoever sends it and however often, and says in the quarantine that it did. So a run that
 * was killed is simply made again. Not safe for threads.
 */
public final class Replayer {
  private final Quarantine quarantine;
  private final SortedMap<Source, Entry> selected;
  private final Map<Source, Account.Fate> fates = new TreeMap<>();

  /**
   * One that has sent nothing yet.
   *
   * @param selected what is to be sent; what stays or is counted is left out
   */
  public Replayer(Quarantine quarantine, SortedMap<Source, Entry> selected) {
    this.quarantine = quarantine;
    this.selected = new TreeMap<>(selected);
    this.selected.values().removeIf(entry -> entry.state() != Entry.State.WAITS);
  }

  /**
   * Sends everything, and waits for the word that it is counted.
   *
   * @param patience how long to wait for that
   */
  public Account run(Duration patience, Quarantine.Progress progress) throws InterruptedException {
    boolean hasCalls = selected.values().stream().anyMatch(entry -> !entry.isSettlement());
    boolean hasSettlements = selected.values().stream().anyMatch(Entry::isSettlement);
    try (ReplaySender sender = new ReplaySender(quarantine.bootstrapServers())) {
      if (hasCalls) {
        pass(sender, false, hasSettlements ? Duration.ZERO : patience, progress);
      }
      if (hasSettlements) {
        pass(sender, true, patience, progress);
      }
      sender.failures().forEach((source, why) -> fates.put(source, Account.failed(why)));
      return new Account(selected.size(), sender.acknowledged(), fates);
    }
  }

  private void pass(
      ReplaySender sender, boolean settlements, Duration patience, Quarantine.Progress progress)
      throws InterruptedException {
    Visitor visitor = new Visitor(sender, settlements);
    try (QuarantineReader reader = new QuarantineReader(quarantine.bootstrapServers(), visitor)) {
      visitor.dissection = quarantine.dissection(reader.partitions());
      long size = reader.size();
      reader.read(done -> progress.step("replay", done, size));
      sender.flush();
      long deadlineNanos = System.nanoTime() + patience.toNanos();
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
          fates.putIfAbsent(candidate.source(), Account.refused(refusal.reason()));
        } else if (entry.isAt(refusal) && entry.isSettlement() == settlements) {
          sender.send(candidate, refusal);
        }
      }
    }

    @Override
    public void counted(Source source) {
      if (selected.containsKey(source)) {
        fates.put(source, Account.COUNTED);
      }
    }
  }
}
