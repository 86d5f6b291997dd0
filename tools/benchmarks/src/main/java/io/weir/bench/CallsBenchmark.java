// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.weir.limits.BucketKey;
import io.weir.limits.TokenBucketLimit;
import io.weir.topics.calls.CallBatchReader;
import io.weir.topics.calls.CallBatchWriter;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.wire.MalformedRecordException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/**
 * Measures the CPU time that one thread needs to write and to read a call of a batch. Also measures
 * the size of a call, before and after compression with zstd. Each batch is compressed alone.
 */
final class CallsBenchmark {
  private static final int CALLS = 100_000;
  private static final int ROUNDS = 21;
  private static final int CLIENTS = 1_000;
  private static final Compression ZSTD = Compression.zstd().level(3).build();
  private static final long FIRST_MILLIS = 1_790_000_000_000L;
  private static final TokenBucketLimit LIMIT = new TokenBucketLimit(100, 100, 60_000_000);

  private final PrintStream out;
  private final CallBatchWriter writer = new CallBatchWriter();
  private final CallBatchReader reader = new CallBatchReader();

  /**
   * The sum of costs and digests. It is printed so that the JIT compiler cannot remove the reads.
   */
  private long digests;

  CallsBenchmark(PrintStream out) {
    this.out = out;
  }

  void run() throws IOException, MalformedRecordException {
    out.printf(
        "%,d calls of %,d clients, one token bucket each, median of %d rounds%n",
        CALLS, CLIENTS, ROUNDS);
    out.println(
        "ids of callers | calls a batch | write CPU ns | read CPU ns | bytes | bytes, zstd 3");
    for (boolean ofCallers : new boolean[] {false, true}) {
      List<CallEvent> calls = calls(ofCallers);
      for (int size : new int[] {2, 20, 500}) {
        measure(calls, size);
      }
    }
    out.printf("sum of costs and digests: %x%n", digests);
  }

  private void measure(List<CallEvent> calls, int size)
      throws IOException, MalformedRecordException {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long[] writeNanos = new long[ROUNDS];
    long[] readNanos = new long[ROUNDS];
    List<byte[]> batches = List.of();
    for (int round = 0; round < 3 * ROUNDS; round++) { // only the last rounds are kept
      long begun = threads.getCurrentThreadCpuTime();
      batches = write(calls, size);
      long written = threads.getCurrentThreadCpuTime();
      read(batches);
      writeNanos[round % ROUNDS] = written - begun;
      readNanos[round % ROUNDS] = threads.getCurrentThreadCpuTime() - written;
    }
    long bytes = 0;
    long compressed = 0;
    for (byte[] batch : batches) {
      bytes += batch.length;
      compressed += compressedBytes(batch);
    }
    out.printf(
        "%s | %d | %.0f | %.0f | %.1f | %.1f%n",
        calls.get(0).idFromCaller() ? "100 %" : "0 %",
        size,
        median(writeNanos) / CALLS,
        median(readNanos) / CALLS,
        bytes / (double) CALLS,
        compressed / (double) CALLS);
  }

  private List<byte[]> write(List<CallEvent> calls, int size) {
    List<byte[]> batches = new ArrayList<>(CALLS / size);
    for (CallEvent call : calls) {
      writer.add(call);
      if (writer.count() == size) {
        batches.add(writer.take());
      }
    }
    return batches;
  }

  private void read(List<byte[]> batches) throws MalformedRecordException {
    for (byte[] batch : batches) {
      int count = reader.read(batch);
      for (int line = 1; line <= count; line++) {
        digests += reader.call(line).cost() + reader.digest(line);
      }
    }
  }

  private static long compressedBytes(byte[] batch) throws IOException {
    ByteBufferOutputStream buffer = new ByteBufferOutputStream(2 * batch.length + 64);
    try (OutputStream zstd = ZSTD.wrapForOutput(buffer, RecordBatch.MAGIC_VALUE_V2)) {
      zstd.write(batch);
    }
    return buffer.position();
  }

  private static double median(long[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }

  private static List<CallEvent> calls(boolean idsOfCallers) {
    SplittableRandom random = new SplittableRandom(1);
    long[] charged = new long[CLIENTS];
    List<CallEvent> calls = new ArrayList<>(CALLS);
    for (int n = 0; n < CALLS; n++) {
      int number = random.nextInt(CLIENTS);
      String client = "client-" + number;
      long millis = FIRST_MILLIS + n / 10;
      long fullAt = millis * 1_000 + random.nextInt(60_000_000);
      Stamp stamp = new Stamp(FIRST_MILLIS * 1_000 - number * 7_919L, 0, ++charged[number], fullAt);
      int item = random.nextInt(5);
      calls.add(call(random, idsOfCallers, client, item, millis, stamp));
    }
    return calls;
  }

  /** Returns an allowed call of an endpoint, with the charge of one token bucket. */
  static CallEvent call(
      SplittableRandom random,
      boolean ofCaller,
      String client,
      int item,
      long millis,
      Stamp stamp) {
    return new CallEvent(
        ofCaller ? String.format("order-%016x", random.nextLong()) : uuid(millis, random),
        ofCaller,
        client,
        "GET /v1/items/" + item,
        CallEvent.DEFAULT_METER,
        1,
        true,
        DecidedBy.CACHE,
        "burst",
        1,
        millis,
        null,
        List.of(new Charge(BucketKey.of("burst", client).text(), 1, LIMIT, stamp)));
  }

  /** Returns a UUID of version 7, as a node generates it. */
  private static String uuid(long millis, SplittableRandom random) {
    long first = (millis << 16) | 0x7000 | random.nextInt(1 << 12);
    return new UUID(first, Long.MIN_VALUE | (random.nextLong() >>> 2)).toString();
  }
}
