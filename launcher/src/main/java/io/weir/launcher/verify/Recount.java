// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher.verify;

import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Settlement;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import io.weir.topics.wire.CallLineCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.jspecify.annotations.Nullable;

/**
 * Counts calls the obvious way: every line of every batch, each position of a journal once, each
 * caller's id once, and of each id the first settlement, in the window of its call, if that call
 * was counted. Keeps the runs of positions and every caller's id it saw in memory. Not safe for
 * threads.
 */
final class Recount {
  /** How far ahead of the broker's clock a call may be dated. */
  private static final long MAX_AHEAD_MILLIS = 5 * 60 * 1000;

  private final long windowMillis;
  private final long latenessMillis;
  private final int partitions;
  private final Map<String, Positions> journals = new HashMap<>();
  private final Map<Integer, BrokerTime> brokerTimes = new HashMap<>();
  private final Set<String> callerIds = new HashSet<>();
  private final Set<UsagePosition> refusedLines = new HashSet<>();
  private final Map<Slot, Tally> tallies = new HashMap<>();
  private long lines;
  private long duplicates;
  private long refused;

  Recount(long windowMillis, long latenessMillis, int partitions) {
    this.windowMillis = windowMillis;
    this.latenessMillis = latenessMillis;
    this.partitions = partitions;
  }

  void add(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    if (isCacheLoss(record)) {
      hearCacheLoss(record);
      return;
    }
    byte[] value = record.value();
    BatchHeader header;
    try {
      header = BatchHeaderCodec.decode(name -> header(record, name));
    } catch (MalformedRecordException notABatch) {
      refused += Math.max(1, value == null ? 0 : lines(value));
      return;
    }
    int found = value == null ? 0 : lines(value);
    if (found != header.count()) {
      refused += Math.max(1, found);
      return;
    }
    if (value == null || found == 0) {
      return;
    }
    lines += found;
    BrokerTime broker =
        brokerTimes.computeIfAbsent(record.partition(), first -> new BrokerTime(latenessMillis));
    broker.hear(record.timestamp(), header.lowWatermarkEpochMillis());
    Positions known =
        journals.computeIfAbsent(
            record.partition() + "/" + header.node() + "/" + header.nodeEpoch(),
            first -> new Positions());
    long position = header.linesBefore();
    int start = 0;
    while (start < value.length) {
      int end = start;
      while (end < value.length && value[end] != '\n') {
        end++;
      }
      if (!known.add(++position)) {
        duplicates++;
      } else if (!addLine(record, value, start, end - start)) {
        refused++;
        refusedLines.add(
            new UsagePosition(record.partition(), header.node(), header.nodeEpoch(), position));
      }
      start = end + 1;
    }
  }

  /**
   * The broker's time, up to an hour, or a quarter of the lateness, beyond the newest word of any
   * node.
   */
  private static final class BrokerTime {
    private static final long HOUR_MILLIS = 3_600_000;
    private final long aheadMillis;
    private long newestWordEpochMillis;
    private long believedEpochMillis;

    BrokerTime(long latenessMillis) {
      aheadMillis = Math.min(HOUR_MILLIS, latenessMillis / 4);
    }

    void hear(long brokerEpochMillis, long nodeEpochMillis) {
      if (nodeEpochMillis <= brokerEpochMillis + aheadMillis) {
        newestWordEpochMillis = Math.max(newestWordEpochMillis, nodeEpochMillis);
      }
      believedEpochMillis = Math.max(believedEpochMillis, brokerEpochMillis);
      if (newestWordEpochMillis > 0) {
        believedEpochMillis = Math.min(believedEpochMillis, newestWordEpochMillis + aheadMillis);
      }
    }
  }

  /** What tells calls of one id apart; a settlement is one for its id. */
  private static String which(CallEvent call) {
    return call.settlement() != null
        ? ""
        : '\n' + call.endpoint() + '\n' + call.meter() + '\n' + call.cost();
  }

  private void hearCacheLoss(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    byte[] value = record.value();
    if (value == null) {
      return;
    }
    try {
      brokerTimes
          .computeIfAbsent(record.partition(), first -> new BrokerTime(latenessMillis))
          .hear(record.timestamp(), CacheLossCodec.decode(value).foundAtEpochMillis());
    } catch (MalformedRecordException unread) {
      refused++;
    }
  }

