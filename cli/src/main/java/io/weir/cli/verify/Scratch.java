// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.verify;

import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.weir.cli.records.ScratchFolder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.IndexType;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteOptions;

/**
 * The storage of one verification on disk. It keeps the memory independent of the number of calls,
 * ids, keys and windows. Entries sort by the bytes of their keys; the first byte is the kind. The
 * folder is deleted at the end, also after a signal. Not thread-safe.
 */
final class Scratch implements AutoCloseable {
  // the first byte of a key is the kind of the entry:
  static final byte ACCOUNT = 'a'; // an account; the bytes of a Slot follow
  static final byte ROW = 'r'; // the first ledger row with a record id in a partition
  static final byte ADJUSTMENT = 'd'; // an adjustment, by calls record
  static final byte CLOSE = 'c'; // a CLOSE row, by partition and time
  static final byte QUARANTINED = 'q'; // a quarantine record that belongs to no refusal yet
  static final byte LINES = 'l'; // the checksums of lines, by journal and position
  static final byte FATE = 'x'; // the state (refused or replayed) of a line, by position
  static final byte ID = 'i'; // an id that a caller chose
  static final byte REFUSED = 'f'; // the checksum of a refused line, by partition, offset and line
  static final byte REPLAYED = 'p'; // a line that a replay has delivered, by its refusal
  static final byte MOVED = 'm'; // the current position of a replayed settlement
  static final byte REPLAY_MARKER = 'w'; // the quarantine's marker of a replayed, counted line
  static final byte SETTLEMENT = 's'; // a settlement

  /** Writes and reads the fields of objects, and ignores their methods. */
  private static final ObjectMapper JSON =
      JsonMapper.builder()
          .visibility(PropertyAccessor.FIELD, Visibility.ANY)
          .visibility(PropertyAccessor.GETTER, Visibility.NONE)
          .visibility(PropertyAccessor.IS_GETTER, Visibility.NONE)
          .build();

  private static final long WRITE_BUFFER_BYTES = 16L * 1024 * 1024;
  private static final long CACHE_BYTES = 48L * 1024 * 1024;
  private static final int BLOOM_BITS = 10;
  private static final int OPEN_FILES = 128;

  static {
    RocksDB.loadLibrary();
  }

  private final ScratchFolder folder;

  /** One shard only: a shard smaller than a block could not keep that block. */
  private final LRUCache cache = new LRUCache(CACHE_BYTES, 0);

  private final BloomFilter bloom = new BloomFilter(BLOOM_BITS);
  private final Options options;
  private final WriteOptions writing = new WriteOptions().setDisableWAL(true);
  private final RocksDB db;

  private Scratch(ScratchFolder folder) throws RocksDBException {
    this.folder = folder;
    this.options =
        new Options()
            .setCreateIfMissing(true)
            .setWriteBufferSize(WRITE_BUFFER_BYTES)
            .setMaxOpenFiles(OPEN_FILES)
            .setCompressionType(CompressionType.LZ4_COMPRESSION)
            .setTableFormatConfig(
                new BlockBasedTableConfig()
                    .setBlockCache(cache)
                    .setFilterPolicy(bloom)
                    .setPartitionFilters(true)
                    .setIndexType(IndexType.kTwoLevelIndexSearch)
                    .setPinTopLevelIndexAndFilter(true)
                    .setCacheIndexAndFilterBlocks(true));
    this.db = RocksDB.open(options, folder.file("db").toString());
  }

  /** Creates the storage in a new folder of the parent folder. */
  static Scratch create(Path parent) throws IOException {
    ScratchFolder folder = ScratchFolder.create(parent, "verify");
    try {
      return new Scratch(folder);
    } catch (RocksDBException failed) {
      throw new IOException(folder + ": " + failed.getMessage(), failed);
    }
  }

  /** Returns a buffer for a key of the given kind, with room for more bytes. */
  static ByteBuffer key(byte kind, int room) {
    return ByteBuffer.allocate(1 + room).put(kind);
  }

  /** Returns a buffer for such a key that begins with a slot. */
  static ByteBuffer key(byte kind, Slot slot, int room) {
    byte[] bytes = slot.toBytes();
    return key(kind, bytes.length + room).put(bytes);
  }

  /**
   * Returns the path of a file in the same folder, for data that are written and read only in
   * sequence.
   */
  Path file(String name) {
    return folder.file(name);
  }

  byte @Nullable [] get(byte[] key) {
    try {
      return db.get(key);
    } catch (RocksDBException failed) {
      throw failure(failed);
    }
  }

  /** Returns the object of a key, or null if there is none. */
  <T> @Nullable T getObject(byte[] key, Class<T> type) {
    byte[] value = get(key);
    return value == null ? null : object(value, type);
  }

  /** Returns the object that was stored as these bytes. */
  static <T> T object(byte[] value, Class<T> type) {
    try {
      return JSON.readValue(value, type);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Stores an object under a key. */
  void putObject(byte[] key, Object value) {
    try {
      // as a string first, since Jackson writes no bytes of an unpaired surrogate
      put(key, JSON.writeValueAsString(value).getBytes(StandardCharsets.UTF_8));
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  void put(byte[] key, byte[] value) {
    try {
      db.put(writing, key, value);
    } catch (RocksDBException failed) {
      throw failure(failed);
    }
  }

  /**
   * Removes an entry.
   *
   * @return whether there was an entry
   */
  boolean take(byte[] key) {
    boolean isThere = get(key) != null;
    if (isThere) {
      delete(key);
    }
    return isThere;
  }

  void delete(byte[] key) {
    try {
      db.delete(writing, key);
    } catch (RocksDBException failed) {
      throw failure(failed);
    }
  }

  /** Receives each entry. Returns false to end the scan. */
  interface Visitor {
    boolean visit(byte[] key, byte[] value);
  }

  /** Visits the objects of a kind whose keys begin with the slots of a range, in order of time. */
  <T> void scan(byte kind, Range range, Class<T> type, Consumer<T> visitor) {
    scan(
        key(kind, Long.BYTES).putLong(Math.max(0, range.fromEpochMillis())).array(),
        key(kind, Long.BYTES).putLong(Math.max(0, range.endEpochMillis())).array(),
        (key, value) -> {
          visitor.accept(object(value, type));
          return true;
        });
  }

  void scan(byte kind, Visitor visitor) {
    scan(new byte[] {kind}, new byte[] {(byte) (kind + 1)}, visitor);
  }

  /** Visits the entries in [from, until), in order of their keys. */
  void scan(byte[] from, byte[] until, Visitor visitor) {
    try (RocksIterator entries = db.newIterator()) {
      entries.seek(from);
      while (entries.isValid()
          && Arrays.compareUnsigned(entries.key(), until) < 0
          && visitor.visit(entries.key(), entries.value())) {
        entries.next();
      }
      entries.status();
    } catch (RocksDBException failed) {
      throw failure(failed);
    }
  }

  private UncheckedIOException failure(RocksDBException failed) {
    return new UncheckedIOException(new IOException(folder + ": " + failed.getMessage(), failed));
  }

  @Override
  public void close() throws IOException {
    db.close();
    options.close();
    writing.close();
    bloom.close();
    cache.close();
    folder.close();
  }
}
