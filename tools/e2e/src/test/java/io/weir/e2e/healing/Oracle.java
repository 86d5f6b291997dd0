// SPDX-License-Identifier: Apache-2.0
package io.weir.e2e.healing;

import io.weir.e2e.healing.Rule.Place;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.Charge;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Says how every bucket should stand, from the audit log and the policies alone: each call that was
 * let through is taken from every bucket it belongs to, in the order of the cache's clock, whoever
 * decided it and whatever the cache thought of it.
 */
final class Oracle {
  private static final long MICROS_PER_MILLI = 1_000;

  private final Map<String, History> histories = new HashMap<>();

  /** A call on a bucket. Calls within a millisecond are ordered by the cache's counter. */
  private record Event(long epochMillis, long epoch, long charged, long tokens) {
    static final Comparator<Event> ORDER =
        Comparator.comparingLong(Event::epochMillis)
            .thenComparingLong(Event::epoch)
            .thenComparingLong(Event::charged);
  }

  private static final class History {
    private final Place place;
    private final List<Event> events = new ArrayList<>();

    History(Place place) {
      this.place = place;
    }
  }

  Oracle(List<Rule> rules, List<CallEvent> calls) {
    for (CallEvent call : calls) {
      for (Rule rule : rules) {
        if (rule.isFor(call.endpoint())) {
          Place place = rule.place(call.client(), call.decidedAtEpochMillis());
          histories
              .computeIfAbsent(place.key(), key -> new History(place))
              .events
              .add(event(call, place.key()));
        }
      }
    }
    histories.values().forEach(history -> history.events.sort(Event.ORDER));
  }

  private static Event event(CallEvent call, String bucket) {
    long tokens = call.allowed() ? call.cost() : 0;
    for (Charge charge : call.charges()) {
      if (charge.bucket().equals(bucket) && charge.stamp() != null) {
        return new Event(
            call.decidedAtEpochMillis(), charge.stamp().epoch(), charge.stamp().charged(), tokens);
      }
    }
    return new Event(call.decidedAtEpochMillis(), 0, 0, tokens);
  }

  /** Keys of all buckets that were called on. */
  Set<String> buckets() {
    return Collections.unmodifiableSet(histories.keySet());
  }

  /** The bucket of a key. */
  Place place(String bucket) {
    return history(bucket).place;
  }

  /**
   * The level a bucket should have had when the cache was looked at: all calls before that
   * millisecond, and those within it that the cache's counter included.
   */
  double levelAt(KeptBucket kept) {
    long millis = kept.atEpochMicros() / MICROS_PER_MILLI;
    TrueBucket bucket = new TrueBucket(place(kept.bucket()).limit());
    for (Event event : history(kept.bucket()).events) {
      boolean included =
          event.epochMillis() < millis
              || (event.epochMillis() == millis
                  && event.epoch() == kept.epoch()
                  && event.charged() <= kept.chargedTokens());
      if (included) {
        bucket.take(event.epochMillis() * MICROS_PER_MILLI, event.tokens());
      }
    }
    return bucket.levelAt(kept.atEpochMicros());
  }

  /** The level a bucket should have when all calls are done. */
  double levelAfterAll(String bucket, long epochMicros) {
    TrueBucket ideal = new TrueBucket(place(bucket).limit());
    for (Event event : history(bucket).events) {
      ideal.take(event.epochMillis() * MICROS_PER_MILLI, event.tokens());
    }
    return ideal.levelAt(epochMicros);
  }

  /** When a bucket was first called on at or after a moment, allowed or not. */
  Optional<Long> firstCallMicros(String bucket, long fromEpochMicros) {
    return history(bucket).events.stream()
        .map(event -> event.epochMillis() * MICROS_PER_MILLI)
        .filter(micros -> micros >= fromEpochMicros)
        .findFirst();
  }

  /** Tokens let through on a bucket by all calls. */
  long admittedTokens(String bucket) {
    return history(bucket).events.stream().mapToLong(Event::tokens).sum();
  }

  /** From the first to the last call on a bucket. */
  long spanMicros(String bucket) {
    List<Event> events = history(bucket).events;
    return MICROS_PER_MILLI
        * (events.get(events.size() - 1).epochMillis() - events.get(0).epochMillis());
  }

  private History history(String bucket) {
    History history = histories.get(bucket);
    if (history == null) {
      throw new IllegalArgumentException("nobody called on " + bucket);
    }
    return history;
  }
}
