// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.SettlementVerdict.Outcome;
import io.weir.topics.model.SettlementVerdict.Standing;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.model.UsageWindow;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Counts a partition again in a slow, obvious way. Counts each line of a journal once, each id of a
 * caller once per verdict, and the first settlement of each call. The first endpoints of a window
 * have rows of their own. All other endpoints share one row. Uses no batch numbers, watermarks or
 * stores.
 */
final class Recount {
  private final int maxEndpoints;
  private final TreeMap<String, Sum> rows = new TreeMap<>();

  /**
   * The endpoints that have rows of their own. The key is the name of the row that the other
   * endpoints share.
   */
  private final Map<String, Set<String>> ownEndpoints = new HashMap<>();

  private final Set<String> lines = new HashSet<>();
  private final Set<String> ids = new HashSet<>();
  private final Map<String, Standing> settled = new HashMap<>();
  private final List<SettlementVerdict> verdicts = new ArrayList<>();

  /** The expected sum of one row of the ledger. */
  static final class Sum {
    long quantity;
    long allowed;
    long denied;
    long digest;

    void add(long moreQuantity, long moreAllowed, long moreDenied, long moreDigest) {
      quantity += moreQuantity;
      allowed += moreAllowed;
      denied += moreDenied;
      digest += moreDigest;
    }

    boolean isSame(Sum other) {
      return quantity == other.quantity
          && allowed == other.allowed
          && denied == other.denied
          && digest == other.digest;
    }

    @Override
    public String toString() {
      return "quantity=" + quantity + " allowed=" + allowed + " denied=" + denied;
    }
  }

  Recount(List<LogLines.Line> all, int maxEndpoints) {
    this.maxEndpoints = maxEndpoints;
    for (LogLines.Line line : all) {
      if (lines.add(line.position().toString())) {
        add(line.call(), line.position(), line.digest());
      }
    }
  }

  private void add(CallEvent call, UsagePosition position, long digest) {
    CallSettlement settlement = call.settlement();
    if (settlement != null ? !stands(call, settlement, position) : isRepeated(call)) {
      return;
    }
    boolean settles = settlement != null;
    UsageWindow window = UsageWindow.holding(call.decidedAtEpochMillis(), Plan.WINDOW_MILLIS);
    rows.computeIfAbsent(name(rowOf(call, window), window), unseen -> new Sum())
        .add(
            call.quantity(),
            settles || !call.allowed() ? 0 : 1,
            settles || call.allowed() ? 0 : 1,
            digest);
  }

  /**
   * Returns the row of a call. The first endpoints of a client and meter in a window have rows of
   * their own. All other endpoints share one row.
   */
  private UsageKey rowOf(CallEvent call, UsageWindow window) {
    UsageKey others = UsageKey.others(call.client(), call.meter());
    Set<String> own = ownEndpoints.computeIfAbsent(name(others, window), first -> new HashSet<>());
    if (own.size() < maxEndpoints) {
      own.add(call.endpoint());
    }
    return own.contains(call.endpoint())
        ? new UsageKey(call.client(), call.meter(), call.endpoint())
        : others;
  }

  private boolean isRepeated(CallEvent call) {
    String verdict = call.allowed() ? "allowed" : "denied";
    return call.idFromCaller() && !ids.add(verdict + " " + nameOf(call));
  }

  /**
   * Returns the name of a call. A call with the same id but another endpoint, meter or cost is
   * another call, and has another name.
   */
  static String nameOf(CallEvent call) {
    return String.join(
        " ", call.client(), call.id(), call.endpoint(), call.meter(), "" + call.cost());
  }

  /** Judges a settlement, and returns whether it is the first settlement of a recorded call. */
  private boolean stands(CallEvent call, CallSettlement settlement, UsagePosition position) {
    UsagePosition place = settlement.call();
    String refusal =
        place == null
            ? "the settlement does not name the line of its call"
            : lines.contains(place.toString()) ? null : "the settled call was not counted";
    Standing mine = new Standing(settlement.actualCost(), position);
    Standing before = refusal == null ? settled.putIfAbsent(nameOf(call), mine) : null;
    Outcome outcome =
        refusal != null
            ? Outcome.REFUSED
            : before == null ? Outcome.STANDS : Outcome.SETTLED_BEFORE;
    Standing standing = refusal != null ? null : before == null ? mine : before;
    verdicts.add(
        new SettlementVerdict(position, call.client(), call.id(), outcome, standing, refusal));
    return outcome == Outcome.STANDS;
  }

  /** Returns the expected verdict on each settlement, in the order of the log. */
  List<SettlementVerdict> verdicts() {
    return verdicts;
  }

  /** Returns the name of a row of the ledger. */
  static String name(UsageKey key, UsageWindow window) {
    return key.client()
        + " "
        + key.meter()
        + " "
        + (key.others() ? "(others)" : key.endpoint())
        + " "
        + window.startEpochMillis();
  }

  /** Returns the expected sum of each row, by the row's name. */
  Map<String, Sum> rows() {
    return rows;
  }
}
