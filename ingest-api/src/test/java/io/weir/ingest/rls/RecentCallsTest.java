// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.rls.RecentCalls.Found;
import io.weir.ingest.rls.RecentCalls.Owner;
import io.weir.ingest.settle.Settler;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.DecidedBy;
import io.weir.topics.model.UsagePosition;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Which calls are given back, and that none is given back twice or by more than it cost. */
final class RecentCallsTest {
  private static final Owner PATH = new Owner("shop", "shop;path=/x", "calls");
  private static final long HOUR = RecentCalls.MAX_AGE_NANOS;

  private final RecentCalls calls = new RecentCalls();

  private static CallEvent call(Owner owner, long id, long cost) {
    return new CallEvent(
        Long.toString(id),
        false,
        owner.client(),
        owner.endpoint(),
        owner.meter(),
        cost,
        true,
        DecidedBy.CACHE,
        null,
        1,
        5,
        null,
        List.of());
  }

  private void add(Owner owner, long id, long cost, long nowNanos) {
    calls.add(call(owner, id, cost), new UsagePosition(0, "n", 1, id), nowNanos);
  }

  /** The ids of the calls with their new costs, as {@code id=cost}. */
  private static List<String> told(Found found) {
    return found.calls().stream().map(each -> each.call().id() + "=" + each.actualCost()).toList();
  }

  @Test
  void take_givesTheNewestCallsBackWhole() {
    add(PATH, 1, 1, 0);
    add(PATH, 2, 1, 0);
    add(PATH, 3, 1, 0);

    Found found = calls.take(PATH, 2, 0);
    assertEquals(List.of("3=0", "2=0"), told(found));
    assertEquals(2, found.hits());
    assertEquals(new UsagePosition(0, "n", 1, 3), found.calls().get(0).position());
    assertEquals(List.of("1=0"), told(calls.take(PATH, 2, 0)));
    assertEquals(new Found(List.of(), 0), calls.take(PATH, 2, 0));
    assertEquals(0, calls.size(0));
  }

  @Test
  void take_fromCallsThatCostMore_givesTheCheapestBackInPart_theNewestOfEquals() {
    add(PATH, 1, 5, 0);
    add(PATH, 2, 5, 0);
    add(PATH, 3, 9, 0);

    Found part = calls.take(PATH, 2, 0);
    assertEquals(List.of("2=3"), told(part));
    assertEquals(2, part.hits());
    // the rest of that call is not given back, since it can be settled only once
    assertEquals(List.of("3=0", "1=0"), told(calls.take(PATH, 100, 0)));
  }

  @Test
  void take_passesOverACallThatCostsMore_whileOthersAreGivenBackWhole() {
    add(PATH, 1, 1, 0);
    add(PATH, 2, 2, 0);
    add(PATH, 3, 50, 0);

    Found found = calls.take(PATH, 4, 0);
    assertEquals(List.of("2=0", "1=0", "3=49"), told(found));
    assertEquals(4, found.hits());
  }

  @Test
  void take_ofAnotherDescriptorClientOrMeter_findsNothing() {
    add(PATH, 1, 1, 0);

    assertEquals(0, calls.take(new Owner("shop", "shop;path=/y", "calls"), 1, 0).hits());
    assertEquals(0, calls.take(new Owner("acme", "shop;path=/x", "calls"), 1, 0).hits());
    assertEquals(0, calls.take(new Owner("shop", "shop;path=/x", "tokens"), 1, 0).hits());
    assertEquals(1, calls.take(PATH, 1, 0).hits());
  }

  @Test
  void calls_areForgottenAfterAnHour() {
    add(PATH, 1, 1, 0);
    add(PATH, 2, 1, 1);

    assertEquals(List.of("2=0"), told(calls.take(PATH, 9, HOUR + 1)));
    add(PATH, 3, 1, HOUR + 2);
    assertEquals(1, calls.size(HOUR + 2));
  }

  /** Regression, a leak: the last calls stayed in memory until the next request. */
  @Test
  void size_ofANodeThatIsNotAskedAnyMore_comesToNothing() {
    add(PATH, 1, 1, 0);
    add(PATH, 2, 1, 1);
    assertEquals(2, calls.size(HOUR));

    assertEquals(1, calls.size(HOUR + 1));
    assertEquals(0, calls.size(HOUR + 2));
    assertEquals(0, calls.take(PATH, 1, HOUR).hits());
  }

  @Test
  void times_mayOverflow() {
    long late = Long.MAX_VALUE - 1;
    add(PATH, 1, 1, late);

    assertEquals(1, calls.take(PATH, 1, late + HOUR).hits());
  }

