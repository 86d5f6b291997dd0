// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.limits.BucketLimit;
import io.weir.limits.FixedWindowLimit;
import io.weir.limits.QuotaLimit;
import io.weir.limits.SlidingWindowLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.wire.CallLineCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Random lines, whole and damaged: the reader says of each what the codec says. */
final class FastLineReaderModelTest {
  private static final int LINES = 20_000;
  private static final String[] NAMES = {
    "a",
    "GET /v1/items",
    "münchen",
    "quo\"te",
    "back\\slash",
    "日本",
    "x".repeat(256),
    "tab-less",
    "{}"
  };

  @Test
  void read_randomLines_agreesWithTheCodec() {
    FastLineReader reader = new FastLineReader();
    for (long seed = 1; seed <= LINES; seed++) {
      byte[] line = line(new Random(seed));

      assertEquals(
          outcome(() -> CallLineCodec.decode(line, 0, line.length)),
          outcome(() -> reader.read(line, 0, line.length)),
          "seed " + seed + ": " + new String(line, StandardCharsets.UTF_8));
    }
  }

  /** A limit is validated once, since most lines have one that was read before. */
  @Test
  void read_limitsThatWereReadBefore_areNotMadeAgain() throws Exception {
    FastLineReader reader = new FastLineReader();
    Stamp stamp = new Stamp(1, 0, 1, 0);
    for (BucketLimit limit :
        List.of(
            new TokenBucketLimit(10, 1, 1_000_000),
            new QuotaLimit(10, 1_700_000_000_000_000L),
            new FixedWindowLimit(10, 1_700_000_000_000_000L, 60_000_000),
            new SlidingWindowLimit(10, 1_700_000_000_000_000L, 15_000_000, 4))) {
      byte[] line =
          CallLineCodec.encode(
              new CallEvent(
                  "id",
                  false,
                  "acme",
                  "-",
                  "calls",
                  1,
                  true,
                  DecidedBy.CACHE,
                  "burst",
                  1,
                  1_700_000_000_000L,
                  null,
                  List.of(new Charge("w1:{4:acme}:5:burst", 1, limit, stamp))));

      BucketLimit first = reader.read(line, 0, line.length).charges().get(0).limit();
      BucketLimit second = reader.read(line, 0, line.length).charges().get(0).limit();

      assertEquals(limit, first);
      assertSame(first, second);
    }
  }

  private interface Reading {
    CallEvent read() throws MalformedRecordException;
  }

  /** The call without what the reader does not keep, or the reason it is refused. */
  private static String outcome(Reading reading) {
    try {
      CallEvent call = reading.read();
      return new CallEvent(
                  call.id(),
                  call.idFromCaller(),
                  call.client(),
                  call.endpoint(),
                  call.meter(),
                  call.cost(),
                  call.allowed(),
                  call.decidedBy(),
                  call.policy(),
                  call.policiesVersion(),
                  call.decidedAtEpochMillis(),
                  null,
                  call.charges(),
                  call.settlement(),
                  call.billing())
              .toString()
          + call.digest();
    } catch (MalformedRecordException malformed) {
      return String.valueOf(malformed.getMessage());
    }
  }

  private static byte[] line(Random random) {
    List<Charge> charges = new ArrayList<>();
    for (int i = random.nextInt(3); i > 0; i--) {
      charges.add(charge(random));
    }
    long decidedAt = number(random);
    BilledIn billing = random.nextInt(3) == 0 ? billing(decidedAt, random) : null;
    byte[] line =
        CallLineCodec.encode(
            new CallEvent(
                name(random),
                random.nextBoolean(),
                name(random),
                name(random),
                name(random),
                Math.min(CallEvent.MAX_QUANTITY, 1 + number(random)),
                random.nextBoolean(),
                List.of(DecidedBy.values()).get(random.nextInt(DecidedBy.values().length)),
                random.nextBoolean() ? name(random) : null,
                number(random),
                decidedAt,
                random.nextBoolean() ? "203.0.113.0/24" : null,
                charges,
                null,
                billing));
    return random.nextInt(3) == 0 ? damaged(line, random) : line;
  }

