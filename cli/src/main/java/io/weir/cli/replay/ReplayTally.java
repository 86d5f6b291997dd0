// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.replay;

import io.weir.cli.records.CallLine;
import io.weir.cli.replay.ReplayReport.Finding;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/** Counts of what was compared, and the differences found. Not thread-safe. */
final class ReplayTally {
  /** Maximum number of differences to keep: the earliest ones. */
  static final int MAX_FINDINGS = 20;

  private final Map<Cause, Long> causes = new EnumMap<>(Cause.class);
  private final PriorityQueue<Finding> latestFirst =
      new PriorityQueue<>(Finding.IN_ORDER.reversed());
  private final Map<CallLine.By, long[]> callsBy = new EnumMap<>(CallLine.By.class);

  long allowed;

  /** Number of calls whose buckets and limits follow from the policies of their version. */
  long equalCalls;

  /** Number of stamps that follow from the previous record. */
  long equalStamps;

  /** Number of repeated denials whose bucket had too few tokens for the cost. */
  long equalDenials;

  /** Number of stamps that were recorded twice, and compared once. */
  long repeatedRows;

  long unreadable;

  /** Number of differences without a known cause. */
  long unexplained;

  /** Tokens that were charged without a record. */
  long gapTokens;

  void call(CallLine call) {
    callsBy.computeIfAbsent(call.decidedBy, by -> new long[1])[0]++;
    allowed += call.allowed ? 1 : 0;
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

  void add(ReplayTally other) {
    other.causes.forEach((cause, count) -> causes.merge(cause, count, Long::sum));
    other.callsBy.forEach(
        (by, calls) -> callsBy.computeIfAbsent(by, each -> new long[1])[0] += calls[0]);
    allowed += other.allowed;
    equalCalls += other.equalCalls;
    equalStamps += other.equalStamps;
    equalDenials += other.equalDenials;
    gapTokens += other.gapTokens;
    repeatedRows += other.repeatedRows;
    unreadable += other.unreadable;
    long kept = other.latestFirst.size();
    other.latestFirst.forEach(this::unexplained);
    unexplained += other.unexplained - kept;
  }

  long calls() {
    return callsBy.values().stream().mapToLong(calls -> calls[0]).sum();
  }

  /**
   * Returns the number of calls by the wire name of {@code decided_by}; omits names without calls.
   */
  Map<String, Long> callsByDecider() {
    Map<String, Long> calls = new LinkedHashMap<>();
    callsBy.forEach((by, count) -> calls.put(by.shown(), count[0]));
    return calls;
  }

  /** Returns the number of differences by cause, in order of the causes. */
  Map<Cause, Long> causes() {
    return causes;
  }

  /** Returns the earliest differences without a known cause, in order of time. */
  List<Finding> findings() {
    List<Finding> findings = new ArrayList<>(latestFirst);
    findings.sort(Finding.IN_ORDER);
    return findings;
  }
}
