// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import io.weir.aggregator.count.CountOutput;
import io.weir.aggregator.count.CountSettings;
import io.weir.aggregator.count.PartitionCounter;
import io.weir.aggregator.count.SeenIds;
import io.weir.aggregator.count.SourceRecord;
import io.weir.aggregator.state.ByteStore;
import io.weir.limits.correction.Correction;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.Replay;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.QuarantineHeaders;
import io.weir.topics.wire.UsageStateCodec;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.jspecify.annotations.Nullable;

/**
 * One partition that the aggregator's own counting has counted, and the verification of what it
 * wrote, in memory. Not thread-safe.
 */
final class CountedPartition implements CountOutput {
  private final CountSettings settings;
  private final PartitionCounter.Stores stores;
  private final List<ConsumerRecord<@Nullable String, byte @Nullable []>> calls = new ArrayList<>();
  private final List<ConsumerRecord<@Nullable String, byte @Nullable []>> ledger =
      new ArrayList<>();
  private final List<ConsumerRecord<@Nullable String, byte @Nullable []>> state = new ArrayList<>();
  private final List<ConsumerRecord<@Nullable String, byte @Nullable []>> quarantine =
      new ArrayList<>();
  private PartitionCounter counter;
  long inOtherRows;

  /**
   * Creates a partition of which nothing is counted.
   *
   * @param rows makes the stores of rows that the counting sees of the real ones
   */
  CountedPartition(CountSettings settings, UnaryOperator<ByteStore> rows) {
    this.settings = settings;
    this.stores =
        new PartitionCounter.Stores(
            rows.apply(new SortedStore()),
            rows.apply(new SortedStore()),
            new SortedStore(),
            new SortedStore(),
            new KeptIds());
    this.counter = start();
  }

  private PartitionCounter start() {
    return new PartitionCounter(0, 1, settings, stores, this, client -> 0, this::newestEpochMillis);
  }

  private long newestEpochMillis() {
    return calls.isEmpty() ? 0 : calls.get(calls.size() - 1).timestamp();
  }

  /** Returns the rows of the ledger, which a test may change. */
  List<ConsumerRecord<@Nullable String, byte @Nullable []>> ledger() {
    return ledger;
  }

  /** Starts again from the stored state, after a commit. */
  void restart() {
    counter.flush();
    counter = start();
  }

  /** Takes a batch, or a heartbeat if there are no lines. */
  void take(BatchHeader header, List<CallEvent> lines, long appendEpochMillis) {
    Map<String, byte[]> headers = BatchHeaderCodec.encode(header);
    byte[] value = CallBatchWriter.encode(lines);
    calls.add(record("calls", calls, appendEpochMillis, null, value, headers));
    counter.take(new SourceRecord(calls.size() - 1L, appendEpochMillis, value, headers::get));
  }

  /** Writes so many rows of closed windows. */
  void close(int rows) {
    int[] left = {rows};
    counter.close(() -> left[0]-- <= 0);
  }

  void publish() {
    counter.publish(() -> false);
  }

  /** Verifies all windows as {@code weir verify} does; returns the differences. */
  List<String> differences(Path folder, long endEpochMillis) throws IOException {
    Range range = new Range(0, endEpochMillis, settings.windowMillis(), null);
    try (VerifyData data = new VerifyData(range, false, folder)) {
      state.forEach(data.state::add);
      ledger.forEach(data.ledger::add);
      quarantine.forEach(data.quarantine::add);
      try (CallRecount recount = new CallRecount(data, settings.latenessMillis(), 1, Set.of())) {
        calls.forEach(recount::add);
        recount.finish();
        Map<Integer, Long> begins = Map.of(0, 0L);
        Map<Integer, Long> ends = Map.of(0, (long) calls.size());
        data.quarantine.finish(begins, ends);
        new LedgerComparison(data, recount, endEpochMillis, begins, ends).run();
      }
      return data.differences.kept();
    }
  }

