// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.calls;

import io.weir.limits.BilledIn;
import io.weir.limits.BillingPeriod;
import io.weir.limits.BucketLimit;
import io.weir.limits.FixedWindowLimit;
import io.weir.limits.Numbers;
import io.weir.limits.QuotaLimit;
import io.weir.limits.SlidingWindowLimit;
import io.weir.limits.TokenBucketLimit;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CallSettlement;
import io.weir.topics.model.Charge;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.Stamp;
import io.weir.topics.model.UsagePosition;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.UUID;

/** Creates valid calls of every form, with values at the edges of their ranges. */
final class RandomCalls {
  private static final long DAY_MILLIS = 86_400_000;
  private static final List<String> NAMES =
      List.of("acme", "b", "müller", "客户", "😀", "x".repeat(256), "GET /v1/items", "a b\"c\\d");

  private static final List<DecidedBy> DECIDED_BY = List.of(DecidedBy.values());

  private final Random random;

  RandomCalls(Random random) {
    this.random = random;
  }

  List<CallEvent> calls(int count) {
    List<CallEvent> calls = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      calls.add(call());
    }
    return calls;
  }

  private CallEvent call() {
    long decidedAt = number(DAY_MILLIS, Numbers.MAX_EPOCH_MILLIS);
    boolean allowed = random.nextInt(4) > 0;
    CallEvent call =
        new CallEvent(
            id(),
            random.nextBoolean(),
            name(),
            name(),
            name(),
            number(1, CallEvent.MAX_QUANTITY),
            allowed,
            DECIDED_BY.get(random.nextInt(DECIDED_BY.size())),
            random.nextBoolean() ? name() : null,
            number(0, Numbers.MAX),
            decidedAt,
            random.nextInt(3) == 0 ? "203.0.113.0/24" : null,
            charges());
    if (random.nextInt(3) == 0) {
      call = call.billedIn(billing(decidedAt));
    }
    return allowed && random.nextInt(4) == 0 ? call.settledAt(settlement()) : call;
  }

  private String id() {
    return switch (random.nextInt(4)) {
      case 0 -> name();
      case 1 -> new UUID(random.nextLong(), random.nextLong()).toString().toUpperCase(Locale.ROOT);
      default -> new UUID(random.nextLong(), random.nextLong()).toString();
    };
  }

  private List<Charge> charges() {
    List<Charge> charges = new ArrayList<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      long cost = number(0, 1_000);
      charges.add(
          new Charge(
              "w1:{" + name() + "}:" + random.nextInt(2),
              cost,
              random.nextInt(5) == 0 ? null : limit(),
              random.nextInt(4) == 0
                  ? null
                  : new Stamp(
                      number(1, Numbers.MAX),
                      number(0, Numbers.MAX),
                      number(cost, Numbers.MAX),
                      number(0, Numbers.MAX))));
    }
    return charges;
  }

  private BucketLimit limit() {
    return switch (random.nextInt(4)) {
      case 0 -> new TokenBucketLimit(1 + random.nextInt(3) * 50, 1 + random.nextInt(2), 60_000_000);
      case 1 -> new QuotaLimit(number(1, Numbers.MAX), number(1, Numbers.MAX));
      case 2 -> new FixedWindowLimit(10, 1_763_690_460_000_000L, 60_000_000);
      default -> new SlidingWindowLimit(10, 1_763_690_460_000_000L, 60_000_000, 6);
    };
  }

  private BilledIn billing(long decidedAt) {
    long start = decidedAt - random.nextInt((int) (2 * DAY_MILLIS));
    BillingPeriod period =
        BillingPeriod.own("2025-11-21", "Asia/Kathmandu", start, decidedAt + 1 + random.nextInt(9));
    boolean needsBefore = decidedAt - start < BilledIn.LONGEST_WINDOW_MILLIS;
    return new BilledIn(
        period,
        needsBefore || random.nextBoolean()
            ? BillingPeriod.own("2025-10-21", "Asia/Kathmandu", start - 1, start)
            : null);
  }

  private CallSettlement settlement() {
    return new CallSettlement(
        number(0, CallEvent.MAX_QUANTITY),
        number(0, Numbers.MAX_EPOCH_MILLIS),
        random.nextBoolean() ? new UsagePosition(3, "node-a", 7, 1 + random.nextInt(9)) : null);
  }

  private String name() {
    return NAMES.get(random.nextInt(NAMES.size()));
  }

  /** Returns the least, the most, a small or a random number of a range. */
  private long number(long least, long most) {
    return switch (random.nextInt(4)) {
      case 0 -> least;
      case 1 -> most;
      case 2 -> Math.min(most, least + random.nextInt(100));
      default -> least + (long) (random.nextDouble() * (most - least));
    };
  }
}