  @Test
  void calls_beyondTheirNumber_areForgotten_theOldestFirst() {
    RecentCalls two = new RecentCalls(2, RecentCalls.MAX_BYTES);
    for (int i = 1; i <= 3; i++) {
      two.add(call(PATH, i, 1), new UsagePosition(0, "n", 1, i), 0);
    }
    assertEquals(List.of("3=0", "2=0"), told(two.take(PATH, 9, 0)));

    for (int i = 1; i <= RecentCalls.MAX_CALLS_PER_DESCRIPTOR + 1; i++) {
      add(PATH, i, 1, 0);
    }
    assertEquals(RecentCalls.MAX_CALLS_PER_DESCRIPTOR, calls.take(PATH, 1L << 53, 0).hits());
  }

  @Test
  void calls_beyondTheirBytes_areForgotten_theOldestFirst() {
    RecentCalls small = new RecentCalls(100, 3_000);
    Owner other = new Owner("shop", "x".repeat(200), "calls");
    small.add(call(PATH, 1, 1), new UsagePosition(0, "n", 1, 1), 0);
    for (int i = 2; i <= 4; i++) {
      small.add(call(other, i, 1), new UsagePosition(0, "n", 1, i), 0);
    }
    assertEquals(0, small.take(PATH, 1, 0).hits());
    assertEquals(2, small.take(other, 9, 0).hits());
    // removed calls take no room
    small.add(call(PATH, 5, 1), new UsagePosition(0, "n", 1, 5), 0);
    small.add(call(PATH, 6, 1), new UsagePosition(0, "n", 1, 6), 0);
    assertEquals(2, small.size(0));
  }

  /** Compared with lists that are searched in the obvious way. */
  @Test
  void randomCalls_areTakenAsByTheSlowWay() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    List<Owner> owners = List.of(PATH, new Owner("a", "e", "calls"), new Owner("a", "e2", "calls"));
    RecentCalls fast = new RecentCalls(40, RecentCalls.MAX_BYTES);
    List<Slow> slow = new ArrayList<>();
    long now = Long.MAX_VALUE - 3 * HOUR;
    for (int step = 1; step <= 20_000; step++) {
      now += random.nextInt(50) == 0 ? HOUR / 2 : 1;
      long at = now;
      slow.removeIf(each -> at - each.since > HOUR);
      Owner owner = owners.get(random.nextInt(owners.size()));
      if (random.nextInt(3) > 0) {
        CallEvent call = call(owner, step, 1 + random.nextInt(random.nextBoolean() ? 2 : 12));
        fast.add(call, new UsagePosition(0, "n", 1, step), now);
        slow.add(new Slow(owner, call, now));
        if (slow.size() > 40) {
          slow.remove(0);
        }
      } else {
        long hits = 1L + random.nextInt(15);
        Found found = fast.take(owner, hits, now);
        List<String> expected = slowly(slow, owner, hits);
        assertEquals(expected, told(found), "seed " + seed + " step " + step);
        long given =
            found.calls().stream().mapToLong(one -> one.call().cost() - one.actualCost()).sum();
        assertEquals(given, found.hits(), "seed " + seed + " step " + step);
        assertTrue(given <= hits, "seed " + seed + " step " + step);
      }
      assertEquals(slow.size(), fast.size(now), "seed " + seed + " step " + step);
    }
  }

  private record Slow(Owner owner, CallEvent call, long since) {}

  private static List<String> slowly(List<Slow> all, Owner owner, long hits) {
    List<Slow> newestFirst =
        new ArrayList<>(all.stream().filter(one -> one.owner.equals(owner)).toList());
    Collections.reverse(newestFirst);
    List<String> told = new ArrayList<>();
    long left = hits;
    for (Slow one : List.copyOf(newestFirst)) {
      if (left > 0 && one.call.cost() <= left) {
        left -= one.call.cost();
        told.add(one.call.id() + "=0");
        newestFirst.remove(one);
        all.remove(one);
      }
    }
    if (left > 0 && !newestFirst.isEmpty()) {
      long least = newestFirst.stream().mapToLong(one -> one.call.cost()).min().orElseThrow();
      Slow part =
          newestFirst.stream().filter(one -> one.call.cost() == least).findFirst().orElseThrow();
      told.add(part.call.id() + "=" + (least - left));
      all.remove(part);
    }
    return told;
  }

  @Test
  void concurrentTakers_neverGetTheSameCall() throws Exception {
    for (int i = 1; i <= 1_000; i++) {
      add(PATH, i, 1, 0);
    }
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      Callable<List<Settler.KnownCall>> taker =
          () -> {
            List<Settler.KnownCall> taken = new ArrayList<>();
            for (int i = 0; i < 200; i++) {
              taken.addAll(calls.take(PATH, 2, 0).calls());
            }
            return taken;
          };
      List<String> ids = new ArrayList<>();
      for (Future<List<Settler.KnownCall>> each :
          threads.invokeAll(Collections.nCopies(4, taker))) {
        each.get().forEach(one -> ids.add(one.call().id()));
      }
      assertEquals(1_000, ids.size());
      assertEquals(1_000, ids.stream().distinct().count(), () -> "some stand twice: " + ids);
    } finally {
      threads.shutdownNow();
    }
  }
}
