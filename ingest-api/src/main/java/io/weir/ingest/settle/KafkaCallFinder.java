// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.settle.PartitionReader.Spent;
import io.weir.ingest.settle.SettleOutcome.Exhausted;
import io.weir.ingest.settle.SettleOutcome.NotFound;
import io.weir.ingest.settle.SettleOutcome.OnlyDeniedTry;
import io.weir.ingest.settle.SettleOutcome.Unavailable;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.Topics;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.UsagePosition;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.apache.kafka.common.KafkaException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds calls in the client's partition of the calls topic. If the query has a position, the finder
 * first searches at the position. If the finder finds no call there, it searches for the id. All
 * searches share a few consumers, which serve the clients in rotation. Each search and each client
 * may read only a bounded number of bytes. So requests with unknown ids slow down only the searches
 * of the same client.
 */
public final class KafkaCallFinder implements CallFinder {
  /** Maximum number of bytes that one search may read. */
  static final long MAX_SEARCH_BYTES = 32L << 20;

  /** Maximum time by which the time in an id may be ahead of the clock. A later time is ignored. */
  private static final long MAX_AHEAD_MILLIS = 5_000;

  private static final Logger LOG = LoggerFactory.getLogger(KafkaCallFinder.class);

  private final int partitions;
  private final long horizonMillis;
  private final LongSupplier clockEpochMillis;
  private final LogConsumers consumers;
  private final ReadBudgets budgets;
  private final SearchPlaces places;
  private final Duration maxTime;

  /**
   * Timeouts of searches.
   *
   * @param search maximum duration of one search
   * @param request maximum duration of one request to Kafka, and of the wait for a consumer
   */
  record SearchTimes(Duration search, Duration request) {
    /** The default timeouts: 10 s for a search and 5 s for a request to Kafka. */
    static final SearchTimes DEFAULT =
        new SearchTimes(Duration.ofSeconds(10), Duration.ofSeconds(5));
  }

  /**
   * Creates a finder. Does not yet contact Kafka.
   *
   * @param partitions number of partitions of the calls topic
   * @param horizon how far back in time to search for a call whose id contains no time
   * @param maxSearches maximum number of concurrent searches. One client may have a quarter of
   *     these searches. Each search occupies a thread of the node
   * @param clockEpochMillis returns the current time, close to the broker's clock
   */
  public KafkaCallFinder(
      KafkaConnection kafka,
      String node,
      int partitions,
      Duration horizon,
      int maxSearches,
      LongSupplier clockEpochMillis) {
    this(
        kafka,
        node,
        partitions,
        horizon,
        maxSearches,
        clockEpochMillis,
        SearchTimes.DEFAULT,
        System::nanoTime);
  }

  KafkaCallFinder(
      KafkaConnection kafka,
      String node,
      int partitions,
      Duration horizon,
      int maxSearches,
      LongSupplier clockEpochMillis,
      SearchTimes times,
      LongSupplier budgetNanos) {
    this.consumers = new LogConsumers(kafka, node, times.request());
    this.maxTime = times.search();
    this.budgets = new ReadBudgets(budgetNanos);
    this.partitions = partitions;
    this.horizonMillis = horizon.toMillis();
    this.places = new SearchPlaces(maxSearches, Math.max(1, maxSearches / 4));
    this.clockEpochMillis = clockEpochMillis;
  }

  /** Returns the number of bytes that all searches have read since the start. */
  long bytesRead() {
    return consumers.bytesRead();
  }

  /** Returns the number of searches in progress. */
  int underWay() {
    return places.taken();
  }

  @Override
  public Finding find(CallQuery query) {
    long wait = budgets.secondsToWait(query.client());
    if (wait > 0) {
      return new Exhausted(wait);
    }
    return switch (places.take(query.client())) {
      case TAKEN -> {
        try {
          yield searchOrSayWhy(query);
        } finally {
          places.leave(query.client());
        }
      }
      case CLIENT_AT_LIMIT -> new Exhausted(1);
      case FULL -> new Unavailable("the node is at its limit of concurrent settlements");
    };
  }

  /** Returns a reader of a partition for a client, without applying the client's budget. */
  PartitionReader reader(String client, int partition) {
    return consumers.reader(client, partition);
  }

  private Finding searchOrSayWhy(CallQuery query) {
    try {
      return search(query);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return new Unavailable("the node is stopping");
    } catch (KafkaException unavailable) {
      LOG.warn("the calls topic cannot be read, so a call cannot be settled", unavailable);
      return new Unavailable("Weir cannot search for the call, because Kafka does not reply");
    }
  }

  private Finding search(CallQuery query) throws InterruptedException {
    long nowMillis = clockEpochMillis.getAsLong();
    int partition = ClientPartitioner.partition(query.client(), partitions);
    long deadlineNanos = System.nanoTime() + maxTime.toNanos();
    BooleanSupplier isLate = () -> System.nanoTime() - deadlineNanos > 0;
    MeteredReader reader =
        new MeteredReader(
            reader(query.client(), partition), budgets, query.client(), MAX_SEARCH_BYTES, isLate);
    CallLineSelection lines = new CallLineSelection(query, partition);
    IdSearch byId = new IdSearch(reader, lines, nowMillis);
    try {
      long hint = hint(query.id(), nowMillis);
      UsagePosition position = query.position();
      if (position != null && position.partition() == partition) {
        PositionSearch byPosition = new PositionSearch(reader, lines, position);
        if (byPosition.run(guess(reader, hint)) == PositionSearch.Result.TO_COME) {
          return new Unavailable("the call's node has not sent the call to Kafka yet");
        }
        Found there = lines.found();
        if (there != null) {
          reader.hasFoundByPosition();
          return there;
        }
      }
      byId.run(hint, horizonMillis);
    } catch (Spent spent) {
      // an incomplete search without a result does not prove that the topic lacks the call
      if (!lines.hasAllowed() && !reader.hasReadItsPart()) {
        return isLate.getAsBoolean()
            ? new Unavailable(
                "the call was not found within "
                    + maxTime.toSeconds()
                    + " s; send the call's Usage-Position, which locates it")
            : new Exhausted(reader.secondsToSearchFurther());
      }
    }
    return finding(lines.found(), byId, nowMillis);
  }

  private static Finding finding(@Nullable Found found, IdSearch byId, long nowMillis) {
    if (found == null) {
      return new NotFound(byId.readFromEpochMillis(), nowMillis);
    }
    return found.call().allowed() || byId.hasReadAll()
        ? found
        : new OnlyDeniedTry(byId.readFromEpochMillis(), nowMillis);
  }

  /**
   * Returns an offset at or before which the call is expected.
   *
   * @param hintMillis the time in the call's id; −1 if the id contains none
   */
  private static long guess(PartitionReader reader, long hintMillis) throws InterruptedException {
    return hintMillis < 0
        ? Math.max(reader.begin(), reader.end() - IdSearch.NEWEST_RECORDS)
        : reader.offsetAt(Math.max(0, hintMillis - IdSearch.NEAR_MILLIS));
  }

  /** Returns the time in an id if a call may have been decided at that time, otherwise −1. */
  private static long hint(String id, long nowMillis) {
    long time = IdSearch.timeIn(id);
    boolean isBelieved =
        time > nowMillis - Topics.LATENESS.toMillis() && time <= nowMillis + MAX_AHEAD_MILLIS;
    return isBelieved ? time : -1;
  }

  @Override
  public void close() {
    consumers.close();
  }
}
