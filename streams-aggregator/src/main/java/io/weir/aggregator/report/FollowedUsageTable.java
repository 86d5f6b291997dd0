// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import io.weir.aggregator.table.Freshness;
import io.weir.aggregator.table.TableException;
import io.weir.aggregator.table.TableFollower;
import io.weir.aggregator.table.TableStore;
import io.weir.topics.model.PartitionAccuracy;
import io.weir.topics.model.PartitionProgress;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageState;
import io.weir.topics.problem.Problem;
import io.weir.topics.wire.MalformedRecordException;
import io.weir.topics.wire.PartitionAccuracyCodec;
import io.weir.topics.wire.PartitionProgressCodec;
import io.weir.topics.wire.UsageStateCodec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.function.ObjLongConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A {@link UsageTable} that reads the local copy of the state topic. Thread-safe. */
final class FollowedUsageTable implements UsageTable {
  private static final Logger LOG = LoggerFactory.getLogger(FollowedUsageTable.class);

  private final TableStore store;
  private final TableFollower follower;

  FollowedUsageTable(TableStore store, TableFollower follower) {
    this.store = store;
    this.follower = follower;
  }

  @Override
  public boolean isHere(int partition) {
    return follower.isReadable(partition);
  }

  @Override
  public Freshness refresh(int partition) throws InterruptedException {
    Freshness freshness = follower.refresh(List.of(partition)).get(partition);
    if (freshness == null || freshness == Freshness.MISSING) {
      throw missing(partition);
    }
    return freshness;
  }

  @Override
  public SortedMap<Integer, Freshness> refreshAll(int partitions) throws InterruptedException {
    SortedMap<Integer, Freshness> found =
        follower.refresh(IntStream.range(0, partitions).boxed().toList());
    found.values().removeIf(freshness -> freshness == Freshness.MISSING);
    return found;
  }

  private static ProblemException missing(int partition) {
    return new ProblemException(
        Problem.partitionUnavailable(
            partition,
            "this instance does not have this partition, or has not finished reading it"));
  }

  /**
   * Returns the exception to throw if the table has failed. The follower opens the table again
   * after about a second.
   */
  private static ProblemException failed(int partition, TableException failed) {
    LOG.warn(
        "cannot read the usage table partition={} detail=\"{}\"", partition, failed.getMessage());
    return new ProblemException(
        Problem.partitionUnavailable(
            partition, "this instance cannot read its usage table at present"));
  }

  private void scan(
      int partition, byte[] from, byte[] to, Runnable onVisit, TableStore.Visitor visitor) {
    long reading = follower.reading(partition);
    try {
      store.scan(
          partition,
          from,
          to,
          (key, value) -> {
            onVisit.run();
            return visitor.visit(key, value);
          });
    } catch (TableException failed) {
      throw failed(partition, failed);
    }
    requireWasHere(partition, reading);
  }

  /**
   * Throws an exception if the partition was dropped since a read began. This method is called
   * after each read, because a partition may be dropped at any time. A partition becomes unreadable
   * before it is dropped. The partition may be readable again when this method is called.
   *
   * @param reading the number of the partition's copy before the read; see {@link
   *     TableFollower#reading}
   */
  private void requireWasHere(int partition, long reading) {
    if (reading == 0 || follower.reading(partition) != reading) {
      throw missing(partition);
    }
  }

  @Override
  public Optional<PartitionProgress> progress(int partition) {
    return get(partition, PartitionProgressCodec.key(partition), PartitionProgressCodec::decode);
  }

  @Override
  public Optional<PartitionAccuracy> accuracy(int partition) {
    return get(partition, PartitionAccuracyCodec.key(partition), PartitionAccuracyCodec::decode);
  }

  @Override
  public Optional<UsageState> window(int partition, UsageKey key, long startEpochMillis) {
    String name = UsageStateCodec.prefix(key) + UsageStateCodec.start(startEpochMillis);
    return get(partition, name, UsageStateCodec::decode);
  }

  private interface Decoder<T> {
    T decode(byte[] value) throws MalformedRecordException;
  }

  private <T> Optional<T> get(int partition, String key, Decoder<T> decoder) {
    long reading = follower.reading(partition);
    byte[] value;
    try {
      value = store.get(partition, key(key));
    } catch (TableException failed) {
      throw failed(partition, failed);
    }
    requireWasHere(partition, reading);
    return value == null ? Optional.empty() : decoded(decoder, value);
  }

  /**
   * Decodes a value. Returns empty if the value is malformed. {@code StateRecords} has already
   * counted and logged the malformed value.
   */
  private static <T> Optional<T> decoded(Decoder<T> decoder, byte[] value) {
    try {
      return Optional.of(decoder.decode(value));
    } catch (MalformedRecordException unreadable) {
      return Optional.empty();
    }
  }

