// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.table;

import io.weir.aggregator.topology.BoundedRocksMemory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.kafka.common.utils.Utils;
import org.jspecify.annotations.Nullable;
import org.rocksdb.CompressionType;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The table of usage figures on the local disk. The table stores records of the state topic by
 * partition and key, and the position in each partition. Records and positions are written
 * atomically, so a killed process continues at the correct position. The table shares its memory
 * with all RocksDB stores of the process. Thread-safe. After {@link #close} every call fails.
 *
 * <p>The folder contains only a copy of data in Kafka. If the folder is damaged, the store renames
 * it to {@code usage.damaged} and creates an empty table. An earlier {@code usage.damaged} is
 * deleted. After a failure without damage, {@link #recover} opens the folder again.
 */
public final class TableStore implements AutoCloseable {
  private static final byte POSITION = 0;
  private static final byte RECORD = 1;
  private static final byte SOURCE = 2;
  private static final int PREFIX_BYTES = 1 + Integer.BYTES;
  private static final byte[] SOURCE_KEY = {SOURCE};
  private static final byte[] ID_KEY = {3};

  /**
   * Maximum size of the write-ahead log in bytes. A larger log makes RocksDB flush data to files.
   */
  private static final long MAX_WAL_BYTES = 64L * 1024 * 1024;

  private static final int MAX_OPEN_FILES = 512;

  /** Maximum age of a file. Compaction rewrites older files without the removed rows. */
  private static final Duration REWRITTEN_WITHIN = Duration.ofDays(7);

  private static final Logger LOG = LoggerFactory.getLogger(TableStore.class);

  private final Path folder;
  private final byte[] source;
  private final Options options =
      new Options()
          .setCreateIfMissing(true)
          .setMaxTotalWalSize(MAX_WAL_BYTES)
          .setMaxOpenFiles(MAX_OPEN_FILES)
          .setPeriodicCompactionSeconds(REWRITTEN_WITHIN.toSeconds())
          .setCompressionType(CompressionType.LZ4_COMPRESSION)
          .setInfoLogLevel(InfoLogLevel.WARN_LEVEL)
          .setKeepLogFileNum(2);
  private final WriteOptions writeOptions = new WriteOptions();
  private final ReadWriteLock lock = new ReentrantReadWriteLock();
  private final AtomicLong timesDamaged = new AtomicLong();

  /** Null while the folder cannot be opened. Guarded by the lock. */
  private @Nullable RocksDB db;

  /** The id of the folder; null until {@link #id} is called. Guarded by the lock. */
  private @Nullable String id;

  private boolean closed;

  /** The first failure since the folder was opened; null if there is none. */
  private volatile @Nullable TableException failure;

  private TableStore(Path folder, String source) {
    this.folder = folder;
    this.source = source.getBytes(StandardCharsets.UTF_8);
    BoundedRocksMemory.share(options);
  }

  /**
   * Opens or creates the table in a folder. If the folder is damaged, renames it and creates an
   * empty table.
   *
   * @param source id of the copied topic; if the table has the rows of another topic, they are
   *     removed
   * @throws TableException if the folder is in use or cannot be used
   */
  public static TableStore open(Path folder, String source) {
    TableStore store = new TableStore(folder, source);
    try {
      store.openFolder();
      return store;
    } catch (TableException refused) {
      store.close();
      throw refused;
    }
  }

  private void openFolder() {
    try {
      try {
        db = opened();
      } catch (RocksDBException damaged) {
        if (!Damage.is(damaged)) {
          throw damaged;
        }
        setAside(damaged);
        db = opened();
      }
    } catch (IOException | RocksDBException failed) {
      String detail = String.valueOf(failed.getMessage());
      // RocksDB has no error code for a locked folder. Its messages are "While lock file: …/LOCK:
      // …" and "lock hold by current process".
      boolean locked = detail.toLowerCase(Locale.ROOT).contains("lock");
      throw new TableException(
          "the folder "
              + folder
              + (locked
                  ? " is in use by another process; each aggregator needs its own WEIR_DATA ("
                      + detail
                      + ")"
                  : " cannot be used: " + detail),
          failed);
    }
  }

  private RocksDB opened() throws IOException, RocksDBException {
    Files.createDirectories(folder);
    RocksDB opened = RocksDB.open(options, folder.toString());
    try {
      byte[] stored = opened.get(SOURCE_KEY);
      if (stored != null && !Arrays.equals(stored, source)) {
        opened.deleteRange(new byte[] {POSITION}, new byte[] {SOURCE});
      }
      opened.put(SOURCE_KEY, source);
      if (id != null) {
        opened.put(ID_KEY, id.getBytes(StandardCharsets.UTF_8));
      }
      return opened;
    } catch (RocksDBException failed) {
      opened.close();
      throw failed;
    }
  }

  private void setAside(RocksDBException damaged) throws IOException {
    timesDamaged.incrementAndGet();
    Path aside = folder.resolveSibling(folder.getFileName() + ".damaged");
    Utils.delete(aside.toFile());
    Files.move(folder, aside);
    LOG.error(
        "usage table is damaged detail=\"{}\"; its folder is renamed to {}, and the table is read"
            + " again from Kafka",
        damaged.getMessage(),
        aside);
  }

  /**
   * Opens the folder again if a call has failed since the folder was opened. Replaces a damaged
   * table with an empty table.
   *
   * @throws TableException if the folder still cannot be used
   */
  void recover() {
    lock.writeLock().lock();
    try {
      TableException failed = failure;
      if (failed == null || closed) {
        return;
      }
      if (db != null) {
        db.close();
        db = null;
      }
      if (failed.getCause() instanceof RocksDBException cause && Damage.is(cause)) {
        setAside(cause);
        failure = new TableException("the damaged folder of the table was renamed", null);
      }
      openFolder();
      failure = null;
      LOG.info("usage table was opened again after a failure detail=\"{}\"", failed.getMessage());
    } catch (IOException notMoved) {
      throw new TableException(
          "the folder " + folder + " cannot be renamed: " + notMoved, notMoved);
    } finally {
      lock.writeLock().unlock();
    }
  }

  /**
   * Returns the failure that requires the folder to be opened again. Returns null if the folder can
   * be used.
   */
  public @Nullable TableException failure() {
    return failure;
  }

  /** Returns the number of damaged folders that were renamed since the table was opened. */
  long timesDamaged() {
    return timesDamaged.get();
  }

  /** Returns the random id of the folder. The first call for a new folder creates the id. */
  public String id() {
    lock.writeLock().lock();
    try {
      RocksDB table = requireOpen();
      String known = id;
      if (known == null) {
        byte[] stored = table.get(ID_KEY);
        known =
            stored == null
                ? UUID.randomUUID().toString()
                : new String(stored, StandardCharsets.UTF_8);
        table.put(ID_KEY, known.getBytes(StandardCharsets.UTF_8));
        id = known;
      }
      return known;
    } catch (RocksDBException failed) {
      throw failure(failed);
    } finally {
      lock.writeLock().unlock();
    }
  }

  /**
   * The position up to which the follower has read a partition.
   *
   * @param offset the offset after the last record read
   * @param readThroughEpochMillis the table contains all records that were published before this
   *     time; 0 if unknown
   */
  public record Position(long offset, long readThroughEpochMillis) {}

  /** Returns the position in each stored partition. */
  public SortedMap<Integer, Position> positions() {
    SortedMap<Integer, Position> positions = new TreeMap<>();
    scan(
        new byte[] {POSITION},
        new byte[] {RECORD},
        (key, value) -> {
          positions.put(ByteBuffer.wrap(key, 1, Integer.BYTES).getInt(), position(value));
          return null;
        });
    return positions;
  }

  /** Returns the newest value of a key, or null if there is none. */
  public byte @Nullable [] get(int partition, byte[] key) {
    lock.readLock().lock();
    try {
      return requireOpen().get(recordKey(partition, key));
    } catch (RocksDBException failed) {
      throw failure(failed);
    } finally {
      lock.readLock().unlock();
    }
  }

  /** A receiver of entries, in the order of their keys. */
  public interface Visitor {
    /**
     * Receives one entry. Returns the key at which the scan continues, or null to continue with the
     * next entry.
     */
    byte @Nullable [] visit(byte[] key, byte[] value);
  }

  /**
   * Visits the entries of a partition with keys in {@code [from, to)}. All entries are from one
   * consistent snapshot.
   */
  public void scan(int partition, byte[] from, byte[] to, Visitor visitor) {
    scan(
        recordKey(partition, from),
        recordKey(partition, to),
        (key, value) -> {
          byte[] next = visitor.visit(Arrays.copyOfRange(key, PREFIX_BYTES, key.length), value);
          return next == null ? null : recordKey(partition, next);
        });
  }

  private void scan(byte[] from, byte[] to, Visitor visitor) {
    lock.readLock().lock();
    try {
      RocksDB table = requireOpen();
      try (Slice end = new Slice(to);
          ReadOptions bounded = new ReadOptions().setIterateUpperBound(end);
          RocksIterator entries = table.newIterator(bounded)) {
        entries.seek(from);
        while (entries.isValid()) {
          byte[] next = visitor.visit(entries.key(), entries.value());
          if (next == null) {
            entries.next();
          } else {
            entries.seek(next);
          }
        }
        entries.status();
      }
    } catch (RocksDBException failed) {
      throw failure(failed);
    } finally {
      lock.readLock().unlock();
    }
  }

  /** A batch of changes that become visible and durable atomically. Not thread-safe. */
  public final class Changes implements AutoCloseable {
    private final WriteBatch batch = new WriteBatch();

    /** Sets the value of a key, or removes the key if the value is null. */
    void put(int partition, byte[] key, byte @Nullable [] value) {
      try {
        if (value == null) {
          batch.delete(recordKey(partition, key));
        } else {
          batch.put(recordKey(partition, key), value);
        }
      } catch (RocksDBException failed) {
        throw failure(failed);
      }
    }

    /** Sets the position in a partition. */
    void position(int partition, Position position) {
      try {
        batch.put(positionKey(partition), bytes(position));
      } catch (RocksDBException failed) {
        throw failure(failed);
      }
    }

    /** Removes a partition and its position. */
    void drop(int partition) {
      try {
        batch.delete(positionKey(partition));
        batch.deleteRange(recordKey(partition, new byte[0]), recordKey(partition + 1, new byte[0]));
      } catch (RocksDBException failed) {
        throw failure(failed);
      }
    }

    /** Writes the changes to the table. */
    void write() {
      lock.readLock().lock();
      try {
        requireOpen().write(writeOptions, batch);
      } catch (RocksDBException failed) {
        throw failure(failed);
      } finally {
        lock.readLock().unlock();
      }
    }

    @Override
    public void close() {
      batch.close();
    }
  }

  /** Returns an empty batch of changes. */
  Changes changes() {
    return new Changes();
  }

  private RocksDB requireOpen() {
    if (closed) {
      throw new IllegalStateException("the table is closed");
    }
    if (db == null) {
      throw new TableException(
          "the table cannot be used until its folder is opened again", failure);
    }
    return db;
  }

  private TableException failure(RocksDBException failed) {
    TableException reported =
        new TableException("the table cannot be used: " + failed.getMessage(), failed);
    if (failure == null) {
      failure = reported;
    }
    return reported;
  }

  private static byte[] positionKey(int partition) {
    return ByteBuffer.allocate(PREFIX_BYTES).put(POSITION).putInt(partition).array();
  }

  private static byte[] recordKey(int partition, byte[] key) {
    return ByteBuffer.allocate(PREFIX_BYTES + key.length)
        .put(RECORD)
        .putInt(partition)
        .put(key)
        .array();
  }

  private static byte[] bytes(Position position) {
    return ByteBuffer.allocate(2 * Long.BYTES)
        .putLong(position.offset())
        .putLong(position.readThroughEpochMillis())
        .array();
  }

  private static Position position(byte[] value) {
    ByteBuffer bytes = ByteBuffer.wrap(value);
    return new Position(bytes.getLong(), bytes.getLong());
  }

  @Override
  public void close() {
    lock.writeLock().lock();
    try {
      if (!closed) {
        closed = true;
        if (db != null) {
          db.close();
        }
        writeOptions.close();
        options.close();
      }
    } finally {
      lock.writeLock().unlock();
    }
  }
}
