// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.sim.InvariantBroken.Invariant;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.UsagePosition;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The responses that callers received. The log must contain each answered call exactly once, and
 * each unanswered call at most once.
 */
final class CallBook {
  private final TreeMap<String, AnsweredCall> answered = new TreeMap<>();
  private final Set<String> unanswered = new HashSet<>();
  private final Set<String> lostPlaces = new HashSet<>();

  /**
   * The append time of each call, by the broker's clock. The key is the call's place in the log.
   */
  private final Map<String, Long> arrivedAtMillis = new HashMap<>();

  private final Map<String, Long> lowWatermarkMicros = new HashMap<>();

  /** Places of calls that arrived after the aggregator had stopped waiting for their journal. */
  private final Set<String> givenUp = new HashSet<>();

  private int lostCalls;

  /** An answered call and the place of its record. */
  private record AnsweredCall(UsagePosition position, CallEvent call, @Nullable Long settledAt) {
    String journal() {
      return position.partition() + ":" + position.node() + ":" + position.nodeEpoch();
    }

    @Nullable Charge chargeOf(String bucket) {
      return call.charges().stream()
          .filter(charge -> charge.bucket().equals(bucket))
          .findFirst()
          .orElse(null);
    }

    long tokensOf(String bucket) {
      Charge charge = chargeOf(bucket);
      return charge == null ? 0 : charge.cost();
    }

    boolean isAt(@Nullable CallEvent line) {
      if (line == null) {
        return false;
      }
      CallSettlement settlement = line.settlement();
      return settledAt == null
          ? line.equals(call)
          : line.id().equals(call.id())
              && settlement != null
              && settlement.actualCost() == settledAt;
    }
  }

  /** Records that a caller sends a call. The caller may never get a response. */
  void asked(String id) {
    unanswered.add(id);
  }

  /** Records that a caller received a response with the position of the call's record. */
  void answered(CallEvent call, UsagePosition position) {
    tell(new AnsweredCall(position, call, null));
  }

  /** Records that a caller received a response with the position of a settlement. */
  void settled(CallEvent call, long actualCost, UsagePosition position) {
    tell(new AnsweredCall(position, call, actualCost));
  }

  private void tell(AnsweredCall next) {
    AnsweredCall earlier = answered.put(next.position.toString(), next);
    if (earlier != null) {
      throw new InvariantBroken(
          Invariant.BILLED,
          "two callers received the position " + next.position + ": " + earlier.call);
    }
  }

  /**
   * Records that the disk of a node is lost or was replaced by an older copy. From now on, calls
   * that are in neither the new disk nor Kafka are lost.
   *
   * @param copy the current journal of the node; null if it has none
   * @return the charges of the lost calls
   */
  List<Charge> journalLost(String node, @Nullable SimulatedJournal copy) {
    List<AnsweredCall> lost =
        answered.entrySet().stream()
            .filter(entry -> !arrivedAtMillis.containsKey(entry.getKey()))
            .map(Map.Entry::getValue)
            .filter(one -> one.position.node().equals(node))
            .filter(one -> copy == null || !copy.holds(one.position))
            .toList();
    lost.forEach(one -> lostPlaces.add(one.position.toString()));
    return lost.stream()
        .filter(one -> one.settledAt == null)
        .flatMap(one -> one.call.charges().stream())
        .toList();
  }

  /**
   * Records that Kafka has appended a batch to the log.
   *
   * @param appendedAtMillis time of the append, by the broker's clock
   * @param holdMicros time for which the aggregator waits for a silent journal
   */
  void arrived(
      int partition, BatchHeader batch, long appendedAtMillis, long nowMicros, long holdMicros) {
    String journal = partition + ":" + batch.node() + ":" + batch.nodeEpoch();
    if (isSilent(journal, nowMicros - holdMicros)) {
      answered.forEach(
          (place, one) -> {
            if (one.journal().equals(journal)) {
              givenUp.add(place);
            }
          });
    }
    for (long line = 1; line <= batch.count(); line++) {
      arrivedAtMillis.putIfAbsent(
          new UsagePosition(partition, batch.node(), batch.nodeEpoch(), batch.linesBefore() + line)
              .toString(),
          appendedAtMillis);
    }
    if (batch.departing()) {
      lowWatermarkMicros.remove(journal);
    } else {
      long promised = Math.min(nowMicros, batch.lowWatermarkEpochMillis() * 1_000);
      lowWatermarkMicros.merge(journal, promised, Math::max);
    }
  }

  private boolean isSilent(String journal, long sinceMicros) {
    return lowWatermarkMicros.getOrDefault(journal, 0L) < sinceMicros;
  }