  @Override
  public void read(
      int partition,
      UsageKey anyEndpoint,
      long fromEpochMillis,
      long toEpochMillis,
      Runnable onVisit,
      Rows into) {
    WindowScan scan =
        new WindowScan(
            anyEndpoint,
            fromEpochMillis,
            toEpochMillis,
            (value, startEpochMillis) ->
                decoded(UsageStateCodec::decode, value)
                    .ifPresentOrElse(into::add, () -> into.addUnreadable(startEpochMillis)));
    scan(partition, scan.from(), scan.to(), onVisit, scan);
  }

  @Override
  public List<String> clients(int partition, String prefix, int max, Runnable onVisit) {
    ClientScan scan = new ClientScan(prefix, max);
    scan(partition, scan.from(), scan.to(), onVisit, scan);
    return scan.clients();
  }

  /**
   * A scan of the table that visits the windows of an interval in one pass over the keys, endpoint
   * by endpoint. It uses a seek to skip windows that are too old or too new. It needs no seek for
   * an endpoint without such windows. It skips keys that are not keys of usage rows. So each
   * returned key is greater than the visited key. Not thread-safe.
   */
  static final class WindowScan implements TableStore.Visitor {
    /**
     * A suffix that is greater than the digits of all window starts. So a key with this suffix is
     * greater than all window keys of its endpoint.
     */
    private static final String BEHIND_STARTS = ":";

    /** Prefix of the keys of all endpoints of the client and meter; ends with a slash. */
    private final String ofMeter;

    private final String fromStart;
    private final String toStart;
    private final ObjLongConsumer<byte[]> into;

    /**
     * Creates a scan.
     *
     * @param anyEndpoint the client and meter; its endpoint is ignored
     * @param fromEpochMillis start of the range of window starts, inclusive
     * @param toEpochMillis end of the range of window starts, exclusive
     * @param into receives the values and the starts of the windows of the interval
     */
    WindowScan(
        UsageKey anyEndpoint,
        long fromEpochMillis,
        long toEpochMillis,
        ObjLongConsumer<byte[]> into) {
      String ofEndpoint =
          UsageStateCodec.prefix(new UsageKey(anyEndpoint.client(), anyEndpoint.meter(), "-"));
      this.ofMeter = ofEndpoint.substring(0, ofEndpoint.length() - "-/".length());
      this.fromStart = UsageStateCodec.start(fromEpochMillis);
      this.toStart = UsageStateCodec.start(toEpochMillis);
      this.into = into;
    }

    /** Returns the first key to visit. */
    byte[] from() {
      return key(ofMeter);
    }

    /** Returns the end of the keys to visit, exclusive. */
    byte[] to() {
      return key(ofMeter.substring(0, ofMeter.length() - 1) + '0'); // '0' follows '/'
    }

    @Override
    public byte @Nullable [] visit(byte[] key, byte[] value) {
      String text = new String(key, StandardCharsets.UTF_8);
      int startAt = text.indexOf('/', ofMeter.length()) + 1;
      String start = text.substring(startAt);
      if (startAt == 0 || !UsageStateCodec.isStart(start)) {
        return null;
      }
      if (start.compareTo(fromStart) < 0) {
        return key(text.substring(0, startAt) + fromStart);
      }
      if (start.compareTo(toStart) >= 0) {
        return key(text.substring(0, startAt) + BEHIND_STARTS);
      }
      into.accept(value, Long.parseLong(start));
      return null;
    }
  }

  /**
   * A scan of the table that collects the names of clients. After the first key of a client, one
   * seek skips all other keys of the client. It skips keys that are not keys of usage rows. Not
   * thread-safe.
   */
  static final class ClientScan implements TableStore.Visitor {
    private final String prefix;
    private final int max;
    private final List<String> clients = new ArrayList<>();

    /**
     * Creates a scan.
     *
     * @param prefix prefix of the names; empty for all names
     * @param max maximum number of names
     */
    ClientScan(String prefix, int max) {
      this.prefix = UsageStateCodec.encodedName(prefix);
      this.max = max;
    }

    /** Returns the first key to visit. */
    byte[] from() {
      return key(prefix);
    }

    /** Returns the end of the keys to visit, exclusive. Encoded names are ASCII. */
    byte[] to() {
      return key(prefix + '\u007f');
    }

    /** Returns the names, in the order of their keys. */
    List<String> clients() {
      return clients;
    }

    @Override
    public byte @Nullable [] visit(byte[] key, byte[] value) {
      if (clients.size() == max) {
        return to();
      }
      String text = new String(key, StandardCharsets.UTF_8);
      if (UsageStateCodec.isOfClient(text)) {
        try {
          clients.add(UsageStateCodec.decodeKey(text).key().client());
        } catch (MalformedRecordException foreignKey) {
          return null;
        }
      }
      int end = text.indexOf('/');
      return end < 0 ? null : key(text.substring(0, end) + '0'); // '0' follows '/'
    }
  }

  private static byte[] key(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
