// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.topology;

import io.weir.aggregator.count.CountOutput;
import io.weir.limits.correction.Correction;
import io.weir.topics.catalog.Topic;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.CacheRestored;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.Replay;
import io.weir.topics.model.SettlementVerdict;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CorrectionCodec;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.PartitionAccuracyCodec;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.QuarantineHeaders;
import io.weir.topics.wire.SettlementVerdictCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.jspecify.annotations.Nullable;

/**
 * The output of a partition's counter, which sends records to the sinks. The key of a ledger row is
 * the client; a CLOSE row has no key. Not thread-safe.
 */
final class SinkOutput implements CountOutput {
  private static final byte[] NOTHING = {};

  /**
   * Maximum size of one part of a refused record, in bytes. This size is half of the maximum size
   * of a record, because headers are added.
   */
  private static final int MAX_PART_BYTES = Topic.MAX_RECORD_BYTES / 2;

  /**
   * Maximum size of a key or header of a refused record, in bytes. Larger keys and headers are
   * omitted, because the record could become too large.
   */
  private static final int MAX_EXTRA_BYTES = 16 * 1024;

  /** Maximum number of headers of a refused record. Further headers are omitted. */
  private static final int MAX_HEADERS_KEPT = 32;

  private static final Kind USAGE = new Kind(ResourceNames.STATE_SINK, UsageStateCodec.TYPE);
  private static final Kind PROGRESS =
      new Kind(ResourceNames.STATE_SINK, PartitionProgressCodec.TYPE);
  private static final Kind ACCURACY =
      new Kind(ResourceNames.STATE_SINK, PartitionAccuracyCodec.TYPE);
  private static final Kind CORRECTION =
      new Kind(ResourceNames.CORRECTIONS_SINK, CorrectionCodec.TYPE);
  private static final Kind RESTORED =
      new Kind(ResourceNames.CORRECTIONS_SINK, CorrectionCodec.RESTORED_TYPE);
  private static final Kind SETTLED =
      new Kind(ResourceNames.SETTLEMENTS_SINK, SettlementVerdictCodec.TYPE);

  private final ProcessorContext<PlacedKey, byte[]> context;
  private final int partition;
  private final WrittenRows written;
  private @Nullable Record<byte[], byte[]> taken;
  private long takenOffset;

  SinkOutput(ProcessorContext<PlacedKey, byte[]> context, WrittenRows written) {
    this.written = written;
    this.context = context;
    this.partition = context.taskId().partition();
  }

  /** A kind of output record, with its sink and the value of its type header. */
  private static final class Kind {
    private final String sink;
    private final byte[] type;

    Kind(String sink, String type) {
      this.sink = sink;
      this.type = utf8(type);
    }
  }

  /** Sets the current record, which is the source of all following output. */
  void begin(Record<byte[], byte[]> record, long offset) {
    taken = record;
    takenOffset = offset;
  }

  @Override
  public void ledger(LedgerRow row, long timestampEpochMillis) {
    written.count(row);
    byte[] key = row instanceof UsageRow usage ? utf8(usage.key().client()) : null;
    forward(
        key,
        LedgerRowCodec.encode(row),
        timestampEpochMillis,
        noHeaders(),
        ResourceNames.LEDGER_SINK);
  }

  @Override
  public void state(UsageState state, long timestampEpochMillis) {
    send(USAGE, UsageStateCodec.key(state), UsageStateCodec.encode(state), timestampEpochMillis);
  }

  @Override
  public void progress(PartitionProgress progress, long timestampEpochMillis) {
    String key = PartitionProgressCodec.key(progress.partition());
    send(PROGRESS, key, PartitionProgressCodec.encode(progress), timestampEpochMillis);
  }

  @Override
  public void accuracy(PartitionAccuracy accuracy, long timestampEpochMillis) {
    String key = PartitionAccuracyCodec.key(accuracy.partition());
    send(ACCURACY, key, PartitionAccuracyCodec.encode(accuracy), timestampEpochMillis);
  }

  @Override
  public void correction(Correction correction, long timestampEpochMillis) {
    byte[] value = CorrectionCodec.encode(correction);
    send(CORRECTION, correction.bucket(), value, timestampEpochMillis);
  }