  private static BilledIn billing(long decidedAt, Random random) {
    long start = decidedAt - (random.nextBoolean() ? random.nextInt(200_000_000) : 0);
    String zone = random.nextInt(5) == 0 ? name(random) : "Asia/Kathmandu";
    BillingPeriod period =
        BillingPeriod.own("2026-11-15", zone, start, decidedAt + 1 + number(random));
    boolean isEarly = decidedAt - start < BilledIn.LONGEST_WINDOW_MILLIS;
    return new BilledIn(
        period,
        isEarly || random.nextInt(4) == 0
            ? BillingPeriod.own("2026-10-15", zone, start - 1 - number(random), start)
            : null);
  }

  private static Charge charge(Random random) {
    BucketLimit limit =
        switch (random.nextInt(5)) {
          case 0 -> new TokenBucketLimit(1 + random.nextInt(100), 3, 1_000_000);
          case 1 -> new QuotaLimit(1 + number(random) % 1_000, 1 + number(random) % 1_000_000);
          case 2 ->
              new FixedWindowLimit(
                  1 + number(random) % 1_000, 1 + number(random) % 1_000_000, 60_000_000);
          case 3 ->
              new SlidingWindowLimit(
                  1 + number(random) % 1_000,
                  1 + number(random) % 1_000_000,
                  1_000_000L * (1 + random.nextInt(60)),
                  1 + random.nextInt(60));
          default -> null;
        };
    Stamp stamp =
        random.nextInt(4) == 0
            ? null
            : new Stamp(
                1 + number(random),
                random.nextInt(3),
                1 + number(random),
                random.nextBoolean() ? number(random) : 0);
    return new Charge(name(random), random.nextInt(2), limit, stamp);
  }

  private static byte[] damaged(byte[] line, Random random) {
    byte[] copy = line.clone();
    int at = random.nextInt(copy.length);
    switch (random.nextInt(4)) {
      case 0 -> copy[at] = (byte) random.nextInt(128);
      case 1 -> copy[at] = (byte) "\"\\{}[],:0-9 \t".charAt(random.nextInt(13));
      case 2 -> {
        return Arrays.copyOf(copy, at);
      }
      default -> {
        String text = new String(line, StandardCharsets.UTF_8);
        String[] rewrites = {
          text.replace("\":", "\" : "),
          text.replaceAll("\"cost\":\\d+", "\"cost\":9007199254740992"),
          text.replaceAll("\"(charged|epoch|full_at_us)\":\\d+", "\"$1\":9007199254740992"),
          text.replaceAll("\"decided_at_ms\":\\d+", "\"decided_at_ms\":9007199254741"),
          text.replace("\"cost\":", "\"cost\":-"),
          text.replace("\"cost\":", "\"cost\":0"),
          text.replace("\"charged\":", "\"charged\":0.5,\"x\":"),
          text.replaceAll("\"(refill_tokens|ends_at_us|window_us)\":\\d+", "\"$1\":0"),
          text.replaceAll("\"algorithm\":\"[a-z-]+\"", "\"algorithm\":\"leaky\""),
          text.replaceAll("\"algorithm\":\"[a-z-]+\"", "\"algorithm\":7"),
          text.replaceAll("\"algorithm\":\"[a-z-]+\",", ""),
          text.replaceAll(",\"window_us\":\\d+", ""),
          text.replace("\"algorithm\":\"quota\"", "\"algorithm\":\"token-bucket\""),
          text.replace("2026-11-15", "2026-11"),
          text.replace("2026-11-15", "2026-02-30"),
          text.replace("2026-10-15", ""),
          text.replaceAll("\"(billing_[a-z_]+_ms)\":-?\\d+", "\"$1\":9007199254740992"),
          text.replaceAll("\"(billing_[a-z_]+_ms)\":-?\\d+", "\"$1\":7"),
          text.replaceAll("\"decided_at_ms\":\\d+", "\"decided_at_ms\":7"),
          text.replaceAll(",\"billing_period_before.*_ms\":-?\\d+", ""),
          text.replace("\"policies_version\"", "\"other\""),
          text + " ",
          text + "}",
        };
        return rewrites[random.nextInt(rewrites.length)].getBytes(StandardCharsets.UTF_8);
      }
    }
    return copy;
  }

  private static String name(Random random) {
    return NAMES[random.nextInt(NAMES.length)];
  }

  private static long number(Random random) {
    return random.nextLong(CallEvent.MAX_EPOCH_MILLIS) >> random.nextInt(43);
  }
}
