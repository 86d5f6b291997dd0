// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import io.weir.aggregator.state.ByteStore;
import io.weir.limits.correction.Correction;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.BatchHeader;
import io.weir.topics.model.CacheLoss;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.Replay;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.UsagePosition;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.UsageStateCodec;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A partition whose stores and outputs are in memory, for tests. */
public final class Memory implements CountOutput {
  public final Store open = new Store();
  public final Store closed = new Store();
  public final Store progress = new Store();
  public final Store buckets = new Store();
  private final Ids ids;
  public final List<LedgerRow> ledger = new ArrayList<>();
  public final Map<String, UsageState> states = new LinkedHashMap<>();
  public final List<String> refusals = new ArrayList<>();

  /** The values in the quarantine. */
  public final List<byte[]> refused = new ArrayList<>();

  /** Replays that were written: place, and lines. */
  public final List<String> replays = new ArrayList<>();

  public final List<Correction> corrections = new ArrayList<>();
  public final List<CacheRestored> restored = new ArrayList<>();
  public final List<SettlementVerdict> verdicts = new ArrayList<>();
  public @Nullable PartitionProgress published;
  public @Nullable PartitionAccuracy accuracy;

  private final CountSettings settings;
  public PartitionCounter counter;
  private final Map<String, UsagePosition> positions = new HashMap<>();
  private long offset;

  public Memory(CountSettings settings) {
    this.settings = settings;
    this.ids = new Ids(settings);
    this.counter = start();
  }

  private PartitionCounter start() {
    return new PartitionCounter(
        0,
        1,
        settings,
        new PartitionCounter.Stores(open, closed, progress, buckets, ids),
        this,
        client -> client.startsWith("foreign") ? 1 : 0,
        () -> 0L);
  }

  /** Starts again over the same stores. */
  public void restart() {
    counter.flush();
    counter = start();
  }

  /** Takes a record and writes whatever is due. */
  public void take(BatchHeader header, byte[] value, long appendEpochMillis) {
    takeOnly(header, value, appendEpochMillis);
    counter.close(() -> false);
  }

  public void takeOnly(BatchHeader header, byte[] value, long appendEpochMillis) {
    byte[] placed = placed(header, value);
    counter.take(
        new SourceRecord(
            offset++, appendEpochMillis, placed, BatchHeaderCodec.encode(header)::get));
  }

  /** Adds to each settlement the position of its call, if that was counted, as a node does. */
  private byte[] placed(BatchHeader header, byte[] value) {
    CallBatchReader reader = new CallBatchReader();
    ByteArrayOutputStream placed = new ByteArrayOutputStream();
    boolean isChanged = false;
    try {
      reader.read(value);
    } catch (MalformedRecordException asItIs) {
      return value;
    }
    for (int line = 1; line <= reader.count(); line++) {
      byte[] only = reader.only(line);
      try {
        CallEvent event = reader.call(line);
        CallSettlement settlement = event.settlement();
        String name = event.client() + " " + event.id() + " " + event.fingerprint();
        UsagePosition call = positions.get(name);
        if (settlement == null) {
          positions.putIfAbsent(
              name,
              new UsagePosition(0, header.node(), header.nodeEpoch(), header.linesBefore() + line));
        } else if (settlement.call() == null && call != null) {
          CallSettlement of =
              new CallSettlement(settlement.actualCost(), settlement.settledAtEpochMillis(), call);
          only = CallBatchWriter.encode(List.of(event.settledAt(of)));
          isChanged = true;
        }
      } catch (MalformedRecordException asItIs) {
        // is taken as it is
      }
      placed.writeBytes(only);
    }
    return isChanged ? placed.toByteArray() : value;
  }

  /** Takes a record whose headers may say anything. */
  public void takeRaw(Map<String, byte[]> headers, byte[] value, long appendEpochMillis) {
    counter.take(new SourceRecord(offset++, appendEpochMillis, value, headers::get));
    counter.close(() -> false);
  }

  /** Takes a message that the cache has lost its state. */
  public void takeCacheLoss(String generation, long appendEpochMillis) {
    takeCacheLoss(generation, appendEpochMillis, appendEpochMillis);
  }

  /** The same, found by a node at a time by its own clock. */
  public void takeCacheLoss(String generation, long foundEpochMillis, long appendEpochMillis) {
    byte[] value = CacheLossCodec.encode(new CacheLoss(generation, foundEpochMillis));
    Map<String, byte[]> headers =
        Map.of(
            BatchHeaderCodec.TYPE_HEADER, CacheLossCodec.TYPE.getBytes(StandardCharsets.US_ASCII));
    counter.take(new SourceRecord(offset++, appendEpochMillis, value, headers::get));
  }