  /** A word about the decision cache, not about calls. */
  private static boolean isCacheLoss(ConsumerRecord<@Nullable String, byte @Nullable []> record) {
    byte[] type = header(record, BatchHeaderCodec.TYPE_HEADER);
    return type != null && new String(type, StandardCharsets.UTF_8).equals(CacheLossCodec.TYPE);
  }

  /** Counts a line that is new; false when it is refused. */
  private boolean addLine(
      ConsumerRecord<@Nullable String, byte @Nullable []> record,
      byte[] value,
      int offset,
      int length) {
    CallEvent call;
    try {
      call = CallLineCodec.decode(value, offset, length);
    } catch (MalformedRecordException notACall) {
      return false;
    }
    BrokerTime broker = brokerTimes.get(record.partition());
    long believed = broker == null ? record.timestamp() : broker.believedEpochMillis;
    long newest = Math.max(believed, record.timestamp());
    if (call.decidedAtEpochMillis() - newest > MAX_AHEAD_MILLIS
        || believed - call.decidedAtEpochMillis() > latenessMillis
        || ClientPartitioner.partition(call.client(), partitions) != record.partition()) {
      return false;
    }
    Settlement settlement = call.settlement();
    if (settlement != null && !isOfCountedCall(settlement, record.partition())) {
      return false;
    }
    long start = call.decidedAtEpochMillis() / windowMillis * windowMillis;
    Slot slot = new Slot(call.client(), call.meter(), call.endpoint(), start, record.partition());
    Tally known = tallies.get(slot);
    String once = call.client() + '\n' + call.id() + '\n' + verdict(call) + which(call);
    boolean repeated = (call.idFromCaller() || settlement != null) && callerIds.contains(once);
    if (repeated && settlement != null) {
      duplicates++;
      return true;
    }
    long units = settlement != null ? settlement.actualCost() - call.cost() : billed(call);
    if (units != 0 && known != null && isOutOfRange(known.quantity + units)) {
      return false;
    }
    if (repeated) {
      duplicates++;
      return true;
    }
    if (call.idFromCaller() || settlement != null) {
      callerIds.add(once);
    }
    Tally tally = tallies.computeIfAbsent(slot, unseen -> new Tally());
    if (settlement != null) {
      tally.quantity = Math.addExact(tally.quantity, units);
    } else if (call.allowed()) {
      tally.quantity = Math.addExact(tally.quantity, call.cost());
      tally.allowed++;
      tally.failOpen += call.decidedBy().withoutCache() ? 1 : 0;
    } else {
      tally.denied++;
    }
    tally.digest += call.digest();
    return true;
  }

  /** A settlement that does not name its call is taken at its word. */
  private boolean isOfCountedCall(Settlement settlement, int partition) {
    UsagePosition call = settlement.call();
    if (call == null) {
      return true;
    }
    Positions journal = journals.get(partition + "/" + call.node() + "/" + call.nodeEpoch());
    return call.partition() == partition
        && journal != null
        && journal.holds(call.line())
        && !refusedLines.contains(call);
  }

  private static String verdict(CallEvent call) {
    return call.settlement() != null ? "settled" : Boolean.toString(call.allowed());
  }

  private static long billed(CallEvent call) {
    return call.allowed() ? call.cost() : 0;
  }

  private static boolean isOutOfRange(long quantity) {
    return quantity > CallEvent.MAX_QUANTITY || quantity < -CallEvent.MAX_QUANTITY;
  }

  private static byte @Nullable [] header(
      ConsumerRecord<@Nullable String, byte @Nullable []> record, String name) {
    Header header = record.headers().lastHeader(name);
    return header == null ? null : header.value();
  }

  private static int lines(byte[] value) {
    int lines = 0;
    for (int i = 0; i < value.length; i++) {
      if (value[i] == '\n' || i == value.length - 1) {
        lines++;
      }
    }
    return lines;
  }

  Map<Slot, Tally> tallies() {
    return tallies;
  }

  long lines() {
    return lines;
  }

  long duplicates() {
    return duplicates;
  }

  long refused() {
    return refused;
  }
}
