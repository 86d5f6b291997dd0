// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.cli.records.Billed;
import io.weir.topics.model.PartitionProgress;
import java.math.BigInteger;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Compares the figures of all topics. Not thread-safe. */
final class LedgerComparison {
  /**
   * Maximum age of the low watermark of a live node: 60 s, in which a node sends many heartbeats.
   */
  private static final long ALIVE_MILLIS = 60_000;

  private final VerifyData data;
  private final Range range;
  private final long nowEpochMillis;
  private final Map<Integer, Long> begins;
  private final Map<Integer, Long> logEnds;
  private final CallRecount recount;
  private final Differences differences;
  private final EndpointOrder endpoints;
  private final List<String> unproven = new ArrayList<>();
  private long windows;
  private long open;
  private long allowed;
  private long denied;
  private BigInteger quantity = BigInteger.ZERO;

  /**
   * Creates a comparison.
   *
   * @param nowEpochMillis current time by this machine's clock
   * @param begins the first offset of each partition of the calls topic
   * @param logEnds the end of each partition of the calls topic when the verification began
   */
  LedgerComparison(
      VerifyData data,
      CallRecount recount,
      long nowEpochMillis,
      Map<Integer, Long> begins,
      Map<Integer, Long> logEnds) {
    this.data = data;
    this.range = data.range;
    this.nowEpochMillis = nowEpochMillis;
    this.begins = Map.copyOf(begins);
    this.logEnds = Map.copyOf(logEnds);
    this.recount = recount;
    this.differences = data.differences;
    this.endpoints = new EndpointOrder(data);
  }

  Verification run() {
    data.accounts.forEach(range, this::compare);
    endpoints.finish();
    data.adjustments.forEach(range, this::compare);
    long duplicates = 0;
    long refused = 0;
    proveClosed();
    for (int partition : new TreeSet<>(begins.keySet())) {
      RecountedPartition part = recount.part(partition);
      duplicates += part.duplicate;
      refused += part.refused;
      compareCounters(partition, part);
      proveCounted(partition);
      proveComplete(partition, part);
    }
    return new Verification(
        allowed + denied,
        windows,
        open,
        allowed,
        denied,
        quantity,
        duplicates,
        refused,
        data.ledger.repeatedRows(),
        differences.kept(),
        differences.count(),
        unproven);
  }

  private void compare(WindowAccount account) {
    Slot slot = account.slot;
    if (!range.holds(slot.client(), slot.startEpochMillis())) {
      return;
    }
    if (!isJudged(slot)) {
      open++;
      return;
    }
    endpoints.add(account);
    windows++;
    allowed += account.counted.allowed;
    denied += account.counted.denied;
    quantity = quantity.add(BigInteger.valueOf(account.counted.quantity));
    if (!account.counted.agreesWith(account.billed)) {
      differences.add(
          slot + ": recount says " + account.counted + "; ledger says " + account.billed);
    } else {
      compareFinal(account);
    }
    comparePeriods(account);
    boolean isShown =
        account.shownRevision == account.billedRevision
            && account.shownComplete == account.billedComplete
            && account.shown.equalsFully(account.billed);
    boolean hasNeither = account.billedRevision == 0 && !account.isShown();
    if (!isShown && !hasNeither) {
      differences.add(
          "%s: ledger says %s; state topic says %s"
              .formatted(
                  slot,
                  fully(account.billedRevision, account.billed, account.billedComplete),
                  account.isShown()
                      ? fully(account.shownRevision, account.shown, account.shownComplete)
                      : "nothing"));
    }
  }

  /** Returns whether a window is closed and Kafka still has all its calls. */
  private boolean isJudged(Slot slot) {
    return slot.startEpochMillis() + range.windowMillis() <= closedThrough(slot.partition())
        && slot.startEpochMillis() >= recount.part(slot.partition()).heldFromEpochMillis();
  }

  private static String fully(long revision, WindowFigures tally, boolean complete) {
    return "revision %d, %s, duplicates %d, late %d, complete %s"
        .formatted(revision, tally, tally.duplicates, tally.late, complete);
  }

  /** Compares the FINAL row of a window whose sums agree. */
  private void compareFinal(WindowAccount account) {
    WindowFigures billed = account.billedFinal;
    WindowFigures counted = account.countedFinal;
    if (!counted.agreesWith(billed)) {
      differences.add(account.slot + ": recount says " + counted + "; FINAL row says " + billed);
    } else if (!counted.isReduced()
        && (billed.duplicates < counted.duplicates
            || billed.duplicates > counted.duplicates + account.duplicatesAtClose)) {
      differences.add(
          "%s: recount says duplicates_dropped %d; FINAL row says %d"
              .formatted(account.slot, counted.duplicates, billed.duplicates));
    }
  }

