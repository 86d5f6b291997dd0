// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import io.weir.topics.catalog.Topics;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionProgressCodec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Compares the ledger with a recount of the audit topic, window by window. Only closed windows are
 * compared: the open ones have no ledger row yet.
 *
 * <p>Calls may come in meanwhile. The order makes that harmless: the end of the calls is noted, the
 * aggregator is waited for until it has counted to there, then the ledger is read to its end, and
 * the calls to the end that was noted. A call that came later can differ only as a late one; then
 * all is read again.
 */
public final class Verifier {
  private static final int ATTEMPTS = 3;

  private final String bootstrapServers;
  private final Duration window;
  private final Duration lateness;
  private final Duration patience;

  /**
   * Makes a verifier.
   *
   * @param window the ledger's window
   * @param lateness how old a call may be when it arrives, as the aggregator was told
   * @param patience how long to wait for the aggregator to count what is there
   */
  public Verifier(String bootstrapServers, Duration window, Duration lateness, Duration patience) {
    this.bootstrapServers = bootstrapServers;
    this.window = window;
    this.lateness = lateness;
    this.patience = patience;
  }

  /** Told what is being read, and how much of it lies behind. */
  public interface Progress {
    void step(String what, long done, long total);
  }

  /** The aggregator has not counted what is there within the patience. */
  public static final class BehindException extends Exception {
    private static final long serialVersionUID = 1L;

    BehindException(String message) {
      super(message);
    }
  }

  /**
   * Verifies the windows that start in {@code [from, to)}.
   *
   * @param client only this client's, or everyone's when null
   */
  public Verification verify(Instant from, Instant to, @Nullable String client, Progress progress)
      throws BehindException, InterruptedException {
    Verification verification = verifyOnce(from, to, client, progress);
    for (int i = 1; i < ATTEMPTS && !verification.differences().isEmpty(); i++) {
      verification = verifyOnce(from, to, client, progress);
    }
    return verification;
  }

  private Verification verifyOnce(
      Instant from, Instant to, @Nullable String client, Progress progress)
      throws BehindException, InterruptedException {
    try (TopicReader calls = new TopicReader(bootstrapServers, Topics.CALLS);
        TopicReader ledger = new TopicReader(bootstrapServers, Topics.LEDGER)) {
      Map<Integer, Long> callEnds = calls.ends();
      awaitCounted(callEnds);
      LedgerSums sums = new LedgerSums(window.toMillis());
      Map<Integer, Long> ledgerEnds = ledger.ends();
      long ledgerSize = ledger.size(ledgerEnds);
      ledger.read(ledgerEnds, sums::add, done -> progress.step("ledger", done, ledgerSize));
      Recount recount = new Recount(window.toMillis(), lateness.toMillis(), callEnds.size());
      long callsSize = calls.size(callEnds);
      calls.read(callEnds, recount::add, done -> progress.step("calls", done, callsSize));
      return compare(recount, sums, from, to, client);
    }
  }

  private void awaitCounted(Map<Integer, Long> callEnds)
      throws BehindException, InterruptedException {
    long deadline = System.nanoTime() + patience.toNanos();
    try (TopicReader state = new TopicReader(bootstrapServers, Topics.STATE)) {
      while (true) {
        Map<Integer, Long> counted = new HashMap<>();
        state.read(
            state.ends(),
            record -> {
              byte[] value = record.value();
              if (value != null
                  && PartitionProgressCodec.key(record.partition()).equals(record.key())) {
                counted.put(record.partition(), offset(value));
              }
            },
            done -> {});
        boolean behind =
            callEnds.entrySet().stream()
                .anyMatch(end -> counted.getOrDefault(end.getKey(), -1L) < end.getValue() - 1);
        if (!behind) {
          return;
        }
        if (System.nanoTime() > deadline) {
          throw new BehindException(
              "the aggregator has not counted what is there within "
                  + patience
                  + ": calls end at "
                  + callEnds
                  + ", counted are "
                  + counted);
        }
        TimeUnit.MILLISECONDS.sleep(200);
      }
    }
  }

  private static long offset(byte[] progress) {
    try {
      PartitionProgress decoded = PartitionProgressCodec.decode(progress);
      return decoded.offset();
    } catch (MalformedRecordException notProgress) {
      throw new IllegalStateException(
          "the state topic holds a broken progress record", notProgress);
    }
  }

  private Verification compare(
      Recount recount, LedgerSums sums, Instant from, Instant to, @Nullable String client) {
    Set<Slot> slots = new HashSet<>(recount.tallies().keySet());
    slots.addAll(sums.tallies().keySet());
    List<Slot> ordered = new ArrayList<>(slots);
    ordered.sort(
        Comparator.comparingLong(Slot::startEpochMillis)
            .thenComparing(Slot::client)
            .thenComparing(Slot::meter)
            .thenComparing(Slot::endpoint));
    List<String> differences = new ArrayList<>(sums.faults());
    long windows = 0;
    long open = 0;
    long allowed = 0;
    long denied = 0;
    for (Slot slot : ordered) {
      boolean asked =
          slot.startEpochMillis() >= from.toEpochMilli()
              && slot.startEpochMillis() < to.toEpochMilli()
              && (client == null || client.equals(slot.client()));
      if (!asked) {
        continue;
      }
      Tally counted = recount.tallies().getOrDefault(slot, new Tally());
      Tally billed = sums.tallies().getOrDefault(slot, new Tally());
      if (slot.startEpochMillis() + window.toMillis()
          > sums.closedThroughEpochMillis(slot.partition())) {
        open++;
        continue;
      }
      windows++;
      allowed += counted.allowed;
      denied += counted.denied;
      if (!counted.agreesWith(billed)) {
        differences.add(
            Instant.ofEpochMilli(slot.startEpochMillis())
                + " "
                + slot.client()
                + " "
                + slot.meter()
                + " "
                + slot.endpoint()
                + ": recount says "
                + counted
                + "; ledger says "
                + (billed.isNothing() ? "nothing" : billed));
      }
    }
    return new Verification(
        allowed + denied,
        windows,
        open,
        allowed,
        denied,
        recount.duplicates(),
        recount.refused(),
        sums.repeatedRows(),
        differences);
  }
}
