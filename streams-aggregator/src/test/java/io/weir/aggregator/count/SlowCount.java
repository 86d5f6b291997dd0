// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.PartitionProgress.Counters;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A slow, obvious implementation of the counting rules: keeps every record forever and evaluates
 * all of them for each result. It shares no code with the real one but the records of the model.
 */
final class SlowCount {
  /** A row as far as a replay must repeat it. */
  record Row(
      String type,
      long revision,
      long windowStart,
      String client,
      String endpoint,
      long quantity,
      long allowed,
      long denied,
      long late,
      long duplicates,
      long closedThrough,
      String period) {}

  /** The name of the others row; no endpoint has it. */
  static final String OTHERS = "";

  private record Arrived(BatchHeader header, long at, int order) {}

  private record Part(Key key, String reason) {}

  private record Key(long windowStart, String client, String endpoint) {}

  private static final class Sum {
    long quantity;
    long allowed;
    long denied;
    long duplicates;

    void add(CallEvent call) {
      if (call.settlement() != null) {
        quantity += call.settlement().actualCost() - call.cost();
        return;
      }
      quantity += call.allowed() ? call.cost() : 0;
      allowed += call.allowed() ? 1 : 0;
      denied += call.allowed() ? 0 : 1;
    }
  }

  final List<Row> rows = new ArrayList<>();
  final List<Long> closes = new ArrayList<>();
  private final CountSettings settings;
  private final List<Arrived> arrived = new ArrayList<>();
  private final Set<String> seenBatches = new HashSet<>();
  private final Set<String> seenIds = new HashSet<>();

  /** True if the first line of a call was counted; by the call's name. */
  private final Map<String, Boolean> fates = new HashMap<>();

  private final Map<Key, Sum> openSums = new LinkedHashMap<>();
  private final Map<Key, Long> revisions = new HashMap<>();

  /** The billing period of each key and window: what its first counted line says. */
  private final Map<Key, String> periods = new HashMap<>();

  /** Each row in which something was counted. */
  private final Set<Key> began = new HashSet<>();

  private long boundary;
  private long watermark;
  private long now;
  private long received;
  private long counted;
  private long duplicate;
  private long late;
  private long quarantined;
  private long inOtherRows;

  /** Lines that say another billing period than the first line of their key and window. */
  long periodConflicts;

  SlowCount(CountSettings settings) {
    this.settings = settings;
  }

  Counters counters() {
    return new Counters(received, counted, duplicate, late, quarantined);
  }

  long inOtherRows() {
    return inOtherRows;
  }

  void refuse(long lines) {
    received += Math.max(1, lines);
    quarantined += Math.max(1, lines);
  }

  /** Takes a batch whose lines are all calls, some of them perhaps of other partitions. */
  void take(BatchHeader header, List<CallEvent> calls, long at) {
    now = Math.max(now, at);
    if (!header.isHeartbeat()) {
      received += calls.size();
      if (!seenBatches.add(header.node() + "/" + header.nodeEpoch() + "/" + header.linesEnd())) {
        duplicate += calls.size();
        return;
      }
    }
    Map<Part, Sum> lateSums = new LinkedHashMap<>();
    for (CallEvent call : calls) {
      takeCall(call, lateSums);
    }
    arrived.add(new Arrived(header, now, arrived.size()));
    lateSums.forEach((part, sum) -> adjust(part.key(), sum));
    closeWhatIsDue();
  }

  private void takeCall(CallEvent call, Map<Part, Sum> lateSums) {
    long decidedAt = call.decidedAtEpochMillis();
    boolean isMisplaced =
        call.client().startsWith("foreign")
            || decidedAt > now + 300_000
            || decidedAt < now - settings.latenessMillis();
    String name = call.client() + "/" + call.id() + which(call);
    if (call.settlement() == null) {
      fates.putIfAbsent(name, !isMisplaced);
    }
    if (isMisplaced || (call.settlement() != null && !fates.getOrDefault(name, false))) {
      quarantined++;
      return;
    }
    long start = decidedAt / settings.windowMillis() * settings.windowMillis();
    Key key = rowOf(start, call);
    boolean isLate = start + settings.windowMillis() <= boundary;
    String kind =
        call.settlement() == null
            ? "" + call.allowed()
            : call.settlement().actualCost() == 0 ? "void" : "settled";
    String once = call.settlement() == null ? kind : "settlement";
    if ((call.idFromCaller() || call.settlement() != null)
        && !seenIds.add(call.client() + "/" + call.id() + "/" + once + which(call))) {
      duplicate++;
      if (!isLate && openSums.containsKey(key)) {
        openSums.get(key).duplicates++;
      }
    } else if (isLate) {
      late++;
      begin(key, call);
      String reason = call.settlement() == null ? "late" : kind;
      lateSums.computeIfAbsent(new Part(key, reason), k -> new Sum()).add(call);
    } else {
      counted++;
      begin(key, call);
      openSums.computeIfAbsent(key, k -> new Sum()).add(call);
    }
  }

  private void notePeriod(Key key, CallEvent call) {
    String said = period(call, key.windowStart());
    String first = periods.putIfAbsent(key, said);
    periodConflicts += first == null || first.equals(said) ? 0 : 1;
  }

  /** Returns the endpoint's own row if it has or may have one, otherwise the others row. */
  private Key rowOf(long start, CallEvent call) {
    Key own = new Key(start, call.client(), call.endpoint());
    long ownRows =
        began.stream()
            .filter(key -> key.windowStart() == start && key.client().equals(call.client()))
            .filter(key -> !key.endpoint().equals(OTHERS))
            .count();
    return began.contains(own) || ownRows < settings.maxEndpoints()
        ? own
        : new Key(start, call.client(), OTHERS);
  }

