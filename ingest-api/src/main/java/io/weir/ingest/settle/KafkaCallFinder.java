// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import io.weir.ingest.settle.PartitionReader.Spent;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.catalog.Topics;
import io.weir.topics.model.UsagePosition;
import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds calls in the client's partition of the calls topic: at the position that the caller gives,
 * else by reading for the id. Searches share a few consumers, question by question, in rotation of
 * their clients; what is asked for a search and for a client is bounded. So ids that do not exist
 * cost their own client's searches, and nobody else's.
 */
public final class KafkaCallFinder implements CallFinder {
  /** How much one search may read. */
  static final long MAX_SEARCH_BYTES = 32L << 20;

  /** A call is recorded at the time in its id, but for what clocks differ and batches wait. */
  private static final long NEAR_MILLIS = 250;

  /** No id is believed that tells of a time so far ahead of the clock. */
  private static final long MAX_AHEAD_MILLIS = 5_000;

  /** Without a time in the id, the newest records are looked at first. */
  private static final long NEWEST_RECORDS = 16;

  private static final Logger LOG = LoggerFactory.getLogger(KafkaCallFinder.class);

  private final int partitions;
  private final long horizonMillis;
  private final LongSupplier clockEpochMillis;
  private final LogConsumers consumers;
  private final ReadBudgets budgets = new ReadBudgets(System::nanoTime);
  private final SearchPlaces places;
  private final Duration maxTime;
  private final LongAdder bytesRead = new LongAdder();

  /**
   * A finder; Kafka is not asked yet.
   *
   * @param partitions of the calls topic
   * @param horizon how far back calls are looked for whose id does not tell their time
   * @param maxSearches how many may be under way at once, a quarter of them for one client; each
   *     keeps a thread of the node
   * @param clockEpochMillis a clock near the broker's
   */
  public KafkaCallFinder(
      String bootstrapServers,
      String node,
      int partitions,
      Duration horizon,
      int maxSearches,
      LongSupplier clockEpochMillis) {
    this(
        bootstrapServers,
        node,
        partitions,
        horizon,
        maxSearches,
        clockEpochMillis,
        SearchTimes.DEFAULT);
  }

  KafkaCallFinder(
      String bootstrapServers,
      String node,
      int partitions,
      Duration horizon,
      int maxSearches,
      LongSupplier clockEpochMillis,
      SearchTimes times) {
    this.consumers = new LogConsumers(bootstrapServers, node, times.question());
    this.maxTime = times.search();
    this.partitions = partitions;
    this.horizonMillis = horizon.toMillis();
    this.places = new SearchPlaces(maxSearches, Math.max(1, maxSearches / 4));
    this.clockEpochMillis = clockEpochMillis;
  }

  /** Bytes of the log that were read for all searches since the start. */
  long bytesRead() {
    return bytesRead.sum();
  }

  /** Searches that are under way. */
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
      case CLIENT_HAS_TOO_MANY -> new Exhausted(1);
      case FULL -> new Unknown("too many calls are being settled at once");
    };
  }

  /** Reads a partition for a client, whatever its budget. */
  PartitionReader reader(String client, int partition) {
    return new Log(client, partition);
  }

  private Finding searchOrSayWhy(CallQuery query) {
    try {
      return search(query);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      return new Unknown("the node is stopping");
    } catch (KafkaException unavailable) {
      LOG.warn("audit log not readable, a call cannot be settled", unavailable);
      return new Unknown("the audit log cannot be read at present");
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
    CallLines lines = new CallLines(query, partition);
    IdSearch byId = new IdSearch(reader, lines, nowMillis);
    try {
      long hint = hint(query.id(), nowMillis);
      UsagePosition position = query.position();
      if (position != null && position.partition() == partition) {
        PositionSearch byPosition = new PositionSearch(reader, lines, position);
        if (byPosition.run(guess(reader, hint)) == PositionSearch.Result.TO_COME) {
          return new Unknown("the call's node has not sent it yet");
        }
        Found there = lines.found();
        if (there != null) {
          reader.hasFoundByPosition();
          return there;
        }
      }
      byId.run(hint, horizonMillis);
    } catch (Spent spent) {
      // what is not found by a search that was cut short may stand in the log all the same
      if (!lines.hasAllowed() && !reader.hasReadItsPart()) {
        return isLate.getAsBoolean()
            ? new Unknown(
                "the call was not found within "
                    + maxTime.toSeconds()
                    + " s; its Usage-Position tells where to look")
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
   * An offset at or before which a call may be expected.
   *
   * @param hintMillis the time in its id; −1 when there is none
   */
  private static long guess(PartitionReader reader, long hintMillis) throws InterruptedException {
    return hintMillis < 0
        ? Math.max(reader.begin(), reader.end() - NEWEST_RECORDS)
        : reader.offsetAt(Math.max(0, hintMillis - NEAR_MILLIS));
  }

  /** The time in an id, if it can be a call's. */
  private static long hint(String id, long nowMillis) {
    long time = IdTime.of(id);
    boolean isBelieved =
        time > nowMillis - Topics.LATENESS.toMillis() && time <= nowMillis + MAX_AHEAD_MILLIS;
    return isBelieved ? time : -1;
  }

  /** A partition, as it is read for one client. */
  private final class Log implements PartitionReader {
    private final String client;
    private final TopicPartition calls;

    Log(String client, int partition) {
      this.client = client;
      this.calls = new TopicPartition(Topics.CALLS.name(), partition);
    }

    @Override
    public long begin() throws InterruptedException {
      return consumers.begin(calls, client);
    }

    @Override
    public long end() throws InterruptedException {
      return consumers.end(calls, client);
    }

    @Override
    public long offsetAt(long epochMillis) throws InterruptedException {
      Long offset = consumers.offsetAt(calls, epochMillis, client);
      return offset == null ? end() : offset;
    }

    @Override
    public Slice read(long offset) throws InterruptedException {
      Slice slice = consumers.read(calls, offset, client);
      bytesRead.add(slice.bytes());
      return slice;
    }
  }

  @Override
  public void close() {
    consumers.close();
  }
}