  /** Compares an adjustment of a window whose sums agree. */
  private void compare(Adjustments.Both both) {
    Adjustments.Id id = both.id;
    Slot slot = id.slot();
    WindowAccount account = data.accounts.find(slot);
    if (account == null
        || !range.holds(slot.client(), slot.startEpochMillis())
        || !isJudged(slot)
        || !account.counted.agreesWith(account.billed)) {
      return;
    }
    if (!both.counted.agreesWith(both.billed)) {
      differences.add(id + ": recount says " + both.counted + "; ledger says " + both.billed);
    } else if (both.billedComplete != both.countedComplete
        && !both.where.isEmpty()
        && recount
            .part(slot.partition())
            .judgesMissing(slot.startEpochMillis() + range.windowMillis())) {
      differences.add(
          "%s: recount says complete %s; %s says %s"
              .formatted(id, both.countedComplete, both.where, both.billedComplete));
    }
  }

  private void comparePeriods(WindowAccount account) {
    String billed = account.billedPeriod;
    if (billed == null) {
      return;
    }
    if (account.countedPeriod != null && !account.countedPeriod.equals(billed)) {
      differences.add(
          "%s: recount says billing period %s; ledger says %s"
              .formatted(
                  account.slot, Billed.describe(account.countedPeriod), Billed.describe(billed)));
    }
    if (account.shownPeriod != null && !account.shownPeriod.equals(billed)) {
      differences.add(
          "%s: ledger says billing period %s; state topic says %s"
              .formatted(
                  account.slot, Billed.describe(billed), Billed.describe(account.shownPeriod)));
    }
  }

  /** Compares the counters of a partition, if its log still has its first record. */
  private void compareCounters(int partition, RecountedPartition part) {
    PartitionProgress progress = data.state.progress(partition);
    if (progress == null || begins.getOrDefault(partition, 0L) > 0) {
      return;
    }
    PartitionProgress.Counters said = progress.counters();
    if (said.received() != part.received
        || said.counted() + said.lateAdjusted() != part.counted
        || said.duplicate() != part.duplicate
        || said.quarantined() != part.refused) {
      differences.add(
          ("partition %d through offset %d: recount says received %d, counted %d, duplicate %d,"
                  + " refused %d; state topic says received %d, counted %d and late-adjusted %d,"
                  + " duplicate %d, quarantined %d")
              .formatted(
                  partition,
                  progress.offset(),
                  part.received,
                  part.counted,
                  part.duplicate,
                  part.refused,
                  said.received(),
                  said.counted(),
                  said.lateAdjusted(),
                  said.duplicate(),
                  said.quarantined()));
    }
  }

  /**
   * Reports open partitions in one sentence, since all partitions close within about a second of
   * each other.
   */
  private void proveClosed() {
    long least = begins.keySet().stream().mapToLong(this::closedThrough).min().orElse(0);
    if (least >= range.endEpochMillis()) {
      return;
    }
    Instant end = Instant.ofEpochMilli(range.endEpochMillis());
    if (range.endEpochMillis() > nowEpochMillis) {
      unproven.add(
          "the range ends in the future; try again when WEIR_GRACE has passed after " + end);
      return;
    }
    unproven.add(
        ("the range is not closed yet (%s); the range ends at %s: wait for WEIR_GRACE, or"
                + " for WEIR_MAX_HOLD if a node is silent, and try again")
            .formatted(
                least == 0
                    ? "a partition has no closed window"
                    : "every partition is closed through " + Instant.ofEpochMilli(least),
                end));
  }

  private void proveCounted(int partition) {
    long counted = data.state.countedOffset(partition);
    long last = logEnds.getOrDefault(partition, 0L) - 1;
    if (counted < last) {
      unproven.add(
          "partition %d is counted through offset %d, and its last record is %d (--wait)"
              .formatted(partition, counted, last));
    }
  }

  /**
   * Returns the time through which a partition is closed both in the ledger and in the state topic.
   */
  private long closedThrough(int partition) {
    PartitionProgress progress = data.state.progress(partition);
    return progress == null
        ? 0
        : Math.min(
            data.ledger.closedThroughEpochMillis(partition), progress.closedThroughEpochMillis());
  }

  private void proveComplete(int partition, RecountedPartition part) {
    long heldFrom = part.heldFromEpochMillis();
    if (range.fromEpochMillis() < heldFrom) {
      unproven.add(
          "partition %d has all calls only from %s on; older ones have expired (--from)"
              .formatted(partition, Instant.ofEpochMilli(heldFrom)));
    }
    // before the range is closed, the low watermark of a healthy node may be before the end of the
    // range
    boolean isClosed = closedThrough(partition) >= range.endEpochMillis();
    long aliveFrom = isClosed ? Long.MAX_VALUE : nowEpochMillis - ALIVE_MILLIS;
    for (String why : part.doubts(range.fromEpochMillis(), range.endEpochMillis(), aliveFrom)) {
      unproven.add("partition " + partition + " may lack calls: " + why);
    }
  }
}