  private void begin(Key key, CallEvent call) {
    began.add(key);
    inOtherRows += key.endpoint().equals(OTHERS) ? 1 : 0;
    notePeriod(key, call);
  }

  private static String period(CallEvent call, long windowStart) {
    BilledIn billing = call.billing();
    if (billing == null) {
      return Instant.ofEpochMilli(windowStart).toString().substring(0, 7);
    }
    BillingPeriod before = billing.before();
    return windowStart < billing.period().startEpochMillis() && before != null
        ? before.toString()
        : billing.period().toString();
  }

  private static String which(CallEvent call) {
    return "/" + call.endpoint() + "/" + call.meter() + "/" + call.cost();
  }

  private void adjust(Key key, Sum sum) {
    rows.add(row("ADJUSTMENT", key, sum, sum.allowed + sum.denied, boundary));
  }

  private Row row(String type, Key key, Sum sum, long lateCount, long closedThrough) {
    long revision = revisions.merge(key, 1L, Long::sum);
    return new Row(
        type,
        revision,
        key.windowStart(),
        key.client(),
        key.endpoint(),
        sum.quantity,
        sum.allowed,
        sum.denied,
        lateCount,
        sum.duplicates,
        closedThrough,
        periods.getOrDefault(key, ""));
  }

  private void closeWhatIsDue() {
    watermark = Math.max(watermark, watermarkNow());
    long due =
        Math.max(0, watermark - settings.graceMillis())
            / settings.windowMillis()
            * settings.windowMillis();
    if (due <= boundary) {
      return;
    }
    boundary = due;
    closes.add(due);
    openSums.forEach(
        (key, sum) -> {
          if (key.windowStart() + settings.windowMillis() <= due) {
            rows.add(row("FINAL", key, sum, 0, due));
          }
        });
    openSums.keySet().removeIf(key -> key.windowStart() + settings.windowMillis() <= due);
  }

  private long watermarkNow() {
    Map<String, List<Arrived>> journals = new TreeMap<>();
    Map<String, Long> newestEpoch = new HashMap<>();
    long newest = 0;
    for (Arrived one : arrived) {
      BatchHeader header = one.header();
      journals
          .computeIfAbsent(header.node() + "/" + header.nodeEpoch(), k -> new ArrayList<>())
          .add(one);
      newestEpoch.merge(header.node(), header.nodeEpoch(), Math::max);
      newest = Math.max(newest, lowWatermark(one));
    }
    long holdUntil = newest - settings.maxHoldMillis();
    long least = Long.MAX_VALUE;
    long greatest = 0;
    for (List<Arrived> journal : journals.values()) {
      long believed = believed(journal, holdUntil);
      greatest = Math.max(greatest, believed);
      BatchHeader last = journal.get(journal.size() - 1).header();
      boolean departed =
          hasDeparted(journal) || last.nodeEpoch() < newestEpoch.getOrDefault(last.node(), 0L);
      if (!departed && believed >= holdUntil) {
        least = Math.min(least, believed);
      }
    }
    return least == Long.MAX_VALUE ? greatest : least;
  }

  /** A record from before the departure, such as a retry, does not revoke it. */
  private static boolean hasDeparted(List<Arrived> journal) {
    boolean departed = false;
    long greatest = 0;
    for (Arrived one : journal) {
      BatchHeader header = one.header();
      departed =
          header.isHeartbeat() ? header.departing() : departed && header.linesEnd() <= greatest;
      greatest = Math.max(greatest, header.linesEnd());
    }
    return departed;
  }

  private static long lowWatermark(Arrived one) {
    return Math.min(one.header().lowWatermarkEpochMillis(), one.at());
  }

  /** Tries every number as the end of the trusted lines, from the least to the greatest. */
  private static long believed(List<Arrived> journal, long holdUntil) {
    TreeSet<Long> lines = new TreeSet<>();
    long greatestNumber = 0;
    for (Arrived one : journal) {
      if (!one.header().isHeartbeat()) {
        for (long line = one.header().linesBefore() + 1; line <= one.header().linesEnd(); line++) {
          lines.add(line);
        }
      }
      greatestNumber = Math.max(greatestNumber, one.header().linesEnd());
    }
    long believed = Math.min(journal.get(0).header().nodeEpoch(), lowWatermark(journal.get(0)));
    boolean waiting = false;
    for (long end = 0; end <= greatestNumber; end++) {
      boolean present = end == 0 || lines.contains(end);
      if (!present && believed >= holdUntil) {
        waiting = true;
      }
      if (waiting) {
        break;
      }
      if (present || end == greatestNumber) {
        long bound = end;
        believed =
            Math.max(
                believed,
                journal.stream()
                    .filter(one -> one.header().linesEnd() == bound)
                    .filter(one -> !isForgotten(one, journal))
                    .mapToLong(SlowCount::lowWatermark)
                    .max()
                    .orElse(0));
      }
    }
    return believed;
  }

  /**
   * Of heartbeats that count lines still missing only the newest is remembered: an older one is
   * forgotten when a greater number comes before its line arrives.
   */
  private static boolean isForgotten(Arrived one, List<Arrived> journal) {
    if (!one.header().isHeartbeat() || one.header().linesEnd() == 0) {
      return false;
    }
    long number = one.header().linesEnd();
    boolean isAfter = false;
    boolean greaterSince = false;
    for (Arrived other : journal) {
      if (other.order() == one.order()) {
        isAfter = true;
      } else if (!other.header().isHeartbeat() && other.header().linesEnd() == number) {
        return greaterSince;
      } else if (isAfter && other.header().linesEnd() > number) {
        greaterSince = true;
      }
    }
    return greaterSince;
  }
}
