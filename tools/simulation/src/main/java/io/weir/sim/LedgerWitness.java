// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.sim.InvariantBroken.Invariant;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Reads the ledger of one partition as a billing job does, and checks every row. */
final class LedgerWitness {
  private final World world;
  private final int partition;
  private final SimulatedLog log;
  private final Set<String> recordIds = new HashSet<>();
  private final TreeMap<String, Row> rows = new TreeMap<>();
  private final TreeMap<Long, CloseRow> closes = new TreeMap<>();
  private final Lateness lateness;
  private long readTo;
  private long rowsSinceClose;
  private long quantitySinceClose;

  /** The sum of the rows of one key and window that were read so far. */
  private static final class Row {
    final Recount.Sum sum = new Recount.Sum();
    long revision;
    @Nullable String recordId;
  }

  LedgerWitness(World world, int partition) {
    this.world = world;
    this.partition = partition;
    this.log = world.kafka().ledger(partition);
    this.lateness = new Lateness(world, partition);
  }

  /** Reads the records that were committed since the last call of this method. */
  void read() {
    for (; readTo < log.end(); readTo++) {
      LedgerRow row = decode(log.at(readTo).value());
      if (!recordIds.add(row.recordId())) {
        throw broken("the record id " + row.recordId() + " occurs in an earlier row and in " + row);
      }
      if (row instanceof UsageRow usage) {
        take(usage);
      } else {
        take((CloseRow) row);
      }
    }
  }

  private static LedgerRow decode(byte[] value) {
    try {
      return LedgerRowCodec.decode(value);
    } catch (MalformedRecordException malformed) {
      throw new InvariantBroken(Invariant.CLOSED_ROWS, "a row cannot be read: " + malformed);
    }
  }

  private static InvariantBroken broken(String detail) {
    return new InvariantBroken(Invariant.CLOSED_ROWS, detail);
  }

  private void take(UsageRow usage) {
    String name = Recount.name(usage.key(), usage.window());
    Row row = rows.computeIfAbsent(name, unseen -> new Row());
    int home = ClientPartitioner.partition(usage.key().client(), world.kafka().partitions());
    if (usage.inputPartition() != partition || home != partition) {
      throw broken("partition " + partition + " contains a row of another partition: " + usage);
    }
    if (usage.revision() != row.revision + 1
        || !Objects.equals(usage.previousRecordId(), row.recordId)) {
      throw broken("revision " + row.revision + " of " + name + " is followed by " + usage);
    }
    if (usage.type() == UsageRow.Type.FINAL && usage.revision() != 1) {
      throw broken("a FINAL is not the first row of its key: " + usage);
    }
    row.sum.add(
        usage.count().quantity(),
        usage.count().callsAllowed(),
        usage.count().callsDenied(),
        usage.count().eventsDigest());
    row.revision = usage.revision();
    row.recordId = usage.recordId();
    if (usage.quantityTotal() != row.sum.quantity) {
      throw broken("rows of " + name + " sum to " + row.sum.quantity + ", unlike in " + usage);
    }
    rowsSinceClose++;
    quantitySinceClose += usage.count().quantity();
    checkPlace(usage);
  }

  private void checkPlace(UsageRow usage) {
    Map.Entry<Long, CloseRow> close = closes.ceilingEntry(usage.window().endEpochMillis());
    boolean isFinal = usage.type() == UsageRow.Type.FINAL;
    if (isFinal && close != null) {
      throw new InvariantBroken(
          Invariant.CLOSE, "the CLOSE of " + close.getKey() + " precedes " + usage);
    }
    if (!isFinal && usage.closedThroughEpochMillis() < usage.window().endEpochMillis()) {
      throw broken("an open window was adjusted: " + usage);
    }
    if (close != null && close.getValue().complete() && usage.count().lateCount() > 0) {
      lateness.explain(usage, close.getValue());
    }
  }

  private void take(CloseRow close) {
    if (!closes.isEmpty() && close.closedThroughEpochMillis() <= closes.lastKey()) {
      throw new InvariantBroken(
          Invariant.CLOSE, "after the CLOSE of " + closes.lastKey() + " comes " + close);
    }
    if (close.rows() != rowsSinceClose || close.quantityTotal() != quantitySinceClose) {
      throw new InvariantBroken(
          Invariant.CLOSE,
          rowsSinceClose + " rows with the sum " + quantitySinceClose + " precede " + close);
    }
    rowsSinceClose = 0;
    quantitySinceClose = 0;
    closes.put(close.closedThroughEpochMillis(), close);
  }

  /** Returns the time up to which the partition is closed; 0 before the first CLOSE. */
  long closedThrough() {
    return closes.isEmpty() ? 0 : closes.lastKey();
  }

  /** Compares all rows with the expected sums. */
  void check(Map<String, Recount.Sum> expected) {
    for (Map.Entry<String, Recount.Sum> must : expected.entrySet()) {
      Row row = rows.get(must.getKey());
      if (row == null || !row.sum.isSame(must.getValue())) {
        throw new InvariantBroken(
            Invariant.BILLED,
            must.getKey()
                + " must be "
                + must.getValue()
                + ", the ledger says "
                + (row == null ? "nothing" : row.sum));
      }
    }
    for (Map.Entry<String, Row> row : rows.entrySet()) {
      if (!expected.containsKey(row.getKey())) {
        throw new InvariantBroken(
            Invariant.BILLED,
            "no call belongs to the row " + row.getKey() + " of " + row.getValue().sum);
      }
    }
  }

  /** Returns the quantity of a row; null if the ledger has no such row. */
  @Nullable Long quantityOf(String name) {
    Row row = rows.get(name);
    return row == null ? null : row.sum.quantity;
  }
}