  @Override
  public void restored(CacheRestored restored, long timestampEpochMillis) {
    String key = CorrectionCodec.restoredKey(restored.partition());
    send(RESTORED, key, CorrectionCodec.encode(restored), timestampEpochMillis);
  }

  @Override
  public void settled(SettlementVerdict verdict, long timestampEpochMillis) {
    byte[] value = SettlementVerdictCodec.encode(verdict);
    send(SETTLED, verdict.client(), value, timestampEpochMillis);
  }

  @Override
  public void quarantine(byte[] value, int line, String reason) {
    Record<byte[], byte[]> record = taken;
    if (record == null) {
      throw new IllegalStateException("quarantine was called without a current record");
    }
    int parts = Math.max(1, (value.length + MAX_PART_BYTES - 1) / MAX_PART_BYTES);
    for (int part = 0; part < parts; part++) {
      Headers headers =
          kept(record.headers())
              .add(QuarantineHeaders.REASON, utf8(reason))
              .add(QuarantineHeaders.SOURCE, source());
      if (line > 0) {
        headers.add(QuarantineHeaders.LINE, utf8(Integer.toString(line)));
      }
      if (parts > 1) {
        headers.add(QuarantineHeaders.PART, utf8((part + 1) + "/" + parts));
      }
      int start = part * MAX_PART_BYTES;
      byte[] bytes =
          parts == 1
              ? value
              : Arrays.copyOfRange(value, start, Math.min(value.length, start + MAX_PART_BYTES));
      forward(
          kept(record.key()), bytes, record.timestamp(), headers, ResourceNames.QUARANTINE_SINK);
    }
  }

  @Override
  public void replayed(Replay replay, List<Integer> lines) {
    Record<byte[], byte[]> record = taken;
    if (record == null) {
      throw new IllegalStateException("replayed was called without a current record");
    }
    Headers headers =
        noHeaders()
            .add(QuarantineHeaders.REPLAYED, utf8(replay.partition() + "@" + replay.offset()))
            .add(QuarantineHeaders.SOURCE, source());
    String lineRanges = lines.isEmpty() ? QuarantineHeaders.WHOLE : ranges(lines);
    forward(null, utf8(lineRanges), record.timestamp(), headers, ResourceNames.QUARANTINE_SINK);
  }

  private byte[] source() {
    return utf8(Topics.CALLS.name() + "-" + partition + "-" + takenOffset);
  }

  /** Formats ascending numbers as {@code 3-7,9}. */
  static String ranges(List<Integer> numbers) {
    StringBuilder text = new StringBuilder();
    for (int from = 0, to; from < numbers.size(); from = to + 1) {
      to = from;
      while (to + 1 < numbers.size() && numbers.get(to + 1) == numbers.get(to) + 1) {
        to++;
      }
      text.append(text.isEmpty() ? "" : ",").append(numbers.get(from));
      text.append(to > from ? "-" + numbers.get(to) : "");
    }
    return text.toString();
  }

  /**
   * Returns new empty headers. The headers come from a new record, because Kafka's implementation
   * of headers is not public.
   */
  private static Headers noHeaders() {
    return new Record<>(NOTHING, NOTHING, 0).headers();
  }

  private static Headers kept(Headers headers) {
    Headers kept = noHeaders();
    int count = 0;
    for (Header header : headers) {
      byte[] value = header.value();
      boolean small =
          header.key().length() <= MAX_EXTRA_BYTES
              && (value == null || value.length <= MAX_EXTRA_BYTES);
      if (small && count++ < MAX_HEADERS_KEPT) {
        kept.add(header);
      }
    }
    return kept;
  }

  private static byte @Nullable [] kept(byte @Nullable [] key) {
    return key == null || key.length > MAX_EXTRA_BYTES ? null : key;
  }

  private void send(Kind kind, String key, byte[] value, long timestampEpochMillis) {
    Headers headers = noHeaders().add(BatchHeaderCodec.TYPE_HEADER, kind.type);
    forward(utf8(key), value, timestampEpochMillis, headers, kind.sink);
  }

  private void forward(
      byte @Nullable [] key, byte[] value, long timestamp, Headers headers, String sink) {
    context.forward(new Record<>(new PlacedKey(partition, key), value, timestamp, headers), sink);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