  private static ConsumerRecord<@Nullable String, byte @Nullable []> record(
      String topic,
      List<ConsumerRecord<@Nullable String, byte @Nullable []>> log,
      long atEpochMillis,
      @Nullable String key,
      byte[] value,
      Map<String, byte[]> headers) {
    RecordHeaders added = new RecordHeaders();
    headers.forEach(added::add);
    return new ConsumerRecord<>(
        topic,
        0,
        log.size(),
        atEpochMillis,
        TimestampType.LOG_APPEND_TIME,
        0,
        value.length,
        key,
        value,
        added,
        Optional.empty());
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  @Override
  public void ledger(LedgerRow row, long timestampEpochMillis) {
    byte[] value = LedgerRowCodec.encode(row);
    String key = row instanceof UsageRow usage ? usage.key().client() : null;
    ledger.add(record("ledger", ledger, timestampEpochMillis, key, value, Map.of()));
  }

  @Override
  public void state(UsageState figures, long timestampEpochMillis) {
    typed(
        UsageStateCodec.TYPE,
        UsageStateCodec.key(figures),
        UsageStateCodec.encode(figures),
        timestampEpochMillis);
  }

  @Override
  public void progress(PartitionProgress progress, long timestampEpochMillis) {
    inOtherRows = progress.inOtherRows();
    typed(
        PartitionProgressCodec.TYPE,
        PartitionProgressCodec.key(0),
        PartitionProgressCodec.encode(progress),
        timestampEpochMillis);
  }

  private void typed(String type, String key, byte[] value, long timestampEpochMillis) {
    state.add(
        record("state", state, timestampEpochMillis, key, value, Map.of("weir-type", utf8(type))));
  }

  @Override
  public void quarantine(byte[] value, int line, String reason) {
    long offset = calls.size() - 1L;
    Map<String, byte[]> headers = new HashMap<>();
    headers.put(QuarantineHeaders.REASON, utf8(reason));
    headers.put(QuarantineHeaders.SOURCE, utf8("weir.calls.v1-0-" + offset));
    if (line > 0) {
      headers.put(QuarantineHeaders.LINE, utf8(Integer.toString(line)));
    }
    long at = calls.get((int) offset).timestamp();
    quarantine.add(record("quarantine", quarantine, at, null, value, headers));
  }

  @Override
  public void settled(SettlementVerdict verdict, long timestampEpochMillis) {}

  @Override
  public void replayed(Replay replay, List<Integer> lines) {}

  @Override
  public void correction(Correction correction, long timestampEpochMillis) {}

  @Override
  public void restored(CacheRestored restored, long timestampEpochMillis) {}

  @Override
  public void accuracy(PartitionAccuracy accuracy, long timestampEpochMillis) {}

  private static final class SortedStore implements ByteStore {
    private final TreeMap<byte[], byte[]> map = new TreeMap<>(Arrays::compareUnsigned);

    @Override
    public byte @Nullable [] get(byte[] key) {
      return map.get(key);
    }

    @Override
    public void put(byte[] key, byte[] value) {
      map.put(key, value);
    }

    @Override
    public void delete(byte[] key) {
      map.remove(key);
    }

    @Override
    public List<Entry> scan(byte[] from, byte[] to, int maxEntries) {
      return map.subMap(from, to).entrySet().stream()
          .limit(maxEntries)
          .map(entry -> new Entry(entry.getKey(), entry.getValue()))
          .toList();
    }
  }

  /** Keeps every id; the histories are shorter than a call may be late. */
  private static final class KeptIds implements SeenIds {
    private final Map<ByteBuffer, String> texts = new HashMap<>();

    @Override
    public @Nullable String find(byte[] key, long appendEpochMillis) {
      return texts.get(ByteBuffer.wrap(key));
    }

    @Override
    public void remember(byte[] key, String text, long appendEpochMillis) {
      texts.put(ByteBuffer.wrap(key.clone()), text);
    }
  }
}
