// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.weir.aggregator.RawCall;
import io.weir.limits.correction.Correction;
import io.weir.testing.SuiteForm;
import io.weir.topics.model.PartitionProgress.Counters;
import io.weir.topics.wire.BatchHeaderCodec;
import io.weir.topics.wire.CacheLossCodec;
import io.weir.topics.wire.CorrectionCodec;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Sends plausible lines and headers with numbers at every edge to the counter. Each line is
 * counted, dropped, adjusted or quarantined, and nothing stops.
 */
final class RecordFuzzTest {
  private static final CountSettings SETTINGS = new CountSettings(10_000, 2_000, 30_000, 600_000);
  private static final long T = 1_700_000_000_000L;
  private static final int LINES_A_SEED = 2_000;

  // numbers of weir-calls.proto
  private static final long CACHE = 1;
  private static final long FAIL_OPEN = 5;
  private static final long TOKEN_BUCKET = 1;
  private static final long QUOTA = 2;

  private static final long[] EDGES = {
    0,
    1,
    2,
    3,
    7,
    100,
    1L << 31,
    (1L << 53) - 2,
    (1L << 53) - 1,
    1L << 53,
    1L << 60,
    1L << 62,
    Long.MAX_VALUE - 1,
    Long.MAX_VALUE,
    -1,
    -100,
    Long.MIN_VALUE
  };

  @Test
  void randomRecords_areCountedOrQuarantined_andNeverStopTheCounting() throws Exception {
    int seeds = SuiteForm.isFull() ? 500 : 20;
    for (int seed = 1; seed <= seeds; seed++) {
      try {
        history(seed);
      } catch (RuntimeException stopped) {
        throw new AssertionError("seed " + seed + " stopped the counting", stopped);
      }
    }
  }

  /**
   * Regression: a limit's change made a time too large to be added to, which stopped the partition.
   */
  @Test
  void seed251_limitChangedAtTheEdgeOfTimes_doesNotStopTheCounting() {
    assertDoesNotThrow(() -> history(251));
  }

  private static void history(long seed) throws Exception {
    Random random = new Random(seed);
    Memory memory = new Memory(SETTINGS);
    long now = T;
    long sent = 0;
    while (sent < LINES_A_SEED) {
      now += random.nextInt(2_000);
      int count = random.nextInt(6);
      ByteArrayOutputStream value = new ByteArrayOutputStream();
      for (int i = 0; i < count; i++) {
        value.writeBytes(line(random, now));
      }
      memory.takeRaw(headers(random, count, now), value.toByteArray(), now);
      sent += Math.max(1, count);
      if (random.nextInt(10) == 0) {
        memory.tick();
        memory.publish();
      }
      if (random.nextInt(50) == 0) {
        memory.restart();
      }
    }
    Counters counters = memory.counter.progress().counters();
    assertEquals(
        counters.received(),
        counters.counted()
            + counters.duplicate()
            + counters.lateAdjusted()
            + counters.quarantined());
    for (Correction correction : memory.corrections) {
      assertEquals(correction, CorrectionCodec.decode(CorrectionCodec.encode(correction)));
    }
  }

  private static Map<String, byte[]> headers(Random random, int count, long now) {
    Map<String, byte[]> headers = new HashMap<>();
    if (random.nextInt(40) == 0) {
      headers.put(BatchHeaderCodec.TYPE_HEADER, ascii(CacheLossCodec.TYPE));
      return headers;
    }
    headers.put(BatchHeaderCodec.TYPE_HEADER, ascii(BatchHeaderCodec.TYPE));
    headers.put("node", ascii("n" + random.nextInt(3)));
    headers.put("node_epoch", number(random, T + random.nextInt(3), 20));
    headers.put("batch_seq", number(random, random.nextInt(60), 20));
    headers.put("count", number(random, count, 30));
    headers.put("low_watermark_ms", number(random, now - random.nextInt(5_000), 20));
    headers.put("lines_before", number(random, random.nextInt(120), 20));
    if (random.nextInt(10) == 0) {
      headers.put("departing", ascii("true"));
    }
    return headers;
  }

  private static byte[] number(Random random, long usual, int oneIn) {
    return ascii(Long.toString(random.nextInt(oneIn) == 0 ? edge(random) : usual));
  }

  private static long edge(Random random) {
    return EDGES[random.nextInt(EDGES.length)];
  }

  private static byte[] line(Random random, long now) {
    long cost = usually(random, 1 + random.nextInt(9));
    String id = "i" + random.nextInt(500);
    String client = random.nextInt(30) == 0 ? "foreign" : "c" + random.nextInt(4);
    RawCall call = new RawCall(id, client, "GET /" + random.nextInt(3), now).with("cost", cost);
    call.with("allowed", random.nextInt(8) != 0 ? 1 : 0);
    call.with("decided_by", random.nextInt(6) == 0 ? FAIL_OPEN : CACHE);
    call.with("policies_version", usually(random, 1));
    call.with("decided_at_ms", usually(random, now - random.nextInt(30_000)));
    int charges = random.nextInt(3);
    for (int i = 0; i < charges; i++) {
      addCharge(call, random, now);
    }
    if (random.nextInt(3) == 0) {
      call.with("id_from_caller", 1);
    }
    if (random.nextInt(5) == 0) {
      call.with("actual_cost", usually(random, random.nextInt(9)));
      call.with("settled_at_ms", usually(random, now));
    }
    return call.toBytes();
  }

  private static void addCharge(RawCall call, Random random, long now) {
    String bucket = "w1:{2:c1}:1:" + (char) ('a' + random.nextInt(3));
    Map<String, Long> charge = new HashMap<>();
    charge.put("charge_cost", usually(random, random.nextInt(4)));
    if (random.nextInt(4) != 0) {
      long epoch = (now - random.nextInt(40_000)) / 10_000 * 10_000_000;
      charge.put("epoch", usually(random, epoch));
      charge.put("charged", usually(random, random.nextInt(200)));
      charge.put("version", usually(random, random.nextInt(4)));
      charge.put("full_at_us", usually(random, (now + 5_000) * 1_000));
    }
    switch (random.nextInt(4)) {
      case 0 -> {
        charge.put("algorithm", QUOTA);
        charge.put("capacity", usually(random, 100));
        charge.put("ends_at_us", usually(random, (now + 60_000) * 1_000));
      }
      case 1 -> {}
      default -> {
        charge.put("algorithm", TOKEN_BUCKET);
        charge.put("capacity", usually(random, 100));
        charge.put("refill_tokens", usually(random, 1 + random.nextInt(5)));
        charge.put("refill_period_us", usually(random, 1_000_000));
      }
    }
    call.charge(bucket, charge);
  }

  private static long usually(Random random, long usual) {
    return random.nextInt(25) == 0 ? edge(random) : usual;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