  /**
   * Returns the tokens that answered calls took from a bucket. Counts only calls that were not in
   * the log at a time, and for which the aggregator does not wait. The aggregator does not wait for
   * a journal whose newest low watermark is older than {@code sinceMicros}.
   *
   * @param asOfMillis the time, by the broker's clock
   * @param sinceMicros the lowest low watermark of a journal that is not silent
   */
  long tokensOfSilentJournals(String bucket, long asOfMillis, long sinceMicros) {
    long tokens = 0;
    for (Map.Entry<String, AnsweredCall> entry : answered.entrySet()) {
      AnsweredCall one = entry.getValue();
      boolean silent = givenUp.contains(entry.getKey()) || isSilent(one.journal(), sinceMicros);
      boolean unknown = arrivedAtMillis.getOrDefault(entry.getKey(), Long.MAX_VALUE) >= asOfMillis;
      tokens += silent && unknown ? one.tokensOf(bucket) : 0;
    }
    return tokens;
  }

  /**
   * Returns the tokens that calls took from a bucket. Counts only calls that arrived in the log
   * after the aggregator had stopped waiting for them.
   */
  long tokensGivenUp(String bucket) {
    return givenUp.stream().mapToLong(place -> at(place).tokensOf(bucket)).sum();
  }

  /**
   * Returns the tokens of a bucket's answered calls that were not in the log at a time. Returns 0
   * if the cache decided the first call of the bucket in the log.
   *
   * @param asOfMillis the time, by the broker's clock
   */
  long tokensBeforeFirstStamp(String bucket, long asOfMillis) {
    AnsweredCall first = null;
    long firstAtMillis = Long.MAX_VALUE;
    long tokens = 0;
    for (Map.Entry<String, AnsweredCall> entry : answered.entrySet()) {
      AnsweredCall one = entry.getValue();
      if (one.chargeOf(bucket) == null) {
        continue;
      }
      long arrivedAt = arrivedAtMillis.getOrDefault(entry.getKey(), Long.MAX_VALUE);
      if (arrivedAt < firstAtMillis) {
        first = one;
        firstAtMillis = arrivedAt;
      }
      tokens += arrivedAt >= asOfMillis ? one.tokensOf(bucket) : 0;
    }
    Charge charge = first == null ? null : first.chargeOf(bucket);
    return charge != null && charge.stamp() == null ? tokens : 0;
  }

  private AnsweredCall at(String place) {
    AnsweredCall call = answered.get(place);
    if (call == null) {
      throw new IllegalArgumentException("no caller received the position " + place);
    }
    return call;
  }

  /** Returns whether a caller received a response with this position. */
  boolean wasAnswered(UsagePosition position) {
    return answered.containsKey(position.toString());
  }

  /** Returns whether every answered call is in the log, except calls that were lost with a disk. */
  boolean isComplete() {
    return answered.entrySet().stream()
        .allMatch(
            entry ->
                arrivedAtMillis.containsKey(entry.getKey()) || isLost(entry.getValue().position()));
  }

  private boolean isLost(UsagePosition position) {
    return lostPlaces.contains(position.toString());
  }

  int answeredCalls() {
    return answered.size();
  }

  /** Returns the number of answered calls that were lost with a disk. */
  int lostCalls() {
    return lostCalls;
  }

  /** Compares the log with the responses. */
  void check(List<LogLines.Line> lines) {
    Map<String, LogLines.Line> lineAt = new HashMap<>();
    Map<String, String> placeOfUnanswered = new HashMap<>();
    for (LogLines.Line line : lines) {
      String place = line.position().toString();
      LogLines.Line other = lineAt.putIfAbsent(place, line);
      if (other != null && !other.isSame(line)) {
        throw new InvariantBroken(
            Invariant.BILLED,
            "two lines have the place " + place + ": " + other.call() + ", " + line.call());
      }
      if (other == null && !answered.containsKey(place)) {
        checkUnanswered(line, place, placeOfUnanswered);
      }
    }
    for (AnsweredCall expected : answered.values()) {
      LogLines.Line found = lineAt.get(expected.position.toString());
      if (found == null && isLost(expected.position)) {
        lostCalls++;
      } else if (!expected.isAt(found == null ? null : found.call())) {
        throw new InvariantBroken(
            Invariant.BILLED,
            "a caller received "
                + expected
                + ", but the log has "
                + (found == null ? null : found.call()));
      }
    }
  }

  private void checkUnanswered(
      LogLines.Line line, String place, Map<String, String> placeOfUnanswered) {
    String id = line.call().id();
    if (!unanswered.contains(id) && line.call().idFromCaller()) {
      throw new InvariantBroken(Invariant.BILLED, "no caller sent " + line.call());
    }
    String other = line.call().idFromCaller() ? null : placeOfUnanswered.put(id, place);
    if (other != null) {
      throw new InvariantBroken(
          Invariant.BILLED, id + " was sent once, but is logged at " + other + " and at " + place);
    }
  }
}
