// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/** What was compared, and what came of it. Not thread-safe. */
final class Tally {
  /** Most differences that are kept: the earliest ones. */
  static final int MAX_FINDINGS = 20;

  private final Map<Cause, Long> causes = new EnumMap<>(Cause.class);
  private final PriorityQueue<Finding> latestFirst =
      new PriorityQueue<>(Finding.IN_ORDER.reversed());
  private final Map<CallLine.By, long[]> callsBy = new EnumMap<>(CallLine.By.class);
  private long allowed;
  private long equalCalls;
  private long equalStamps;
  private long equalDenials;
  private long unexplained;
  private long gapTokens;
  private long repeatedRows;

  /** Counts a call that was read. */
  void call(CallLine call) {
    callsBy.computeIfAbsent(call.decidedBy, by -> new long[1])[0]++;
    allowed += call.allowed ? 1 : 0;
  }

  /** Counts a call whose buckets and limits are those of its policies. */
  void equalCall() {
    equalCalls++;
  }

  /** Counts a stamp that follows from the one before. */
  void equalStamp() {
    equalStamps++;
  }

  /** Counts a repeated denial of a bucket that could not hold the cost. */
  void equalDenial() {
    equalDenials++;
  }

  /** Counts a stamp that stands twice. */
  void repeatedRow() {
    repeatedRows++;
  }

  void explained(Cause cause) {
    causes.merge(cause, 1L, Long::sum);
  }

  void gap(long tokens) {
    explained(Cause.GAP);
    gapTokens += tokens;
  }

  void unexplained(Finding finding) {
    unexplained++;
    latestFirst.add(finding);
    if (latestFirst.size() > MAX_FINDINGS) {
      latestFirst.remove();
    }
  }

  void add(Tally other) {
    other.causes.forEach((cause, count) -> causes.merge(cause, count, Long::sum));
    other.callsBy.forEach(
        (by, calls) -> callsBy.computeIfAbsent(by, each -> new long[1])[0] += calls[0]);
    allowed += other.allowed;
    equalCalls += other.equalCalls;
    equalStamps += other.equalStamps;
    equalDenials += other.equalDenials;
    gapTokens += other.gapTokens;
    repeatedRows += other.repeatedRows;
    long kept = other.latestFirst.size();
    other.latestFirst.forEach(this::unexplained);
    unexplained += other.unexplained - kept;
  }

  /** Returns how many calls were read. */
  long calls() {
    return callsBy.values().stream().mapToLong(calls -> calls[0]).sum();
  }

  /** Returns how many of them were allowed. */
  long allowed() {
    return allowed;
  }

  /** Returns how many were decided by each decider that decided any, by its wire name. */
  Map<String, Long> callsByDecider() {
    Map<String, Long> calls = new LinkedHashMap<>();
    callsBy.forEach((by, count) -> calls.put(by.shown(), count[0]));
    return calls;
  }

  long equalCalls() {
    return equalCalls;
  }

  long equalStamps() {
    return equalStamps;
  }

  long equalDenials() {
    return equalDenials;
  }

  long unexplained() {
    return unexplained;
  }

  long gapTokens() {
    return gapTokens;
  }

  long repeatedRows() {
    return repeatedRows;
  }

  /** Returns how often each cause was found, in the order of the causes. */
  Map<Cause, Long> causes() {
    return causes;
  }

  /** Returns the earliest differences that nothing explains, in the order of their times. */
  List<Finding> findings() {
    List<Finding> findings = new ArrayList<>(latestFirst);
    findings.sort(Finding.IN_ORDER);
    return findings;
  }
}