  /** Does the work scheduled between records. */
  public void tick() {
    counter.restore(() -> false);
    AtomicInteger rounds = new AtomicInteger();
    counter.sweep(() -> rounds.getAndIncrement() > 2);
    counter.publishAccuracy();
  }

  public void skipOffsets(long count) {
    offset += count;
  }

  public List<UsageRow> rows() {
    return ledger.stream().filter(UsageRow.class::isInstance).map(UsageRow.class::cast).toList();
  }

  public List<CloseRow> closes() {
    return ledger.stream().filter(CloseRow.class::isInstance).map(CloseRow.class::cast).toList();
  }

  public PartitionProgress publish() {
    counter.publish(() -> false);
    PartitionProgress now = published;
    if (now == null) {
      throw new AssertionError("nothing was published");
    }
    return now;
  }

  @Override
  public void ledger(LedgerRow row, long timestampEpochMillis) {
    ledger.add(row);
  }

  @Override
  public void state(UsageState state, long timestampEpochMillis) {
    states.put(UsageStateCodec.key(state), state);
  }

  @Override
  public void progress(PartitionProgress newest, long timestampEpochMillis) {
    published = newest;
  }

  @Override
  public void correction(Correction correction, long timestampEpochMillis) {
    corrections.add(correction);
  }

  @Override
  public void restored(CacheRestored message, long timestampEpochMillis) {
    restored.add(message);
  }

  @Override
  public void settled(SettlementVerdict verdict, long timestampEpochMillis) {
    verdicts.add(verdict);
  }

  @Override
  public void accuracy(PartitionAccuracy newest, long timestampEpochMillis) {
    accuracy = newest;
  }

  @Override
  public void quarantine(byte[] value, int line, String reason) {
    refusals.add(line + ": " + reason);
    refused.add(value);
  }

  @Override
  public void replayed(Replay replay, List<Integer> lines) {
    replays.add(replay.partition() + "@" + replay.offset() + " " + lines);
  }

  /** Ids that are forgotten as soon as they may be. */
  private static final class Ids implements SeenIds {
    private final Map<ByteBuffer, String> texts = new HashMap<>();
    private final Map<ByteBuffer, Long> rememberedAt = new HashMap<>();
    private final long keptMillis;

    private Ids(CountSettings settings) {
      keptMillis = settings.latenessMillis() + CountSettings.MAX_AHEAD_MILLIS;
    }

    @Override
    public @Nullable String find(byte[] key, long appendEpochMillis) {
      Long at = rememberedAt.get(ByteBuffer.wrap(key));
      return at == null || appendEpochMillis - at > keptMillis
          ? null
          : texts.get(ByteBuffer.wrap(key));
    }

    @Override
    public void remember(byte[] key, String text, long appendEpochMillis) {
      texts.put(ByteBuffer.wrap(key), text);
      rememberedAt.put(ByteBuffer.wrap(key), appendEpochMillis);
    }
  }

  /** A sorted map of bytes. */
  public static final class Store implements ByteStore {
    private final TreeMap<byte[], byte[]> map = new TreeMap<>(Arrays::compareUnsigned);
    private final TreeSet<byte[]> tombstones = new TreeSet<>(Arrays::compareUnsigned);
    private long scanned;
    private long reads;

    /** Entries that scans have passed, as in RocksDB those that were deleted included. */
    public long scanned() {
      return scanned;
    }

    /** Number of values read. */
    public long reads() {
      return reads;
    }

    @Override
    public byte @Nullable [] get(byte[] key) {
      reads++;
      return map.get(key);
    }

    @Override
    public void put(byte[] key, byte[] value) {
      map.put(key, value);
      tombstones.remove(key);
    }

    @Override
    public void delete(byte[] key) {
      map.remove(key);
      tombstones.add(key);
    }

    @Override
    public List<Entry> scan(byte[] from, byte[] to, int maxEntries) {
      List<Entry> found =
          map.subMap(from, to).entrySet().stream()
              .limit(maxEntries)
              .map(entry -> new Entry(entry.getKey(), entry.getValue()))
              .toList();
      byte[] end = found.size() < maxEntries ? to : found.get(found.size() - 1).key();
      scanned += found.size() + tombstones.subSet(from, end).size();
      return found;
    }

    public int size() {
      return map.size();
    }
  }
}
