// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.sim;

import io.weir.topics.model.CallEvent;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageWindow;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Counts a partition again in the slow, obvious way: each line of a journal once, each id of a
 * caller once a verdict, of each call the first settlement. Knows nothing of batch numbers,
 * watermarks or stores.
 */
final class Recount {
  private final TreeMap<String, Sum> rows = new TreeMap<>();
  private final Set<String> lines = new HashSet<>();
  private final Set<String> ids = new HashSet<>();

  /** What one row of the ledger must come to. */
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

  Recount(List<LogLines.Line> all) {
    for (LogLines.Line line : all) {
      if (lines.add(line.position().toString())) {
        add(line.call());
      }
    }
  }

  private void add(CallEvent call) {
    boolean settles = call.settlement() != null;
    String verdict = settles ? "settled" : call.allowed() ? "allowed" : "denied";
    boolean mayRepeat = call.idFromCaller() || settles;
    // another endpoint, meter or cost under the same id is another call
    String which = settles ? "" : call.endpoint() + " " + call.meter() + " " + call.cost();
    if (mayRepeat && !ids.add(verdict + " " + call.client() + " " + call.id() + " " + which)) {
      return;
    }
    UsageWindow window = UsageWindow.holding(call.decidedAtEpochMillis(), Plan.WINDOW_MILLIS);
    rows.computeIfAbsent(
            name(new UsageKey(call.client(), call.meter(), call.endpoint()), window),
            unseen -> new Sum())
        .add(
            call.quantity(),
            settles || !call.allowed() ? 0 : 1,
            settles || call.allowed() ? 0 : 1,
            call.digest());
  }

  /** Names a row of the ledger. */
  static String name(UsageKey key, UsageWindow window) {
    return key.client()
        + " "
        + key.meter()
        + " "
        + key.endpoint()
        + " "
        + window.startEpochMillis();
  }

  /** What each row must come to, by its name. */
  Map<String, Sum> rows() {
    return rows;
  }
}
