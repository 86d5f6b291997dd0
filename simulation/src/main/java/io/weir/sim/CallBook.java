// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.sim.InvariantBroken.Invariant;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Settlement;
import io.weir.topics.model.UsagePosition;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What each caller was told, and so what must be in the log: an answered call exactly once, one
 * that was not answered at most once.
 */
final class CallBook {
  private final TreeMap<String, Told> told = new TreeMap<>();
  private final Set<String> unanswered = new HashSet<>();
  private final Set<String> lostPlaces = new HashSet<>();

  /** By place: when the call was appended to the log, by the broker's clock. */
  private final Map<String, Long> arrivedAtMillis = new HashMap<>();

  private final Map<String, Long> promiseMicros = new HashMap<>();

  /** Places of calls that the counting has stopped to wait for, though their journal came back. */
  private final Set<String> givenUp = new HashSet<>();

  private int lostCalls;

  /** A call that was answered, and is kept at a place. */
  private record Told(UsagePosition position, CallEvent call, @Nullable Long settledAt) {
    String journal() {
      return position.partition() + ":" + position.node() + ":" + position.nodeEpoch();
    }

    boolean isAt(@Nullable CallEvent line) {
      if (line == null) {
        return false;
      }
      Settlement settlement = line.settlement();
      return settledAt == null
          ? line.equals(call)
          : line.id().equals(call.id())
              && settlement != null
              && settlement.actualCost() == settledAt;
    }
  }

  /** A caller asks, and may never hear. */
  void asked(String id) {
    unanswered.add(id);
  }

  /** A caller was told that the call is kept. */
  void answered(CallEvent call, UsagePosition position) {
    tell(new Told(position, call, null));
  }

  /** A caller was told that the call is settled, and that this is kept. */
  void settled(CallEvent call, long actualCost, UsagePosition position) {
    tell(new Told(position, call, actualCost));
  }

  private void tell(Told next) {
    Told earlier = told.put(next.position.toString(), next);
    if (earlier != null) {
      throw new InvariantBroken(
          Invariant.BILLED,
          "two callers were told the position " + next.position + ": " + earlier.call);
    }
  }

  /**
   * The disk of a node is gone, or is an older copy of itself: what neither it nor Kafka has may
   * never come.
   *
   * @param copy what the node has now, null when that is nothing
   * @return what those calls were charged
   */
  List<Charge> journalLost(String node, @Nullable SimulatedJournal copy) {
    List<Told> lost =
        told.entrySet().stream()
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
   * A batch has reached the log.
   *
   * @param appendedAtMillis when, by the broker's clock
   * @param holdMicros for how long the counting waits for a journal that is silent
   */
  void arrived(
      int partition, BatchHeader batch, long appendedAtMillis, long nowMicros, long holdMicros) {
    String journal = partition + ":" + batch.node() + ":" + batch.nodeEpoch();
    if (isSilent(journal, nowMicros - holdMicros)) {
      told.forEach(
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
      promiseMicros.remove(journal);
    } else {
      long promised = Math.min(nowMicros, batch.lowWatermarkEpochMillis() * 1_000);
      promiseMicros.merge(journal, promised, Math::max);
    }
  }

  private boolean isSilent(String journal, long sinceMicros) {
    return promiseMicros.getOrDefault(journal, 0L) < sinceMicros;
  }

  /**
   * Tokens of answered calls on a bucket that were not in the log at a moment, of journals whose
   * newest promise in their partition is older than another, or was so for as long since the call.
   *
   * @param asOfMillis the moment, by the broker's clock
   */
  long tokensOfSilentJournals(String bucket, long asOfMillis, long sinceMicros) {
    long tokens = 0;
    for (Map.Entry<String, Told> entry : told.entrySet()) {
      Told one = entry.getValue();
      boolean silent = givenUp.contains(entry.getKey()) || isSilent(one.journal(), sinceMicros);
      boolean unknown = arrivedAtMillis.getOrDefault(entry.getKey(), Long.MAX_VALUE) >= asOfMillis;
      if (silent && unknown) {
        for (Charge charge : one.call.charges()) {
          tokens += charge.bucket().equals(bucket) ? charge.cost() : 0;
        }
      }
    }
    return tokens;
  }

  /** Whether somebody was told that the call at this place is kept. */
  boolean wasAnswered(UsagePosition position) {
    return told.containsKey(position.toString());
  }

  /** Whether everything that must come has come. */
  boolean isComplete() {
    return told.entrySet().stream()
        .allMatch(
            entry ->
                arrivedAtMillis.containsKey(entry.getKey()) || isLost(entry.getValue().position()));
  }

  private boolean isLost(UsagePosition position) {
    return lostPlaces.contains(position.toString());
  }

  int answeredCalls() {
    return told.size();
  }

  /** Answered calls that went with a disk. */
  int lostCalls() {
    return lostCalls;
  }

  /** Checks the log against what callers know. */
  void check(List<LogLines.Line> lines) {
    Map<String, LogLines.Line> lineAt = new HashMap<>();
    Map<String, String> placeOfUnanswered = new HashMap<>();
    for (LogLines.Line line : lines) {
      String place = line.position().toString();
      LogLines.Line other = lineAt.putIfAbsent(place, line);
      if (other != null && !other.text().equals(line.text())) {
        throw new InvariantBroken(
            Invariant.BILLED,
            "two lines have the place " + place + ": " + other.text() + line.text());
      }
      if (other == null && !told.containsKey(place)) {
        checkUnanswered(line, place, placeOfUnanswered);
      }
    }
    for (Told expected : told.values()) {
      LogLines.Line found = lineAt.get(expected.position.toString());
      if (found == null && isLost(expected.position)) {
        lostCalls++;
      } else if (!expected.isAt(found == null ? null : found.call())) {
        throw new InvariantBroken(
            Invariant.BILLED,
            "a caller was told "
                + expected
                + ", there is "
                + (found == null ? null : found.text()));
      }
    }
  }

  private void checkUnanswered(
      LogLines.Line line, String place, Map<String, String> placeOfUnanswered) {
    String id = line.call().id();
    if (!unanswered.contains(id) && line.call().idFromCaller()) {
      throw new InvariantBroken(Invariant.BILLED, "nobody asked for " + line.text());
    }
    String other = line.call().idFromCaller() ? null : placeOfUnanswered.put(id, place);
    if (other != null) {
      throw new InvariantBroken(
          Invariant.BILLED, id + " was asked for once and is at " + other + " and " + place);
    }
  }
}
